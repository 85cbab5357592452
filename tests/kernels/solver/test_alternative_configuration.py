"""The other assembly of the knee of `zero`: found, followed, and stated where it may be the true one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.joints.tree import integrate, new_pose, pose
from kernels.solver.alternative_configuration import EVERY, LOOK_SELDOM, SELDOM
from kernels.solver.constraints import HARD
from kernels.solver.outputs import read_outputs
from rtsim.config.runs.run_schema import Uncertainty
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.load import load_model
from rtsim.subjects.anatomy import for_person
from tests.kernels import leg
from tests.kernels.uncertainty.test_deviation import CHECK, numbers, predicted
from tests.rtsim.stages.whole_person import both_legs

Array = NDArray[np.floating]

STATED = Uncertainty(average_s=0.0)
NEVER = 10**6
"""Frames."""
KNEE_ROTATION = 5
"""Among all numbers."""


def fresh(method: str = "zero", looks: bool = True) -> MultibodyEstimator:
    """Return an estimator at its beginning, which may look for other assemblies."""
    running = MultibodyEstimator(leg.lower_limb(), leg.SUBJECT, method, check=CHECK, uncertainty=STATED)
    assert running.deviations is not None
    if not looks:
        running.deviations.state.other.wait[:] = NEVER
    return running


def follow(running: MultibodyEstimator, frames: Array, first: bool = True) -> None:
    """Estimate frames with their deviations, never comparing the solution with new starts."""
    for k, measured in enumerate(frames):
        dt = 0.0 if first and k == 0 else leg.DT
        solution = running.estimate(measured, dt)
        assert solution.converged
        running.deviate(dt, solution)
        running._now.state.track.doubt[0] = NEVER
        running._now.state.track.fit[0] = np.inf


def into_the_other(running: MultibodyEstimator) -> None:
    """Publish the other assembly from the next frame on."""
    setup = running._now
    assert running.deviations is not None
    track = setup.state.track
    integrate(setup.skeleton.tree, track.q.copy(), running.deviations.state.other.gap[0], 1.0, track.q)
    track.multiplier[:] = 0.0
    track.speed[:] = 0.0


def true_numbers(k: int) -> Array:
    """Return the numbers of a frame's exact markers."""
    running = fresh(looks=False)
    follow(running, leg.exact_trial().markers[k : k + 1])
    return numbers(running)


def test_what_numbers_are_more_there_is_what_they_are_there() -> None:
    """Protects the gaps: the frame published from the other assembly has the numbers that were stated."""
    running = fresh()
    follow(running, leg.soft_tissue_trial()[:1])
    found = running.deviations
    assert found is not None
    assert found.state.other.there[0] == 1
    before, shift = numbers(running), found.state.other.shift[0].copy()
    into_the_other(running)
    running._now.state.track.trusted[0] = 0
    assert running.estimate(leg.soft_tissue_trial()[0], 0.0).converged
    np.testing.assert_allclose(numbers(running), before + shift, atol=1e-3)
    assert abs(shift[KNEE_ROTATION]) > np.radians(5.0)
    hard = running.roles.mode[running._now.skeleton.ligaments] == HARD
    assert hard.any()
    assert (shift[12 : 12 + len(hard)][hard] == 0.0).all()


def test_variances_and_covariances_have_it_by_its_probability() -> None:
    """Protects the mean square about what is published: p times the squares of the gaps, of numbers and of
    the pose, beside what they have without."""
    plain, running = fresh(looks=False), fresh()
    for each in (plain, running):
        follow(each, leg.soft_tissue_trial()[:1])
    assert plain.deviations is not None
    assert running.deviations is not None
    other = running.deviations.state.other
    assert 0.01 < other.part[0] < 0.1
    expected = predicted(plain) ** 2 + other.part[0] * other.shift[0] ** 2
    np.testing.assert_allclose(predicted(running) ** 2, expected, rtol=1e-9, atol=1e-20)
    more = running.deviations.covariance - plain.deviations.covariance
    np.testing.assert_allclose(more, other.part[0] * np.outer(other.gap[0], other.gap[0]), atol=1e-12)
    noise = running.deviations.noise_covariance - plain.deviations.noise_covariance
    np.testing.assert_allclose(noise, 0.0, atol=1e-15)


