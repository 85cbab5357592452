"""Tracks of points from frame to frame, with or without names, by position and velocity.

All points of a frame are paired at once with those of the previous frame, by the least sum of squared
distances (Kuhn 1955). Ambiguous pairs, in which two points could be exchanged, are reported.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.labelling.body import Array, Indices

NOISE = 0.006
"""Constant part of the error of a position predicted from position and velocity [m]."""
ACCELERATION = 150.0
"""Acceleration by which the error of the predicted position grows [m/s^2]."""
SPEED = 4.0
"""Speed by which the error grows instead, as long as the velocity of a point is not known [m/s]."""
FARTHEST = 0.12
"""Largest error of a predicted position at which a point still continues the track [m]."""
CLEARER = 2.0
"""Factor by which every other point must be farther for a pair to be unambiguous."""
AS_WELL, AS_WELL_M = 3.0, 0.003
"""Two points may have been exchanged if the sum of their squared distances is then less than AS_WELL times
the present sum plus the square of AS_WELL_M [m]."""
UNKNOWN = -2
"""Value of PointTracks.near for a point that was not compared with predicted positions yet."""
FORBIDDEN = 1e6
"""Cost of a pair whose distance is above its tolerance."""


class PairedPoints(NamedTuple):
    """Pairs of a predicted position and the point that continues it, as row (position) and column (point) of
    a matrix of their distances.
    """

    rows: Indices
    columns: Indices


def paired(places: Array, reach: Array, cloud: Array) -> PairedPoints:
    """Pair positions (k, 3) with points (n, 3) that are mutually nearest, within the tolerance `reach` (k,),
    and unambiguous.
    """
    if not len(places) or not len(cloud):
        return PairedPoints(np.zeros(0, np.int64), np.zeros(0, np.int64))
    apart = distances(places, cloud)
    column = apart.argmin(axis=1)
    row = apart.argmin(axis=0)
    k = np.arange(len(places))
    near = apart[k, column]
    mutual = (row[column] == k) & (near <= reach)
    clear = np.minimum(second(apart), second(apart.T)[column]) >= CLEARER * near
    kept = np.flatnonzero(mutual & clear)
    return PairedPoints(kept, column[kept])


def assigned(apart: Array, reach: Array) -> PairedPoints:
    """Pair rows (predicted positions) and columns (points) of a matrix of distances (k, n) by the least sum
    of squares; `reach` : (k,) largest distance in each row at which a pair is possible
    """
    from scipy.optimize import linear_sum_assignment  # a quarter of a second that runs with names do not wait

    if not apart.size:
        return PairedPoints(np.zeros(0, np.int64), np.zeros(0, np.int64))
    can = apart <= reach[:, None]
    rows, columns = linear_sum_assignment(np.where(can, apart * apart, FORBIDDEN))
    kept = can[rows, columns]
    return PairedPoints(rows[kept], columns[kept])


def distances(places: Array, cloud: Array) -> Array:
    """Return the distance of each position (k, 3) from each point (n, 3), (k, n) [m]."""
    d = places[:, None] - cloud[None]
    return np.sqrt(np.einsum("ijk,ijk->ij", d, d))


def second(apart: Array) -> Array:
    """Return the second smallest distance in each row, (k,); infinite for rows with only one distance."""
    if apart.shape[1] < 2:
        return np.full(len(apart), np.inf)
    return np.partition(apart, 1, axis=1)[:, 1]


def exchangeable(apart: Array, pairs: PairedPoints) -> NDArray[np.bool_]:
    """Return for each of k pairs, (k,), whether it is ambiguous: its track fits the point of another pair, or
    a point without a track, nearly as well.

    apart : (n_track, n_point) distances between the predicted positions and the points [m]
    pairs : the tracks, and the points with which they were paired
    """
    square = apart[pairs.rows] ** 2
    own = square[np.arange(len(pairs.rows)), pairs.columns]
    among = square[:, pairs.columns]
    exchanged = among + among.T
    np.fill_diagonal(exchanged, np.inf)
    limit = AS_WELL * (own[:, None] + own[None]) + AS_WELL_M**2
    found: NDArray[np.bool_] = np.any(exchanged < limit, axis=1)
    left = np.setdiff1d(np.arange(apart.shape[1]), pairs.columns)
    if len(left):
        found |= square[:, left].min(axis=1) < AS_WELL * own + AS_WELL_M**2
    return found


class PointTracks:
    """The points of the newest frame, with what is known of each from earlier frames.

    Attributes
    ----------
    places, speeds : (n, 3) positions and velocities [m, m/s]; NaN = not known
    numbers : (n,) number of the track of each point
    marker : (n,) marker that the point is labelled as, -1 = none
    near : (n,) missing marker to whose predicted position the point is near, -1 = none, UNKNOWN = not checked
        yet
    since : (n,) for how long it has been near that position [s]
    fresh : (n,) whether the point has just appeared
    cannot : (n, n_marker) whether a point is known not to be a marker, as both were seen at the same time
    ended : (k, 3) last positions of unlabelled points that have disappeared [m]
    came_up : (n,) whether the point was near that predicted position when it appeared
    """

    def __init__(self, n_marker: int = 0) -> None:
        self._n_point, self._n_marker = 0, n_marker
        self.forget()

    def forget(self) -> None:
        """Discard all points and their tracks."""
        self.places, self.speeds = np.zeros((2, 0, 3))
        self.ended = np.zeros((0, 3))
        self.numbers, self.marker, self.near = np.zeros((3, 0), np.int64)
        self.since, self.came_up, self.fresh = np.zeros(0), np.zeros(0, bool), np.zeros(0, bool)
        self.cannot = np.zeros((0, self._n_marker), bool)

    def go_on(self, cloud: Array, dt: float) -> NDArray[np.bool_]:
        """Continue the tracks by the points of the next frame (n, 3) [m], `dt` [s] later; return for each
        point whether its track is ambiguous, as it could be exchanged with another one, (n,).
        """
        before = self.places, self.numbers, self.marker, self.near, self.since, self.came_up, self.cannot
        unknown = np.isnan(self.speeds[:, 0])
        foretold = self.places + dt * np.where(unknown[:, None], 0.0, self.speeds)
        reach = NOISE + np.where(unknown, SPEED * dt, 0.5 * ACCELERATION * dt * dt)
        apart = distances(foretold, cloud)
        pairs = assigned(apart, np.minimum(reach, FARTHEST))
        n = len(cloud)
        self.places, self.speeds = cloud.copy(), np.full((n, 3), np.nan)
        self.numbers = self._n_point + np.arange(n)
        self._n_point += n
        self.marker, self.near = np.full(n, -1), np.full(n, UNKNOWN)
        self.since, self.came_up, self.fresh = np.zeros(n), np.ones(n, bool), np.ones(n, bool)
        self.cannot = np.zeros((n, self._n_marker), bool)
        old, new = pairs
        over = np.ones(len(before[0]), bool)
        over[old] = False
        self.ended = before[0][over & (before[2] < 0)]
        if dt > 0.0:
            self.speeds[new] = (cloud[new] - before[0][old]) / dt
        for now, earlier in zip(
            (self.numbers, self.marker, self.near, self.since, self.came_up, self.cannot),
            before[1:],
            strict=True,
        ):
            now[new] = earlier[old]
        self.fresh[new] = False
        doubtful = np.zeros(n, bool)
        doubtful[new] = exchangeable(apart, pairs)
        self.cannot[doubtful] = False
        return doubtful

    def points_of(self, n_marker: int) -> Indices:
        """Return the point of each marker in the newest frame, (n_marker,), -1 = none."""
        points = np.full(n_marker, -1)
        rows = np.flatnonzero(self.marker >= 0)
        points[self.marker[rows]] = rows
        return points

    def rule_out(self, seen: NDArray[np.bool_]) -> None:
        """Note that no other point can be one of the markers `seen` (n_marker,), which are visible and
        certain.
        """
        rows = np.flatnonzero(self.marker >= 0)
        own = self.cannot[rows, self.marker[rows]]
        self.cannot |= seen
        self.cannot[rows, self.marker[rows]] = own

    def may_be_again(self, markers: Indices) -> None:
        """Allow all points again as candidates for these markers, also points that were ruled out."""
        self.cannot[:, markers] = False
