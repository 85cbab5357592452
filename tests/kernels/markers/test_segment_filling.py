"""Markers that are gone for a while are kept where the rest of their segment has them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.joints.tree import Pose, new_pose
from kernels.markers.marker_cost import ModelMarkers
from kernels.markers.marker_health import Health, HealthOptions, new_health, visibility
from kernels.markers.segment_filling import (
    ANY_TURN,
    OF_ROOT,
    PULLS,
    SHARE,
    WITHIN,
    FillOptions,
    Segments,
    fill_in,
    find_silent,
    learn_segments,
    new_segments,
    spread_of_turn,
)
from kernels.solver.frame import FrameOptions
from kernels.solver.initial_pose import BodyFitWork, new_fit_work
from rtsim.config.runs.run_schema import MarkerCheck, Solver
from rtsim.methods.kinematics.frame_options import health_options, track_options

Array = NDArray[np.floating]
DT, N_LEARN = 0.01, 5
FILL = FillOptions(longest=0.5, smoothing=0.04, rest=0.15, least=0.01)
HEALTH: HealthOptions = health_options(MarkerCheck(n_learn=N_LEARN), np.ones(4))
OPTIONS = FrameOptions(track_options(Solver()), HEALTH, FILL)
LOCAL = np.array([[0.1, 0.02, 0.0], [-0.1, 0.0, 0.03], [0.02, 0.15, -0.02], [0.0, -0.12, 0.05]])
OFFSET = np.array([[0.01, 0.0, -0.004], [0.0, 0.012, 0.0], [-0.006, 0.0, 0.008], [0.0, 0.005, 0.005]])
RMS = 0.013


class Scene(NamedTuple):
    """One segment with four markers off the model, turning at a constant rate while it moves."""

    markers: ModelMarkers
    pose: Pose
    health: Health
    segments: Segments
    fit: BodyFitWork
    turn: Array  # (3,) rad/s
    body: int

    def measured(self, time: float) -> Array:
        """Return the markers of a time [s], (4, 3) m, and leave the segment's pose."""
        b = self.body
        self.pose.rotation[b] = (Rotation.from_rotvec(self.turn * time) * START).as_matrix()
        self.pose.position[b] = (1.3 * time, 0.9, 0.1 * math.sin(9.0 * time))
        return (LOCAL + OFFSET) @ self.pose.rotation[b].T + self.pose.position[b]

    def frame(self, k: int, gone: tuple[int, ...] = (), options: FrameOptions = OPTIONS) -> Array:
        """Go through frame k without some of the markers; return where all are, (4, 3) m."""
        truth = self.measured(k * DT)
        seen = truth.copy()
        seen[list(gone)] = np.nan
        visibility(seen, DT, self.health)
        fill_in(self.markers, seen, DT, options, self.health, self.segments, self.fit)
        for m in range(4):
            if m not in gone:
                self.health.n_seen[m] += 1
                self.health.mean[m] = OFFSET[m]
        learn_segments(self.markers, self.pose, RMS, DT, options, self.health, self.segments, self.fit)
        return truth


START = Rotation.from_rotvec([0.4, -0.7, 0.2])


def scene(turn: tuple[float, float, float] = (0.3, -0.2, 1.1), n_frame: int = 200, body: int = 0) -> Scene:
    """Return the segment after some frames with all its markers; body 0 is a root, others are limbs."""
    made = Scene(
        ModelMarkers(np.full(4, body, np.int64), LOCAL), new_pose(body + 1, 6), new_health(4),
        new_segments(body + 1, 4), new_fit_work(), np.array(turn), body,
    )  # fmt: skip
    for k in range(n_frame):
        made.frame(k)
    return made


def test_markers_that_are_there_are_passed_on() -> None:
    """Protects complete frames: places and weights are those that were measured, to the last bit."""
    made = scene()
    truth = made.frame(200)
    np.testing.assert_array_equal(made.segments.place, truth)
    np.testing.assert_array_equal(made.segments.weight, 1.0)
    assert not made.segments.filled.any()
    assert not made.segments.doubt.any()


