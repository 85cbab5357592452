"""A followed leg under faults of its markers: wrong labels, wrong places, noise, and jumps of the subject."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from rtsim.config.runs.run_schema import MarkerCheck, Solver
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from tests.kernels import leg
from tests.kernels.leg import (
    FIRST,
    LEAVES_DEG,
    NAMES,
    angle_gap,
    follow_frame,
    indices,
    settled,
    state_gap,
    uninterrupted,
)

Array = NDArray[np.floating]

METHODS = leg.SOFT_METHODS
N_MARKER = len(NAMES)
HALF_TURN = Rotation.from_euler("Y", 180.0, degrees=True).as_matrix()


@pytest.mark.parametrize("method", METHODS)
def test_every_swap_is_found_and_put_right(method: str) -> None:
    """Protects swapped labels: any two markers exchanged are named, and the pose is that of right labels."""
    wrong = []
    for i in range(N_MARKER):
        # every second pair by the default method, every fourth by the others
        step = 2 if method == "minimised" else 4
        for j in range(i % step, i, step):
            measured = leg.exact_trial().markers[FIRST].copy()
            measured[[i, j]] = measured[[j, i]]
            frame = follow_frame(settled(method), measured)
            named = frame.solution.n_swap == 1 and frame.swap_with[i] == j and frame.swap_with[j] == i
            right = frame.weight.sum() == N_MARKER and angle_gap(frame, uninterrupted(method)[FIRST]) < 1e-6
            if not (named and right):
                wrong.append((NAMES[i], NAMES[j]))
    assert not wrong


@pytest.mark.parametrize(
    ("first", "second"), [("P1", "P2"), ("T2", "T3"), ("S4", "S5"), ("F2", "F3"), ("T4", "S1")]
)
@pytest.mark.parametrize("method", METHODS)
def test_swap_that_lasts_is_found_on_every_frame(method: str, first: str, second: str) -> None:
    """Protects a swap from becoming normal, and the frame on which it ends."""
    running, pair = settled(method), indices(first, second)
    for k in range(8):
        measured = leg.exact_trial().markers[FIRST + k].copy()
        measured[pair] = measured[pair[::-1]]
        frame = follow_frame(running, measured)
        assert frame.solution.n_swap == 1
        assert angle_gap(frame, uninterrupted(method)[FIRST + k]) < 0.5 + 2.0 * LEAVES_DEG[method]
    frame = follow_frame(running, leg.exact_trial().markers[FIRST + 8])
    assert frame.solution.n_swap == 0
    assert state_gap(running, frame, uninterrupted(method)[FIRST + 8]) < 1e-6


def test_two_swaps_at_once() -> None:
    """Protects the count, and the pose without four markers."""
    measured = leg.exact_trial().markers[FIRST].copy()
    for pair in (indices("T1", "T2"), indices("S1", "F1")):
        measured[pair] = measured[pair[::-1]]
    frame = follow_frame(settled("minimised"), measured)
    assert frame.solution.n_swap == 2
    assert angle_gap(frame, uninterrupted("minimised")[FIRST]) < 0.5


@pytest.mark.parametrize("pair", [("T1", "T2"), ("S1", "S2"), ("P1", "P2")])
def test_labels_exchanged_from_the_first_frame_on_are_not_held_against_right_ones(
    pair: tuple[str, str],
) -> None:
    """Protects from what was learnt at first: as soon as labels are right no marker is at fault, because
    the segment has the shape of its calibration."""
    running, both = settled("minimised", 0), indices(*pair)
    for k in range(FIRST):
        measured = leg.exact_trial().markers[k].copy()
        measured[both] = measured[both[::-1]]
        follow_frame(running, measured)
    follow_frame(running, leg.exact_trial().markers[FIRST])
    for k in range(FIRST + 1, FIRST + 4):
        frame = follow_frame(running, leg.exact_trial().markers[k])
        assert not running.health.fault.any()
    assert angle_gap(frame, uninterrupted("minimised")[FIRST + 3]) < 1e-3


def test_faults_are_only_reported_when_nothing_may_be_weighed_down() -> None:
    """Protects the user's choice: with downweighting off swaps are named and all weights stay 1."""
    running = settled("minimised")
    running.set_downweighting(False)
    measured = leg.exact_trial().markers[FIRST].copy()
    measured[indices("T1", "T2")] = measured[indices("T2", "T1")]
    measured[indices("F1")] += 0.3
    frame = follow_frame(running, measured)
    assert frame.solution.n_swap == 1
    np.testing.assert_array_equal(frame.weight, 1.0)
    running.set_downweighting(True)
    measured = leg.exact_trial().markers[FIRST + 1].copy()
    measured[indices("F1")] += 0.3
    assert follow_frame(running, measured).weight[indices("F1")] == 0.0


