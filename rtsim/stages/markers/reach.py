"""Check whether a person can have moved, during a gap of all markers, to where the markers are after it.

Soles carry no more than about the person's weight sideways, so that gravity bounds the acceleration of a
pelvis over some tenths of a second. If its acceleration is at most a, its displacement within the time t
differs from t times the mean of its velocities before and after by no more than a t^2 / 4. This extreme is a
constant acceleration a in one direction and then in the opposite one. Beyond half a second the bound is too
wide to be useful.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ACCELERATION, ASIDE = 10.0, 0.15
"""Largest acceleration of the pelvis [m/s^2], and largest distance by which its rotation moves its markers
besides [m]."""
MEASURED_S = 0.02
"""Time after a gap from which on the velocity after it is known [s]; until then that before the gap is
used."""
MOST = 0.7
"""Fraction of all markers that must be out of reach, too, so that a wrong label alone is no reason."""
FEWEST = 3
"""Least number of markers seen before and after a gap for a comparison."""


class Reach:
    """Checks after a gap of all markers whether the person can have moved from the last positions before it
    to the first ones after it.

    of_pelvis : (n_marker,) - whether each is on the pelvis; without such a marker there is no check
    judging : whether the present frames, after a gap, are compared with the last frame before it
    """

    def __init__(self, of_pelvis: NDArray[np.bool_]) -> None:
        self._of_pelvis = of_pelvis
        self.forget()

    def forget(self) -> None:
        """Discard the markers before the gap."""
        n = len(self._of_pelvis)
        self._at, self._speed, self._first = np.full((3, n, 3), np.nan)
        self._away_s, self._behind_s = 0.0, -1.0
        self.judging = False

    def begin(self, places: Array, speeds: Array) -> None:
        """Begin after a gap of all markers: the next frames that show the pelvis are compared with the last
        frame before the gap.

        places, speeds : (n_marker, 3) - positions [m] and velocities [m/s] in that last frame, NaN = not
            known
        """
        self.judging = bool(self._of_pelvis.any())
        self._away_s, self._behind_s = 0.0, -1.0
        self._at[:], self._speed[:] = places, speeds

    def look(self, markers: Array, dt: float) -> bool:
        """Process a frame; return True if it is impossible for a person to have moved, during the gap, to
        where the markers are. False if it is possible, or if the frame is not compared with one before a gap.

        markers : (n_marker, 3) [m], NaN = not seen
        dt : time since the previous frame that was processed [s]
        """
        if not self.judging:
            return False
        self._away_s += dt
        seen = np.isfinite(markers[:, 0])
        return bool((seen & self._of_pelvis).any()) and self._is_beyond(markers, dt)

    def _is_beyond(self, markers: Array, dt: float) -> bool:
        """Return whether the markers are farther away than a person can have moved during the gap. Once the
        velocity of the pelvis after the gap is known, the result is final.

        markers : (n_marker, 3) [m]; dt : time since the previous frame [s]
        """
        known = np.isfinite(markers[:, 0]) & np.isfinite(self._speed[:, 0])
        pelvis = known & self._of_pelvis
        if np.count_nonzero(known) < FEWEST or not pelvis.any():
            self.judging = False  # it was not seen long enough before the gap
            return False
        if self._behind_s < 0.0:
            self._behind_s, self._first[:] = 0.0, markers
        else:
            self._behind_s += dt
        mean = self._speed
        both = pelvis & np.isfinite(self._first[:, 0])
        if self._behind_s >= MEASURED_S and both.any():
            behind = (markers[both] - self._first[both]).mean(axis=0) / self._behind_s
            mean = 0.5 * (self._speed + behind)
            self.judging = False
        way = (markers - self._at - mean * self._away_s)[known]
        room = ASIDE + 0.25 * ACCELERATION * self._away_s**2
        far = np.linalg.norm(way, axis=1) > room
        middle = np.linalg.norm(way[pelvis[known]].mean(axis=0))
        return bool(middle > room and np.count_nonzero(far) > MOST * len(far))
