"""Identification of points that appear near a hidden marker.

Markers of a hand that swings past a hidden hip marker must not be mistaken for it. So a point is identified
as a marker only if it appeared within the tolerance of the prediction, or has stayed close to it for long.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

from rtsim.labelling.body import Array, Indices, MarkedBody
from rtsim.labelling.occluded_markers import PredictedMarkers
from rtsim.labelling.person_search import contradicted
from rtsim.labelling.running_search import RunningSearch
from rtsim.labelling.segment_fit import SegmentFits, SegmentPlaces
from rtsim.labelling.segment_search import Hypotheses, search_segment
from rtsim.labelling.tracks import UNKNOWN, PairedPoints, PointTracks, assigned, distances, second

CLOSE, LONG_S = 0.015, 0.2
"""Distance from the predicted position [m] within which a point that came from elsewhere must stay for the
time LONG_S [s] to be identified. A hand that swings by 0.3 m once a second takes only 0.14 s to cross it,
even where it reverses."""
CLEARLY = 1.0
"""Difference in cost by which every other hypothesis on a segment must be worse than the best one."""
WIDE, ALONE = 2.0, 3.0
"""If a single new point comes into question for a hidden marker: factor by which the tolerance is widened,
and factor by which every other point must be farther."""
SegmentPoints = list[tuple[int, int]]
"""Pairs of a marker and the index of its point."""
CLEARER = 1.5
"""Factor by which every other point must be farther from a predicted position than the identified one, if
fewer than three markers of the segment predict it."""


def reidentified(
    tracks: PointTracks, cloud: Array, foretold: PredictedMarkers, strangers: tuple[Array, Array], dt: float
) -> list[tuple[int, int]]:
    """Return hidden markers that have reappeared, as pairs of marker and point.

    tracks : the tracked points; for each it is stored near which predicted marker it is, and for how long
    cloud : (n, 3) the points [m]
    foretold : predicted positions of the hidden markers
    strangers : (k, 3) predicted positions of points that belong to no marker, and (k,) their tolerances [m]
    dt : time since the previous frame [s]
    """
    free = np.flatnonzero(tracks.marker < 0)
    apart = distances(np.vstack([foretold.places, strangers[0]]), cloud[free])
    cannot = ~foretold.can_be(cloud[free]) | tracks.cannot[np.ix_(free, foretold.markers)].T
    apart[: len(foretold.markers)][cannot] = np.inf
    pairs = assigned(apart, np.concatenate([foretold.reach, strangers[1]]))
    own = pairs.rows < len(foretold.markers)
    pairs = PairedPoints(pairs.rows[own], pairs.columns[own])
    near = np.full(len(tracks.marker), -1)
    near[free[pairs.columns]] = foretold.markers[pairs.rows]
    same = near == tracks.near
    tracks.came_up &= same | (tracks.near == UNKNOWN)
    tracks.since = np.where(same, tracks.since + dt, 0.0)
    tracks.near = near
    found = []
    clear = second(apart) if len(free) else np.zeros(0)
    for row, column in zip(pairs.rows.tolist(), pairs.columns.tolist(), strict=True):
        point, off = int(free[column]), apart[row, column]
        if not foretold.rigid[row] and clear[row] < CLEARER * off:
            continue
        if tracks.came_up[point] or (tracks.since[point] >= LONG_S and off <= CLOSE):
            found.append((int(foretold.markers[row]), point))
    return found + _alone(tracks, foretold, free, apart, found)


def _alone(
    tracks: PointTracks, foretold: PredictedMarkers, free: Indices, apart: Array, found: SegmentPoints
) -> SegmentPoints:
    """Return pairs of a hidden marker and a point that has just appeared farther from the marker's predicted
    position than its tolerance, if no other point comes into question for the marker and no other marker for
    the point.

    free : (n,) points without a marker; apart : (k, n) their distances from the predicted positions [m]
    found : pairs of markers and points that were found already
    """
    alone: SegmentPoints = []
    markers, points = {m for m, _ in found}, {p for _, p in found}
    for column in np.flatnonzero(tracks.fresh[free]).tolist():
        row = int(apart[:, column].argmin()) if len(apart) else len(foretold.markers)
        if row >= len(foretold.markers) or foretold.rigid[row] or foretold.markers[row] in markers:
            continue
        least = apart[row, column]
        clear = (np.delete(apart[:, column], row) >= CLEARER * least).all()
        clear &= (np.delete(apart[row], column) >= ALONE * least).all()
        if clear and least <= WIDE * foretold.reach[row] and free[column] not in points:
            alone.append((int(foretold.markers[row]), int(free[column])))
    return alone


def search_lost_segments(
    body: MarkedBody, fits: SegmentFits, tracks: PointTracks, markers: Array, cloud: Array, lost: Indices
) -> RunningSearch[SegmentPoints]:
    """Prepare a search for segments with too few visible markers, which starts from their adjacent segments.
    The result of the search is pairs of markers and points.

    tracks : tracks of the points; markers : (n_marker, 3) labelled markers [m]; cloud : (n, 3) points [m]
    lost : indices of the segments
    """
    named = np.flatnonzero(np.isfinite(markers[:, 0]))
    points = np.full(len(markers), -1)
    points[named] = len(cloud) + np.arange(len(named))
    rows = np.flatnonzero(tracks.marker >= 0)
    points[tracks.marker[rows]] = rows
    every = np.vstack([cloud, markers[named]])
    hidden = np.ones(len(every), bool)
    hidden[points[named]] = False
    hidden[len(cloud) :] = False
    kept = np.concatenate([np.flatnonzero(hidden), points[named]])
    index = np.full(len(every), -1)
    index[kept] = np.arange(len(kept))
    chosen = np.where(points >= 0, index[points], -1)
    cannot = np.zeros((len(every), len(markers)), bool)
    cannot[: len(cloud)] = tracks.cannot
    in_order = sorted(lost.tolist(), key=body.order.index)
    search = _search_segments(body, fits.places(markers), every[kept], chosen, in_order, cannot[kept])
    numbers = np.append(tracks.numbers, np.full(len(named), -1))[kept]
    return RunningSearch(search, every[kept], chosen, numbers, np.append(tracks.marker, named)[kept])


def _search_segments(
    body: MarkedBody,
    places: SegmentPlaces,
    points: Array,
    chosen: Indices,
    lost: list[int],
    cannot: NDArray[np.bool_],
) -> Generator[None, None, SegmentPoints]:
    """Search for segments with too few visible markers by starting from their adjacent segments; a generator
    that yields between steps and returns the pairs of markers and points found.

    places : known poses of segments, updated; points : (n, 3) [m]
    chosen : (n_marker,) point of each marker, -1 = none; lost : segments to search for
    cannot : (n, n_marker) whether a point is known not to be a marker
    """
    apart = distances(points, points)
    chosen = chosen.copy()
    found: SegmentPoints = []
    for k in lost:
        before = Hypotheses(chosen[None], places.rotations[None], places.origins[None], np.zeros(1))
        shape = body.shapes[k]
        seen = yield from search_segment(shape, before, points, apart, body.faces, cannot)
        ways = [
            (float(cost), chosen_points) for cost, chosen_points in zip(seen.costs, seen.points, strict=True)
        ]
        if not ways:
            continue
        cost, best = ways[0]
        if (best >= 0).sum() <= (chosen[shape.markers] >= 0).sum():
            continue
        if any(other < cost + CLEARLY and contradicted(best, way).any() for other, way in ways[1:]):
            continue
        for marker, p in zip(shape.markers.tolist(), best.tolist(), strict=True):
            if p >= 0 and chosen[marker] < 0:
                found.append((marker, p))
                chosen[marker] = p
        places.rotations[k], places.origins[k] = seen.rotations[0], seen.origins[0]
    return found
