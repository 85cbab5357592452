"""Prediction of hidden markers from the visible ones and their earlier arrangement.

A hidden marker moves with the others of its segment (including its previous soft tissue displacement), and
less reliably with those of adjacent segments: a fit to their arrangement when it was last seen (weighted
least squares, Kabsch 1976) predicts it. This also works for segments with two markers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.labelling.body import FEWEST, Array, Indices, MarkedBody, fit_all

NEIGHBOUR, HARDLY, NEIGHBOUR_M = 0.2, 0.001, 0.25
"""Weight of a marker of a joined segment beside one of its segment, where three of that say where it is,
and at what distance it has a third of this [m]."""
NEAR_M, MOST_STRANGERS = 0.15, 40
"""Distance at which a marker beside a point that is nobody's has a third of its weight [m]; number of such
points that are remembered."""
LONGEST_S = 5.0
"""Longest time over which a marker's place is predicted [s]."""
RIGID, BENDS, AGES, SWINGS, OLD_S = 0.025, 0.045, 0.08, 0.15, 0.6
"""Error of the expected place of a marker: with three or more of its segment [m], with fewer [m], and its
growth without and with one other of its segment [m/s], for at most OLD_S [s]."""
STRETCH, STRETCH_PART = 0.015, 0.05
"""Change of the distance of two markers of a segment [m], and in parts of it."""


class PredictedMarkers(NamedTuple):
    """Predicted positions of hidden markers.

    markers : (k,) hidden markers
    places : (k, 3) predicted positions [m]
    reach : (k,) tolerance of the predictions [m]
    rigid : (k,) whether three markers of its segment predict it
    apart : (k, n_marker) earlier distances from the other markers of its segment [m], NaN = not visible then
        or now
    beside : (n_marker, 3) present marker positions [m]
    """

    markers: Indices
    places: Array
    reach: Array
    rigid: NDArray[np.bool_]
    apart: Array
    beside: Array

    def can_be(self, cloud: Array) -> NDArray[np.bool_]:
        """Return whether points (n, 3) [m] are at each marker's earlier distances from the others of its
        segment, (k, n).
        """
        found = np.linalg.norm(cloud[None, :, None] - self.beside[None, None], axis=3)
        off = np.abs(found - self.apart[:, None])
        return ~(off > STRETCH + STRETCH_PART * self.apart[:, None]).any(axis=2)


class OccludedMarkers:
    """Positions of all markers when each was last visible, for the prediction of hidden ones."""

    def __init__(self, body: MarkedBody) -> None:
        self._of = body.segment_of
        joined = np.eye(len(body.shapes), dtype=bool)
        for k, shape in enumerate(body.shapes):
            joined[k, [joint.other for joint in shape.joints]] = True
        self._joined = joined[np.ix_(self._of, self._of)] & (self._of >= 0)
        self._same = (self._of[:, None] == self._of[None]) & (self._of >= 0)
        self.forget()

    def forget(self) -> None:
        """Discard all stored positions."""
        n = len(self._of)
        self._strangers: list[tuple[Array, Array, float]] = []
        self._complete = np.full((n, 3), np.nan)
        self._before = np.full((n, n, 3), np.nan)
        self._since = np.full(n, np.inf)

    def begin(self, markers: Array, placed: Array) -> None:
        """Begin with a person found by a search.

        markers : (n_marker, 3) visible markers [m]
        placed : (n_marker, 3) positions of all markers on the fitted segments [m], NaN = not known
        """
        seen = np.isfinite(markers[:, 0])
        complete = np.where(seen[:, None], markers, placed)
        known = np.isfinite(complete[:, 0]) & (seen | ~(self._since < LONGEST_S))
        self._before[known] = complete
        self._since[known] = 0.0

    def take(self, markers: Array, foretold: PredictedMarkers, dt: float) -> None:
        """Store a frame of markers (n_marker, 3) [m], `dt` [s] after the previous one, and the predictions
        for it.
        """
        seen = np.isfinite(markers[:, 0])
        complete = markers.copy()
        still = ~seen[foretold.markers] & foretold.rigid
        complete[foretold.markers[still]] = foretold.places[still]
        self._since += dt
        self._since[seen] = 0.0
        self._before[seen] = complete
        self._complete = complete

    def lose_strangers(self, places: Array, dt: float) -> None:
        """Store points (k, 3) [m] that belong to no marker and have disappeared."""
        self._strangers = [(x, among, age + dt) for x, among, age in self._strangers if age < LONGEST_S]
        near = np.nanmin(np.linalg.norm(places[:, None] - self._complete, axis=2), axis=1, initial=np.inf)
        self._strangers += [(x, self._complete, 0.0) for x in places[near < NEIGHBOUR_M]]
        self._strangers = self._strangers[-MOST_STRANGERS:]

    def strangers(self, markers: Array) -> Array:
        """Return predicted positions of points that belong to no marker, (k, 3) [m]."""
        if not self._strangers:
            return np.zeros((0, 3))
        before = np.array([among for _, among, _ in self._strangers])
        own = np.array([x for x, _, _ in self._strangers])
        apart = np.linalg.norm(before - own[:, None], axis=2)
        known = np.isfinite(apart) & np.isfinite(markers[:, 0])
        weights = np.where(known, np.exp(-((np.where(known, apart, 1.0) / NEAR_M) ** 2)), 0.0)
        both = known[:, :, None]
        rotations, origins, fixed = fit_all(
            np.where(both, before, 0.0), np.where(both, markers[None], 0.0), weights
        )
        return ((rotations @ own[:, :, None])[:, :, 0] + origins)[
            fixed & (weights.sum(axis=1) > FEWEST * 0.1)
        ]

    def foretell(self, markers: Array) -> PredictedMarkers:
        """Predict the markers that are hidden in a frame (n_marker, 3) [m], if that is possible."""
        n = len(markers)
        missing = np.flatnonzero(~np.isfinite(markers[:, 0]) & (self._since < LONGEST_S))
        if not len(missing):
            return PredictedMarkers(
                markers=missing,
                places=np.zeros((0, 3)),
                reach=np.zeros(0),
                rigid=np.zeros(0, bool),
                apart=np.zeros((0, n)),
                beside=markers,
            )
        before = self._before[missing]
        apart = np.linalg.norm(before - before[np.arange(len(missing)), missing][:, None], axis=2)
        both = np.isfinite(apart) & np.isfinite(markers[:, 0])
        rigid = (both & self._same[missing]).sum(axis=1) >= FEWEST
        near = np.where(rigid, HARDLY, NEIGHBOUR)[:, None] * np.exp(-((apart / NEIGHBOUR_M) ** 2))
        weights = np.where(self._same[missing], 1.0, np.where(self._joined[missing], near, 0.0))
        weights = np.where(both, weights, 0.0)
        known = both[:, :, None]
        rotations, origins, fixed = fit_all(
            np.where(known, before, 0.0), np.where(known, markers[None], 0.0), weights
        )
        rows = np.arange(len(missing))
        own = before[rows, missing]
        places = (rotations @ own[:, :, None])[:, :, 0] + origins
        kept = fixed & (np.count_nonzero(weights > 0.0, axis=1) >= FEWEST)
        mates = both & self._same[missing]
        age = np.minimum(self._since[missing], OLD_S)
        bends = BENDS + np.where(mates.any(axis=1), SWINGS, AGES) * age
        reach = np.where(rigid, RIGID, bends)
        apart = np.where(mates, apart, np.nan)
        return PredictedMarkers(
            markers=missing[kept],
            places=places[kept],
            reach=reach[kept],
            rigid=rigid[kept],
            apart=apart[kept],
            beside=markers,
        )
