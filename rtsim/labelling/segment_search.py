"""Search for one segment in a cloud of points, given the segments that were found already.

Two markers and a joint centre of a neighbour determine the pose of a segment, and so do three markers. All
pairs or triples of points with matching distances are aligned with the segment. The other markers are then
the points nearest to their predicted positions, and a least-squares fit over all of them rates the
hypothesis (Fischler and Bolles 1981, but with all samples instead of random ones).
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rtsim.labelling.body import FEWEST, OFF_JOINT, PART, Array, Indices, SegmentShape, crossed, fit_all

KEPT = 40
"""Number of hypotheses on a segment that are fitted in a step and kept."""
FIRST_BASES, MORE_BASES, MOST_BASES = 2, 5, 12
"""Number of bases (pairs or triples of markers) that are tried in the first step; in each further step, if
some marker has no point yet; and in all."""
STEPS = (0, *range(FIRST_BASES, MOST_BASES, MORE_BASES), MOST_BASES)
"""Ranges of the bases that are tried in each step."""
MOST_SAMPLES = 800
"""Largest number of pairs or triples of points that are tried for a base."""
NEAREST_MOST = 1.5
"""Factor by which the tolerance of markers is larger before the fit than after it."""
Found = TypeVar("Found")
NEAR_FIRST = 1e-12
SIDE_OF_TWO = -0.5
"""Smallest accepted cosine of the angle to the other segments' third axes, for segments of two markers."""
SPINE, LEG = 1.0, 0.3
"""Half of the cost of facing the opposite way: of a trunk relative to the pelvis, and of a segment of a
leg."""


class Hypotheses(NamedTuple):
    """h hypotheses on the markers of a person.

    points : (h, n_marker) point of each marker, -1 = none
    rotations, origins : (h, n_segment, 3, 3) and (h, n_segment, 3) poses of the segments [m], NaN = not
        visible
    costs : (h,) sum of squared deviations of markers relative to their tolerances, plus 1 for each marker
        without a point
    """

    points: Indices
    rotations: Array
    origins: Array
    costs: Array

    def chosen(self, rows: Indices) -> Hypotheses:
        """Return the hypotheses with the indices `rows`."""
        return Hypotheses(self.points[rows], self.rotations[rows], self.origins[rows], self.costs[rows])


class SegmentHypotheses(NamedTuple):
    """c hypotheses on one segment, that with the lowest cost first. Each consists of the index of the
    hypothesis on the other segments that it extends, `beside` (c,); the points of the segment's k markers,
    (c, k), -1 = none; the pose [m]; and the cost, (c,)."""

    beside: Indices
    points: Indices
    rotations: Array
    origins: Array
    costs: Array

    def chosen(self, rows: Indices) -> SegmentHypotheses:
        """Return the hypotheses with the indices `rows`."""
        return SegmentHypotheses(self.beside[rows], self.points[rows], self.rotations[rows],
                                 self.origins[rows], self.costs[rows])  # fmt: skip


class Samples(NamedTuple):
    """c sets of points that may be the markers of a base (a set of markers that determines the pose): the
    index of the hypothesis on the other segments that each set extends; a triangle on the segment (`local`)
    and in ground, which gives the rotation, (c, 3, 3) [m]; and a point on the segment (`middle`) and in
    ground (`there`), which gives the translation, (c, 3) [m].
    """

    hypothesis: Indices
    local: Array
    ground: Array
    middle: Array
    there: Array


def search_segment(
    shape: SegmentShape,
    before: Hypotheses,
    cloud: Array,
    apart: Array,
    faces: bool,
    cannot: NDArray[np.bool_] | None = None,
) -> Generator[None, None, SegmentHypotheses]:
    """Find the best hypotheses on which points are the markers of a segment, given those on the other
    segments. Yields about once a millisecond, so that the search can be spread over frames.

    cloud : (n, 3) points [m]
    apart : (n, n) distances between them [m]
    faces : whether its third axis must point to the same side as those of the other segments
    cannot : (n, n_marker) whether a point is known not to be a marker
    """
    return (yield from _SegmentSearch(shape, before, cloud, apart, faces, cannot).run())


