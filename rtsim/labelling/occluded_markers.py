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
"""Weight of a near marker of an adjacent segment in the prediction of a position, relative to a marker of the
same segment: usually, and if three markers of the same segment are visible; and the distance over which the
weight decreases to a third [m]."""
WHOLE = 2e-4
"""Weight of all visible markers of the person if the markers of adjacent segments do not determine the
position."""
MOST_STRANGERS, STRANGE_S = 40, 30.0
"""Number of disappeared points without a marker that are stored, and time for which they are stored [s]."""
STRANGER_M, SAME_M = 0.015, 0.015
"""Tolerance of the predicted position of such a point if three markers of its segment predict it, and
distance within which two of them count as the same point [m]."""
ANEW_S = 1.0
"""Time after relabelling from which the stored position of a marker is replaced, even if the new label is not
certain [s]."""
LONGEST_S = 5.0
"""Longest time for which the position of a hidden marker is predicted [s]."""
RIGID, BENDS, AGES, SWINGS, OLD_S = 0.04, 0.045, 0.08, 0.15, 0.6
"""Tolerance of the predicted position of a marker: if three or more markers of its segment are visible [m];
with fewer [m]; and its growth with time if no other marker of its segment is visible, and if one or two are
[m/s], for at most OLD_S [s]."""
STRETCH, STRETCH_PART = 0.03, 0.05
"""Possible change of the distance of two markers of a segment: a constant part [m], and a fraction of the
distance."""


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
        """Return whether each of n points can be each of the k hidden markers, (k, n): whether its distances
        from the visible markers of the segment are nearly those that the hidden marker had earlier.

        cloud : (n, 3) the points [m]
        """
        found = np.linalg.norm(cloud[None, :, None] - self.beside[None, None], axis=3)
        off = np.abs(found - self.apart[:, None])
        return ~(off > STRETCH + STRETCH_PART * self.apart[:, None]).any(axis=2)


class LostStranger(NamedTuple):
    """A measured point near the person that belonged to no marker and has disappeared; it is stored so that
    it is not taken for a marker if it reappears.

    place : its last position [m]
    among : (n_marker, 3) positions of the person's markers in the frame of its last position [m]
    segment : index of the segment of the marker that was nearest to it
    age : time since it disappeared [s]
    """

    place: Array
    among: Array
    segment: int
    age: float


class CarriedPlaces(NamedTuple):
    """Present positions of k points that were seen earlier, predicted from the visible markers.

    places : (k, 3) predicted positions [m]
    fixed : (k,) whether visible markers determine the position
    rigid : (k,) whether three markers of the point's own segment do
    mates : (k, n_marker) markers of the same segment that were visible then and are visible now
    apart : (k, n_marker) earlier distances from the markers [m]
    """

    places: Array
    fixed: NDArray[np.bool_]
    rigid: NDArray[np.bool_]
    mates: NDArray[np.bool_]
    apart: Array


