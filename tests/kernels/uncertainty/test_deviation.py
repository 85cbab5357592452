"""Deviations of a frame's numbers: the twin, the solver's own answers to moved markers, and chance."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.markers.marker_health import SEGMENT
from kernels.solver.alternative_configuration import new_alternative_configuration
from kernels.solver.optimality import FrameProblem
from kernels.solver.undetermined_dofs import HELD_ANGLE, HELD_ANGLE_SPEED, MOST_ANGLE
from kernels.uncertainty.deviation import average_variances, new_deviation_state
from kernels.uncertainty.marker_errors import new_marker_errors
from rtsim.config.runs.run_schema import MarkerCheck, Uncertainty
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from tests.kernels import leg
from tests.naive.deviation import covariance, marker_covariance, outputs
from tests.naive.differences import first_derivative

Array = NDArray[np.floating]

FRAME, KNEE = 12, 1
CHECK = MarkerCheck(downweight=False)
EXACT = Uncertainty(
    least_noise_mm=1.0, most_noise_mm=1.0, pelvis_mm=1e-6, thigh_mm=1e-6, shank_mm=1e-6, foot_mm=1e-6,
    average_s=0.0,
)  # fmt: skip
"""Every marker has 1 mm of noise and nothing else."""


def running_at(
    method: str, hidden: tuple[str, ...] = (), stated: Uncertainty = EXACT, n_hidden: int = 1
) -> tuple[MultibodyEstimator, Array]:
    """Return an estimator after some frames, in the last of which markers are hidden, and that frame."""
    running = MultibodyEstimator(leg.lower_limb(), leg.SUBJECT, method, check=CHECK, uncertainty=stated)
    trial = leg.soft_tissue_trial()[FRAME - 4 : FRAME + n_hidden].copy()
    trial[4:, leg.indices(*hidden)] = np.nan
    for k, measured in enumerate(trial):
        solution = running.estimate(measured, leg.DT if k else 0.0)
        assert solution.converged
        running.deviate(leg.DT if k else 0.0, solution)
    return running, trial[-1]


def predicted(running: MultibodyEstimator) -> Array:
    """Return the deviations of all numbers, in the kernel's order."""
    found = running.deviations
    assert found is not None
    parts = (found.angles, found.displacements, found.lengthening, found.contact_points)
    return np.concatenate([np.ravel(part) for part in parts])


def numbers(running: MultibodyEstimator) -> Array:
    """Return all numbers of the last frame, in the same order."""
    out = running.outputs
    parts = (out.angles, out.displacements[KNEE], out.lengthening, out.contact_points)
    return np.concatenate([np.ravel(part) for part in parts])


def again(running: MultibodyEstimator, start: tuple, measured: Array) -> Array | None:
    """Return the numbers of a frame solved from the same start; None where it was not solved."""
    state = running._now.state
    for tracks, kept in zip((state.track, state.first), start, strict=True):
        for array, before in zip(tracks, kept, strict=True):
            array[...] = before
        tracks.doubt[0] = 100  # the same assembly
    return numbers(running) if running.estimate(measured, 0.0).converged else None


def start_of(running: MultibodyEstimator) -> tuple:
    state = running._now.state
    return copy.deepcopy(tuple(state.track)), copy.deepcopy(tuple(state.first))


@pytest.mark.parametrize("method", ["zero", "minimised", "hinge", "ball", "free"])
@pytest.mark.parametrize("hidden", [(), ("T2", "P4"), ("foot",)])
@pytest.mark.parametrize("rigid_part", [0.0, 0.7, 1.0])
def test_deviations_are_the_twins(method: str, hidden: tuple[str, ...], rigid_part: float) -> None:
    """Protects the propagation from the null space of the constraints, with markers missing, dofs held, and
    errors that are each marker's own, shared by a segment, or both."""
    running, measured = running_at(method, hidden, Uncertainty(rigid_part=rigid_part, average_s=0.0))
    setup, found = running._now, running.deviations
    assert found is not None
    track, weight = setup.state.track, running.health.weight
    problem = FrameProblem(
        setup.skeleton.tree, setup.skeleton.markers, setup.skeleton.elements, running.roles, measured, weight,
        track.hold, track.q_hold,
    )  # fmt: skip
    skin = found.options.bounds.skin
    assert (skin.turn > 0.0).all() == (rigid_part > 0.0)
    errors = marker_covariance(setup.skeleton, track.q, found.state.errors.variance, *skin)
    held = np.full(len(track.hold), HELD_ANGLE**2 + (HELD_ANGLE_SPEED * leg.DT) ** 2)
    C = covariance(problem, track.q, track.multiplier, errors, held)
    F = first_derivative(lambda q: outputs(setup.skeleton, np.array([KNEE]), q), setup.skeleton.tree, track.q)
    other = found.state.other
    square = np.einsum("kd,de,ke->k", F, C, F) + other.part @ other.shift**2
    expected = np.sqrt(np.maximum(square, 0.0))
    np.testing.assert_allclose(predicted(running), expected, rtol=1e-5, atol=1e-9)
    assert (expected > 1e-3).any()


