"""One frame from markers to results: the outputs against twins, and the estimator's state between frames."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.solver.constraints import HARD
from rtsim.config.runs.run_schema import MarkerCheck, Solver
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from tests.kernels import leg
from tests.kernels.leg import DT, angle_gap, follow_frame, settled, state_gap, uninterrupted
from tests.naive import knee_tables
from tests.naive.constraints import ends, value
from tests.naive.joint_angles import angles, displacement
from tests.naive.tree import State, state

Array = NDArray[np.floating]

METHODS = ("zero", "minimised", "prescribed")
FIRST = 12


def running_at(method: str) -> tuple[MultibodyEstimator, Array]:
    """Return an estimator after a frame with soft tissue and one occluded marker, and that frame."""
    running, measured = settled(method, soft=True), leg.soft_tissue_trial()[FIRST].copy()
    measured[4] = np.nan
    follow_frame(running, measured)
    return running, measured


@pytest.fixture(params=leg.METHODS)
def solved(request: pytest.FixtureRequest) -> tuple[MultibodyEstimator, Array, State]:
    """An estimator after a frame, the frame, and the twin of its tree at the solution."""
    running, measured = running_at(request.param)
    return running, measured, state(running.model.tree, running.q)


def test_exact_markers_give_the_states_back() -> None:
    """Protects the whole chain for `zero`: coordinates to nanometres, markers on top of the measured ones."""
    for frame, q, markers in zip(uninterrupted("zero"), *leg.exact_trial(), strict=True):
        np.testing.assert_allclose(np.abs(frame.q), np.abs(q), atol=1e-9)
        np.testing.assert_allclose(frame.markers, markers, atol=1e-9)
        np.testing.assert_allclose(frame.residuals, 0.0, atol=1e-9)


def test_hard_elements_hold_and_pose_is_that_of_the_coordinates(
    solved: tuple[MultibodyEstimator, Array, State],
) -> None:
    """Protects pose and constraints of every method: the twin at the same coordinates agrees."""
    running, _, at = solved
    position, rotation = running.pose
    for b, body in enumerate(at.body):
        np.testing.assert_allclose(position[b], body[:3, 3], atol=1e-12)
        np.testing.assert_allclose(rotation[b], body[:3, :3], atol=1e-12)
    model = running.model
    for e in map(int, np.flatnonzero(running.roles.mode == HARD)):
        assert abs(value(at, model.elements, e, running.roles.target[e])) < 1e-10


def test_markers_residuals_and_rms(solved: tuple[MultibodyEstimator, Array, State]) -> None:
    """Protects what is said about markers: places, distances, NaN where occluded, RMS of the visible ones."""
    running, measured, at = solved
    model, out = running.model, running.outputs
    model = np.array(
        [at.point(b, x) for b, x in zip(model.markers.body, model.markers.position, strict=True)]
    )
    np.testing.assert_allclose(out.markers, model, atol=1e-12)
    distance = np.linalg.norm(measured - model, axis=1)
    np.testing.assert_allclose(out.residuals, distance, atol=1e-12)
    assert np.flatnonzero(np.isnan(out.residuals)).tolist() == [4]
    assert out.rms[0] == pytest.approx(np.sqrt(np.nanmean(distance**2)), abs=1e-12)


def test_angles_and_displacements(solved: tuple[MultibodyEstimator, Array, State]) -> None:
    """Protects the joint coordinate systems of the leg against the twin's."""
    running, _, at = solved
    joints, out = running.model.joints, running.outputs
    for j, (p, d) in enumerate(zip(joints.proximal, joints.distal, strict=True)):
        proximal = at.body[p][:3, :3] @ joints.axes_proximal[j]
        distal = at.body[d][:3, :3] @ joints.axes_distal[j]
        gap = at.point(d, joints.point_distal[j]) - at.point(p, joints.point_proximal[j])
        np.testing.assert_allclose(out.angles[j], angles(proximal, distal), atol=1e-12)
        np.testing.assert_allclose(out.displacements[j], displacement(proximal, distal, gap), atol=1e-12)


