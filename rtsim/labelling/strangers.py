"""Points that are no marker's: those that come up where a missing marker must be may be that one.

A hand that swings past a hidden hip brings its own markers there. So a point is only offered to a marker
where it came up within reach of it, or has stayed close to where it must be for long.
"""

from __future__ import annotations

import numpy as np

from rtsim.labelling.body import Array, Indices
from rtsim.labelling.tracks import PointTracks, paired

CLOSE, LONG_S = 0.015, 0.5
"""How close [m], and for how long [s], a point must stay that came from elsewhere."""


class Strangers:
    """The points of the newest frame that are no marker's, each with what it has been near to."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """There were none."""
        self._tracks = PointTracks(0)
        self._near = np.zeros(0, np.int64)
        self._since = np.zeros(0)
        self._came_up = np.zeros(0, bool)

    def look(
        self, points: Array, missing: Indices, places: Array, near_by: Array, dt: float
    ) -> list[tuple[int, int]]:
        """Take in the points (n, 3) [m] that are left over; pairs of a point and the marker that it is.

        missing : (k,) - markers that are not seen and whose segments say where they must be
        places, near_by : (k, 3) where that is, and (k,) within what reach [m]
        """
        n = len(points)
        near, since, came_up = np.full(n, -1), np.zeros(n), np.ones(n, bool)
        rows, foretold, reach = self._tracks.foretold(dt)
        known = paired(foretold, reach, points)
        old, new = rows[known.rows], known.columns
        came_up[new] = self._came_up[old]
        here = paired(places, near_by, points)
        near[here.columns] = missing[here.rows]
        same = near[new] == self._near[old]
        since[new[same]] = self._since[old[same]] + dt
        came_up[new[~same]] = False
        apart = np.full(n, np.inf)
        apart[here.columns] = np.linalg.norm(places[here.rows] - points[here.columns], axis=1)
        settled = (near >= 0) & (came_up | ((since >= LONG_S) & (apart <= CLOSE)))
        speeds = np.full((n, 3), np.nan)
        if dt > 0.0:
            speeds[new] = (points[new] - self._tracks.places[old]) / dt
        self._tracks = PointTracks(n)
        self._tracks.places, self._tracks.speeds = points.copy(), speeds
        self._near, self._since, self._came_up = near, since, came_up
        return [(int(p), int(near[p])) for p in np.flatnonzero(settled)]