@pytest.mark.parametrize("gone", range(4))
def test_three_markers_carry_the_fourth(gone: int) -> None:
    """Protects the place of a marker beside three others: rigid with them, its offset from the model kept."""
    made = scene()
    for k in range(200, 230):
        truth = made.frame(k, (gone,))
        assert np.abs(made.segments.place[gone] - truth[gone]).max() < 1e-5
        assert 0.5 < made.segments.weight[gone] < 1.0


def test_what_two_markers_leave_open_goes_on_and_comes_to_rest() -> None:
    """Protects the turn about the line of two markers: it goes on at its rate, decaying as exp(-t / rest)."""
    line = (LOCAL + OFFSET)[1] - (LOCAL + OFFSET)[0]
    axis = START.apply(line / np.linalg.norm(line))
    made = scene(tuple(1.2 * axis))
    for k in range(200, 240):
        made.frame(k, (2, 3))
    ages = DT * np.arange(1, 41)
    went = 1.2 * (199 * DT + DT * np.exp(-ages / FILL.rest).sum())
    expected = (Rotation.from_rotvec(went * axis) * START).as_matrix()
    np.testing.assert_allclose(made.segments.rotation[0], expected, atol=2e-3)


def test_the_deviation_of_a_place_follows_from_the_others_and_from_time() -> None:
    """Protects doubt and weight: the markers' second moments, and the way at the usual rate so far."""
    made = scene()
    for k, age in ((200, DT), (201, 2 * DT), (202, 3 * DT)):
        made.frame(k, (2, 3))
        y = (LOCAL + OFFSET)[:2]
        usual = SHARE * max(OF_ROOT, math.sqrt(made.segments.swing[0])) * age
        M = (y - y.mean(0)).T @ (y - y.mean(0))
        C = np.linalg.inv((np.trace(M) * np.eye(3) - M) / WITHIN**2 + np.eye(3) / min(usual, ANY_TURN) ** 2)
        for m in (2, 3):
            a = (LOCAL + OFFSET)[m] - y.mean(0)
            across = np.cross(np.eye(3), a)
            variance = WITHIN**2 + np.trace(across.T @ C @ across)
            assert made.segments.doubt[m] == pytest.approx(math.sqrt(variance), rel=1e-9)
            own = PULLS * made.segments.misfit[0]
            assert made.segments.weight[m] == pytest.approx(own / (own + variance), rel=1e-9)


def test_a_segment_that_stood_still_may_swing() -> None:
    """Protects markers that are missed as a foot leaves the ground: what is doubtful of their places is no
    less than what a thigh in walking does (20 degrees to either side, a stride a second), though the segment
    has only been seen to stand."""
    made = scene((0.0, 0.0, 0.0), body=1)
    line = START.apply((LOCAL + OFFSET)[1] - (LOCAL + OFFSET)[0])
    for k in range(1, 21):
        angle = math.radians(20.0) * (1.0 - math.cos(2.0 * math.pi * k * DT))
        swung = made._replace(turn=angle / ((200 + k) * DT) * line / np.linalg.norm(line))
        truth = swung.frame(200 + k, (2, 3))
        off = np.linalg.norm(made.segments.place[2:] - truth[2:], axis=1)
        assert (off < 2.0 * made.segments.doubt[2:]).all()
    assert off.max() > 0.03


def test_a_pose_that_the_joints_made_is_not_believed() -> None:
    """Protects the orientation of a segment of which one marker was left for some frames: it is kept."""
    made = scene()
    before = made.segments.rotation[0].copy()
    for k in range(200, 210):
        made.measured(k * DT)
        made.pose.rotation[0] = np.eye(3)  # far off
        seen = np.full((4, 3), np.nan)
        seen[0] = 1.0
        visibility(seen, DT, made.health)
        fill_in(made.markers, seen, DT, OPTIONS, made.health, made.segments, made.fit)
        learn_segments(made.markers, made.pose, RMS, DT, OPTIONS, made.health, made.segments, made.fit)
    np.testing.assert_array_equal(made.segments.rotation[0], before)
    assert made.segments.since[0] == pytest.approx(10 * DT)
    made.frame(300, (1, 2, 3))
    assert made.segments.doubt.max() == 0.0