@pytest.mark.parametrize("method", leg.METHODS)
@pytest.mark.parametrize("hidden", [(), ("T2", "S4")])
def test_deviations_are_those_of_the_solvers_own_answers(method: str, hidden: tuple[str, ...]) -> None:
    """Protects every method: each coordinate of each marker moved in turn and the frame solved again."""
    running, measured = running_at(method, hidden)
    expected, start, step = predicted(running), start_of(running), 1e-5
    total = np.zeros(len(expected))
    for m, i in np.argwhere(np.isfinite(measured)):
        moved = [measured.copy(), measured.copy()]
        moved[0][m, i] += step
        moved[1][m, i] -= step
        there, back = (again(running, start, x) for x in moved)
        assert there is not None
        assert back is not None
        total += ((there - back) / (2.0 * step)) ** 2
    # lengths of `prescribed` answer to markers at the pose of `zero`; Jacobians are of the second pose
    rtol = 1e-2 if method == "prescribed" else 2e-3
    np.testing.assert_allclose(expected, 1e-3 * np.sqrt(total), rtol=rtol, atol=2e-8)


@pytest.mark.compiled
@pytest.mark.parametrize("method", leg.METHODS)
@pytest.mark.parametrize("hidden", [(), ("T2", "S4")])
def test_deviations_are_those_of_noisy_copies(method: str, hidden: tuple[str, ...]) -> None:
    """Protects what a deviation means: 2000 copies of a frame with 1 mm of noise scatter by as much."""
    running, measured = running_at(method, hidden)
    expected, start, rng = predicted(running), start_of(running), np.random.default_rng(3)
    n_copy = 2000
    found = [again(running, start, measured + rng.normal(0.0, 1e-3, measured.shape)) for _ in range(n_copy)]
    scatter = np.std([x for x in found if x is not None], axis=0)
    assert sum(x is None for x in found) == 0
    moves = expected > 1e-7
    # of 22 scatters the worst is within 4 of its own deviations, and 2 % of curvature
    np.testing.assert_allclose(scatter[moves], expected[moves], rtol=4.0 / np.sqrt(2 * n_copy) + 0.02)
    # what the joints keep moves by curvature alone
    assert (scatter[~moves] < 1e-5).all()


@pytest.mark.parametrize("method", ["zero", "hinge"])
def test_leg_without_thigh_and_shank_is_uncertain(method: str) -> None:
    """Protects frames that foot and pelvis alone determine, a knee that bends forwards as one backwards."""
    former = np.zeros(9)
    for n_hidden in (1, 5, 20):
        found = running_at(method, ("thigh", "shank"), Uncertainty(), n_hidden)[0].deviations
        assert found is not None
        assert found.uncertain.all()
        assert (found.angles.ravel() > former).all()
        former = found.angles.ravel().copy()
    for hidden in ((), ("thigh",), ("shank",)):
        found = running_at(method, hidden, Uncertainty())[0].deviations
        assert found is not None
        assert not found.uncertain[3]


def test_held_dofs_grow_uncertain() -> None:
    """Protects frames whose dofs nothing determines: at once above the limit, growing up to a circle."""
    angles = []
    for n_hidden in (1, 5, 20):
        running, _ = running_at("ball", ("foot", "shank"), Uncertainty(), n_hidden)
        found = running.deviations
        assert found is not None
        angles.append(found.angles[2].max())
        assert found.uncertain[6:].any()
    assert HELD_ANGLE < angles[0] < angles[1] < angles[2] <= MOST_ANGLE


