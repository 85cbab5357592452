"""Poses of segments from labelled markers, and predictions of each marker from the others.

The soft tissue displacement of each marker on its segment is learned while labels are certain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.labelling.body import FEWEST, LEARNED, Array, Indices, MarkedBody, fit_all
from rtsim.labelling.person_search import FoundPerson

NEAR = 0.5
"""Fraction of its tolerance within which a marker counts as being at its position on the fitted segment."""
FARTHEST_BIAS, LEARNS = 0.05, 0.25
"""Largest distance that counts as soft tissue displacement [m], and weight of a new frame in its running
mean."""
LEARNED_TIMES = 8
"""Number of updates after which the soft tissue displacement of a marker counts as known."""
JOINT = 0.5
"""Weight of a joint centre relative to that of a marker in the fit of a segment."""


class SegmentPlaces(NamedTuple):
    """Poses of all segments of a body in one frame.

    rotations, origins : (n_segment, 3, 3) and (n_segment, 3) poses in ground [m]; NaN = not known
    """

    rotations: Array
    origins: Array


class SegmentFits:
    """Fits the poses of all segments of a body to labelled markers at once, predicts each marker from the
    others of its segment, and learns the soft tissue displacement of each marker.

    Parameters
    ----------
    body : the body with its segments
    """

    def __init__(self, body: MarkedBody) -> None:
        self._body = body
        n, most = len(body.shapes), max(len(shape.markers) for shape in body.shapes)
        joints = max(len(shape.joints) for shape in body.shapes)
        self._marker = np.full((n, most), -1)
        self._here, self._there = np.zeros((2, n, joints, 3))
        self._other = np.full((n, joints), -1)
        for k, shape in enumerate(body.shapes):
            self._marker[k, : len(shape.markers)] = shape.markers
            firm = [joint for joint in shape.joints if not joint.slack]
            for j, joint in enumerate(firm):
                self._here[k, j], self._there[k, j], self._other[k, j] = joint.here, joint.there, joint.other
        self._size = np.array([len(shape.markers) for shape in body.shapes])
        self.forget()

    def forget(self) -> None:
        """Discard the learned soft tissue displacements."""
        self._bias = np.zeros((len(self._body.local), 3))
        self._n_learned = np.zeros(len(self._body.local), np.int64)

    def _local(self) -> Array:
        """Return the positions of markers and joint centres in the axes of their segments, (n_segment, most +
        joints, 3) [m], with the largest numbers of markers (`most`) and of joints of any segment.
        """
        local = self._body.local + self._bias
        return np.concatenate([local[self._marker], self._here], axis=1)

    def places(self, markers: Array) -> SegmentPlaces:
        """Fit the poses of segments to their markers (n_marker, 3) [m], and to joint centres if the markers
        do not suffice.
        """
        ground, seen = self._seen(markers)
        local = self._local()
        anchors = np.full(self._here.shape, np.nan)
        for _ in range(2):
            there, firm = np.nan_to_num(anchors), np.isfinite(anchors[:, :, 0])
            weights = np.concatenate([seen, JOINT * firm], axis=1)
            enough = (seen.sum(axis=1) >= FEWEST) | ((weights > 0.0).sum(axis=1) >= FEWEST) & seen.any(axis=1)
            if not firm.any():
                enough = seen.sum(axis=1) >= FEWEST
            rotations, origins, fixed = fit_all(local, np.concatenate([ground, there], axis=1), weights)
            fixed &= enough
            rotations[~fixed], origins[~fixed] = np.nan, np.nan
            anchors = self._anchors(rotations, origins)
        return SegmentPlaces(rotations, origins)

    def _seen(self, markers: Array) -> tuple[Array, Array]:
        ground = markers[self._marker]
        seen = (self._marker >= 0) & np.isfinite(ground[:, :, 0])
        return np.where(seen[:, :, None], ground, 0.0), seen.astype(np.float64)

    def _anchors(self, rotations: Array, origins: Array) -> Array:
        """Return the joint centres of each segment as computed from the poses of the adjacent segments,
        (n_segment, joints, 3) [m], with the largest number of joints of any segment; NaN = not known.
        """
        placed = (rotations[self._other] @ self._there[..., None])[..., 0] + origins[self._other]
        placed[self._other < 0] = np.nan
        return placed

    def by_the_others(self, markers: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Predict each marker from the others of its segment and from adjacent joint centres. Return the
        positions (n_marker, 3) [m] and a mask (n_marker,) of the positions that three markers predict.
        """
        ground, seen = self._seen(markers)
        anchors = self._anchors(*self.places(markers))
        firm = np.isfinite(anchors[:, :, 0])
        local = self._local()
        rows, columns = np.nonzero(self._marker >= 0)
        weights = np.concatenate([seen, JOINT * firm], axis=1)[rows]
        weights[np.arange(len(rows)), columns] = 0.0
        every = np.concatenate([ground, np.nan_to_num(anchors)], axis=1)[rows]
        rotations, origins, fixed = fit_all(local[rows], every, weights)
        fixed &= ((weights > 0.0).sum(axis=1) >= FEWEST) & (seen[rows].sum(axis=1) >= FEWEST)
        places, known = np.full(markers.shape, np.nan), np.zeros(len(markers), bool)
        index = self._marker[rows, columns]
        places[index] = (rotations @ local[rows, columns][:, :, None])[:, :, 0] + origins
        known[index] = fixed
        return places, known

    def sure_beside(self, certain: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the markers whose segment's pose is certain without them, (n_marker,): three certain
        markers beside them, or two and a joint centre that three certain markers of the adjacent segment
        determine.
        """
        n = (certain[self._marker] & (self._marker >= 0)).sum(axis=1)
        joined = ((n[self._other] >= FEWEST) & (self._other >= 0)).any(axis=1)
        of = self._body.segment_of
        others = n[of] - certain
        return ((others >= FEWEST) | ((others == FEWEST - 1) & joined[of])) & (of >= 0)

    def placed(self, markers: Array) -> Array:
        """Return marker positions on the fitted segments, (n_marker, 3) [m]; NaN = not known."""
        rotations, origins = self.places(markers)
        local, of = self._body.local + self._bias, self._body.segment_of
        placed = (rotations[of] @ local[:, :, None])[:, :, 0] + origins[of]
        placed[of < 0] = np.nan
        return placed

    def lost(self, markers: Array) -> Indices:
        """Return the segments whose markers a search must find again: those with at least two hidden and
        fewer than three visible markers.
        """
        seen = self._seen(markers)[1].sum(axis=1)
        return np.flatnonzero((seen < FEWEST) & (self._size - seen >= 2))

    def learn(self, markers: Array, certain: NDArray[np.bool_]) -> None:
        """Learn the soft tissue displacement of markers; certain : (n_marker,) whether the label is
        certain.
        """
        used = np.where(certain[:, None], markers, np.nan)
        ground, seen = self._seen(used)
        rotations, origins = self.places(used)
        here = (np.swapaxes(rotations, 1, 2)[:, None] @ (ground - origins[:, None])[..., None])[..., 0]
        off = here - self._body.local[self._marker]
        far = np.linalg.norm(off, axis=2) > FARTHEST_BIAS
        off[far] = 0.0
        rows, columns = np.nonzero((seen > 0.0) & np.isfinite(off[:, :, 0]))
        index = self._marker[rows, columns]
        self._bias[index] += LEARNS * (off[rows, columns] - self._bias[index])
        self._n_learned[index] += 1

    @property
    def reach(self) -> Array:
        """Return the largest distance at which a marker still counts as being where the other markers of its
        segment predict it, (n_marker,) [m]; it is smaller once its soft tissue displacement is known.
        """
        return self._body.reach * np.where(self._n_learned >= LEARNED_TIMES, LEARNED, 1.0)

    def learned_body(self) -> MarkedBody:
        """Return the body with the learned soft tissue displacements."""
        return self._body.learned(self._bias, self._n_learned >= LEARNED_TIMES)

    def in_place(self, found: FoundPerson, points: Array) -> NDArray[np.bool_]:
        """Return a mask (n_marker,) of the markers whose label is unambiguous, because the point that the
        search found for them is close to their position on the fitted segment.
        """
        near = np.zeros(len(found.points), bool)
        for shape, placement in zip(self._body.shapes, found.placements, strict=True):
            if placement is not None:
                at = found.points[shape.markers]
                off = np.linalg.norm(placement.place(shape.local) - points[at], axis=1)
                near[shape.markers] = (at >= 0) & (off <= NEAR * self._body.reach[shape.markers])
        return near
