"""Muscles that pull in a simulation: their paths, the dofs that move these, their excitations over time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.forces.pulls import Pulls
from kernels.muscle.hill import Muscles
from kernels.path.stations import Stations
from kernels.path.surfaces import Surfaces
from kernels.tree import Tree
from rtsim.config.function_schema import FunctionSpec
from rtsim.config.model_schema import ModelSpec
from rtsim.models.packing.functions import FunctionTable


def pack_pulls(
    spec: ModelSpec, tree: Tree, stations: Stations, surfaces: Surfaces, muscles: Muscles
) -> Pulls | None:
    """Those muscles of a model that have a force; None where none has."""
    acting = np.flatnonzero(muscles.max_isometric_force > 0.0)
    if not len(acting):
        return None
    own = paths_of(stations, acting)
    moved = [moved_by(tree, own, m) for m in range(len(acting))]
    cross = [[m for m, dofs in enumerate(moved) if d in dofs] for d in range(len(tree.dof_body))]
    table = FunctionTable()
    excitations = [spec.muscles[m].excitation for m in acting]
    numbers = [table.add(x if isinstance(x, FunctionSpec) else FunctionSpec(constant=x)) for x in excitations]
    return Pulls(
        stations=own,
        surfaces=surfaces,
        muscles=Muscles(*(column[acting] for column in muscles)),
        cross_start=np.cumsum([0, *map(len, cross)]).astype(np.int64),
        cross=np.array([m for row in cross for m in row], np.int64),
        functions=table.build(),
        excitation=np.array(numbers, np.int64),
    )


def paths_of(stations: Stations, muscles: NDArray[np.int64]) -> Stations:
    """The stations of some muscles."""
    spans = [(int(stations.start[m]), int(stations.start[m + 1])) for m in muscles]
    rows = np.concatenate([np.arange(*span) for span in spans])
    start = np.cumsum([0, *(stop - first for first, stop in spans)]).astype(np.int64)
    return Stations(start, *(column[rows] for column in stations[1:]))


def moved_by(tree: Tree, stations: Stations, m: int) -> set[int]:
    """Dofs that move the path of muscle m: those between its bodies, and those its points follow."""
    span = slice(stations.start[m], stations.start[m + 1])
    carried = [dofs_of(tree, int(body)) for body in np.unique(stations.body[span])]
    in_all = carried[0].intersection(*carried[1:])
    return carried[0].union(*carried[1:]) - in_all | {int(d) for d in stations.dof[span] if d >= 0}


def dofs_of(tree: Tree, body: int) -> set[int]:
    """All dofs that move a body; none of ground, -1."""
    found, d = set(), int(tree.last_dof[body]) if body >= 0 else -1
    while d >= 0:
        found.add(d)
        d = int(tree.dof_parent[d])
    return found
