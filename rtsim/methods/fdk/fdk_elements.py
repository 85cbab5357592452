"""Adds a constraint between two bodies (an "element") to a model, for a degree of freedom of force-dependent
kinematics (FDK) that none of the model's elements represents.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.path.lengths import PathLengths
from kernels.path.stations import Stations
from kernels.solver.constraints import Elements
from rtsim.models.model import Model
from rtsim.models.packing.elements import path_between
from rtsim.models.packing.path_forces import moved_by, one_after_other

Array = NDArray[np.float64]

NOTHING = np.zeros(3)


class ElementRow(NamedTuple):
    """A scalar constraint between two bodies ("element"), as one row of the kernels' table Elements in
    kernels/solver/constraints: kind, bodies, points and directions in them, and the path for a path length.
    """

    kind: int
    body_a: int
    body_b: int
    point_a: Array  # (3,) point in body A [m]; a direction if the element is an angle
    point_b: Array  # (3,) point in body B [m]; a direction if the element is an azimuth
    normal_b: Array  # (3,) direction in body B
    stations: Stations | None = None  # points of the path if the element is a path length


def with_row(model: Model, row: ElementRow) -> Elements:
    """Append a constraint between two bodies (an element) to those of a model; return the extended table."""
    old, steps = model.elements, path_between(model.tree, row.body_a, row.body_b)
    if row.stations is not None:
        steps = [(d, 1.0) for d in sorted(moved_by(model.tree, row.stations, 0))]
    width = max(old.path.shape[1], len(steps))
    path, side = (np.pad(table, ((0, 1), (0, width - table.shape[1]))) for table in (old.path, old.side))
    for k, (d, sign) in enumerate(steps):
        path[-1, k], side[-1, k] = d, sign
    return Elements(
        kind=np.append(old.kind, row.kind),
        body_a=np.append(old.body_a, row.body_a),
        body_b=np.append(old.body_b, row.body_b),
        point_a=np.vstack([old.point_a, row.point_a]),
        point_b=np.vstack([old.point_b, row.point_b]),
        normal_b=np.vstack([old.normal_b, row.normal_b]),
        n_path=np.append(old.n_path, len(steps)),
        path=path,
        side=side,
        lengths=with_path(model, row.stations),
    )


def with_path(model: Model, stations: Stations | None) -> PathLengths | None:
    """Append an entry for a new element (constraint) to the table that holds, for each element that
    constrains a path length, the points of this path. Return the table; None if no element has a path.

    stations : the points of the new element's path, or None if it has no path
    """
    old, n = model.elements.lengths, len(model.elements.kind)
    if old is None and stations is None:
        return None
    path = np.full(n + 1, -1) if old is None else np.append(old.path, -1)
    if stations is None:
        return PathLengths(path, old.stations, old.surfaces)
    stations = stations if old is None else one_after_other(old.stations, stations)
    path[n] = len(stations.start) - 2
    return PathLengths(path, stations, model.surfaces)
