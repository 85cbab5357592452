"""The segments to which unnamed markers are assigned: their markers, and the joint centres that they
share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.markers.distances import Ruler, SharedPoint

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

SLACK = 0.08
"""Tolerance of the distance between pelvis and shoulders, as the spine bends [m]."""
FEWEST = 3
"""Smallest number of points that determine the pose of a rigid segment."""
LEARNED = 0.6
"""Fraction of the markers' tolerance that remains once their soft tissue displacements were learned."""
GOES, GOES_FAST, TURNS, TURNS_FAST = 0.10, 2.5, 0.7, 3.0
"""Largest motion of a segment while it is not seen: displacement [m, m/s] and rotation [rad, rad/s]."""
REDUNDANT = 5
"""Number of markers of a segment beyond which more markers do not make its identification more reliable."""
LINE = 0.015
"""Root mean square distance of points from their best-fitting line below which they do not determine the
rotation about this line [m]."""


OFF, PART = 0.010, 0.06
"""Change of the distance of two markers by soft tissue artefacts: a constant part [m], and a fraction of the
distance."""
OFF_MOST = 0.03
"""Largest accepted distance of a marker from its position on the fitted segment, however large the segment is
[m]."""
OFF_JOINT = 0.030
"""Largest distance between the positions of a joint centre that two adjacent segments give [m]."""
VAGUE = 0.060
"""Addition to that distance if the adjacent segment has only two markers, so that the plane in which it
rotates about its joint is uncertain [m]."""
LOOSE = 0.015
"""Additional tolerance of markers on segments that are not rigid, as arms and head move on them [m]."""
LOOSE_TWO = 0.015
"""Additional tolerance of markers on a segment with only two markers, as no third one compensates soft tissue
artefacts [m]."""
BESIDE = 1.3
"""Factor of the tolerance of a marker whose position follows from the other markers of its segment, if no
other point is near."""


class SharedCentre(NamedTuple):
    """A joint centre that two segments share, as seen from one of them.

    here : (3,) position on this segment [m]
    other : index of the adjacent segment
    there : (3,) position on the adjacent segment [m]
    slack : additional tolerance of distances to the centre [m], for example across a spine that bends; the
        centre then only limits the position of a segment
    vague : additional tolerance if the adjacent segment has fewer than three markers, which determine the
        centre poorly [m]
    """

    here: Array
    other: int
    there: Array
    slack: float = 0.0
    vague: float = 0.0


class ExpectedPlace(NamedTuple):
    """The pose of a segment before it was lost, near which it is expected again.

    rotation, origin : the pose, (3, 3) and (3,) [m]
    gone : distance that it may have moved since [m]
    turned : 1 - cosine of the largest rotation that is possible since
    """

    rotation: Array
    origin: Array
    gone: float
    turned: float

    def costs(self, rotations: Array, origins: Array) -> Array:
        """Return the cost (c,) of each of c poses, which increases with the squared distance and with the
        rotation from the earlier pose: 1 for the largest possible distance, and 1 for the largest possible
        rotation.
        """
        turned = 0.5 * (3.0 - np.einsum("cij,ij->c", rotations, self.rotation)) / self.turned
        off = origins - self.origin
        return turned + np.einsum("ci,ci->c", off, off) / self.gone**2


class SegmentShape(NamedTuple):
    """A segment with its markers, their positions (k, 3) on it [m], and its joint centres.

    bases : sets of markers that determine the pose of the segment, first alone, then together with each of
        its joint centres; each time the best sets first
    loose : additional tolerance of markers on a segment that is not rigid, such as a trunk, or has only two
        markers [m]
    part : remaining fraction of the markers' tolerance once their soft tissue displacement was learned
    expected : earlier pose, if it is known
    """

    name: str
    markers: Indices
    local: Array
    joints: tuple[SharedCentre, ...]
    bases: tuple[tuple[tuple[int, ...], ...], ...]
    loose: float = 0.0
    part: float = 1.0
    expected: ExpectedPlace | None = None

    @property
    def off_most(self) -> float:
        """Largest accepted distance of a marker from its place on the segment [m]."""
        extent = float(np.linalg.norm(np.ptp(self.local, axis=0)))
        return self.part * (min(OFF_MOST, OFF + PART * extent) + self.loose)

    @property
    def off(self) -> float:
        """Constant part of the tolerance of a distance between two markers [m]; the fraction `off_part` of
        the distance is added to it.
        """
        return self.part * (OFF + self.loose)

    @property
    def off_part(self) -> float:
        """Fraction of the distance between two markers by which it may differ due to soft tissue artefacts
        [1].
        """
        return self.part * PART

    @property
    def off_joint(self) -> float:
        """Constant part of the tolerance of the distance from a marker to a joint centre [m]; a fraction of
        the distance is added to it.
        """
        return OFF_JOINT + self.loose