def test_nothing_is_added_where_the_other_fits_much_worse() -> None:
    """Protects good numbers: after the knee was bent, where the other fits three times as badly, deviations
    are what they are without it."""
    plain, running = fresh(looks=False), fresh()
    for each in (plain, running):
        follow(each, leg.soft_tissue_trial())
    assert running.deviations is not None
    other = running.deviations.state.other
    assert other.there[0] == 1
    assert other.part[0] < 1e-6
    np.testing.assert_allclose(predicted(running), predicted(plain), rtol=1e-3, atol=1e-7)
    np.testing.assert_array_equal(numbers(running), numbers(plain))


@pytest.mark.parametrize("n_before", [1, 11])
def test_a_wrong_assembly_is_held_to_be_one(n_before: int) -> None:
    """Protects a reader of numbers of the wrong assembly: the truth is within what is stated, and was not
    without; also where the published pose has changed from one to the other while both were followed."""
    frames = leg.soft_tissue_trial()
    running = fresh()
    follow(running, frames[:n_before])
    into_the_other(running)
    follow(running, frames[n_before:26], first=False)
    found = running.deviations
    assert found is not None
    error = np.abs(numbers(running) - true_numbers(25))
    assert found.state.other.part[0] > 0.99
    stated = predicted(running)
    knee = slice(3, 6)
    assert (error[knee] < 1.96 * stated[knee]).all()
    without = np.sqrt(
        np.maximum(stated**2 - found.state.other.part[0] * found.state.other.shift[0] ** 2, 0.0)
    )
    assert error[KNEE_ROTATION] > 5.0 * without[KNEE_ROTATION]
    assert found.uncertain[KNEE_ROTATION] == 1


def test_odds_go_over_to_the_other_side_with_the_pose() -> None:
    """Protects what was learnt when the published pose changes its assembly: what spoke for the one that is
    left speaks for the other now, and the gap points back."""
    running, frames = fresh(), leg.soft_tissue_trial()
    follow(running, frames[:11])
    found = running.deviations
    assert found is not None
    other = found.state.other
    before, gap = other.odds[0], other.gap[0].copy()
    assert before > 5.0
    into_the_other(running)
    other.wait[0] = 0
    follow(running, frames[11:12], first=False)
    assert other.there[0] == 1
    assert other.odds[0] < -0.9 * before
    assert other.gap[0] @ gap < -0.8 * (gap @ gap)


def test_the_published_pose_is_there_again_afterwards() -> None:
    """Protects what reads the solver's pose after the deviations, as places and muscles do: to the last bit
    that of the published coordinates, and no factors that are another pose's."""
    running = fresh()
    follow(running, leg.soft_tissue_trial()[:1])
    setup, found = running._now, running.deviations
    assert found is not None
    assert found.state.other.since[0] == 0.0  # it was solved just now
    at, expected = setup.work.solver, leg.work_of(running.model)
    pose(setup.skeleton.tree, setup.state.track.q, expected.pose)
    np.testing.assert_array_equal(at.pose.position, expected.pose.position)
    np.testing.assert_array_equal(at.pose.twist, expected.pose.twist)
    np.testing.assert_array_equal(at.q_trial, setup.state.track.q)
    assert np.isinf(at.size[0])


def test_it_is_solved_once_in_some_frames() -> None:
    """Protects the time of a frame: often where it is probable, seldom where not, and looks grow rare."""
    running = fresh()
    found = running.deviations
    assert found is not None
    waits = []
    for k, measured in enumerate(leg.soft_tissue_trial()):
        follow(running, measured[np.newaxis], first=k == 0)
        if found.state.other.since[0] == 0.0:
            waits.append(int(found.state.other.wait[0]))
    assert waits[0] == EVERY
    assert waits[-1] == SELDOM
    assert set(waits) == {EVERY, SELDOM}


def test_looks_in_vain_grow_rare_and_take_turns() -> None:
    """Protects the time of models that have no other assembly nearby: markers far beyond their errors."""
    running = fresh()
    found = running.deviations
    assert found is not None
    found.options.bounds.size[:] = 1e-9  # no turn is large enough to reach it
    follow(running, np.repeat(leg.exact_trial().markers[20:21], 200, axis=0))
    other = found.state.other
    assert other.there[0] == 0
    assert other.part[0] == 0.0
    assert other.pause[0] == LOOK_SELDOM