def test_variances_are_averaged_while_the_same_markers_determine_all() -> None:
    """Protects numbers near a turning point: the mean of the last frames, while all is seen."""
    plain, averaged = (Uncertainty(average_s=s) for s in (0.0, 0.5))
    frames = {"plain": [], "averaged": []}
    for name, stated in (("plain", plain), ("averaged", averaged)):
        running = MultibodyEstimator(
            leg.lower_limb(), leg.SUBJECT, "minimised", check=CHECK, uncertainty=stated
        )
        trial = leg.soft_tissue_trial()[:8].copy()
        trial[6, leg.indices("T2")] = np.nan
        for k, measured in enumerate(trial):
            dt = leg.DT if k else 0.0
            running.deviate(dt, running.estimate(measured, dt))
            frames[name].append(predicted(running) ** 2)
    own, mean = np.array(frames["plain"]), np.array(frames["averaged"])
    np.testing.assert_array_equal(mean[0], own[0])  # no time has gone by
    for k in range(1, 6):  # a mean of all until the time constant counts
        np.testing.assert_allclose(mean[k], own[1 : k + 1].mean(axis=0), rtol=1e-12)
    # a marker that goes makes nothing more certain, and the mean goes on when it is back
    np.testing.assert_allclose(mean[6], np.maximum(own[6], mean[5]), rtol=1e-12)
    np.testing.assert_allclose(mean[7], np.mean([*own[1:6], own[7]], axis=0), rtol=1e-12)


def test_frames_at_fault_are_no_part_of_the_mean() -> None:
    """Protects recovery: poses at fault, as of labels in any order, have variances that say nothing of later
    ones."""
    frames = {0.0: [], 0.5: []}
    for seconds, found in frames.items():
        stated = Uncertainty(average_s=seconds)
        running = MultibodyEstimator(
            leg.lower_limb(), leg.SUBJECT, "minimised", check=CHECK, uncertainty=stated
        )
        for k, measured in enumerate(leg.soft_tissue_trial()[:6]):
            dt = leg.DT if k else 0.0
            solution = running.estimate(measured, dt)
            if k == 3:
                running.health.fault[leg.indices("foot")] = SEGMENT
            running.deviate(dt, solution)
            found.append(predicted(running) ** 2)
    own, mean = (np.array(found) for found in frames.values())
    np.testing.assert_allclose(mean[3], np.maximum(own[3], mean[2]), rtol=1e-12)
    np.testing.assert_allclose(mean[5], own[[1, 2, 4, 5]].mean(axis=0), rtol=1e-12)


def test_a_mean_begins_anew_where_a_marker_stays_away() -> None:
    """Protects deviations after a marker is lost for good: those of the markers that are left."""
    found = {}
    for seconds in (0.0, 0.05):
        stated = Uncertainty(average_s=seconds)
        running = MultibodyEstimator(
            leg.lower_limb(), leg.SUBJECT, "minimised", check=CHECK, uncertainty=stated
        )
        trial = leg.soft_tissue_trial()[:14].copy()
        trial[4:, leg.indices("T2")] = np.nan
        for k, measured in enumerate(trial):
            dt = leg.DT if k else 0.0
            running.deviate(dt, running.estimate(measured, dt))
            found[seconds, k] = predicted(running) ** 2
    # away for longer than the time constant from frame 9 on, the next one is the first of the new mean
    np.testing.assert_allclose(found[0.05, 10], found[0.0, 10], rtol=1e-12)
    np.testing.assert_allclose(found[0.05, 11], 0.5 * (found[0.0, 10] + found[0.0, 11]), rtol=1e-12)


def test_a_mean_begins_anew_where_a_marker_comes_in_sight() -> None:
    """Protects recovery: the mean of frames that lacked a marker says nothing of those that show it."""
    found = {}
    for seconds in (0.0, 0.5):
        stated = Uncertainty(average_s=seconds)
        running = MultibodyEstimator(
            leg.lower_limb(), leg.SUBJECT, "minimised", check=CHECK, uncertainty=stated
        )
        trial = leg.soft_tissue_trial()[:8].copy()
        trial[:5, leg.indices("T2", "T3")] = np.nan
        for k, measured in enumerate(trial):
            dt = leg.DT if k else 0.0
            running.deviate(dt, running.estimate(measured, dt))
            found[seconds, k] = predicted(running) ** 2
    np.testing.assert_allclose(found[0.5, 5], found[0.0, 5], rtol=1e-12)
    np.testing.assert_allclose(found[0.5, 6], 0.5 * (found[0.0, 5] + found[0.0, 6]), rtol=1e-12)


