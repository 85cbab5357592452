"""Odds of two assemblies: the dense covariance of the markers, chance, and how frames add up."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.joints.tree import integrate, pose
from kernels.markers.marker_cost import model_markers
from kernels.solver.configuration_likelihood import KEPT, MOST_ODDS, add_up, evidence
from kernels.solver.optimality import FrameProblem
from rtsim.config.runs.run_schema import Uncertainty
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from tests.kernels import leg
from tests.kernels.uncertainty.test_deviation import running_at
from tests.naive.deviation import marker_covariance

Array = NDArray[np.floating]


def odds_of(running: MultibodyEstimator, measured: Array, weight: Array) -> float:
    """Return the logarithm of the odds for the published pose, after two_poses."""
    setup, found = running._now, running.deviations
    assert found is not None
    skeleton, track = setup.skeleton, setup.state.track
    problem = FrameProblem(
        skeleton.tree, skeleton.markers, skeleton.elements, running.roles, measured, weight, track.hold,
        track.q_hold,
    )  # fmt: skip
    own, skin = found.state.errors.variance, found.options.bounds.skin
    return evidence(skeleton, problem, skin, own, setup.work.solver, found._work[2])


def two_poses(running: MultibodyEstimator) -> tuple[Array, Array, Array]:
    """Return the markers of the published pose and of the other one, in which the solver's work is left, and
    the covariance of their errors.
    """
    setup, found = running._now, running.deviations
    assert found is not None
    assert found.state.other.there[0] == 1
    skeleton, at, q = setup.skeleton, setup.work.solver, setup.state.track.q.copy()
    here = at.marker.model.copy()
    found._work[2].here[:] = here
    integrate(skeleton.tree, q, found.state.other.gap[0], 1.0, q)
    pose(skeleton.tree, q, at.pose)
    model_markers(skeleton.markers, at.pose, at.marker.model)
    skin, own = found.options.bounds.skin, found.state.errors.variance
    return here, at.marker.model.copy(), marker_covariance(skeleton, q, own, *skin)


@pytest.mark.parametrize("rigid_part", [0.0, 0.7, 1.0])
def test_odds_are_those_of_the_dense_covariance(rigid_part: float) -> None:
    """Protects the likelihood ratio of the two poses, with weights, a missing marker, and errors that
    markers have alone or share."""
    running, measured = running_at("zero", stated=Uncertainty(rigid_part=rigid_part))
    here, beyond, errors = two_poses(running)
    weight = np.random.default_rng(5).uniform(0.2, 1.0, len(here))
    weight[3], measured[3] = 0.0, np.nan
    d = np.repeat(weight, 3) * (beyond - here).ravel()
    more = np.nansum(d * (0.5 * (here + beyond) - measured).ravel())
    expected = float(d @ (beyond - here).ravel()) * more / (d @ errors @ d)
    assert odds_of(running, measured, weight) == pytest.approx(expected, rel=1e-9)


def test_odds_of_equal_errors_are_the_difference_of_the_objectives() -> None:
    """Protects the size of the odds: (F2 - F1) / s^2 where every marker has an error s of its own."""
    running, measured = running_at("zero", stated=Uncertainty())
    here, beyond, _ = two_poses(running)
    assert running.deviations is not None
    s = 0.003
    running.deviations.state.errors.variance[:] = s * s
    running.deviations.options.bounds.skin.shift[:] = running.deviations.options.bounds.skin.turn[:] = 0.0
    gap = 0.5 * np.sum((beyond - measured) ** 2) - 0.5 * np.sum((here - measured) ** 2)
    assert odds_of(running, measured, np.ones(len(here))) == pytest.approx(gap / s**2, rel=1e-9)


def test_as_many_are_the_other_one_as_is_said() -> None:
    """Protects the meaning of the probability: markers of either pose with the errors that are stated, shared
    ones among them; of those held to be the other one by a part p, a part p is."""
    running, _ = running_at("zero", stated=Uncertainty())
    found = running.deviations
    assert found is not None
    found.state.errors.variance[:] *= 16.0  # errors that leave it open which
    for size in (found.options.bounds.skin.turn, found.options.bounds.skin.shift):
        size[:] *= 4.0
    poses, rng = two_poses(running), np.random.default_rng(6)
    root = np.linalg.cholesky(poses[2] + 1e-12 * np.eye(len(poses[2])))
    said, true = [], []
    for k in range(4000):
        error = (root @ rng.normal(size=len(root))).reshape(-1, 3)
        said.append(1.0 / (1.0 + np.exp(odds_of(running, poses[k % 2] + error, np.ones(len(error))))))
        true.append(k % 2)
    unsure = 0
    for part in np.array_split(np.argsort(said), 10):
        p = np.array(said)[part]
        chance = np.sqrt(np.mean(p * (1.0 - p)) / len(part))
        assert abs(np.mean(np.array(true)[part]) - p.mean()) < 4.0 * chance + 1.0 / len(part)
        unsure += int(0.1 < p.mean() < 0.9)
    assert unsure >= 2


def test_frames_add_up_as_often_as_errors_are_others() -> None:
    """Protects against counting one error many times: any frame rate says the same, and what is old fades."""
    assert add_up(7.0, 2.0, False, 0.0, 0.3) == 2.0
    assert add_up(7.0, 2.0, True, 0.0, 0.3) == 7.0
    assert add_up(0.0, 2.0, True, 5.0, 0.3) == 2.0
    ends = []
    for dt in (0.0025, 0.01):
        odds = add_up(0.0, 1.0, False, 0.0, 0.3)
        for _ in range(round(0.9 / dt)):
            odds = add_up(odds, 1.0, True, dt, 0.3)
        ends.append(odds)
    fade = np.exp(-0.9 / KEPT)
    np.testing.assert_allclose(ends, fade + (1.0 - fade) * KEPT / 0.3, rtol=0.01)
    assert add_up(0.0, -1e9, False, 0.0, 0.3) == -MOST_ODDS


def test_odds_change_their_sign_with_the_poses() -> None:
    """Protects what is handed over where the published pose becomes the other one."""
    running, measured = running_at("zero", stated=Uncertainty())
    here, beyond, _ = two_poses(running)
    found = running.deviations
    assert found is not None
    skin = found.options.bounds.skin
    skin.turn[:] = skin.shift[:] = 0.0  # that have their arms at one of the poses
    one = np.ones(len(leg.NAMES))
    before = odds_of(running, measured, one)
    running._now.work.solver.marker.model[:], found._work[2].here[:] = here, beyond
    assert odds_of(running, measured, one) == pytest.approx(-before, rel=1e-9)
    assert abs(before) > 1.0