@pytest.mark.parametrize("direction", ["+X", "+Y", "+Z", "-X", "-Y", "-Z"])
@pytest.mark.parametrize("method", METHODS)
def test_displaced_marker_is_weighed_down(method: str, direction: str) -> None:
    """Protects the pose from any one marker that jumps by 0.3 m: weight near 0, angles within 0.5 degree."""
    shift = 0.3 * np.eye(3)["XYZ".index(direction[1])] * (1.0 if direction[0] == "+" else -1.0)
    wrong = []
    for m in range(N_MARKER):
        running, measured = settled(method), leg.exact_trial().markers[FIRST].copy()
        measured[m] += shift
        frame = follow_frame(running, measured)
        after = follow_frame(running, leg.exact_trial().markers[FIRST + 1])
        kept = np.delete(frame.weight, m).min() == 1.0 and frame.weight[m] < 0.1
        right = angle_gap(frame, uninterrupted(method)[FIRST]) < 0.5
        back = state_gap(running, after, uninterrupted(method)[FIRST + 1]) < 1e-6
        if not (kept and right and back):
            wrong.append(NAMES[m])
    assert not wrong


@pytest.mark.parametrize("size", [0.1, 2.0])
@pytest.mark.parametrize("method", METHODS)
def test_displacements_of_any_size_are_weighed_down(method: str, size: float) -> None:
    """Protects the pose from markers a hand's breadth off and from those of somebody else across the room."""
    wrong = []
    for m in range(N_MARKER):
        measured = leg.exact_trial().markers[FIRST].copy()
        measured[m, m % 3] += size
        frame = follow_frame(settled(method), measured)
        if frame.weight[m] > 0.5 or angle_gap(frame, uninterrupted(method)[FIRST]) > 0.5:
            wrong.append(NAMES[m])
    assert not wrong


@pytest.mark.parametrize("second", ["moved", "hidden"])
@pytest.mark.parametrize("method", METHODS)
def test_displaced_marker_beside_another_fault(method: str, second: str) -> None:
    """Protects segments with two faults at once: two markers 0.3 m off, or one off and one occluded."""
    wrong = []
    for m in range(N_MARKER):
        measured, other = leg.exact_trial().markers[FIRST].copy(), (m + 1) % N_MARKER
        measured[m, 2] += 0.3
        measured[other] = measured[other] - 0.3 if second == "moved" else np.nan
        frame = follow_frame(settled(method), measured)
        stays = angle_gap(frame, uninterrupted(method)[FIRST]) < 0.5 + 2.0 * LEAVES_DEG[method]
        if frame.weight[[m, other]].max() > 0.1 or not stays:
            wrong.append(NAMES[m])
    assert not wrong


@pytest.mark.parametrize("method", METHODS)
def test_first_frame_weighs_markers_down_too(method: str) -> None:
    """Protects a start with somebody else's marker: metres off, it soon weighs nothing."""
    running = leg.estimator(method)
    for k in range(2):
        measured = leg.exact_trial().markers[k].copy()
        measured[indices("T1")] += [0.0, 0.0, 2.0]
        frame = follow_frame(running, measured, leg.DT if k else 0.0)
    assert frame.weight[indices("T1")] == 0.0
    assert angle_gap(frame, uninterrupted(method)[1]) < 0.5


@pytest.mark.parametrize("method", METHODS)
def test_bad_first_frame_is_left_at_the_next_look(method: str) -> None:
    """Protects a run from its first frame: a wrong start, learnt as normal, ends with the second look."""
    wrong = []
    for name, axis, size in (("S1", 2, -0.3), ("T1", 1, 0.3), ("F2", 0, -0.3)):
        running = MultibodyEstimator(
            leg.lower_limb(), leg.SUBJECT, method, solver=Solver(restart_interval=10), check=leg.QUICK
        )
        first = leg.exact_trial().markers[0].copy()
        first[indices(name), axis] += size
        follow_frame(running, first, 0.0)
        for measured in leg.exact_trial().markers[1:13]:
            frame = follow_frame(running, measured)
        if angle_gap(frame, uninterrupted(method)[12]) > 0.5:
            wrong.append(name)
    assert not wrong


@pytest.mark.parametrize("method", METHODS)
def test_frame_of_noise_leaves_nothing_behind(method: str) -> None:
    """Protects recovery of the whole chain: after noise on all markers the pose is right in a few frames."""
    wrong = []
    for seed, spread in enumerate((0.05, 0.1)):
        rng, running = np.random.default_rng([seed, 96]), settled(method)
        follow_frame(running, leg.exact_trial().markers[FIRST] + rng.normal(0.0, spread, (N_MARKER, 3)))
        for k in range(1, 5):
            frame = follow_frame(running, leg.exact_trial().markers[FIRST + k])
        if angle_gap(frame, uninterrupted(method)[FIRST + 4]) > 0.5:
            wrong.append(seed)
    assert not wrong


