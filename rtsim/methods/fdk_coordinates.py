"""Coordinates of joints as FDK degrees of freedom: a translation is the distance of a point from a plane.

The joint's point of the body, from the plane through its neutral place across the translation's axis, fixed
in the body's parent: Phi = q - q_neutral, one more element of kind plane, which is held.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kernels.constraints import HARD, SPHERE_ON_PLANE, Elements, Roles
from kernels.functions import IDENTITY
from kernels.joints.kinds import CHAIN
from rtsim.errors import ConfigError
from rtsim.models.model import Model
from rtsim.models.neutral import motions, neutral_places
from rtsim.models.packing.elements import path_between

Array = NDArray[np.float64]
ACROSS = 1e-12
"""Cosine of the angle to other translations of the joint, below which they do not change the distance."""


def with_coordinates(model: Model, roles: Roles, names: tuple[str, ...]) -> tuple[Model, Roles]:
    """The model and roles with a held plane, called as the coordinate, for each coordinate among the names.

    Elements come first where one is called as a coordinate. ConfigError for coordinates that are no such
    translation, and for those that others give.
    """
    for name in names:
        if name not in model.names.elements and name in model.coordinates.names:
            own = (*model.names.elements, name)
            model = replace(model, elements=with_plane(model, name), names=replace(model.names, elements=own))
            roles = roles._replace(
                mode=np.append(roles.mode, HARD),
                weight=np.append(roles.weight, 0.0),
                target=np.append(roles.target, 0.0),
            )
    return model, roles


def with_plane(model: Model, name: str) -> Elements:
    """The elements of a model, then the plane of a coordinate."""
    tree, elements = model.tree, model.elements
    dof = int(model.coordinates.dof[model.coordinates.names.index(name)])
    body = int(tree.dof_body[dof])
    parent = int(tree.parent[body])
    axis = tree.rotation_in_parent[body] @ axis_of(model, name, dof)
    position, rotation = neutral_places(model)
    place = position[body] + rotation[body] @ tree.position_in_child[body]
    if parent >= 0:
        place = rotation[parent].T @ (place - position[parent])
    steps = path_between(tree, body, parent)
    width = max(elements.path.shape[1], len(steps))
    path, side = (
        np.pad(table, ((0, 1), (0, width - table.shape[1]))) for table in (elements.path, elements.side)
    )
    for k, (d, sign) in enumerate(steps):
        path[-1, k], side[-1, k] = d, sign
    return Elements(
        np.append(elements.kind, SPHERE_ON_PLANE),
        np.append(elements.body_a, body),
        np.append(elements.body_b, parent),
        np.vstack([elements.point_a, tree.position_in_child[body]]),
        np.vstack([elements.point_b, place]),
        np.vstack([elements.normal_b, axis]),
        np.append(elements.n_path, len(steps)),
        path,
        side,
    )


def translations(model: Model) -> list[str]:
    """Names of the coordinates that can be FDK degrees of freedom."""
    found = []
    for name, dof in zip(model.coordinates.names, model.coordinates.dof.tolist(), strict=True):
        with suppress(ConfigError):
            axis_of(model, name, dof)
            found.append(name)
    return found


def axis_of(model: Model, name: str, dof: int) -> Array:
    """(3,) - of the translation that a coordinate is, in the joint's axes before it moves; or ConfigError."""
    tree, body = model.tree, int(model.tree.dof_body[dof])
    moves, own = motions(model, body), [0]
    if tree.kind[body] == CHAIN:
        first, stop = tree.chains.start[body], tree.chains.start[body + 1]
        mine = tree.chains.dof[first:stop] == dof - tree.v_start[body]
        plain = tree.chains.function[first:stop] == IDENTITY
        own = np.flatnonzero(mine).tolist() if plain[mine].all() else []
    turned = [k for k, (rotates, _, _) in enumerate(moves) if rotates]
    if moves and len(own) == 1 and not moves[own[0]][0] and dof not in model.couplers.dof:
        axis = moves[own[0]][1]
        slides = [k for k, (rotates, _, _) in enumerate(moves) if not rotates]
        across = all(k == own[0] or abs(moves[k][1] @ axis) < ACROSS for k in slides)
        if across and max(slides) < min(turned, default=len(moves)):
            return axis
    raise ConfigError(
        f"the coordinate {name!r} is no translation across the others of its joint, before it turns",
        where="fdk.dofs",
        remedy="give an element of kind plane or distance that has what forces decide",
    )
