"""Feet drawn from markers frame by frame against a few lines of plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.markers.foot_lines import FootShape, draw_feet, new_marked_feet

SHAPE = FootShape(0.8, 1.3, 0.22)


def drawn(frames: np.ndarray, fifth: int, outwards: float) -> np.ndarray:
    """(2, 3) - of the last of (n, n_marker, 3) frames of one foot, its heel first."""
    away = np.linalg.norm((frames[:, 1:] - frames[:, :1])[..., [0, 2]], axis=2)
    seen = np.isfinite(away)
    reach = np.where(seen, away, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    fore = [k for k in range(len(reach)) if reach[k] >= SHAPE.forefoot * reach.max() > 0.0]
    if not fore:
        return np.full((2, 3), np.nan)
    heel, middle = frames[-1, 0], frames[-1, 1:][fore].mean(axis=0)
    if fore == [fifth - 1]:
        dx, _, dz = middle - heel
        middle = middle + SHAPE.middle * outwards * np.array([dz, 0.0, -dx])
    return np.array([heel, heel + SHAPE.toes * (middle - heel)])


@pytest.mark.parametrize("z_up", [0, 1])
def test_feet_are_drawn_as_in_plain_python(z_up: int) -> None:
    """Protects heel and toes: several markers on the forefoot, the fifth alone, gaps, units, axes."""
    rng = np.random.default_rng(z_up)
    right = np.array([[0.0, 0.0, 0.0], [0.15, 0.02, 0.04], [0.16, 0.02, -0.04], [0.07, 0.05, 0.0]])
    left = np.array([[0.0, 0.0, -0.3], [0.16, 0.02, -0.36], [0.06, 0.07, -0.3]])
    frames = np.concatenate([right, left]) + rng.normal(0.0, 0.004, (12, 7, 3))
    frames[3, 1] = frames[5, 4] = frames[8, 6] = np.nan
    shuffled = np.array([4, 2, 6, 0, 1, 5, 3])  # row of each marker in the stream
    feet = new_marked_feet(shuffled, np.array([0, 4, 7]), np.array([0, 1]), np.array([1, 5]))
    lines = np.full((2, 2, 3), np.nan)
    for k, frame in enumerate(frames):
        sent = np.empty((7, 3))
        sent[shuffled] = 1000.0 * (frame[:, [0, 2, 1]] * [1.0, -1.0, 1.0] if z_up else frame)
        draw_feet(sent, 0.001, z_up, SHAPE, feet, lines)
        np.testing.assert_allclose(lines[0], drawn(frames[: k + 1, :4], 1, 1.0), atol=1e-12)
        np.testing.assert_allclose(lines[1], drawn(frames[: k + 1, 4:], 1, -1.0), atol=1e-12)


def test_a_foot_whose_markers_were_never_seen_has_no_line() -> None:
    """Protects the first frames: no forefoot, no line, and no division by nothing."""
    feet = new_marked_feet(np.array([0, 1]), np.array([0, 2]), np.array([1]), np.array([-1]))
    lines = np.zeros((2, 2, 3))
    draw_feet(np.array([[0.0, 0.1, 0.0], [np.nan] * 3]), 1.0, 0, SHAPE, feet, lines)
    assert np.isnan(lines[1]).all()
    assert (lines[0] == 0.0).all()


@pytest.mark.parametrize("wild", [0, 1, 2])
def test_a_marker_that_is_far_away_for_a_frame_is_forgotten(wild: int) -> None:
    """Protects the forefoot for the rest of a walk from one frame of a marker that is anywhere."""
    foot = np.array([[0.0, 0.0, 0.0], [0.16, 0.02, 0.0], [0.06, 0.07, 0.0]])
    feet = new_marked_feet(np.arange(3), np.array([0, 3]), np.array([0]), np.array([-1]))
    lines, far = np.full((2, 2, 3), np.nan), foot + 1.0
    far[wild] += 1e6
    for frame in (foot + 1.0, far):
        draw_feet(frame, 1.0, 0, SHAPE, feet, lines)
    # the frame itself has no toes, unless a marker behind the forefoot is the wild one
    assert np.isnan(lines[0, 1]).all() == (wild < 2)
    draw_feet(foot + 1.0, 1.0, 0, SHAPE, feet, lines)
    np.testing.assert_allclose(lines[0], [foot[0] + 1.0, 1.0 + SHAPE.toes * foot[1]], atol=1e-12)


def test_markers_all_at_one_place_have_no_line() -> None:
    """Protects plates from a foot without length: no forefoot, and nothing is divided by nothing."""
    feet = new_marked_feet(np.arange(3), np.array([0, 3]), np.array([0]), np.array([1]))
    lines = np.zeros((2, 2, 3))
    draw_feet(np.ones((3, 3)), 1.0, 0, SHAPE, feet, lines)
    assert np.isnan(lines[0]).all()