def test_what_stays_away_does_not_become_usual() -> None:
    """Protects the limit: a marker that is lost for good counts in all frames without it as in the first,
    until all are back; one more than ever makes another usual variance."""
    other = new_alternative_configuration(np.zeros(0, np.int64), 1, 0, 1)
    state, there = new_deviation_state(1, 1, 1, new_marker_errors(3), other), np.ones(3)

    def frames(n: int, weight: Array, variance: float) -> tuple[float, float]:
        for _ in range(n):
            value = np.full(1, variance)
            average_variances(0.01, 0.05, weight, True, state, value)
        return state.mean[0], state.usual[0]

    first, less = np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])
    assert frames(20, first, 2.0) == pytest.approx((2.0, 2.0))
    assert frames(40, less, 5.0) == pytest.approx((5.0, 2.0))
    assert frames(40, first, 3.0) == pytest.approx((3.0, 3.0), rel=1e-3)
    assert frames(40, there, 1.0) == pytest.approx((1.0, 1.0), rel=1e-3)
    assert frames(40, first, 3.0) == pytest.approx((3.0, 1.0), rel=1e-3)


@pytest.mark.parametrize("before", [1e20, np.nan])
def test_nothing_is_left_of_a_mean_when_another_begins(before: float) -> None:
    """Protects deviations after frames that were hardly determined: a new mean is of its frames alone."""
    state = new_deviation_state(
        1, 1, 2, new_marker_errors(3), new_alternative_configuration(np.zeros(0, np.int64), 1, 0, 2)
    )
    state.mean[:] = before
    for variance in (4.0, 2.0):
        value = np.full(2, variance)
        average_variances(0.01, 0.5, np.ones(3), True, state, value)
    np.testing.assert_array_equal(value, 3.0)


@pytest.mark.parametrize("method", leg.METHODS)
def test_factors_that_the_solver_leaves_are_those_of_the_solution(method: str) -> None:
    """Protects what is not computed again: the last step's factors, and the pose that others read."""
    running, measured = running_at(method)
    work = running._now.work.solver
    expected, pose = predicted(running), work.pose.position.copy()
    solution = running.estimate(measured, 0.0)
    work.size[0] = np.inf  # the solver has left none
    running.deviate(0.0, solution)
    np.testing.assert_allclose(predicted(running), expected, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(work.pose.position, pose, rtol=0.0, atol=1e-9)


def test_frames_that_are_not_solved_have_none() -> None:
    """Protects against old deviations beside a pose that is none: NaN, and every angle uncertain."""
    running, measured = running_at("minimised")
    solution = running.estimate(measured, leg.DT)._replace(converged=False)
    running.deviate(leg.DT, solution)
    assert np.isnan(predicted(running)).all()
    assert running.deviations is not None
    assert running.deviations.uncertain.all()


@pytest.mark.compiled
def test_results_are_the_same_bit_for_bit() -> None:
    """Protects the results from their deviations: every array of an estimator without them."""
    trial = leg.soft_tissue_trial()[:12].copy()
    trial[5:8, leg.indices("T2", "foot")] = np.nan
    for method in leg.METHODS:
        plain = MultibodyEstimator(leg.lower_limb(), leg.SUBJECT, method, check=leg.QUICK)
        stated = MultibodyEstimator(
            leg.lower_limb(), leg.SUBJECT, method, check=leg.QUICK, uncertainty=Uncertainty()
        )
        for k, measured in enumerate(trial):
            dt = leg.DT if k else 0.0
            expected_solution, solution = plain.estimate(measured, dt), stated.estimate(measured, dt)
            assert solution == expected_solution
            stated.deviate(dt, solution)
            np.testing.assert_array_equal(stated.q, plain.q)
            for found, expected in zip(stated.outputs, plain.outputs, strict=True):
                np.testing.assert_array_equal(found, expected)