def test_nothing_is_known_of_it_after_a_restart() -> None:
    """Protects a new stream: deviations are those of a first one, to the last bit."""
    running, again = fresh(), fresh()
    follow(running, leg.soft_tissue_trial()[:1])
    follow(again, leg.soft_tissue_trial()[10:28])
    again.restart()
    follow(again, leg.soft_tissue_trial()[:1])
    np.testing.assert_array_equal(predicted(again), predicted(running))


@pytest.mark.parametrize("method", [name for name in leg.METHODS if name != "zero"])
def test_other_methods_have_none(method: str) -> None:
    """Protects methods whose joints are no mechanism of rigid elements: they pay nothing, and nothing is
    added."""
    found = fresh(method).deviations
    assert found is not None
    assert len(found.state.other.body) == 0


def test_numbers_in_a_row_are_those_of_the_frame() -> None:
    """Protects the order in which gaps are added to variances."""
    running = fresh()
    follow(running, leg.soft_tissue_trial()[:3])
    setup, found = running._now, running.deviations
    assert found is not None
    at, out, value = setup.work.solver, found._work[2].out, np.zeros(len(predicted(running)))
    read_outputs(setup.skeleton, found.options.displaced, at.pose, at.element, out, value)
    np.testing.assert_allclose(value, numbers(running), atol=1e-12)


def test_each_knee_has_another_one_of_its_own() -> None:
    """Protects both legs: each knee is followed for itself, not in the same frame, and adds to the numbers of
    its own joints."""
    legs = both_legs()
    running = MultibodyEstimator(
        for_person(load_model("both_legs"), legs), legs, "zero", check=CHECK, uncertainty=STATED
    )
    found, model = running.deviations, running.model
    assert found is not None
    other = found.state.other
    names = [model.names.bodies[b] for b in other.body]
    assert sorted(names) == ["shank_l", "shank_r"]
    at = new_pose(len(model.tree.parent), model.n_v)
    pose(model.tree, model.q_neutral, at)
    measured = np.array(
        [
            at.rotation[b] @ x + at.position[b]
            for b, x in zip(model.markers.body, model.markers.position, strict=True)
        ]
    )
    measured += np.random.default_rng(3).normal(0.0, 0.003, measured.shape)
    follow(running, np.repeat(measured[np.newaxis], 12, axis=0))
    assert other.there.all()
    assert other.since[0] != other.since[1]
    joints = [name.split("_")[0] + name[-2:] for name in model.names.joint_angles[::3]]
    shifts = np.abs(other.shift[:, : 3 * len(joints)]).reshape(2, -1, 3).max(axis=2)
    knees = [joints.index(f"knee{name[-2:]}") for name in names]
    assert (shifts[[0, 1], knees] > np.radians(2.0)).all()
    assert (shifts[[0, 1], knees[::-1]] < 0.2 * shifts[[0, 1], knees]).all()


def test_frames_that_are_not_solved_count_as_time() -> None:
    """Protects from odds of long ago that count as if they were of the last frame."""
    running = fresh()
    follow(running, leg.soft_tissue_trial()[:1])
    found = running.deviations
    assert found is not None
    since = found.state.other.since[0]
    for _ in range(50):
        found.run(leg.DT, converged=False)
    np.testing.assert_allclose(found.state.other.since[0], since + 50 * leg.DT)


def test_a_change_over_is_stated_in_its_own_frame() -> None:
    """Protects the frames until the next solution of the other: what was improbable is published at once."""
    running, trial = fresh(), leg.soft_tissue_trial()
    follow(running, trial[:12])
    assert running.deviations is not None
    other, track = running.deviations.state.other, running._now.state.track
    other.wait[0], before = NEVER, track.q.copy()
    odds = float(other.odds[0])
    assert odds > 5.0
    into_the_other(running)
    solution = running.estimate(trial[12], leg.DT)
    assert solution.converged
    track.q_begin[:] = before  # as where the solver itself leapt within the frame
    running.deviate(leg.DT, solution)
    assert other.odds[0] < 0.0
    assert predicted(running)[KNEE_ROTATION] > 0.9 * abs(other.shift[0, KNEE_ROTATION])