def seen_segments(
    shape: SegmentShape, before: Hypotheses, cloud: Array, apart: Array, faces: bool
) -> SegmentHypotheses:
    """Find the best hypotheses on which points are the markers of a segment, without pauses."""
    return finished(search_segment(shape, before, cloud, apart, faces))


def finished(search: Generator[None, None, Found]) -> Found:
    """Run a search to its end and return its result."""
    while True:
        try:
            next(search)
        except StopIteration as end:
            return end.value


def segment_as_named(
    shape: SegmentShape, before: Hypotheses, cloud: Array, apart: Array, faces: bool, points: Indices
) -> SegmentHypotheses:
    """Fit the segment's pose to one assignment of points to its markers, and compute its cost as a search
    does; the result is empty if too few markers are visible.

    before : the one hypothesis on the other segments; points : (k,) point of each marker, -1 = none
    """
    return _SegmentSearch(shape, before, cloud, apart, faces).judged(points[None])


class _SegmentSearch:
    def __init__(
        self,
        shape: SegmentShape,
        before: Hypotheses,
        cloud: Array,
        apart: Array,
        faces: bool,
        cannot: NDArray[np.bool_] | None = None,
    ) -> None:
        self.shape, self.before, self.cloud, self.apart, self.faces = shape, before, cloud, apart, faces
        others = np.array([joint.other for joint in shape.joints], np.int64)
        there = np.array([joint.there for joint in shape.joints]).reshape(-1, 3)
        self.here = np.array([joint.here for joint in shape.joints]).reshape(-1, 3)
        self.firm = np.array([joint.slack == 0.0 for joint in shape.joints], bool)
        slack = np.array([joint.slack + joint.vague for joint in shape.joints])
        self.off_joint = OFF_JOINT + np.array([joint.vague for joint in shape.joints])
        self.there = (before.rotations[:, others] @ there[None, :, :, None])[..., 0] + before.origins[
            :, others
        ]
        self.anchored = np.isfinite(self.there[:, :, 0]) & self.firm
        self.can = self._can(slack)
        if cannot is not None:
            self.can &= ~cannot[:, shape.markers].T
        self.length = np.linalg.norm(shape.local[:, None] - shape.local[None], axis=2)
        self.square = np.einsum("ij,ij->i", cloud, cloud)

    def _can(self, slack: Array) -> NDArray[np.bool_]:
        """Return whether each point may be each marker of the segment in each of h hypotheses, (h, k, n), by
        labels and by distances to joint centres; slack : (n_joint,) additional tolerance of the latter [m].
        """
        shape, points = self.shape, self.before.points
        usual = np.linalg.norm(shape.local[:, None] - self.here[None], axis=2)
        found = np.linalg.norm(self.cloud[None, :, None] - self.there[:, None], axis=3)
        off = np.abs(found[:, None] - usual[None, :, None])
        can = ~(off > shape.off_joint + PART * usual[None, :, None] + slack).any(axis=3)
        rows, markers = np.nonzero(points >= 0)
        free = np.ones((len(points), len(self.cloud)), bool)
        free[rows, points[rows, markers]] = False
        can &= free[:, None]
        for row, i in zip(*np.nonzero(points[:, shape.markers] >= 0), strict=True):
            can[row, i] = False
            can[row, i, points[row, shape.markers[i]]] = True
        return can

    def run(self) -> Generator[None, None, SegmentHypotheses]:
        found: list[SegmentHypotheses] = []
        anchors = self._anchors()
        for anchor in np.unique(anchors).tolist():
            rows = np.flatnonzero(anchors == anchor)
            for corner, bases in self._base_sets(anchor):
                samples = [self._sampled(rows, base, corner) for base in bases]
                found.append(self._fitted(samples))
                yield
                rows = self._in_need(rows, found)
                if not len(rows):
                    break
        return self._best(found)

    def _anchors(self) -> Indices:
        """Return the joint centre that helps to determine the pose of the segment, a well determined one if
        possible, (h,); -1 = none.
        """
        if not len(self.here):
            return np.full(len(self.before.costs), -1)
        vague = np.array([joint.vague > 0.0 for joint in self.shape.joints])
        best = (2 * self.anchored - (self.anchored & vague)).argmax(axis=1)
        return np.where(self.anchored.any(axis=1), best, -1)

    def _base_sets(self, anchor: int) -> list[tuple[int, tuple[tuple[int, ...], ...]]]:
        """Return for each step of the search a joint centre (`anchor`, or -1 = none) and the bases (sets of
        markers) to try with it. Three markers come before two and a poorly determined centre."""
        shape = self.shape
        corners = [anchor]
        if anchor >= 0 and shape.joints[anchor].vague and len(shape.markers) >= FEWEST:
            corners = [-1, anchor]
        sets = [(corner, shape.bases[1 + corner][k:end]) for corner in corners for k, end in pairwise(STEPS)]
        return [(corner, some) for corner, some in sets if some]

    def _in_need(self, rows: Indices, found: list[SegmentHypotheses]) -> Indices:
        """Return those of the hypotheses `rows` for which no pose of the segment in `found` gives every
        marker a point, and whose cost is still below that of the best with all points."""
        best = np.inf
        for some in found:
            whole = (some.points >= 0).all(axis=1)
            rows = np.setdiff1d(rows, some.beside[whole])
            costs = self.before.costs[some.beside] + some.costs
            best = min(best, float(costs[whole].min(initial=np.inf)))
        return rows[self.before.costs[rows] < best]

    def _sampled(self, rows: Indices, base: tuple[int, ...], anchor: int) -> Samples:
        """Return the points that may be the markers of `base`, by hypothesis; anchor : joint, -1 = none."""
        hypothesis, p = np.nonzero(self.can[rows, base[0]])
        hypothesis, taken = rows[hypothesis], p[:, None]
        for k, marker in enumerate(base[1:], 1):
            fitting = self.can[hypothesis, marker].copy()
            for earlier in range(k):
                fitting &= self._fits(base[earlier], marker)[taken[:, earlier]]
            row, p = np.nonzero(fitting)
            hypothesis, taken = hypothesis[row], np.column_stack([taken[row], p])
        if len(taken) > MOST_SAMPLES:
            hypothesis, taken = hypothesis[:MOST_SAMPLES], taken[:MOST_SAMPLES]
        local, ground = self.shape.local[list(base)], self.cloud[taken]
        vague = anchor >= 0 and self.shape.joints[anchor].vague and len(self.shape.markers) < FEWEST
        middle, there = local.mean(axis=0), ground.mean(axis=1)
        if anchor >= 0:
            here, centre = self.here[anchor][None], self.there[hypothesis, anchor][:, None]
            own = [(local, here), (ground, centre)] if vague else [(here, local), (centre, ground)]
            local, ground = np.vstack(own[0]), np.concatenate(own[1], axis=1)
            if not vague:
                middle, there = local.mean(axis=0), ground.mean(axis=1)
        n = len(hypothesis)
        local, middle = np.broadcast_to(local, (n, 3, 3)), np.broadcast_to(middle, (n, 3))
        return Samples(hypothesis, local, ground, middle, there)

    def _fits(self, marker: int, other: int) -> NDArray[np.bool_]:
        """Return a mask (n, n) of the pairs of points of the cloud whose distance agrees with that of two
        markers, marker and other."""
        usual = self.length[marker, other]
        near = np.abs(self.apart - usual) <= self.shape.off + self.shape.off_part * usual
        np.fill_diagonal(near, False)
        return near

    def _aligned(self, samples: list[Samples]) -> tuple[Indices, Array, Array]:
        """Return the hypotheses on the other segments, and the poses that align the segment with points of a
        base and a joint centre. A poorly determined joint centre only gives the rotation about the line of
        two markers, because a fit to all three would miss the points.
        """
        every = Samples(*(np.concatenate(column) for column in zip(*samples, strict=True)))
        rotations = frames(every.ground) @ frames(every.local).swapaxes(1, 2)
        origins = every.there - (rotations @ every.middle[:, :, None])[:, :, 0]
        if not self.faces or not len(every.hypothesis):
            return every.hypothesis, rotations, origins
        kept = np.flatnonzero(self._faces_so(every.hypothesis, rotations))
        return every.hypothesis[kept], rotations[kept], origins[kept]

    def _faces_so(self, hypothesis: Indices, rotations: Array) -> NDArray[np.bool_]:
        """Return a mask (c,) of the rotations (c, 3, 3) of this segment whose third axis points to the same
        side as the third axes of the segments found before, in the hypotheses (c,) to which they belong.
        """
        sides = np.einsum("csi,ci->cs", self.before.rotations[hypothesis, :, :, 2], rotations[:, :, 2])
        return ~(sides <= (0.0 if len(self.shape.markers) > 2 else SIDE_OF_TWO)).any(axis=1)

    def _turned(self, hypothesis: Indices, rotations: Array) -> Array:
        """Return the cost (c,) of rotations (c, 3, 3) of the segment, which grows with the rotation relative
        to its neighbours."""
        costs = np.zeros(len(hypothesis))
        for joint in self.shape.joints:
            beside = self.before.rotations[hypothesis, joint.other]
            along = 1.0 - np.einsum("cij,cij->cj", beside, rotations)
            well = 1.0 if not joint.vague and len(self.shape.markers) > 2 else 0.5
            costs += np.nan_to_num(well * along[:, 2] + (SPINE if joint.slack else LEG) * along[:, 1])
        return costs

    def _nearest(self, hypothesis: Indices, rotations: Array, origins: Array) -> tuple[Indices, Array]:
        """Return the point nearest to the predicted position of each marker, and the squared distance
        relative to its tolerance, (c, k) each.
        """
        placed = self.shape.local @ rotations.swapaxes(1, 2) + origins[:, None]
        square = np.einsum("cki,cki->ck", placed, placed)
        off = square[:, :, None] + self.square - 2.0 * (placed @ self.cloud.T)
        off[~self.can[hypothesis]] = np.inf
        nearest = off.argmin(axis=2)
        least = np.take_along_axis(off, nearest[:, :, None], axis=2)[:, :, 0]
        return nearest, np.maximum(least, 0.0) / self.shape.off_most**2

    def _fitted(self, samples: list[Samples]) -> SegmentHypotheses:
        """Assign the nearest points to the markers at the best sampled poses, and fit the poses to these
        points.
        """
        hypothesis, rotations, origins = self._aligned(samples)
        nearest, off = self._nearest(hypothesis, rotations, origins)
        costs = self.before.costs[hypothesis] + np.minimum(off, NEAREST_MOST**2).sum(axis=1)
        kept = np.argsort(costs, kind="stable")[:KEPT]
        hypothesis, nearest, off = hypothesis[kept], nearest[kept], off[kept]
        for most in (NEAREST_MOST**2, 1.0):
            points = without_doubles(np.where(off <= most, nearest, -1), off)
            rotations, origins, fixed = self._fit(hypothesis, points)
            hypothesis, points = hypothesis[fixed], points[fixed]
            rotations, origins = rotations[fixed], origins[fixed]
            nearest, off = self._nearest(hypothesis, rotations, origins)
        return SegmentHypotheses(hypothesis, points, rotations, origins,
                                 self._costs(hypothesis, points, rotations, origins))  # fmt: skip

    def _fit(self, hypothesis: Indices, points: Indices) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Fit poses by least squares to markers and joint centres; also return for which hypotheses there
        are enough of them to determine the pose and to exclude a chance match.
        """
        local = np.vstack([self.shape.local, self.here])
        well = (OFF_JOINT / self.off_joint) ** 2
        weights = np.concatenate([points >= 0, well * self.anchored[hypothesis]], axis=1)
        there = np.where(self.anchored[hypothesis][:, :, None], self.there[hypothesis], 0.0)
        ground = np.concatenate([self.cloud[points], there], axis=1)
        rotations, origins, second = fit_all(local, ground, weights)
        k = len(self.shape.markers)
        alone = FEWEST if self.firm.any() else min(k, FEWEST + 1)
        fewest = np.where(self.anchored[hypothesis].any(axis=1), max(2, -(-k // 2)), alone)
        return rotations, origins, second & ((points >= 0).sum(axis=1) >= fewest)

    def judged(self, points: Indices) -> SegmentHypotheses:
        """Fit the segment's pose to given points of its markers (1, k), with the other segments of the first
        hypothesis, and compute the cost.
        """
        first = np.zeros(1, np.int64)
        rotations, origins, fixed = self._fit(first, points)
        costs = self._costs(first, points, rotations, origins)
        if self.faces:
            costs[~self._faces_so(first, rotations)] = np.inf
        return SegmentHypotheses(first, points, rotations, origins, costs).chosen(np.flatnonzero(fixed))

    def _costs(self, hypothesis: Indices, points: Indices, rotations: Array, origins: Array) -> Array:
        placed = self.shape.local @ rotations.swapaxes(1, 2) + origins[:, None]
        off = placed - self.cloud[points]
        squares = np.minimum(np.einsum("cki,cki->ck", off, off) / self.shape.off_most**2, 1.0)
        costs = np.where(points >= 0, squares, 1.0).sum(axis=1)
        if len(self.here):
            joints = self.here @ rotations.swapaxes(1, 2) + origins[:, None] - self.there[hypothesis]
            squares = np.einsum("cji,cji->cj", joints, joints) / self.off_joint**2
            costs += np.where(self.anchored[hypothesis], squares, 0.0).sum(axis=1)
        if self.shape.expected is not None:
            costs += self.shape.expected.costs(rotations, origins)
        return costs + self._turned(hypothesis, rotations) if self.faces else costs

    def _best(self, found: list[SegmentHypotheses]) -> SegmentHypotheses:
        """Merge the hypotheses of all bases without duplicates; those with the lowest cost including their
        neighbours come first.
        """
        k = len(self.shape.markers)
        if not found:
            return SegmentHypotheses(np.zeros(0, np.int64), np.zeros((0, k), np.int64), np.zeros((0, 3, 3)),
                                     np.zeros((0, 3)), np.zeros(0))  # fmt: skip
        every = SegmentHypotheses(*(np.concatenate(column) for column in zip(*found, strict=True)))
        order = np.argsort(self.before.costs[every.beside] + every.costs, kind="stable")
        every = every.chosen(order)
        _, first = np.unique(np.column_stack([every.beside, every.points]), axis=0, return_index=True)
        return every.chosen(np.sort(first))


def without_doubles(points: Indices, off: Array) -> Indices:
    """Remove repeated points in each row of (c, k): the marker with the smaller deviation `off` (c, k)
    keeps the point.
    """
    ordered = np.sort(points, axis=1)
    doubled = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
    for row in np.flatnonzero(doubled).tolist():
        taken: set[int] = set()
        for k in np.argsort(off[row], kind="stable").tolist():
            p = int(points[row, k])
            if p in taken:
                points[row, k] = -1
            taken.add(p)
    return points


def frames(corners: Array) -> Array:
    """Return axes (c, 3, 3) as columns from triangles (c, 3, 3): the first along the first side, the second
    in the plane of the triangle, the third perpendicular to it.
    """
    x = corners[:, 1] - corners[:, 0]
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), NEAR_FIRST)
    z = crossed(x, corners[:, 2] - corners[:, 0])
    z /= np.maximum(np.linalg.norm(z, axis=1, keepdims=True), NEAR_FIRST)
    return np.stack([x, crossed(z, x), z], axis=2)
