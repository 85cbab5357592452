"""Whether names fit better as a search has found them than as they are followed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.labelling.body import Array, Indices, MarkedBody
from rtsim.labelling.person_search import FoundPerson
from rtsim.labelling.segment_fit import SegmentFits

DEARER, SURELY = 0.25, 1.5
"""Difference in cost at which names are given up for others that fit better, and names that were certain."""


def better_names(
    body: MarkedBody,
    fits: SegmentFits,
    followed: Indices,
    found: FoundPerson,
    cloud: Array,
    new: NDArray[np.bool_],
    dearer: float,
) -> Indices | None:
    """(n_marker,) point of each marker, -1 = none, by the search for the segments of these markers, else as
    followed; None where that is not cheaper by so much.

    followed : (n_marker,) point of each marker as it is followed; cloud : (n, 3) points of the search [m]
    new : (n_marker,) markers that the search sees elsewhere
    """
    points = followed.copy()
    points[np.isin(points, found.points[new])] = -1
    for k in np.unique(body.segment_of[new]).tolist():
        shape, placement = body.shapes[k], found.placements[k]
        placed = (
            np.full((len(shape.markers), 3), np.inf) if placement is None else placement.place(shape.local)
        )
        for m, place in zip(shape.markers.tolist(), placed, strict=True):
            if new[m]:
                points[m] = found.points[m]
            elif points[m] >= 0 and points[m] != found.points[m]:
                off = float(np.linalg.norm(cloud[points[m]] - place))
                points[m] = points[m] if off <= body.reach[m] else -1
    return points if fits.cost(points, cloud) < fits.cost(followed, cloud) - dearer else None
