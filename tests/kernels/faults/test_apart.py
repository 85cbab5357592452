"""Joints whose centre is at two places, by means over the frames, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.faults.apart import KNOWN, find_apart, new_gaps
from kernels.faults.calibrated import BY_CHILD, BY_MARKERS, new_shape

Array = NDArray[np.float64]
DT, LIMIT, MEMORY = 0.01, 0.02, 0.5
CENTRE = np.array([[[0.1, -0.4, 0.05], [0.02, 0.01, -0.03]]])
MIDDLE = np.array([[0.03, -0.2, 0.01], [0.05, -0.03, 0.0]])
SOUND = np.zeros(2, np.int64)
PLACES = Rotation.random(400, random_state=3)


def shape_of_two():
    """Two segments that share a joint, both placed by their markers."""
    nobody = np.array([-1]), np.zeros((1, 3)), np.full(1, np.inf)
    shape = new_shape(np.array([[0, 1]]), CENTRE, np.full(2, 0.005), np.full((1, 2), 0.01), *nobody, 6)
    shape.carries[:] = BY_MARKERS
    return shape


def place(shape, k: int, by: Array) -> None:
    """Frame k: both segments turned somehow, the lower one's markers off by `by` (3,) in its axes [m]."""
    upper, lower = PLACES[2 * k % 400], PLACES[(2 * k + 1) % 400]
    joint = np.array([0.3, 0.5, 0.1 * k])
    shape.turned[:] = upper.as_matrix(), lower.as_matrix()
    shape.middle[:, 0] = MIDDLE
    shape.middle[0, 1] = joint + upper.apply(MIDDLE[0] - CENTRE[0, 0])
    shape.middle[1, 1] = joint + lower.apply(MIDDLE[1] - CENTRE[0, 1] + by)


def run(gaps, shifts: Array) -> list[int]:
    """How many joints are apart in each frame."""
    shape, told = shape_of_two(), []
    for k, by in enumerate(shifts):
        place(shape, k, by)
        told.append(find_apart(shape, SOUND, DT, gaps))
    return told


def gaps_of(limit: float = LIMIT):
    return new_gaps(np.array([limit]), np.array([MEMORY]))


def test_segments_that_meet_are_never_apart():
    """Protects clean runs: however joints turn, their two places are one."""
    gaps = gaps_of(1e-9)
    assert not any(run(gaps, np.zeros((100, 3))))
    assert gaps.size[0] < 1e-12


def test_the_mean_is_that_of_the_gaps_in_the_lower_segment():
    """Protects the size by its definition: a mean that forgets at the rate of its memory."""
    shifts, gaps = np.random.default_rng(5).normal(0.01, 0.02, (80, 3)), gaps_of()
    run(gaps, shifts)
    time, mean = 0.0, np.zeros(3)
    for by in shifts:
        time = time * (1.0 - DT / MEMORY) + DT
        mean = mean + DT / time * (-by - mean)
    np.testing.assert_allclose(gaps.mean[0], mean, atol=1e-12)
    assert gaps.size[0] == pytest.approx(np.linalg.norm(mean), rel=1e-9)


@pytest.mark.parametrize("direction", np.eye(3))
def test_a_plate_that_is_elsewhere_is_found_and_stays_so_until_it_is_back(direction):
    """Protects from markers that agree among each other and are all beside their places, in any direction."""
    off, half = 0.025 * direction, 0.018 * direction
    gaps = gaps_of()
    told = run(gaps, np.array([off] * 100 + [half] * 200 + [0.0 * off] * 100))
    first = told.index(1)
    assert first == pytest.approx(MEMORY * KNOWN / DT, abs=40)
    assert all(told[first:300])
    assert not told[-1]
    assert not any(run(gaps_of(), np.array([half] * 300)))


def test_what_leaps_back_is_sound_at_once():
    """Protects recovery: a cuff that is put back is no longer off after a fifth of a second."""
    shifts = np.zeros((200, 3))
    shifts[:100, 1] = 0.05
    told = run(gaps_of(), shifts)
    assert told[99] == 1
    assert not any(told[120:])


def test_a_segment_that_others_find_teaches_nothing():
    """Protects what comes after a fault: a marker 100 mm off is told by itself, and forgotten with it."""
    shape, gaps = shape_of_two(), gaps_of()
    for k in range(100):
        place(shape, k, np.array([0.1, 0.0, 0.0]))
        assert find_apart(shape, np.array([0, 1]), DT, gaps) == 0
    assert gaps.time[0] == 0.0


def test_skin_that_comes_and_goes_is_not_apart():
    """Protects strides: 30 mm to either side within a second are skin, not a plate."""
    to_and_fro = 0.03 * np.sin(2.0 * np.pi * np.arange(300) * DT)[:, None] * np.array([1.0, 0.0, 0.0])
    assert not any(run(gaps_of(), to_and_fro)[100:])


def test_what_its_markers_do_not_place_is_not_judged():
    """Protects segments of two markers, and joints without a limit."""
    shape, off = shape_of_two(), np.array([0.05, 0.0, 0.0])
    shape.carries[1] = BY_CHILD
    gaps, without = gaps_of(), gaps_of(np.inf)
    for k in range(100):
        place(shape, k, off)
        assert find_apart(shape, SOUND, DT, gaps) == 0
    assert gaps.time[0] == 0.0
    assert not any(run(without, np.tile(off, (100, 1))))