class SegmentPlacement(NamedTuple):
    """The pose of a segment: x in ground = rotation @ x on the segment + origin [m]."""

    rotation: Array
    origin: Array

    def place(self, local: Array) -> Array:
        """Return points of the segment in ground, (k, 3) [m]."""
        return local @ self.rotation.T + self.origin


class MarkedBody:
    """The segments of a person or a model with their markers, for the search: the segment with the most
    distinctive shape first, then each after an adjacent one.

    ruler : positions of the markers on their segments, and joint centres, which determine all fixed distances
    names : all markers, in the order of the tracked markers
    faces : whether the third axes of all segments point to the same side of the body, as for persons
    loosely : points that two segments share only within a tolerance SLACK, such as pelvis and trunk
    order : segments with markers, in the order of the search
    segment_of : (n_marker,) segment of each marker
    local : (n_marker, 3) position of each marker on its segment [m]
    reach : (n_marker,) largest distance at which a marker counts as being where the other markers of its
        segment predict it [m]
    weak : (n_marker,) whether the marker is on a segment that is poorly distinguishable from other points:
        with three markers and no joint, or two and no joint to a segment with three
    unheld : (n_shape,) whether no joint fixes a point of the segment
    """

    def __init__(
        self, ruler: Ruler, names: tuple[str, ...], faces: bool = False, loosely: Sequence[SharedPoint] = ()
    ) -> None:
        self.faces = faces
        segments = [name for name, markers in ruler.local.items() if any(m in names for m in markers)]
        index = {name: k for k, name in enumerate(segments)}
        joints = [*((joint, 0.0) for joint in ruler.joints), *((joint, SLACK) for joint in loosely)]
        self.shapes = [self._shape(ruler, joints, name, names, index) for name in segments]
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
        self.unheld = np.array([all(joint.slack for joint in shape.joints) for shape in self.shapes], bool)

    def learned(self, bias: Array, known: NDArray[np.bool_]) -> MarkedBody:
        """Return a body whose marker positions are corrected for the learned soft tissue displacements, for
        the segments on which all markers are known.

        bias : (n_marker, 3) displacement on the segment [m]; known : (n_marker,) whether it was learned
        """
        other = copy(self)
        other.shapes = [
            shape._replace(local=shape.local + bias[shape.markers], part=LEARNED)
            if len(shape.markers) >= FEWEST and known[shape.markers].all() else shape
            for shape in self.shapes
        ]  # fmt: skip
        other.local = self.local + bias
        return other

    def after_gap(self, rotations: Array, origins: Array, gap_s: float) -> MarkedBody:
        """Return the body for a search after a gap of `gap_s` [s], in which each segment is expected near its
        pose before the gap.

        rotations, origins : (n_segment, 3, 3) and (n_segment, 3) poses before the gap [m], NaN = not known
        """
        other = copy(self)
        turned = 1.0 - float(np.cos(min(np.pi, TURNS + TURNS_FAST * gap_s)))
        other.shapes = [
            shape if np.isnan(origin[0])
            else shape._replace(expected=ExpectedPlace(rotation, origin, GOES + GOES_FAST * gap_s, turned))
            for shape, rotation, origin in zip(self.shapes, rotations, origins, strict=True)
        ]  # fmt: skip
        return other

    def partly_seen(self, missing: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a mask (n_marker,) of the markers on segments that no joint holds in place and of which at
        least one marker is missing. Labels of these markers are less reliable: the remaining markers of a
        trunk, for example, may be confused with those of an arm.

        missing : (n_marker,) whether a marker is missing
        """
        partly = np.zeros(len(missing), bool)
        for k in np.flatnonzero(self.unheld).tolist():
            partly[self.shapes[k].markers] = missing[self.shapes[k].markers].any()
        return partly

    @staticmethod
    def _shape(
        ruler: Ruler,
        joints: Sequence[tuple[SharedPoint, float]],
        name: str,
        names: tuple[str, ...],
        index: Mapping[str, int],
    ) -> SegmentShape:
        own = {m: x for m, x in ruler.local[name].items() if m in names}
        vague = {s: VAGUE if sum(m in names for m in ruler.local[s]) < FEWEST else 0.0 for s in index}
        shared = [SharedCentre(j.in_proximal, index[j.distal], j.in_distal, slack, vague[j.distal])
                  for j, slack in joints if j.proximal == name and j.distal in index]  # fmt: skip
        shared += [SharedCentre(j.in_distal, index[j.proximal], j.in_proximal, slack, vague[j.proximal])
                   for j, slack in joints if j.distal == name and j.proximal in index]  # fmt: skip
        markers = np.array([names.index(m) for m in own], np.int64)
        places = np.array(list(own.values())).reshape(-1, 3)
        loose = LOOSE if name in ruler.loose else LOOSE_TWO if len(markers) < FEWEST else 0.0
        bases = tuple(bases_of(places, end) for end in (np.zeros((0, 3)), *(j.here[None] for j in shared)))
        return SegmentShape(name, markers, places, tuple(shared), bases, loose=loose)

    def _is_told_apart(self, shape: SegmentShape) -> bool:
        """Return whether a segment has more known distances between its points than its pose needs, so
        that the points can be recognised by them.
        """
        n = len(shape.markers)
        beside = [len(self.shapes[j.other].markers) for j in shape.joints if not j.slack]
        return n > FEWEST or (n == FEWEST and bool(beside)) or (n == 2 and max(beside, default=0) >= FEWEST)

    def _ordered(self) -> list[int]:
        """Return the order in which segments are searched: first the segment that is best found with
        hidden markers, then outwards along the joints.
        """
        left = set(range(len(self.shapes)))
        order: list[int] = []
        while left:
            near = [k for k in left if any(j.other in order for j in self.shapes[k].joints)]
            near = [
                k for k in near if not all(j.slack for j in self.shapes[k].joints if j.other in order)
            ] or near
            best = max(near or sorted(left), key=lambda k: (fixes(self.shapes[k].local), self._rank(k)))
            order.append(best)
            left.remove(best)
        return order

    def _rank(self, k: int) -> tuple[int, int, float]:
        shape = self.shapes[k]
        firm = sum(not joint.slack for joint in shape.joints)
        return min(len(shape.markers), REDUNDANT), firm, float(np.linalg.norm(np.ptp(shape.local, axis=0)))


def fixes(points: Array) -> bool:
    """Return whether points (k, 3) determine the pose of a rigid segment: three that are not on one line."""
    if len(points) < FEWEST:
        return False
    centred = points - points.mean(axis=0)
    return bool(np.linalg.svd(centred, compute_uv=False)[1] >= LINE * np.sqrt(len(points)))


def bases_of(local: Array, ends: Array) -> tuple[tuple[int, ...], ...]:
    """Return the sets of markers ("bases") that determine the pose of a segment together with the joint
    centre `ends`, three points in all; the largest triangle first.

    local : (k, 3) - markers on the segment [m]; ends : (0 or 1, 3) - a joint centre on it [m]
    """
    bases = list(combinations(range(len(local)), FEWEST - len(ends)))
    corners = [np.vstack([ends, local[list(base)]]) for base in bases]
    sides = [(c[1] - c[0], c[2] - c[0]) for c in corners]
    order = np.argsort([-float(np.linalg.norm(np.cross(a, b))) for a, b in sides], kind="stable")
    return tuple(bases[k] for k in order.tolist() if fixes(corners[k]))


SLENDER = 0.005
"""Like LINE, but for points with different weights, such as markers and joint centres [m]."""


def fit_all(local: Array, ground: Array, weights: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Fit poses by weighted least squares (Kabsch 1976), many at once, without mirroring.

    local : (k, 3) or (c, k, 3) - points of a segment [m]; ground : (c, k, 3) [m]; weights : (c, k). Return
        rotations (c, 3, 3), origins (c, 3) [m], and whether the points are not on a line and so determine
        the pose, (c,).
    """
    total = np.maximum(weights.sum(axis=1), 1e-12)[:, None]
    middle = (weights[:, None] @ local)[:, 0] / total
    there = np.einsum("ck,cki->ci", weights, ground) / total
    covariance = np.swapaxes(local - middle[:, None], 1, 2) @ (
        weights[:, :, None] * (ground - there[:, None])
    )
    u, size, vt = np.linalg.svd(covariance)
    u[:, :, 2] = crossed(u[:, :, 0], u[:, :, 1])
    vt[:, 2] = crossed(vt[:, 0], vt[:, 1])
    rotations = np.swapaxes(u @ vt, 1, 2)
    origins = there - (rotations @ middle[:, :, None])[:, :, 0]
    return rotations, origins, size[:, 1] >= SLENDER**2 * total[:, 0]


def crossed(a: Array, b: Array) -> Array:
    """Return the cross products of corresponding rows of a and b, (c, 3); NumPy's own function spends most
    of its time on handling axes of any shape.
    """
    (ax, ay, az), (bx, by, bz) = a.T, b.T
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=1)


def fit(local: Array, ground: Array) -> SegmentPlacement:
    """Fit the pose of a segment that maps points (k, 3) on it to their positions (k, 3) in ground."""
    rotations, origins, _ = fit_all(local, ground[None], np.ones((1, len(local))))
    return SegmentPlacement(rotations[0], origins[0])