def test_ligaments_contacts_and_points(solved: tuple[MultibodyEstimator, Array, State]) -> None:
    """Protects lengthening, contact points in the tibia's frame, and the line of the stick figure."""
    running, _, at = solved
    model, out = running.model, running.outputs
    neutral = knee_tables.neutral_lengths()
    for k, e in enumerate(model.reported.ligaments):
        a, b, _ = ends(at, model.elements, e)
        assert out.lengthening[k] == pytest.approx(np.linalg.norm(a - b) / neutral[k] - 1.0, abs=1e-12)
    for k, e in enumerate(model.reported.contacts):
        a, b, n = ends(at, model.elements, e)
        body = at.body[model.elements.body_b[e]]
        on_plane = a - ((a - b) @ n) * n
        np.testing.assert_allclose(
            out.contact_points[k], body[:3, :3].T @ (on_plane - body[:3, 3]), atol=1e-12
        )
    for place, b, x in zip(out.points, model.outline.body, model.outline.points, strict=True):
        np.testing.assert_allclose(place, at.point(int(b), x), atol=1e-12)


def test_prescribed_lengths_are_those_of_eq_1() -> None:
    """Protects the targets of `prescribed`: eq. 1 at the flexion that `zero` finds on the same frame."""
    running, zero = leg.estimator("prescribed"), uninterrupted("zero", soft=True)
    for k, measured in enumerate(leg.soft_tissue_trial()[:10]):
        follow_frame(running, measured, DT if k else 0.0)
        # knee flexion as eq. 1 counts it: flexion negative, which is the kernel's own sign
        expected = knee_tables.experimental_lengths(zero[k].angles[1, 0])
        found = running.roles.target[running.model.reported.ligaments]
        np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_second_looks_change_nothing_when_the_first_is_right(method: str) -> None:
    """Protects frames with a second look: same results as without, whatever the rejected start was."""
    often = MultibodyEstimator(
        leg.lower_limb(), leg.SUBJECT, method, solver=Solver(restart_interval=1), check=leg.QUICK
    )
    for frame, expected in zip(
        leg.follow(often, leg.soft_tissue_trial()[:10]), uninterrupted(method, soft=True), strict=False
    ):
        assert state_gap(often, frame, expected) < 1e-8
        np.testing.assert_array_equal(frame.weight, 1.0)


def test_method_says_when_the_one_before_it_fails() -> None:
    """Protects `prescribed` from lengths that nobody found: without `zero` the frame is not converged."""
    hurried = MultibodyEstimator(
        leg.lower_limb(), leg.SUBJECT, "prescribed", solver=Solver(max_iterations=1), check=leg.QUICK
    )
    frame = follow_frame(hurried, leg.soft_tissue_trial()[0], 0.0)
    assert not frame.solution.converged
    assert np.isfinite(frame.angles).all()
    assert np.isfinite(frame.markers).all()


@pytest.mark.parametrize("method", METHODS)
def test_order_of_frames_does_not_matter_much(method: str) -> None:
    """Protects against memory in the solution: the same frame from scratch is the same optimum."""
    for k in (0, 7, 19):
        fresh = leg.estimator(method)
        frame = follow_frame(fresh, leg.soft_tissue_trial()[k], 0.0)
        assert state_gap(fresh, frame, uninterrupted(method, soft=True)[k]) < 1e-8


@pytest.mark.parametrize(
    "path", [("zero", "minimised", "prescribed", "zero"), ("minimised", "hinge", "free", "zero")]
)
def test_methods_switch_between_two_frames(path: tuple[str, ...]) -> None:
    """Protects live switching: each method's first frame is the one it would have had all along."""
    running = leg.estimator(path[0], tuple(path[1:]))
    soft, k = leg.soft_tissue_trial(), 0
    for method in path:
        running.switch(method)
        assert running.method == method
        for _ in range(3):
            frame = follow_frame(running, soft[k], DT if k else 0.0)
            assert frame.solution.converged
            assert state_gap(running, frame, uninterrupted(method, soft=True)[k]) < 1e-8
            k += 1


def test_switching_to_the_same_method_and_to_an_unknown_one() -> None:
    """Protects the edges of switching: the same method goes on, an unknown one is a KeyError."""
    running = settled("minimised")
    running.switch("minimised")
    frame = follow_frame(running, leg.exact_trial().markers[FIRST])
    assert state_gap(running, frame, uninterrupted("minimised")[FIRST]) < 1e-8
    with pytest.raises(KeyError):
        running.switch("nothing")
    assert running.method == "minimised"


