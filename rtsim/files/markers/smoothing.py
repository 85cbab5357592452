"""A check whether markers were smoothed so much that the motion is distorted, as by a low cut-off
frequency.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rtsim.files.markers.landmarks import upper_and_lower

Array = NDArray[np.float64]

SWINGS, WALKS = (
    2.0,
    1.0,
)  # [m/s] that a foot reaches in a walk, and [m] that it goes: no squats, no leg circles
LOWEST = 2.5  # [Hz] below which 90 % of the power of its acceleration never lies: 3.5 to 5 in walking
PART = 0.9
LEAST_S, SEEN = 1.0, 0.9  # length of a trial, and part of it in which a marker is seen, to be judged
LONGEST = 20_000  # frames looked at


def doubt_smoothing(names: Sequence[str], positions: Array, rate: float) -> str | None:
    """Return a warning if the markers of a walk have probably been smoothed too strongly, so that peaks of
    joint angles are cut; None if not.

    The sign of this is that the acceleration of the feet contains almost nothing above a low frequency.

    positions : (n, n_marker, 3) in ground [m], NaN = missing; rate : frames per second [Hz]

    In walking at 0.8 to 1.3 m/s, 90 % of the power of the feet's acceleration lies below 3.5 to 5 Hz. After
    smoothing at 6 Hz it lies below 3.6 to 4.3 Hz, almost as before. After smoothing at 2 Hz it lies below 1.6
    to 2.1 Hz, and errors of knee flexion reach 16 degrees. Only walks through the room are checked, as other
    motions may be slow.
    """
    part = positions[:LONGEST]
    if len(part) < LEAST_S * rate + 2:
        return None
    known = np.isfinite(part[..., 0]) & np.isfinite(part[..., 1]) & np.isfinite(part[..., 2])
    frequencies, speeds, ways = [], [], []
    for k in upper_and_lower(names)[2]:
        if known[:, k].mean() >= SEEN:
            path = _joined(part[:, k], known[:, k])
            speeds.append(float(np.linalg.norm(np.diff(path, axis=0), axis=1).max() * rate))
            ways.append(float(np.ptp(path[:, [0, 2]], axis=0).max()))
            frequencies.append(_frequency_below(path, rate))
    walks = bool(speeds) and np.median(speeds) >= SWINGS and np.median(ways) >= WALKS
    if not walks or np.median(frequencies) >= LOWEST:
        return None
    return (
        f"check how the trial was smoothed: {100 * PART:.0f} % of the power of the feet's "
        f"acceleration lies below {np.median(frequencies):.2g} Hz (walking: 3.5 to 5 Hz), so peaks of "
        "angles might be too low by 10 degrees; export the trial without a filter, or with a filter "
        "of 6 Hz or more"
    )


def _joined(path: Array, known: NDArray[np.bool_]) -> Array:
    """Return a path (n, 3) with its gaps filled by straight lines."""
    frames = np.arange(len(path))
    return np.stack([np.interp(frames, frames[known], path[known, i]) for i in range(3)], axis=1)


def _frequency_below(path: Array, rate: float) -> float:
    """Return the frequency below which 90 % of the power of the acceleration of a path (n, 3) lies [Hz]; rate
    : of the samples [Hz]
    """
    acceleration = np.diff(path, n=2, axis=0) * np.hanning(len(path) - 2)[:, None]
    power = np.cumsum((np.abs(np.fft.rfft(acceleration, axis=0)) ** 2).sum(axis=1))
    at = int(np.searchsorted(power, PART * power[-1]))
    return at * rate / len(acceleration)
