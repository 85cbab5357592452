"""Markers that depart from what is usual: what that adds to the deviations, and what becomes usual."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.joints.joint_angles import JointAxes
from kernels.markers.marker_health import OUTLIER, new_health
from kernels.solver.constraints import HARD
from kernels.solver.optimality import FrameProblem
from kernels.uncertainty.deviation import FORESIGHT, Deviations, conclude_deviations
from kernels.uncertainty.marker_errors import new_marker_errors
from kernels.uncertainty.variance_inflation import LEARN_USUAL, MOST_TAUGHT, OFTEN_AWAY, OFTEN_NEW, departure
from rtsim.config.runs.run_schema import MarkerCheck, Uncertainty
from rtsim.methods.kinematics.frame_options import health_options
from tests.kernels import leg
from tests.kernels.uncertainty.test_deviation import predicted, running_at
from tests.naive.deviation import covariance, outputs
from tests.naive.differences import first_derivative

KNEE = 1
AWAY = np.array([0.012, -0.004, 0.003])
OPTIONS = health_options(MarkerCheck(), np.ones(1))


@pytest.mark.parametrize("method", ["zero", "minimised", "hinge"])
def test_a_marker_beside_its_usual_place_is_an_error_of_that_size(method: str) -> None:
    """Protects slides that are no fault yet: the twin's variance of one marker, by what it departs."""
    running, measured = running_at(method, (), Uncertainty(average_s=0.0))
    setup, health, found = running._now, running.health, running.deviations
    assert found is not None
    solution = running.estimate(measured, 0.0)
    health.n_seen[:], health.expected[:], health.mean_residual[:] = 1000, np.nan, health.residual
    running.deviate(0.0, solution)
    usual, (m,) = predicted(running) ** 2, leg.indices("T2")
    health.mean_residual[m] += AWAY
    running.deviate(0.0, solution)
    added = predicted(running) ** 2 - usual
    track, n = setup.state.track, len(health.weight)
    problem = FrameProblem(
        setup.skeleton.tree, setup.skeleton.markers, setup.skeleton.elements, running.roles, measured,
        health.weight, track.hold, track.q_hold,
    )  # fmt: skip
    shown = 1.0 - (len(track.hold) - np.count_nonzero(running.roles.mode == HARD)) / (3.0 * n)
    excess = AWAY @ AWAY / (3.0 * shown) - found.state.errors.variance[m]
    assert excess > 0.0
    errors = np.zeros((3 * n, 3 * n))
    errors[3 * m : 3 * m + 3, 3 * m : 3 * m + 3] = excess * np.eye(3)
    C = covariance(problem, track.q, track.multiplier, errors, np.zeros(len(track.hold)))
    F = first_derivative(lambda q: outputs(setup.skeleton, np.array([KNEE]), q), setup.skeleton.tree, track.q)
    expected = np.einsum("kd,de,ke->k", F, C, F)
    np.testing.assert_allclose(added, expected, rtol=1e-4, atol=1e-4 * expected.max())


def test_what_a_marker_often_departs_by_is_usual() -> None:
    """Protects clean walks: the largest of three departures counts, above three of its own deviations from
    home, above two of what is new."""
    health, errors = new_health(1), new_marker_errors(1)
    health.n_seen[0] = 1000
    health.residual[0], health.labelled[0], health.expected[0] = AWAY, 2.0 * AWAY, 0.0
    errors.step[0] = 0.001
    square = AWAY @ AWAY
    errors.usual[0] = 2.0 * square
    assert departure(0, 0.5, OPTIONS, health, errors) == 0.0
    learnt = (2.0 + LEARN_USUAL * (np.array([1.0, 4.0, 1e-6 / square]) - 2.0)) * square
    np.testing.assert_allclose(errors.usual[0], learnt)
    errors.usual[0] = 0.5 * square / OFTEN_AWAY, 1.0, 1.0
    assert departure(0, 0.5, OPTIONS, health, errors) == pytest.approx(0.5 * square / 1.5)
    errors.usual[0] = 0.5 * square / OFTEN_AWAY, 0.5 * 4.0 * square / OFTEN_NEW, 1.0
    assert departure(0, 0.5, OPTIONS, health, errors) == pytest.approx(0.5 * 4.0 * square / 3.0)


def test_a_departure_teaches_no_more_than_what_is_usual() -> None:
    """Protects slides from becoming usual while they last; what has never departed learns all the same."""
    health, errors = new_health(1), new_marker_errors(1)
    health.n_seen[0], health.residual[0], errors.noise[0] = 1000, AWAY, 1e-8
    errors.usual[0] = usual = 1e-6
    departure(0, 0.5, OPTIONS, health, errors)
    assert errors.usual[0, 0] == pytest.approx(usual + LEARN_USUAL * (MOST_TAUGHT - 1.0) * usual)
    errors.usual[0] = 0.0
    departure(0, 0.5, OPTIONS, health, errors)
    assert errors.usual[0, 0] == pytest.approx(LEARN_USUAL * MOST_TAUGHT * 1e-8)


def test_the_first_departures_make_the_mean() -> None:
    """Protects the first seconds from flags: what a marker departs by at first is its mean square."""
    health, errors = new_health(1), new_marker_errors(1)
    squares = []
    for k in range(OPTIONS.n_learn):
        health.n_seen[0], health.residual[0] = OPTIONS.n_learn + k, (1.0 + k) * AWAY / OPTIONS.n_learn
        departure(0, 0.5, OPTIONS, health, errors)
        squares.append(health.residual[0] @ health.residual[0])
    assert errors.usual[0, 0] == pytest.approx(np.mean(squares))


def test_faults_are_never_usual() -> None:
    """Protects the flag from a fault that lasts, and from places that nothing foresees."""
    health, errors = new_health(1), new_marker_errors(1)
    health.n_seen[0], health.fault[0] = 1000, OUTLIER
    health.residual[0] = AWAY
    assert departure(0, 0.5, OPTIONS, health, errors) == pytest.approx(AWAY @ AWAY / 1.5)
    np.testing.assert_array_equal(errors.usual, 0.0)


def test_what_a_frame_adds_counts_twice() -> None:
    """Protects the limit: the usual variance as it is, what comes and goes by two of its deviations."""
    joints = JointAxes(*(np.zeros(1, np.int64),) * 2, *(np.zeros((1, 3, 3)),) * 2, *(np.zeros((1, 3)),) * 2)
    limit, usual = np.full(3, 0.1), 0.09**2
    more = (limit[0] ** 2 - usual) / FORESIGHT**2
    out = Deviations(usual + more * np.array([0.99, 1.01, 1.01]), np.zeros(3))
    conclude_deviations(joints, np.zeros(1), np.array([usual, usual, 0.0]), limit, np.zeros(3), out)
    np.testing.assert_array_equal(out.uncertain, [0.0, 1.0, 0.0])
    np.testing.assert_allclose(out.value**2, usual + more * np.array([0.99, 1.01, 1.01]))
