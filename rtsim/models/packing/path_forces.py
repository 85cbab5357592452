"""Muscles and ligaments along paths that pull in a simulation: their paths, the dofs that change the lengths
of the paths, and the excitations of the muscles over time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.forces.ligament import N_LIGAMENT, TOE_LINEAR
from kernels.forces.path_forces import MUSCLE, PathForces
from kernels.joints.tree import Tree
from kernels.muscle.hill import Muscles
from kernels.path.stations import Stations
from kernels.path.surfaces import Surfaces
from rtsim.config.models.function_schema import FunctionSpec
from rtsim.config.models.model_schema import ModelSpec
from rtsim.models.packing.forces import ligament_row
from rtsim.models.packing.functions import FunctionTable
from rtsim.models.packing.muscles import pack_hill


def pack_pulls(
    spec: ModelSpec,
    tree: Tree,
    stations: Stations,
    wrapping: Stations,
    surfaces: Surfaces,
    muscles: Muscles,
) -> PathForces | None:
    """Pack the muscles that have a force, then the ligaments along paths, for a simulation; None if the model
    has neither.

    stations : path points and wrapping surfaces of all muscles
    wrapping : those of the ligaments along paths
    """
    acting, ligaments = np.flatnonzero(muscles.max_isometric_force > 0.0), spec.wrapping
    n_muscle, n = len(acting), len(acting) + len(ligaments)
    if not n:
        return None
    own = one_after_other(paths_of(stations, acting), wrapping)
    moved = [moved_by(tree, own, m) for m in range(n)]
    cross = [[m for m, dofs in enumerate(moved) if d in dofs] for d in range(len(tree.dof_body))]
    parameter = np.zeros((n, N_LIGAMENT))
    for row, ligament in zip(parameter[n_muscle:], ligaments, strict=True):
        row[:] = ligament_row(ligament, 0.0)  # how long it is it says itself
    table = FunctionTable()
    excitations = [*(spec.muscles[m].excitation for m in acting), *len(ligaments) * [0.0]]
    given = [x if isinstance(x, FunctionSpec) else FunctionSpec(constant=x) for x in excitations]
    excitation = np.array([table.add(function) for function in given], np.int64)
    stand_in = pack_hill(len(ligaments) * (None,))
    return PathForces(
        stations=own,
        surfaces=surfaces,
        muscles=Muscles._make(np.concatenate([x[acting], y]) for x, y in zip(muscles, stand_in, strict=True)),
        law=np.array([*n_muscle * [MUSCLE], *len(ligaments) * [TOE_LINEAR]], np.int64),
        parameter=parameter,
        cross_start=np.cumsum([0, *map(len, cross)]).astype(np.int64),
        cross=np.array([m for row in cross for m in row], np.int64),
        functions=table.build(),
        excitation=excitation,
    )


def paths_of(stations: Stations, muscles: NDArray[np.int64]) -> Stations:
    """Return the paths of some muscles from the table of all paths, as a table of the same form; muscles :
    their indices
    """
    spans = [(int(stations.start[m]), int(stations.start[m + 1])) for m in muscles]
    rows = np.array([s for span in spans for s in range(*span)], np.int64)
    start = np.cumsum([0, *(stop - first for first, stop in spans)]).astype(np.int64)
    return Stations._make([start, *(column[rows] for column in stations[1:])])


def one_after_other(a: Stations, b: Stations) -> Stations:
    """Join two tables of muscle paths into one, the paths of b after those of a."""
    start = np.concatenate([a.start, a.start[-1] + b.start[1:]])
    return Stations._make([start, *(np.concatenate([x, y]) for x, y in zip(a[1:], b[1:], strict=True))])


def moved_by(tree: Tree, stations: Stations, m: int) -> set[int]:
    """Return the dofs that can change the length of muscle path m: those that move some but not all of its
    bodies, and those that its moving points depend on."""
    span = slice(stations.start[m], stations.start[m + 1])
    carried = [dofs_of(tree, int(body)) for body in np.unique(stations.body[span])]
    in_all = carried[0].intersection(*carried[1:])
    return carried[0].union(*carried[1:]) - in_all | {int(d) for d in stations.dof[span] if d >= 0}


def dofs_of(tree: Tree, body: int) -> set[int]:
    """Return all dofs that move a body; none for ground (-1)."""
    found, d = set(), int(tree.last_dof[body]) if body >= 0 else -1
    while d >= 0:
        found.add(d)
        d = int(tree.dof_parent[d])
    return found
