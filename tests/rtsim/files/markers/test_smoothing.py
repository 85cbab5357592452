"""Markers that were smoothed until the motion itself was cut."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import butter, filtfilt

from rtsim.files.markers.ground import to_ground
from rtsim.files.markers.smoothing import doubt_smoothing
from rtsim.files.markers.trial import RawTrial

NAMES = ("LASI", "RASI", "LHEE", "LTOE", "RHEE", "RTOE")
STEP_S = 0.5


def walking(rate: float = 100.0, seconds: float = 4.0, stands: bool = False) -> np.ndarray:
    """(n, 6, 3) [m] - a walk along X at 1.2 m/s: a foot stands for 0.6 of a stride, then swings."""
    t = np.arange(round(seconds * rate)) / rate
    positions = np.zeros((len(t), 6, 3))
    positions[:, :2, 0] = 1.2 * t[:, None]
    positions[:, :2, 1] = 0.95
    for k, marker in enumerate((2, 3, 4, 5)):
        strides, within = np.divmod(t / (2.0 * STEP_S) + 0.5 * (k > 1), 1.0)
        u = np.clip((within - 0.6) / 0.4, 0.0, 1.0)
        positions[:, marker, 0] = 1.2 * (strides + u**3 * (10.0 - 15.0 * u + 6.0 * u**2)) + 0.15 * (k % 2)
        positions[:, marker, 1] = 0.05 + 0.08 * np.sin(np.pi * u) ** 2
        if stands:
            positions[:, marker, 0] = 0.3 * np.sin(2.0 * np.pi * t * 1.2)
    return positions + 1e-4 * np.random.default_rng(1).standard_normal(positions.shape)


def smoothed(positions: np.ndarray, cutoff: float, rate: float = 100.0) -> np.ndarray:
    """By a Butterworth filter of second order, forwards and backwards."""
    return filtfilt(*butter(2, 2.0 * cutoff / rate), positions, axis=0)


@pytest.mark.parametrize("rate", [60.0, 100.0, 250.0])
def test_a_walk_smoothed_at_2_hz_is_told(rate):
    """The sentence names the frequency; a walk as it is, and one smoothed at 6 Hz, have none."""
    walk = walking(rate)
    assert doubt_smoothing(NAMES, walk, rate) is None
    assert doubt_smoothing(NAMES, smoothed(walk, 6.0, rate), rate) is None
    words = doubt_smoothing(NAMES, smoothed(walk, 2.0, rate), rate)
    assert words is not None
    assert words.startswith("check how the trial was smoothed: 90 % of the power of the")


def test_gaps_and_missing_feet():
    """Short gaps are joined; feet that are mostly missing, and trials of less than a second, say nothing."""
    walk = smoothed(walking(), 2.0)
    walk[50:60, 2] = np.nan
    assert doubt_smoothing(NAMES, walk, 100.0) is not None
    assert doubt_smoothing(NAMES, walk[:90], 100.0) is None
    walk[:, 2:] = np.nan
    assert doubt_smoothing(NAMES, walk, 100.0) is None
    assert doubt_smoothing((), walk[:, :0], 100.0) is None


def test_slow_motions_in_place_are_no_walk():
    """Legs that swing smoothly while the person stays have low frequencies of their own."""
    assert doubt_smoothing(NAMES, smoothed(walking(stands=True), 6.0), 100.0) is None


def test_a_file_says_so():
    """The note of a trial, whatever the axis that points up."""
    positions = smoothed(walking(), 2.0)[..., [2, 0, 1]]
    raw = RawTrial(NAMES, np.arange(len(positions)) / 100.0, positions, 100.0, "file", "m", "+Z", "KEY")
    assert any(note.startswith("check how the trial was smoothed") for note in to_ground(raw).notes)