@pytest.mark.parametrize("name", ["P1", "P2", "T3", "T5", "S1", "S5", "F1", "F3"])
@pytest.mark.parametrize("method", METHODS)
def test_displacement_that_lasts_stays_weighed_down(method: str, name: str) -> None:
    """Protects the pose for as long as a marker is 0.3 m off, and the frame after."""
    running, marker = settled(method), indices(name)
    for k in range(15):
        measured = leg.exact_trial().markers[FIRST + k].copy()
        measured[marker] += [0.0, 0.0, 0.3]
        frame = follow_frame(running, measured)
        assert frame.weight[marker] < 0.1
        assert angle_gap(frame, uninterrupted(method)[FIRST + k]) < 0.5
    frame = follow_frame(running, leg.exact_trial().markers[FIRST + 15])
    assert state_gap(running, frame, uninterrupted(method)[FIRST + 15]) < 1e-6


@pytest.mark.compiled
def test_displacement_that_lasts_with_the_shipped_numbers() -> None:
    """Protects the defaults: learnt for 0.3 s, a marker 0.3 m off for 0.3 s never counts."""
    exact = leg.exact_trial(60).markers
    running = leg.estimator("minimised", check=MarkerCheck())
    leg.follow(running, exact[:30])
    clean = leg.follow(leg.estimator("minimised", check=MarkerCheck()), exact)
    for k in range(30, 60):
        measured = exact[k].copy()
        measured[indices("S1")] += [0.0, 0.0, 0.3]
        frame = follow_frame(running, measured)
        assert frame.weight[indices("S1")] < 0.1
        assert angle_gap(frame, clean[k]) < 0.5


def test_displaced_marker_leaves_no_speed_behind() -> None:
    """Protects the next prediction: it goes on from the accepted pose, not from the one the marker spoilt."""
    running, clean = settled("minimised"), settled("minimised")
    measured = leg.exact_trial().markers[FIRST].copy()
    measured[indices("P2")] += [0.0, 0.0, 0.3]
    follow_frame(running, measured)
    follow_frame(clean, leg.exact_trial().markers[FIRST])
    after = follow_frame(running, leg.exact_trial().markers[FIRST + 1])
    usual = follow_frame(clean, leg.exact_trial().markers[FIRST + 1])
    assert after.solution.iterations <= usual.solution.iterations + 1


@pytest.mark.parametrize("place", [1e2, 1e6, 1e200])
@pytest.mark.parametrize("method", METHODS)
def test_absurd_place_of_one_marker_passes(method: str, place: float) -> None:
    """Protects the stream from one absurd number: nothing raises, and the next good frame is right."""
    wrong = []
    for name in ("P2", "T2", "S5", "F1"):
        running, measured = settled(method), leg.exact_trial().markers[FIRST].copy()
        measured[indices(name), 1] = place
        with np.errstate(all="ignore"):
            frame = follow_frame(running, measured)
        assert not frame.solution.converged or angle_gap(frame, uninterrupted(method)[FIRST]) < 0.5
        after = follow_frame(running, leg.exact_trial().markers[FIRST + 1])
        if state_gap(running, after, uninterrupted(method)[FIRST + 1]) > 1e-6:
            wrong.append(name)
    assert not wrong


def jumped(measured: Array, R: Array, shift: Array) -> Array:
    """Return markers turned about their mean and shifted."""
    centre = measured.mean(axis=0)
    return (measured - centre) @ R.T + centre + shift


@pytest.mark.parametrize("method", METHODS)
def test_teleport_and_half_turn_are_recovered_at_once(method: str) -> None:
    """Protects huge jumps: two metres away and facing backwards, the same frame has the right angles."""
    running = settled(method)
    for k in range(3):
        measured = jumped(leg.exact_trial().markers[FIRST + k], HALF_TURN, np.array([2.0, 0.0, 0.0]))
        frame = follow_frame(running, measured)
        assert frame.solution.converged
        assert angle_gap(frame, uninterrupted(method)[FIRST + k]) < 1e-5
        np.testing.assert_array_equal(frame.weight, 1.0)


@pytest.mark.parametrize("method", METHODS)
def test_any_rigid_jump_is_recovered_at_once(method: str) -> None:
    """Protects jumps in any direction: rigidly moved markers change the pelvis, never an angle."""
    rng, wrong = np.random.default_rng(95), []
    for trial in range(15):
        R, shift = Rotation.random(None, rng).as_matrix(), rng.normal(0.0, 2.0, 3)
        frame = follow_frame(settled(method), jumped(leg.exact_trial().markers[FIRST], R, shift))
        if not frame.solution.converged or angle_gap(frame, uninterrupted(method)[FIRST]) > 1e-5:
            wrong.append(trial)
    assert not wrong


@pytest.mark.parametrize("method", METHODS)
def test_half_turn_during_a_pause_is_no_swap(method: str) -> None:
    """Protects a subject who turned round while the stream paused: left and right are not swapped."""
    wrong = []
    for i, j in (("P1", "P2"), ("P1", "P3"), ("P3", "P4"), ("T4", "T5"), ("F2", "F3")):
        measured = leg.exact_trial().markers[FIRST]
        centre = measured[indices(i, j)].mean(axis=0)
        frame = follow_frame(settled(method), (measured - centre) @ HALF_TURN.T + centre, dt=2.0)
        if frame.solution.n_swap > 0 or angle_gap(frame, uninterrupted(method)[FIRST]) > 1e-5:
            wrong.append((i, j))
    assert not wrong
