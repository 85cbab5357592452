"""The segments that unnamed markers are sought on: their markers, and the joint centres that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.markers.distances import Ruler, SharedPoint

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

SLACK = 0.08
"""Of a spine between pelvis and shoulders [m]."""
FEWEST = 3
"""Points that fix a rigid segment."""
LINE = 0.015
"""Spread of points from their best line below which they fix no turn about it, root mean square [m]."""


OFF, PART = 0.010, 0.06
"""How far a distance may be off for soft tissue [m], and by a part of the distance: little on a foot."""
OFF_MOST = 0.03
"""A marker that the fit of its segment leaves farther off than a distance across it may be is not taken, and
none beyond this [m]."""
BESIDE = 1.3
"""So many times that for one where others of its segment say where it must be, and nothing else is near."""


class SharedCentre(NamedTuple):
    """A joint centre: where it is on the segment itself, which shares it, where it is on that [m].

    slack : by how much more than at a joint distances to it may be off [m], as over a spine that bends: then
        it says where a segment can be, and not where it is
    """

    here: Array
    other: int
    there: Array
    slack: float = 0.0


class SegmentShape(NamedTuple):
    """A segment: which markers it has, (k, 3) where they are on it [m], and its joint centres."""

    name: str
    markers: Indices
    local: Array
    joints: tuple[SharedCentre, ...]

    @property
    def off_most(self) -> float:
        """How far a marker may be off [m]."""
        return min(OFF_MOST, OFF + PART * float(np.linalg.norm(np.ptp(self.local, axis=0))))


class SegmentPlacement(NamedTuple):
    """Where a segment is: x in ground = rotation @ x on the segment + origin; rms of the fit [m]."""

    rotation: Array
    origin: Array
    rms: float

    def place(self, local: Array) -> Array:
        """(k, 3) - points of the segment in ground [m]."""
        return local @ self.rotation.T + self.origin


class MarkedBody:
    """The segments of a person or a model, the one with the surest shape first, each then beside one before.

    Parameters
    ----------
    ruler : its distances; names : all markers, in the order in which they are followed
    faces : whether the third axis of every segment points to the same side of a person, as a subject's do
    loosely : segments that share points too, with SLACK

    Attributes
    ----------
    order : segments with markers, as they are sought
    segment_of : (n_marker,) - which shape has each marker; local : (n_marker, 3) - where it is on that [m]
    reach : (n_marker,) - how far from there it may be beside others of its segment [m]
    weak : (n_marker,) - on segments that too little tells from other points: of three markers and no
        joint, or two and no joint with a segment of three
    """

    def __init__(
        self, ruler: Ruler, names: tuple[str, ...], faces: bool = False, loosely: Sequence[SharedPoint] = ()
    ) -> None:
        self.faces = faces
        segments = [name for name, markers in ruler.local.items() if any(m in names for m in markers)]
        index = {name: k for k, name in enumerate(segments)}
        joints = [*((joint, 0.0) for joint in ruler.joints), *((joint, SLACK) for joint in loosely)]
        self.shapes = [self._shape(ruler.local[name], joints, name, names, index) for name in segments]
        self.segment_of = np.full(len(names), -1, np.int64)
        for k, shape in enumerate(self.shapes):
            self.segment_of[shape.markers] = k
        self.local, self.reach = np.zeros((len(names), 3)), np.zeros(len(names))
        for shape in self.shapes:
            self.local[shape.markers] = shape.local
            self.reach[shape.markers] = BESIDE * shape.off_most
        self.order, self.weak = self._ordered(), np.zeros(len(names), bool)
        for shape in self.shapes:
            self.weak[shape.markers] = not self._is_told_apart(shape)

    @staticmethod
    def _shape(
        local: Mapping[str, Array],
        joints: Sequence[tuple[SharedPoint, float]],
        name: str,
        names: tuple[str, ...],
        index: Mapping[str, int],
    ) -> SegmentShape:
        own = {m: x for m, x in local.items() if m in names}
        shared = [SharedCentre(j.in_proximal, index[j.distal], j.in_distal, slack)
                  for j, slack in joints if j.proximal == name and j.distal in index]  # fmt: skip
        shared += [SharedCentre(j.in_distal, index[j.proximal], j.in_proximal, slack)
                   for j, slack in joints if j.distal == name and j.proximal in index]  # fmt: skip
        markers = np.array([names.index(m) for m in own], np.int64)
        return SegmentShape(name, markers, np.array(list(own.values())).reshape(-1, 3), tuple(shared))

    def _is_told_apart(self, shape: SegmentShape) -> bool:
        """Whether distances leave one over that says whether points are those of a segment."""
        n = len(shape.markers)
        beside = [len(self.shapes[j.other].markers) for j in shape.joints if not j.slack]
        return n > FEWEST or (n == FEWEST and bool(beside)) or (n == 2 and max(beside, default=0) >= FEWEST)

    def _ordered(self) -> list[int]:
        """Those that share most joints and have most markers first, then outwards along the joints."""
        left = set(range(len(self.shapes)))
        order: list[int] = []
        while left:
            near = [k for k in left if any(j.other in order for j in self.shapes[k].joints)]
            best = max(near or sorted(left), key=lambda k: (fixes(self.shapes[k].local), self._rank(k)))
            order.append(best)
            left.remove(best)
        return order

    def _rank(self, k: int) -> tuple[int, int]:
        return len(self.shapes[k].joints), len(self.shapes[k].markers)


def fixes(points: Array) -> bool:
    """Whether (k, 3) points say how a rigid segment lies: three that are on no line."""
    if len(points) < FEWEST:
        return False
    centred = points - points.mean(axis=0)
    return bool(np.linalg.svd(centred, compute_uv=False)[1] >= LINE * np.sqrt(len(points)))


def fit(local: Array, ground: Array) -> SegmentPlacement:
    """Least squares (Kabsch 1976): (k, 3) points of a segment laid onto those in ground; never mirrored."""
    middle, there = local.mean(axis=0), ground.mean(axis=0)
    u, _, vt = np.linalg.svd((local - middle).T @ (ground - there))
    vt[2] *= np.sign(np.linalg.det(u) * np.linalg.det(vt))
    rotation = (u @ vt).T
    origin = there - rotation @ middle
    off = ground - local @ rotation.T - origin
    return SegmentPlacement(rotation, origin, float(np.sqrt(np.einsum("ij,ij->", off, off) / len(local))))
