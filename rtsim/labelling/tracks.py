"""Points that go on: each marker's next place by its speed, and strangers beside them.

A point is a marker's next where both are each other's nearest, within what a body can do in a frame, and
nothing else is nearly as near. Where that is not so the marker is not seen, rather than taken for another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rtsim.labelling.body import Array, Indices

NOISE = 0.006
"""How far a place may be off what its speed foretells, whatever the time [m] ..."""
ACCELERATION = 150.0
"""... and by an acceleration [m/s^2] ..."""
SPEED = 4.0
"""... or by a speed that is not known yet [m/s]."""
FARTHEST = 0.12
"""Never farther [m]."""
CLEARER = 2.0
"""So many times as far everything else must be."""


class PairedPoints(NamedTuple):
    """rows, columns : what belongs together"""

    rows: Indices
    columns: Indices


def paired(places: Array, reach: Array, cloud: Array) -> PairedPoints:
    """Places (k, 3) and points (n, 3) that are each other's nearest, within (k,) reach, and clearly so."""
    if not len(places) or not len(cloud):
        return PairedPoints(np.zeros(0, np.int64), np.zeros(0, np.int64))
    d = places[:, None] - cloud[None]
    apart = np.sqrt(np.einsum("ijk,ijk->ij", d, d))
    column = apart.argmin(axis=1)
    row = apart.argmin(axis=0)
    k = np.arange(len(places))
    near = apart[k, column]
    mutual = (row[column] == k) & (near <= reach)
    clear = np.minimum(second(apart), second(apart.T)[column]) >= CLEARER * near
    kept = np.flatnonzero(mutual & clear)
    return PairedPoints(kept, column[kept])


def second(apart: Array) -> Array:
    """(k,) - the second smallest of each row; infinite in rows of one."""
    if apart.shape[1] < 2:
        return np.full(len(apart), np.inf)
    return np.partition(apart, 1, axis=1)[:, 1]


class PointTracks:
    """Places with their speeds, from frame to frame.

    Attributes
    ----------
    places, speeds : (n, 3) [m, m/s]; NaN = not seen in the newest frame, not known
    """

    def __init__(self, n: int) -> None:
        self.places, self.speeds = np.full((2, n, 3), np.nan)

    def forget(self) -> None:
        """Nothing was seen."""
        self.places[:] = self.speeds[:] = np.nan

    def foretold(self, dt: float) -> tuple[Indices, Array, Array]:
        """Which were seen, (k, 3) where they should be after dt [s], and (k,) how far off they may be [m]."""
        rows = np.flatnonzero(np.isfinite(self.places[:, 0]))
        speeds = self.speeds[rows]
        unknown = np.isnan(speeds[:, 0])
        speeds[unknown] = 0.0
        reach = NOISE + np.where(unknown, SPEED * dt, 0.5 * ACCELERATION * dt * dt)
        return rows, self.places[rows] + dt * speeds, np.minimum(reach, FARTHEST)

    def take(self, places: Array, dt: float) -> None:
        """The (n, 3) places of the next frame, dt [s] later."""
        if dt > 0.0:
            self.speeds = (places - self.places) / dt
        self.places = places.copy()
