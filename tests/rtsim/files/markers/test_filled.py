"""Gaps that were filled by lines and cubics are no measurements."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.files.markers.filled import blank_filled
from rtsim.files.markers.ground import to_ground
from rtsim.files.markers.trial import RawTrial

RATE = 100.0
NAMES = ("LASI", "RKNE", "RANK", "RHEE")
FIRST, STOP = 80, 110


def swinging(n_frame: int = 300, noise: float = 1e-4) -> np.ndarray:
    """(n, 4, 3) [m] - markers that swing about a person who walks at 1 m/s, with noise of a camera [m]."""
    rng = np.random.default_rng(5)
    t = np.arange(n_frame) / RATE
    height = np.array([1.0, 0.5, 0.1, 0.05])
    positions = np.empty((n_frame, 4, 3))
    swing = 0.3 * (1.1 - height) * np.sin(2.0 * np.pi * t[:, None])
    positions[..., 0] = 1.0 * t[:, None] + swing
    positions[..., 1] = height + 0.05 * np.sin(4.0 * np.pi * t[:, None] + height)
    positions[..., 2] = 0.1 + 0.02 * np.cos(2.0 * np.pi * t[:, None] + height)
    return positions + noise * rng.standard_normal(positions.shape)


def joined(positions: np.ndarray, markers: list[int], degree: int, first=FIRST, stop=STOP) -> np.ndarray:
    """A copy in which frames first to stop - 1 are the line, or the cubic with the ends' slopes."""
    result = positions.copy()
    n = stop - first + 1
    u = (np.arange(1, n) / n)[:, None, None]
    p, q = positions[first - 1, markers], positions[stop, markers]
    if degree == 1:
        result[first:stop, markers] = (1.0 - u) * p + u * q
        return result
    v = n * (p - positions[first - 2, markers])
    w = n * (positions[stop + 1, markers] - q)
    result[first:stop, markers] = (
        (2 * u**3 - 3 * u**2 + 1) * p
        + (u**3 - 2 * u**2 + u) * v
        + (3 * u**2 - 2 * u**3) * q
        + (u**3 - u**2) * w
    )
    return result


def found(positions: np.ndarray) -> tuple[np.ndarray, list[str]]:
    times = np.arange(len(positions)) / RATE
    result, notes = blank_filled(NAMES, times, positions, RATE)
    return np.isnan(result).any(axis=2) & np.isfinite(positions).all(axis=2), notes


def rounded(positions: np.ndarray, digits: str) -> np.ndarray:
    if digits == "float32":
        return positions.astype(np.float32).astype(np.float64)
    step = {"0.001 mm": 1e-6, "0.01 mm": 1e-5, "int16": 7e-6}[digits]
    return np.round(positions / step) * step


@pytest.mark.parametrize("degree", [1, 3])
@pytest.mark.parametrize("digits", ["0.001 mm", "0.01 mm", "int16", "float32"])
def test_exactly_the_filled_samples_are_missing(degree, digits):
    """A line and a cubic are found in files of any precision, from the first filled sample to the last."""
    filled, notes = found(rounded(joined(swinging(), [1, 2], degree), digits))
    expected = np.zeros_like(filled)
    expected[FIRST:STOP, [1, 2]] = True
    np.testing.assert_array_equal(filled, expected)
    assert len(notes) == 1
    assert "60 marker samples" in notes[0]
    assert "0.3 s" in notes[0]
    assert "RKNE, RANK" in notes[0]


@pytest.mark.parametrize("noise", [0.0, 1e-6, 1e-4, 1e-3])
@pytest.mark.parametrize("digits", ["0.001 mm", "0.01 mm", "float32"])
def test_measured_paths_are_left_alone(noise, digits):
    """Smooth and noisy paths lose no sample, nor do those that stand still and go on."""
    positions = rounded(swinging(noise=noise), digits)
    still = positions.copy()
    still[100:200] = still[100]
    for trial in (positions, still):
        filled, notes = found(trial)
        assert not filled.any()
        assert notes == []


def test_short_gaps():
    """A line over 60 ms is found; a cubic of less than 0.125 s is as good as measured, and stays."""
    assert found(joined(swinging(), [3], 1, 100, 106))[0].sum() == 6
    assert not found(joined(swinging(), [3], 3, 100, 112))[0].any()
    assert found(joined(swinging(), [3], 3, 100, 113))[0].sum() == 13


@pytest.mark.parametrize("degree", [1, 3])
def test_smooth_paths_at_a_high_rate(degree):
    """Neighbours of a smooth path at 250 Hz differ by little more than the digits of the file."""
    t = np.arange(750) / 250.0
    path = np.stack(
        [t + 0.2 * np.sin(6.0 * t), 0.1 + 0.02 * np.sin(30.0 * t), 0.02 * np.cos(6.0 * t)], axis=1
    )
    positions = np.repeat(path[:, None], 4, axis=1) + 0.1 * np.arange(4)[:, None]
    filled = rounded(joined(positions, [1], degree, 200, 275), "0.001 mm")
    missing = np.isnan(blank_filled(NAMES, t, filled, 250.0)[0]).any(axis=2)
    expected = np.zeros_like(missing)
    expected[200:275, 1] = True
    np.testing.assert_array_equal(missing, expected)


def test_what_cannot_be_judged_stays():
    """Bodies that move at one speed, whole millimetres and uneven times give no sentence."""
    constant = swinging()[0] + np.linspace(0.0, 3.0, 300)[:, None, None]
    assert not found(constant)[0].any()
    assert not found(np.round(joined(swinging(), [1], 1), 3))[0].any()
    times = np.arange(300) / RATE
    times[50:] += 0.5
    filled = joined(swinging(), [1], 1)
    assert blank_filled(NAMES, times, filled, RATE)[0] is filled
    assert blank_filled(NAMES, times[:3], filled[:3], RATE)[1] == []
    assert blank_filled(NAMES, times, np.full_like(filled, np.nan), RATE)[1] == []


def test_a_file_says_so():
    """The ground frame has the gap, and the notes name marker and length, whatever unit and axis."""
    positions = 1e3 * joined(swinging(), [2], 1)[..., [2, 0, 1]]
    trial = to_ground(RawTrial(NAMES, np.arange(300) / RATE, positions, RATE, "file", "mm", "+Z", "KEY"))
    gap = np.isnan(trial.positions).all(axis=2)
    assert gap[FIRST:STOP, 2].all()
    assert gap.sum() == STOP - FIRST
    assert any("like filled gaps" in note and "RANK" in note for note in trial.notes)