def test_the_usual_rate_is_learnt() -> None:
    """Protects rate and swing: angular velocity in ground, and its mean square."""
    made = scene((0.3, -0.2, 1.1), 400)
    np.testing.assert_allclose(made.segments.rate[0], made.turn, rtol=1e-3)
    assert made.segments.swing[0] == pytest.approx(made.turn @ made.turn, rel=1e-2)
    assert made.segments.misfit[0] == pytest.approx(RMS**2)


def test_a_marker_is_given_up_after_a_time() -> None:
    """Protects the end of a long gap: after `longest` the marker takes no part, and the others go on."""
    made = scene()
    for k in range(200, 200 + round(FILL.longest / DT) + 2):
        made.frame(k, (2,))
    assert made.segments.weight[2] == 0.0
    assert not made.segments.filled.any()
    made.frame(260, (1, 2))
    assert made.segments.weight[1] > 0.0
    assert made.segments.weight[2] == 0.0


@pytest.mark.parametrize("case", ["one left", "first frame", "unknown", "switched off", "not solved before"])
def test_what_cannot_be_filled_in_is_left_out(case: str) -> None:
    """Protects the limits: fewer than two others, no frame before, a marker that is not known, no wish."""
    made = scene(n_frame=0 if case == "first frame" else 3 if case == "unknown" else 50)
    options, gone = OPTIONS, (2,)
    if case == "one left":
        gone = (1, 2, 3)
    if case == "switched off":
        options = OPTIONS._replace(fill=FILL._replace(longest=0.0))
    if case == "not solved before":
        made.segments.begun[0] = 0
    made.frame(50, gone, options)
    assert all(made.segments.weight[m] == 0.0 for m in gone)
    assert not made.segments.filled.any()


def test_the_spread_of_a_turn_is_an_inverse() -> None:
    """Protects the closed form against NumPy's inverse."""
    rng = np.random.default_rng(3)
    found = np.zeros((3, 3))
    for prior in (1e-3, 0.1, 0.6):
        y = rng.normal(size=(3, 3)) * 0.1
        M = y.T @ y
        spread_of_turn(M, prior, found)
        expected = np.linalg.inv((np.trace(M) * np.eye(3) - M) / WITHIN**2 + np.eye(3) / prior**2)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_segment_has_regained_a_marker_in_the_frame_that_it_is_back() -> None:
    """Protects leaps from being missed: only then, and not while all its markers are there."""
    made = scene()
    assert made.segments.regained[made.body] == 0
    made.frame(200, gone=(2,))
    assert made.segments.regained[made.body] == 0
    made.frame(201)
    assert made.segments.regained[made.body] == 1
    made.frame(202)
    assert made.segments.regained[made.body] == 0


class Chain(NamedTuple):
    """What of a tree tells which body hangs on which dof."""

    parent: NDArray[np.int64]
    dof_body: NDArray[np.int64]


def test_guesses_teach_nothing() -> None:
    """Protects what is usual: bodies beyond a dof that was held, and those filled in; not loose ones."""
    tree, segments = Chain(np.array([-1, 0, 1, 0, 3]), np.arange(5)), new_segments(5, 1)
    loose, held = np.array([0, 0, 0, 1, 0]), np.array([0, 1, 0, 1, 0])
    segments.filled[3] = 1
    find_silent(tree, held, loose, segments)
    np.testing.assert_array_equal(segments.silent, [0, 1, 1, 1, 0])
    find_silent(tree, np.zeros(5, np.int64), loose, segments)
    np.testing.assert_array_equal(segments.silent, [0, 0, 0, 1, 0])
