"""Checks whether forces act near the feet, by comparing them with the low markers of the same recording.

A force file does not state its unit of length, and a given unit may refer to the markers. Under a foot the
centre of pressure is near a low marker; with a wrong unit it is not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.files.markers.landmarks import thin
from rtsim.files.markers.trial import MarkerTrial
from rtsim.units import METRES

Array = NDArray[np.float64]

LOW = 0.3
"""Largest height of the markers of a loaded foot above the lowest markers of the recording [m]."""
LOWEST = 2.0
"""Percentile of the heights that counts as the lowest, as single samples may be wrong."""
MOST_POINTS = 500
"""Number of points of force application that are examined, spread evenly over the recording."""
NEAREST = 30.0
"""Percentile of the distances by which a unit is judged; it is low, as only one leg may have markers."""
CLOSE = 0.12
"""Largest horizontal distance from a low marker with the right unit [m]; a foot may have few markers."""
CLEARER = 0.5
"""With the right unit the distance is at most this fraction of the distance with the unit as read, and of
that with all points at the origin, which is small for a person on a treadmill there.
"""
UNITS = ("m", "cm", "mm", "in")


class LowMarkers:
    """Positions of the markers near the floor in a recording, to be compared with points of force
    application.
    """

    def __init__(self, trial: MarkerTrial) -> None:
        heights = thin(trial.positions)[..., 1]
        seen = heights[np.isfinite(heights)]
        self._highest = LOW + (float(np.percentile(seen, LOWEST)) if seen.size else 0.0)
        self.times, self._positions = trial.times, trial.positions

    def away(self, times: Array, points: Array) -> Array:
        """Return (k,): horizontal distance of points (k, 3) [m] at times (k,) [s] from the nearest low
        marker; NaN where no marker is visible.
        """
        after = np.clip(np.searchsorted(self.times, times), 1, len(self.times) - 1)
        rows = after - (times - self.times[after - 1] < self.times[after] - times)
        markers = self._positions[rows]
        distance = np.linalg.norm((markers - points[:, None])[..., [0, 2]], axis=2)
        low = np.isfinite(distance) & (markers[..., 1] <= self._highest)
        nearest: Array = np.min(np.where(low, distance, np.inf), axis=1)
        return np.where(np.isinf(nearest), np.nan, nearest)


def unit_by_markers(
    times: Array, points: Array, heavy: NDArray[np.bool_], trial: MarkerTrial, factor: float
) -> tuple[str, float, float]:
    """Return the unit of length with which the points of force application lie near the feet; "" if they
    already do so with the unit as read, or if no unit is clearly better.

    Two distances [m] are returned, too: the 30th percentile of the distances of the points from the nearest
    low marker, first with the unit as read, then with the returned unit.

    times : (n,) [s]
    points : (n, n_plate, 3) in ground axes and the file's unit
    heavy : (n, n_plate) - whether a force acts
    trial : markers of the same recording
    factor : metres per unit, as read
    """
    at, plate = np.nonzero(heavy & np.isfinite(points).all(axis=2))
    inside = (times[at] >= trial.times[0]) & (times[at] <= trial.times[-1])
    at, plate = at[inside], plate[inside]
    if len(trial.times) < 2 or not at.size:
        return "", 0.0, 0.0
    some = np.unique(np.linspace(0, at.size - 1, MOST_POINTS).astype(int))
    at, plate = at[some], plate[some]
    low, where = LowMarkers(trial), points[at, plate]

    def judged(scale: float) -> float:
        away = low.away(times[at], scale * where)
        away = away[np.isfinite(away)]
        return float(np.percentile(away, NEAREST)) if away.size else np.inf

    before, nowhere = judged(factor), judged(0.0)
    after, unit = min((judged(METRES[name]), name) for name in UNITS)
    if METRES[unit] == factor or after > min(CLOSE, CLEARER * before, CLEARER * nowhere):
        return "", before, before
    return unit, before, after
