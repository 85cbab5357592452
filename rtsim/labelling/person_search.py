"""Search for all markers of a person in a cloud of points: segment after segment, outwards along the joints.

The best hypotheses on all segments so far are kept (beam search): for example, a pelvis resembles itself
upside down, and only the thighs resolve this. The extra cost of the best hypothesis with another point for a
marker shows how certain its label is. The search pauses after each segment, so that a loop can continue it
in the next frame.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.labelling.body import Array, Indices, MarkedBody, SegmentPlacement, SegmentShape
from rtsim.labelling.segment_search import (
    Hypotheses,
    SegmentHypotheses,
    finished,
    search_segment,
    segment_as_named,
)
from rtsim.labelling.tracks import paired

BEAM, FIRST_BEAM, WORST = 10, 30, 4.0
"""Largest number of hypotheses that are kept after a segment, and after the first segment, about which only
its neighbours decide; and largest difference of their costs from the lowest."""
MARGIN, MARGIN_LEAST = 0.15, 0.55
"""A label is disputed if a hypothesis with another point for it costs less than the best one plus this
fraction of its cost, or plus MARGIN_LEAST if that is more."""
SEEN_LEAST = 0.4
"""Smallest fraction of the markers that must be found for a person."""


class FoundPerson(NamedTuple):
    """The person found in a cloud of points.

    points : (n_marker,) point of each marker, -1 = none
    placements : poses of the segments, None = not visible
    cost : sum of squared deviations of markers relative to their tolerances, plus 1 for each marker without a
        point
    disputed : (n_marker,) markers to which a similarly good hypothesis assigns another point
    """

    points: Indices
    placements: tuple[SegmentPlacement | None, ...]
    cost: float
    disputed: NDArray[np.bool_]


PersonSearch = Generator[None, None, FoundPerson | None]


def search_person(
    body: MarkedBody, cloud: Array, given: Indices, cannot: NDArray[np.bool_] | None = None
) -> PersonSearch:
    """Search for the person in a cloud of points (n, 3) [m]; return the person found, or None if too few
    markers are visible. This is a generator that yields between steps, so that the search can be spread over
    frames.

    given : (n_marker,) point of each labelled marker, -1 = unlabelled
    cannot : (n, n_marker) whether a point is known not to be a marker; None = nothing is known
    """
    n_marker, n_segment = len(body.segment_of), len(body.shapes)
    apart = np.linalg.norm(cloud[:, None] - cloud[None], axis=2)
    ways = Hypotheses(given[None].copy(), np.full((1, n_segment, 3, 3), np.nan),
                      np.full((1, n_segment, 3), np.nan), np.zeros(1))  # fmt: skip
    for k in body.order:
        shape = body.shapes[k]
        seen = yield from search_segment(shape, ways, cloud, apart, body.faces, cannot)
        ways = extended(ways, k, shape, seen)
    points = ways.points[0]
    if np.count_nonzero(points >= 0) < SEEN_LEAST * n_marker:
        return None
    placements = tuple(
        None if np.isnan(origin[0]) else SegmentPlacement(rotation, origin)
        for rotation, origin in zip(ways.rotations[0], ways.origins[0], strict=True)
    )
    cost = float(ways.costs[0])
    limit = cost + max(MARGIN * cost, MARGIN_LEAST)
    points = completed(body, points, placements, cloud)
    disputed = np.zeros(n_marker, bool)
    for other in ways.points[1:][ways.costs[1:] < limit]:
        disputed |= contradicted(points, other)
    return FoundPerson(points, placements, cost, disputed)


def find_person(body: MarkedBody, cloud: Array, given: Indices) -> FoundPerson | None:
    """Search for the person in a cloud of points (n, 3) [m] without interruption, and return the result.

    given : (n_marker,) point of each labelled marker, -1 = unlabelled
    """
    return finished(search_person(body, cloud, given))


def naming_cost(body: MarkedBody, points: Indices, cloud: Array, trusted: NDArray[np.bool_]) -> float:
    """Return the cost of an assignment of points to markers, to compare two assignments: the sum of squared
    deviations of markers relative to their tolerances, plus 1 for each marker without a point.

    points : (n_marker,) point of each marker, -1 = none; cloud : (n, 3) points [m]
    trusted : (n_marker,) markers that cost nothing if too few markers of their segment are visible to
        determine its pose, as distances cannot contradict them then
    """
    n_marker, n_segment = len(body.segment_of), len(body.shapes)
    apart = np.linalg.norm(cloud[:, None] - cloud[None], axis=2)
    ways = Hypotheses(np.full((1, n_marker), -1), np.full((1, n_segment, 3, 3), np.nan),
                      np.full((1, n_segment, 3), np.nan), np.zeros(1))  # fmt: skip
    for k in body.order:
        shape = body.shapes[k]
        seen = segment_as_named(shape, ways, cloud, apart, body.faces, points[shape.markers])
        if len(seen.costs):
            ways.rotations[0, k], ways.origins[0, k] = seen.rotations[0], seen.origins[0]
            ways.costs[0] += min(seen.costs[0], len(shape.markers))
        else:
            ways.costs[0] += np.count_nonzero((points[shape.markers] < 0) | ~trusted[shape.markers])
    return float(ways.costs[0])


def extended(ways: Hypotheses, k: int, shape: SegmentShape, seen: SegmentHypotheses) -> Hypotheses:
    """Extend the hypotheses `ways` on the segments searched so far by segment k: each hypothesis once with
    each pose found for the segment (`seen`), and once without the segment. Return the extended hypotheses
    with the lowest costs.
    """
    more = ways.chosen(seen.beside)
    more.points[:, shape.markers] = seen.points
    more.rotations[:, k], more.origins[:, k] = seen.rotations, seen.origins
    more.costs[:] += seen.costs
    without = ways._replace(costs=ways.costs + len(shape.markers))
    every = Hypotheses(*(np.concatenate(pair) for pair in zip(more, without, strict=True)))
    order = np.argsort(every.costs, kind="stable")
    order = order[every.costs[order] <= every.costs[order[0]] + WORST]
    _, first = np.unique(every.points[order], axis=0, return_index=True)
    return every.chosen(order[np.sort(first)][: BEAM if len(ways.costs) > 1 else FIRST_BEAM])


def completed(
    body: MarkedBody, points: Indices, placements: tuple[SegmentPlacement | None, ...], cloud: Array
) -> Indices:
    """Assign points to markers that the search left without one because their soft tissue displacement was
    too large, if the nearest point is clearly nearer than any other. Return the completed assignment,
    (n_marker,).

    points : (n_marker,) point of each marker, -1 = none
    placements : poses of the segments; cloud : (n, 3) points [m]
    """
    points = points.copy()
    left = np.setdiff1d(np.arange(len(cloud)), points[points >= 0])
    placed = [
        (m, placement.place(body.local[m][None])[0]) for m in np.flatnonzero(points < 0).tolist()
        if (placement := placements[body.segment_of[m]]) is not None
    ]  # fmt: skip
    markers = np.array([m for m, _ in placed], np.int64)
    pairs = paired(np.array([x for _, x in placed]).reshape(-1, 3), body.reach[markers], cloud[left])
    points[markers[pairs.rows]] = left[pairs.columns]
    return points


def contradicted(one: Indices, other: Indices) -> NDArray[np.bool_]:
    """Return the markers to which the two hypotheses assign different points, or whose point the other
    hypothesis assigns to another marker, (n_marker,).
    """
    differs = (one != other) & (one >= 0)
    return (differs & (other >= 0)) | (differs & np.isin(one, other[other >= 0]))