class OccludedMarkers:
    """Stores the last visible positions of all markers, to predict hidden markers, and those of nearby points
    that belong to no marker and have disappeared, to recognise them when they reappear.
    """

    def __init__(self, body: MarkedBody) -> None:
        self._of = body.segment_of
        self._joined = np.eye(len(body.shapes), dtype=bool)
        for k, shape in enumerate(body.shapes):
            self._joined[k, [joint.other for joint in shape.joints]] = True
        self._joined = self._joined @ self._joined  # and beyond: a shank of two markers fixes no foot
        self.forget()

    def forget(self) -> None:
        """Discard all stored positions of markers and of unlabelled points."""
        n = len(self._of)
        self._strangers: list[LostStranger] = []
        self._complete = np.full((n, 3), np.nan)
        self._before = np.full((n, n, 3), np.nan)
        self._since, self._anew_s = np.full(n, np.inf), np.full(n, np.inf)

    def begin(self, markers: Array, placed: Array) -> None:
        """Store the marker positions of a person whom a search has just found, from which hidden markers are
        predicted later.

        markers : (n_marker, 3) visible markers [m]
        placed : (n_marker, 3) positions of all markers on the fitted segments [m], NaN = not known
        """
        seen = np.isfinite(markers[:, 0])
        complete = np.where(seen[:, None], markers, placed)
        known = np.isfinite(complete[:, 0]) & ~(self._since < LONGEST_S)
        self._before[known] = complete
        self._since[known] = 0.0
        self._anew_s[seen] = 0.0

    def rename(self, markers: Indices) -> None:
        """Note that these markers were relabelled: their stored positions are not replaced until the new
        labels are certain or have lasted for some time.
        """
        self._anew_s[markers] = 0.0

    def take(self, markers: Array, foretold: PredictedMarkers, certain: NDArray[np.bool_], dt: float) -> None:
        """Store the visible markers (n_marker, 3) [m] of a frame, which comes `dt` [s] after the previous
        one.

        foretold : predictions of hidden markers for this frame
        certain : (n_marker,) whether the label of the marker is certain
        """
        seen = np.isfinite(markers[:, 0])
        complete = markers.copy()
        still = ~seen[foretold.markers] & foretold.rigid
        complete[foretold.markers[still]] = foretold.places[still]
        self._since += dt
        self._anew_s += dt
        sure = seen & (certain | (self._anew_s >= ANEW_S) | ~(self._since < LONGEST_S))
        self._since[sure] = 0.0
        self._before[sure] = complete
        self._complete = complete

    def lose_strangers(self, places: Array, dt: float) -> None:
        """Store those of the points (k, 3) [m] that are near the person, belong to no marker and have
        disappeared, as they may reappear; dt : time since the previous frame [s]
        """
        self._strangers = [s._replace(age=s.age + dt) for s in self._strangers if s.age < STRANGE_S]
        known = np.flatnonzero(np.isfinite(self._complete[:, 0]) & (self._of >= 0))
        if not len(places) or not len(known):
            return
        apart = np.linalg.norm(places[:, None] - self._complete[known], axis=2)
        nearest, among = apart.argmin(axis=1), self._complete
        beside = [k for k in range(len(places)) if apart[k, nearest[k]] < NEIGHBOUR_M]
        if beside:
            again = np.linalg.norm(self._strange_places(among)[0][:, None] - places[beside], axis=2) < SAME_M
            self._strangers = [
                s for s, same in zip(self._strangers, again.any(axis=1), strict=True) if not same
            ]
        self._strangers += [
            LostStranger(places[k], among, int(self._of[known[nearest[k]]]), 0.0) for k in beside
        ]
        self._strangers = self._strangers[-MOST_STRANGERS:]

    def strangers(self, markers: Array) -> tuple[Array, Array]:
        """Predict where points that belong to no marker and have disappeared would be now: positions (k, 3)
        [m] and tolerances (k,) [m]. A point that appears there is not taken for a marker.
        """
        places, reach = self._strange_places(markers)
        kept = np.isfinite(places[:, 0])
        return places[kept], reach[kept]

    def _strange_places(self, markers: Array) -> tuple[Array, Array]:
        """Return the predicted positions (k, 3) [m] and tolerances (k,) [m] of all stored points that belong
        to no marker; NaN = unknown.
        """
        if not self._strangers:
            return np.zeros((0, 3)), np.zeros(0)
        own = np.array([s.place for s in self._strangers])
        before = np.array([s.among for s in self._strangers])
        carried = self._carried(own, before, np.array([s.segment for s in self._strangers]), markers)
        carried.places[~carried.fixed] = np.nan
        return carried.places, np.where(carried.rigid, STRANGER_M, BENDS)

    def foretell(self, markers: Array) -> PredictedMarkers:
        """Predict the markers that are hidden in a frame (n_marker, 3) [m], if that is possible."""
        which = np.flatnonzero(~np.isfinite(markers[:, 0]) & (self._since < LONGEST_S))
        n = len(markers)
        if not len(which):
            return PredictedMarkers(
                markers=which,
                places=np.zeros((0, 3)),
                reach=np.zeros(0),
                rigid=np.zeros(0, bool),
                apart=np.zeros((0, n)),
                beside=markers,
            )
        before = self._before[which]
        carried = self._carried(before[np.arange(len(which)), which], before, self._of[which], markers)
        age = np.minimum(self._since[which], OLD_S)
        bends = BENDS + np.where(carried.mates.any(axis=1), SWINGS, AGES) * age
        kept = carried.fixed
        return PredictedMarkers(
            markers=which[kept],
            places=carried.places[kept],
            reach=np.where(carried.rigid, RIGID, bends)[kept],
            rigid=carried.rigid[kept],
            apart=np.where(carried.mates, carried.apart, np.nan)[kept],
            beside=markers,
        )

    def _carried(self, own: Array, before: Array, segments: Indices, markers: Array) -> CarriedPlaces:
        """Predict where earlier positions are now, if they have moved with the markers of their segments.

        own : (k, 3) earlier positions [m]; segments : (k,) the segments on which they lie
        before : (k, n_marker, 3) positions of the markers at that time [m]
        markers : (n_marker, 3) present positions of the markers [m], NaN = not visible
        """
        apart = np.linalg.norm(before - own[:, None], axis=2)
        both = np.isfinite(apart) & np.isfinite(markers[:, 0])
        same = (self._of == segments[:, None]) & (self._of >= 0)
        joined = self._joined[segments[:, None], self._of] & (self._of >= 0)
        rigid = (both & same).sum(axis=1) >= FEWEST
        near = np.where(rigid, HARDLY, NEIGHBOUR)[:, None] * np.exp(-((apart / NEIGHBOUR_M) ** 2))
        weights = np.where(same, 1.0, np.where(joined, near, 0.0))
        weights = np.where(both, weights, 0.0)
        known = both[:, :, None]
        then, now = np.where(known, before, 0.0), np.where(known, markers[None], 0.0)
        rotations, origins, fixed = fit_all(then, now, weights)
        if (vague := ~fixed).any():  # by a leg in one line: the whole body says where it faces
            weights[vague] += WHOLE * both[vague]
            rotations[vague], origins[vague], fixed[vague] = fit_all(then[vague], now[vague], weights[vague])
        places = (rotations @ own[:, :, None])[:, :, 0] + origins
        fixed &= np.count_nonzero(weights > 0.0, axis=1) >= FEWEST
        return CarriedPlaces(places, fixed, rigid, both & same, apart)
