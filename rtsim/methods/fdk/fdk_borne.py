"""Force-dependent kinematics: the bodies at whose joints muscles, reserves and constraint reactions have to
balance the load, if the settings of a run do not name them.
"""

from __future__ import annotations

import numpy as np

from kernels.solver.constraints import HARD, Roles
from rtsim.models.entries import coordinate_names
from rtsim.models.model import Model
from rtsim.models.packing.path_forces import moved_by


def worked_on(model: Model, roles: Roles, reserves: tuple[str, ...]) -> tuple[str, ...]:
    """Return the bodies at whose joints muscles, constraints, springs, ligaments, contacts or reserves of the
    model do work. At these joints the muscles have to balance the load, if the settings do not name others.

    The joint between ground and the first body is left out, as it takes the residual load, and so is the
    joint of a trunk without muscles.

    reserves : names of the coordinates with a reserve (a moment or force besides the muscles)
    """
    names, tree, elements = model.names, model.tree, model.elements
    pairs, springs = model.forces.pairs, model.forces.springs
    dofs = {
        *springs.dof.tolist(),
        *(d for d, name in enumerate(coordinate_names(model)[1]) if name in reserves),
        *(d for p, n in zip(pairs.path, pairs.n_path, strict=True) for d in p[:n].tolist()),
    }
    if model.pulls is not None:
        for m in range(len(names.wrapping)):
            dofs |= moved_by(tree, model.pulls.stations, len(names.pulling) + m)
    for e in np.flatnonzero(roles.mode == HARD):
        dofs |= {*elements.path[e, : elements.n_path[e]].tolist()}
    found = {int(tree.dof_body[d]) for d in dofs} | crossed(model)
    return tuple(names.bodies[b] for b in sorted(found - {0}))


def crossed(model: Model) -> set[int]:
    """Return the bodies whose joint a muscle crosses: the joint lies between two points of the muscle's path.
    Muscles without a maximal force do not count.
    """
    tree, stations = model.tree, model.stations
    within = np.eye(len(tree.parent), dtype=bool)  # [body, what carries it]
    for b, parent in enumerate(tree.parent):
        if parent >= 0:
            within[b] |= within[parent]
    found: set[int] = set()
    for m in np.flatnonzero(model.muscles.max_isometric_force > 0.0):
        bodies = np.unique(stations.body[stations.start[m] : stations.start[m + 1]])
        carried = np.array([within[b] if b >= 0 else np.zeros(len(within), bool) for b in bodies])
        found |= {*np.flatnonzero(carried.any(axis=0) & ~carried.all(axis=0)).tolist()}
    return found
