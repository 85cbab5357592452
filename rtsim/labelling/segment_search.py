"""One segment in a cloud of points: which of them can be its markers, by the distances between them.

Distances to the joint centres that neighbours give count as well. A segment is found by going through its
markers one by one, each time through the points whose distances to those taken before can be (backtracking).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.labelling.body import OFF, PART, Array, SegmentPlacement, SegmentShape, fit, fixes

OFF_JOINT = 0.020
"""The same of a distance to a joint centre that a neighbour gives [m]."""
KEPT = 6
"""Ways to see a segment that are kept."""
MOST_STEPS = 4_000
"""Points that are looked at in one search: a cloud beyond that has too much that looks alike."""


class SeenSegment(NamedTuple):
    """A way to see a segment: the point of each of its markers, -1 = none, where it then is, and its cost.

    cost : sum of squares of what the markers are off, and MISSING^2 for each without a point [m^2]
    """

    points: tuple[int, ...]
    placement: SegmentPlacement
    cost: float


MISSING = 0.03
"""A marker without a point costs as much as one that is so far off [m]."""


def ways_to_see(
    shape: SegmentShape, anchors: Sequence[tuple[Array, Array, float]], cloud: Array, free: NDArray[np.bool_]
) -> list[SeenSegment]:
    """The best ways to see a segment, the cheapest first.

    anchors : joint centres on the segment and in ground, and their slack [m]; cloud : (n, 3) [m]
    free : (n,) - which points may be taken
    """
    return _Search(shape, anchors, cloud, free).run()


class _Search:
    def __init__(
        self,
        shape: SegmentShape,
        anchors: Sequence[tuple[Array, Array, float]],
        cloud: Array,
        free: NDArray[np.bool_],
    ) -> None:
        self.shape, self.cloud = shape, cloud
        self.here = np.array([here for here, _, _ in anchors]).reshape(-1, 3)
        self.there = np.array([there for _, there, _ in anchors]).reshape(-1, 3)
        slack = np.array([slack for _, _, slack in anchors])
        self.apart = np.linalg.norm(shape.local[:, None] - shape.local[None], axis=2)
        usual = np.linalg.norm(shape.local[:, None] - self.here[None], axis=2)
        found = np.linalg.norm(cloud[:, None] - self.there[None], axis=2)
        off = np.abs(found[None] - usual[:, None])  # (marker, point, anchor)
        can = (off <= OFF_JOINT + PART * usual[:, None] + slack).all(axis=2) & free
        self.here, self.there = self.here[slack == 0.0], self.there[slack == 0.0]
        self.can = [np.flatnonzero(row) for row in can]
        self.between = np.linalg.norm(cloud[:, None] - cloud[None], axis=2)
        self.off_most = shape.off_most
        self.n_step = 0
        self.found: dict[tuple[int, ...], SeenSegment] = {}
        self.fewest_seen = max(2, 3 - len(self.here))
        self.n_missing = 0

    def run(self) -> list[SeenSegment]:
        for n_missing in range(len(self.shape.local) - self.fewest_seen + 1):
            self.n_missing = n_missing
            self._go_on([], 0)
            if self.found:  # whoever sees fewer markers sees parts of these, or something worse
                break
        return sorted(self.found.values(), key=lambda seen: seen.cost)[:KEPT]

    def _go_on(self, taken: list[int], n_missing: int) -> None:
        """Try all points for the next marker, and that it is not seen."""
        k = len(taken)
        if k == len(self.shape.local):
            self._judge(taken)
            return
        self.n_step += 1
        if self.n_step > MOST_STEPS:
            return
        before = [(j, p) for j, p in enumerate(taken) if p >= 0]
        points = self.can[k]
        for j, p in before:
            off = np.abs(self.between[p, points] - self.apart[j, k])
            points = points[(off <= OFF + PART * self.apart[j, k]) & (points != p)]
        for p in points.tolist():
            self._go_on([*taken, p], n_missing)
        if n_missing < self.n_missing:
            self._go_on([*taken, -1], n_missing + 1)

    def _judge(self, taken: list[int]) -> None:
        seen = [k for k, p in enumerate(taken) if p >= 0]
        while True:
            local = np.vstack([self.shape.local[seen], self.here])
            if len(seen) < 2 or not fixes(local):
                return
            placement = fit(local, np.vstack([self.cloud[[taken[k] for k in seen]], self.there]))
            off = np.linalg.norm(
                placement.place(self.shape.local[seen]) - self.cloud[[taken[k] for k in seen]], axis=1
            )
            if off.max() <= self.off_most:
                break
            seen.pop(int(off.argmax()))
        points = tuple(p if k in seen else -1 for k, p in enumerate(taken))
        joints = placement.place(self.here) - self.there
        cost = float(off @ off + np.einsum("ij,ij->", joints, joints))
        cost += MISSING**2 * (len(taken) - len(seen))
        if points not in self.found or cost < self.found[points].cost:
            self.found[points] = SeenSegment(points, placement, cost)
