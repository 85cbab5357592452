"""Markers beyond the range that they have kept to: what that does to the numbers, and what is kept."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.markers.marker_health import OUTLIER
from kernels.solver.optimality import FrameProblem
from kernels.uncertainty.reliability_bound import (
    FORESIGHT,
    KEPT,
    N_RANGE,
    RIDGE,
    WIDTH,
    age_ranges,
    is_unreliable,
    new_ranges,
    solve_shown,
)
from rtsim.config.runs.run_schema import Uncertainty
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from tests.kernels import leg
from tests.kernels.uncertainty.test_deviation import running_at
from tests.naive.deviation import outputs, shown_of_shift
from tests.naive.differences import first_derivative

Array = NDArray[np.floating]

KNEE = 1
AWAY = np.array([0.045, -0.03, 0.025])
STATED = Uncertainty(average_s=0.0, limit_deg=0.01, limit_rotation_deg=0.01)
"""With limits that any departure matters for."""


def least(running: MultibodyEstimator) -> Array:
    """Return the deviations that the kernel found last."""
    found = running.deviations
    assert found is not None
    return found._work[1].beyond.least.copy()


def expected(running: MultibodyEstimator, measured: Array, m: int, x: Array) -> Array:
    """Return the twin's deviations by a residual x (3,) of marker m beyond its range, in its body [m]."""
    setup, health, track = running._now, running.health, running._now.state.track
    problem = FrameProblem(
        setup.skeleton.tree, setup.skeleton.markers, setup.skeleton.elements, running.roles, measured,
        health.weight, track.hold, track.q_hold,
    )  # fmt: skip
    R, dq = shown_of_shift(problem, track.q, track.multiplier, m)
    F = first_derivative(lambda q: outputs(setup.skeleton, np.array([KNEE]), q), setup.skeleton.tree, track.q)
    rotation = setup.work.solver.pose.rotation[setup.skeleton.markers.body[m]]
    shift = np.linalg.solve(R + RIDGE * np.eye(3), rotation @ x)
    return FORESIGHT * np.abs(F @ dq @ shift)


@pytest.mark.parametrize("method", ["zero", "minimised", "hinge"])
def test_what_is_beyond_its_range_is_an_error_that_would_leave_it(method: str) -> None:
    """Protects what is stated of slides: the twin's shift of a marker that leaves such a residual."""
    running, measured = running_at(method, (), STATED)
    health, found = running.health, running.deviations
    assert found is not None
    solution = running.estimate(measured, 0.0)
    health.n_seen[:], health.mean_residual[:] = 1000, health.residual
    running.deviate(0.0, solution)
    np.testing.assert_array_equal(least(running), 0.0)
    (m,) = leg.indices("T2")
    health.mean_residual[m] -= AWAY
    running.deviate(0.0, solution)
    half = WIDTH * found.options.bounds.size[m]
    twin = expected(running, measured, m, AWAY - np.clip(AWAY, -half, half))
    np.testing.assert_allclose(least(running), twin, rtol=1e-3, atol=1e-3 * twin.max())
    assert twin.max() > 0.0
    assert (found.angles.ravel() >= least(running)[: found.angles.size]).all()


def test_no_error_is_larger_than_the_ridge_makes_it() -> None:
    """Protects frames in which a residual shows less than nothing of an error, by curvature or by factors of
    another method: 3 mm beyond a range had been an error of 200 mm."""
    running, measured = running_at("hinge", (), STATED)
    health, found, setup = running.health, running.deviations, running._now
    assert found is not None
    solution = running.estimate(measured, 0.0)
    health.n_seen[:], health.mean_residual[:] = 1000, health.residual
    health.mean_residual[leg.indices("T2")] -= AWAY
    running.deviate(0.0, solution)
    work, solver = found._work[1].beyond, setup.work.solver

    def error(w: float, x: Array) -> Array:
        assert solve_shown(setup.skeleton, setup.method.roles, w, solver, work, x)
        return x

    error(1.0, np.zeros(3))
    factor = np.tril(work.R)
    hidden, along = np.linalg.eigh((1.0 + RIDGE) * np.eye(3) - factor @ factor.T)
    for left, size in ((0.01, 1.0 / RIDGE), (RIDGE, 1.0 / RIDGE), (2.0 * RIDGE, 0.5 / RIDGE)):
        d = error(hidden[2] / (1.0 + RIDGE - left), 1e-3 * along[:, 2])
        np.testing.assert_allclose(d, 1e-3 * size * along[:, 2], rtol=1e-6, atol=1e-9)


def test_only_markers_without_a_fault_count_and_only_where_they_matter() -> None:
    """Protects the cost of frames, and suspect markers from being judged twice."""
    running, measured = running_at("hinge", (), Uncertainty(average_s=0.0))
    health = running.health
    solution = running.estimate(measured, 0.0)
    (m,) = leg.indices("T2")
    health.n_seen[:], health.mean_residual[:] = 1000, health.residual
    health.mean_residual[m] -= 0.4 * AWAY
    running.deviate(0.0, solution)
    np.testing.assert_array_equal(least(running), 0.0)  # far below the limit
    health.mean_residual[m] -= 2.0 * AWAY
    running.deviate(0.0, solution)
    assert least(running).max() > 0.0
    health.fault[m] = OUTLIER
    running.deviate(0.0, solution)
    np.testing.assert_array_equal(least(running), 0.0)


def test_what_has_been_seen_is_no_news_but_what_slides_is() -> None:
    """Protects clean walks from flags for what comes again, and slides from becoming usual as they last."""
    ranges, vectors, half, dt = new_ranges(1), np.zeros((3, 3)), 0.01, 0.01
    n = round(KEPT / dt)
    for k in range(4 * n):  # to and fro by 30 mm, once in KEPT
        vectors[0] = 0.03 * np.sin(2.0 * np.pi * k / n), 0.0, 0.0
        age_ranges(dt, np.inf, ranges)
        is_unreliable(ranges.box, 0, half, vectors)
        if k < n or k > 3 * n:
            news = np.abs(vectors[0]).max() - half if k < n else 0.0
            assert np.abs(vectors[1]).max() == pytest.approx(max(0.0, news), abs=1e-12)
    for k in range(n):
        vectors[0] = 0.0, 0.2 * dt * k, 0.0
        age_ranges(dt, np.inf, ranges)
        is_unreliable(ranges.box, 0, half, vectors)
        assert vectors[1, 1] == pytest.approx(max(0.0, vectors[0, 1] - half))


def test_ranges_are_forgotten() -> None:
    """Protects from a fault that nobody saw, once, that would hide all later ones of that marker."""
    ranges, vectors = new_ranges(1), np.array([[0.05, 0.0, 0.0], [0.0] * 3, [0.0] * 3])
    is_unreliable(ranges.box, 0, 0.01, vectors)
    for _ in range(N_RANGE):
        age_ranges(KEPT, 10.0, ranges)
    kept = ranges.box[0, 0, 1, 0]
    assert 0.9 * 0.05 < kept <= 0.05
    for _ in range(round(10.0 / KEPT)):
        age_ranges(KEPT, 10.0, ranges)
    assert ranges.box[0, 0, 1, 0] == pytest.approx(kept / np.e)