@pytest.mark.parametrize("method", METHODS)
def test_restart_forgets_everything(method: str) -> None:
    """Protects a new subject: frames after restart() are, bit by bit, those of a new estimator."""
    used, fresh = settled(method, soft=True), leg.estimator(method)
    spoilt = leg.soft_tissue_trial()[FIRST].copy()
    spoilt[3] += 0.2
    spoilt[7] = np.nan
    follow_frame(used, spoilt)
    used.restart()
    for k, measured in enumerate(leg.exact_trial().markers[5:9]):
        for found, expected in zip(
            follow_frame(used, measured, DT if k else 0.0)[1:],
            follow_frame(fresh, measured, DT if k else 0.0)[1:],
            strict=True,
        ):
            np.testing.assert_array_equal(found, expected)
    for found, expected in zip(used.health, fresh.health, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", METHODS)
def test_frames_without_time_between_them(method: str) -> None:
    """Protects dt = 0 (a repeated time stamp): same solutions, no NaN, and a next frame as usual."""
    running = settled(method)
    for _ in range(3):
        frame = follow_frame(running, leg.exact_trial().markers[FIRST], 0.0)
        assert frame.solution.converged
        assert state_gap(running, frame, uninterrupted(method)[FIRST]) < 1e-8
        np.testing.assert_array_equal(frame.weight, 1.0)
    after = follow_frame(running, leg.exact_trial().markers[FIRST + 1])
    assert state_gap(running, after, uninterrupted(method)[FIRST + 1]) < 1e-8
    expected = running.health.expected  # NaN where nothing is foreseen
    assert all(np.isfinite(part).all() for part in running.health if part is not expected)


@pytest.mark.parametrize("dt", [1e-6, 0.5, 30.0, -0.01])
def test_odd_times_between_frames(dt: float) -> None:
    """Protects irregular streams: bursts, long pauses and clocks that step back leave the solution alone."""
    running = settled("minimised")
    for k in range(3):
        frame = follow_frame(running, leg.exact_trial().markers[FIRST + k], dt)
        assert frame.solution.converged
        assert state_gap(running, frame, uninterrupted("minimised")[FIRST + k]) < 1e-8
    expected = running.health.expected  # NaN where nothing is foreseen
    assert all(np.isfinite(part).all() for part in running.health if part is not expected)


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinite_coordinates_are_occlusions(bad: float) -> None:
    """Protects a frame from infinities: as if the marker was not there."""
    measured, hidden = (leg.exact_trial().markers[FIRST].copy() for _ in range(2))
    measured[6, 2], hidden[6] = bad, np.nan
    found, expected = follow_frame(settled("minimised"), measured), follow_frame(settled("minimised"), hidden)
    np.testing.assert_array_equal(found.q, expected.q)
    assert found.solution == expected.solution
    assert np.isnan(found.residuals[6])


def test_angles_do_not_depend_on_where_the_leg_is() -> None:
    """Protects the angles from where the leg is: any rigid motion of all markers over the whole trial."""
    R, shift = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.array([5.0, -3.0, 20.0])
    moved = leg.follow(leg.estimator("minimised"), leg.soft_tissue_trial()[:6] @ R.T + shift)
    for frame, expected in zip(moved, uninterrupted("minimised", soft=True), strict=False):
        assert angle_gap(frame, expected) < 1e-6


@pytest.mark.parametrize("shape", ["float32", "strided", "short", "list"])
def test_wrong_arrays_are_refused(shape: str) -> None:
    """Protects the compiled code, which trusts what it is given: a TypeError before anything is read."""
    running, measured = settled("minimised"), leg.exact_trial().markers[FIRST].copy()
    wrong = {
        "float32": measured.astype(np.float32),
        "strided": np.repeat(measured, 2, axis=1)[:, ::2],
        "short": measured[:-1].copy(),
        "list": measured.tolist(),
    }[shape]
    with pytest.raises((TypeError, AttributeError)):
        running.estimate(wrong, DT)


@pytest.mark.parametrize("method", METHODS)
def test_clean_frames_are_the_same_bit_by_bit_whatever_is_done_about_faults(method: str) -> None:
    """Protects what is published of clean markers: looking for faults changes no digit of it."""
    measured = leg.soft_tissue_trial()
    never = MarkerCheck(floor_mm=1e6, unknown_mm=1e6, agreement_mm=1e6, swap_distance_mm=1e6, n_learn=5)
    found = [
        leg.follow(leg.estimator(method, check=check), measured)
        for check in (MarkerCheck(n_learn=5), MarkerCheck(n_learn=5, downweight=False), never)
    ]
    for frames in zip(*found, strict=True):
        for frame in frames:
            assert frame.solution.n_fault == frame.solution.n_swap == 0
            np.testing.assert_array_equal(frame.q, frames[0].q)
            np.testing.assert_array_equal(frame.angles, frames[0].angles)
            np.testing.assert_array_equal(frame.residuals, frames[0].residuals)
