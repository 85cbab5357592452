"""Everybody's markers in a cloud of points: segments one after the other, outwards along the joints.

A few ways to see all segments so far are kept side by side (beam search), as a pelvis looks much like itself
upside down and only the thighs that hang on it tell which it is. How much dearer the best way is that gives
a marker another point says how sure that name is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.labelling.body import Array, MarkedBody, SegmentPlacement, SegmentShape
from rtsim.labelling.segment_search import MISSING, SeenSegment, ways_to_see
from rtsim.labelling.tracks import paired

BEAM = 8
"""Ways to see the person that are kept."""
MARGIN = 0.15
"""Part by which another naming must be dearer for the names to be sure ..."""
MARGIN_LEAST = 5e-4
"""... and by how much at least [m^2]."""
SEEN_LEAST = 0.5
"""Part of the markers that must be found for somebody to be there."""


class FoundPerson(NamedTuple):
    """points : (n_marker,) - the point of each marker, -1 = none; placements : of the segments, None = unseen
    cost : as of `SeenSegment`
    disputed : (n_marker,) - those that another naming sees elsewhere and is hardly dearer
    """

    points: NDArray[np.int64]
    placements: tuple[SegmentPlacement | None, ...]
    cost: float
    disputed: NDArray[np.bool_] | None = None


def find_person(body: MarkedBody, cloud: Array, given: NDArray[np.int64]) -> FoundPerson | None:
    """Who is in a cloud (n, 3) [m]; None where too few segments are seen.

    given : (n_marker,) - the point of each marker that has a name, -1 = it has none
    """
    n_marker = len(body.segment_of)
    beam = [FoundPerson(given.copy(), (None,) * len(body.shapes), 0.0)]
    grown: dict[tuple[int, ...], FoundPerson] = {}
    for k in body.order:
        grown = {}
        for way in beam:
            for more in extended(body, way, k, cloud):
                key = tuple(more.points.tolist())
                if key not in grown or more.cost < grown[key].cost:
                    grown[key] = more
        beam = sorted(grown.values(), key=lambda way: way.cost)[:BEAM]
    best = beam[0]
    if np.count_nonzero(best.points >= 0) < SEEN_LEAST * n_marker:
        return None
    best = best._replace(points=completed(body, best, cloud))
    limit = best.cost + max(MARGIN * best.cost, MARGIN_LEAST)
    disputed = np.zeros(n_marker, bool)
    for way in grown.values():
        if way.cost < limit:
            disputed |= contradicted(best.points, way.points)
    return best._replace(disputed=disputed)


def completed(body: MarkedBody, found: FoundPerson, cloud: Array) -> NDArray[np.int64]:
    """The points of the markers, with those that skin has moved farther where nothing else is near."""
    points = found.points.copy()
    left = np.setdiff1d(np.arange(len(cloud)), points[points >= 0])
    placed = [
        m for m in np.flatnonzero(points < 0).tolist() if found.placements[body.segment_of[m]] is not None
    ]
    places = [placement.place(body.local[m][None])[0] for m in placed
              if (placement := found.placements[body.segment_of[m]]) is not None]  # fmt: skip
    pairs = paired(np.array(places).reshape(-1, 3), body.reach[placed], cloud[left])
    points[np.array(placed, np.int64)[pairs.rows]] = left[pairs.columns]
    return points


def contradicted(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(n_marker,) - markers to which another naming gives another point, or whose point to another."""
    differs = (one != other) & (one >= 0)
    elsewhere = differs & (other >= 0)
    return elsewhere | (differs & np.isin(one, other[other >= 0]))


def extended(body: MarkedBody, way: FoundPerson, k: int, cloud: Array) -> list[FoundPerson]:
    """A way to see the person, with one more segment: by each way to see that, and without it."""
    shape = body.shapes[k]
    without = way._replace(cost=way.cost + MISSING**2 * len(shape.markers))
    ways = seen_beside(body, way.points, way.placements, k, cloud)
    return [*(joined(way, k, shape, seen) for seen in ways), without]


def seen_beside(
    body: MarkedBody,
    points: NDArray[np.int64],
    placements: tuple[SegmentPlacement | None, ...] | list[SegmentPlacement | None],
    k: int,
    cloud: Array,
) -> list[SeenSegment]:
    """The ways to see a segment beside those that are placed, in points that nothing has taken."""
    shape = body.shapes[k]
    anchors = [
        (joint.here, beside.place(joint.there[None])[0], joint.slack)
        for joint in shape.joints
        if (beside := placements[joint.other]) is not None
    ]
    free = np.ones(len(cloud), bool)
    free[points[points >= 0]] = False
    free[points[shape.markers][points[shape.markers] >= 0]] = True  # its own, by their names
    named = {i: int(p) for i, p in enumerate(points[shape.markers]) if p >= 0}
    ways = ways_to_see(shape, anchors, cloud, free)
    if named:
        ways = [w for w in ways if all(w.points[i] == p for i, p in named.items())]
    faced = [p.rotation[:, 2] for p in placements if p is not None] if body.faces else []
    return [w for w in ways if all(w.placement.rotation[:, 2] @ z > 0.0 for z in faced)]


def joined(way: FoundPerson, k: int, shape: SegmentShape, seen: SeenSegment) -> FoundPerson:
    """A way to see the person with a segment seen so."""
    points = way.points.copy()
    points[shape.markers] = seen.points
    placements = (*way.placements[:k], seen.placement, *way.placements[k + 1 :])
    return FoundPerson(points, placements, way.cost + seen.cost)
