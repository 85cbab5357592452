"""A followed leg with clean markers, with gaps, and without any marker at all."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels import leg
from tests.kernels.leg import (
    DT,
    FIRST,
    LEAVES_DEG,
    NAMES,
    angle_gap,
    follow_frame,
    hidden,
    indices,
    settled,
    state_gap,
    uninterrupted,
)

METHODS = leg.SOFT_METHODS
N_MARKER = len(NAMES)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("method", leg.METHODS)
def test_clean_markers_all_weigh_one(method: str, soft: bool) -> None:
    """Protects clean data: weights are exactly 1 on every frame, nothing is swapped, everything converges."""
    for frame in uninterrupted(method, soft):
        np.testing.assert_array_equal(frame.weight, 1.0)
        np.testing.assert_array_equal(frame.swap_with, -1)
        said = frame.solution
        assert said.converged
        assert (said.n_open, said.n_visible, said.n_swap) == (0, N_MARKER, 0)
        assert said.residual <= 1e-11


@pytest.mark.parametrize("method", METHODS)
def test_one_occluded_marker_hardly_changes_the_pose(method: str) -> None:
    """Protects single gaps: no dof opens, the others keep their weight, and the angles stay."""
    for name in NAMES:
        running = settled(method)
        for k in range(2):
            frame = follow_frame(running, hidden(FIRST + k, name))
            assert frame.solution.converged
            assert (frame.solution.n_open, frame.solution.n_visible) == (0, N_MARKER - 1)
            assert angle_gap(frame, uninterrupted(method)[FIRST + k]) < LEAVES_DEG[method], name
            assert np.isnan(frame.residuals[indices(name)]).all()
            np.testing.assert_array_equal(frame.weight, np.arange(N_MARKER) != indices(name)[0])


@pytest.mark.parametrize("method", METHODS)
def test_one_occluded_marker_with_soft_tissue(method: str) -> None:
    """Protects single gaps on imperfect data: a marker's own error is all that leaves with it."""
    for name in NAMES:
        running = settled(method, soft=True)
        measured = leg.soft_tissue_trial()[FIRST].copy()
        measured[indices(name)] = np.nan
        assert angle_gap(follow_frame(running, measured), uninterrupted(method, True)[FIRST]) < 2.0, name


# dofs that neither markers nor hard elements determine, of the isometric and of the other knees
OPEN = {"pelvis": (3, 3), "thigh": (0, 1), "shank": (0, 0), "foot": (1, 1)}


@pytest.mark.parametrize("segment", leg.SEGMENTS)
@pytest.mark.parametrize("method", METHODS)
def test_whole_segment_gone_is_held(method: str, segment: str) -> None:
    """Protects long gaps: open dofs are counted and held, the pose stays near, and it still converges."""
    running, expected = settled(method), OPEN[segment][method != "zero"]
    for k in range(4):
        frame = follow_frame(running, hidden(FIRST + k, segment))
        assert frame.solution.converged
        assert frame.solution.n_open == expected
        assert angle_gap(frame, uninterrupted(method)[FIRST + k]) < 5.0


@pytest.mark.parametrize("method", METHODS)
def test_foot_gone_keeps_the_ankle(method: str) -> None:
    """Protects the held angle itself: without foot markers the ankle stays where it was."""
    running = settled(method)
    last = uninterrupted(method)[FIRST - 1]
    for k in range(4):
        frame = follow_frame(running, hidden(FIRST + k, "foot"))
        np.testing.assert_allclose(frame.angles[2], last.angles[2], atol=0.3)
        # hip and knee go on with their own markers
        gone = 4.0 * LEAVES_DEG[method]
        np.testing.assert_allclose(frame.angles[:2], uninterrupted(method)[FIRST + k].angles[:2], atol=gone)


@pytest.mark.parametrize("gone", [("foot",), ("shank",), ("shank", "foot"), leg.SEGMENTS])
@pytest.mark.parametrize("method", METHODS)
def test_return_of_the_markers_is_the_return_of_the_pose(method: str, gone: tuple[str, ...]) -> None:
    """Protects recovery: the first complete frame is that of the run without any gap, to 1e-6."""
    running = settled(method)
    for k in range(4):
        follow_frame(running, hidden(FIRST + k, *gone))
    for k in range(4, 7):
        frame = follow_frame(running, leg.exact_trial().markers[FIRST + k])
        assert frame.solution.converged
        assert state_gap(running, frame, uninterrupted(method)[FIRST + k]) < 1e-6
        np.testing.assert_array_equal(frame.weight, 1.0)


@pytest.mark.parametrize("method", METHODS)
def test_no_marker_at_all_keeps_the_pose(method: str) -> None:
    """Protects empty frames: the pose stays, the error of nothing is NaN, and the count says 0."""
    running = settled(method)
    last = uninterrupted(method)[FIRST - 1]
    for k in range(4):
        frame = follow_frame(running, hidden(FIRST + k, *leg.SEGMENTS))
        assert frame.solution.converged
        assert frame.solution.n_visible == 0
        assert frame.solution.n_open > 0
        # soft ligaments pull the knee as nothing pulls back
        assert angle_gap(frame, last) < (1e-6 if method == "zero" else 2.0)
        assert np.isnan(running.outputs.rms[0])
        assert np.isnan(frame.residuals).all()
        np.testing.assert_allclose(running.health.gap_age, (k + 1) * DT, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_stream_that_begins_empty_starts_with_the_first_markers(method: str) -> None:
    """Protects the very first frames: without markers everything is open and the pose is one; then solved."""
    running = leg.estimator(method)
    for _ in range(2):
        frame = follow_frame(running, hidden(0, *leg.SEGMENTS), 0.0)
        assert frame.solution.n_visible == 0
        assert frame.solution.n_open > 0
        assert np.linalg.norm(frame.q[3:7]) == pytest.approx(1.0)
        np.testing.assert_allclose(np.linalg.det(running.pose[1]), 1.0, atol=1e-12)
    frame = follow_frame(running, leg.exact_trial().markers[1])
    assert frame.solution.converged
    assert state_gap(running, frame, uninterrupted(method)[1]) < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_first_frame_with_a_gap_spoils_nothing(method: str) -> None:
    """Protects what is learnt: a marker missing from the first frame (dt = 0) is no worse later."""
    running = leg.estimator(method)
    follow_frame(running, hidden(0, "T2"), 0.0)
    for measured in leg.exact_trial().markers[1:FIRST]:
        follow_frame(running, measured)
    assert np.isfinite(running.health.mean).all()
    assert np.isfinite(running.health.mean_residual).all()
    measured = leg.exact_trial().markers[FIRST].copy()
    measured[indices("T2")] += [0.1, 0.0, 0.0]
    assert follow_frame(running, measured).weight[indices("T2")] < 1.0
