"""Comparison of the labels found by a search with the tracked labels, to decide which fit better."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.labelling.body import Array, Indices, MarkedBody
from rtsim.labelling.person_search import FoundPerson, naming_cost

DEARER, AGREED, SURELY = 0.25, 1.0, 1.5
"""Reductions of the cost from which tracked labels are replaced by others: labels on which no search has
agreed, labels on which one has, and labels that once were certain."""


def better_names(
    body: MarkedBody,
    followed: Indices,
    found: FoundPerson,
    cloud: Array,
    new: NDArray[np.bool_],
    dearer: float,
) -> Indices | None:
    """Choose between the labels found by a search and the tracked ones. Return the point of each marker,
    (n_marker,), -1 = none, with the search's labels for the `new` markers; None, to keep the tracked labels,
    if this does not lower the cost of the assignment by more than `dearer`.

    followed : (n_marker,) tracked point of each marker; cloud : (n, 3) points of the search [m]
    new : (n_marker,) markers to which the search assigns another point
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
    most = naming_cost(body, followed, cloud, followed >= 0) - dearer
    return points if naming_cost(body, points, cloud, points == followed) < most else None
