"""Coordinates, joint angles and lengths as degrees of freedom of force-dependent kinematics (FDK): each
becomes one more element, which is a constraint.

A translation becomes the distance of a point from a plane. The point is the joint's point on the body. The
plane is fixed in the body's parent, at right angles to the axis of the translation, through the neutral
position of the point. A rotation becomes the angle of a direction fixed in one body, in the axes of the other
body (kernels/solver/constraints). For both the constraint is Phi = q - q_neutral. Lengths are in
rtsim/methods/fdk/fdk_paths.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kernels.algebra.functions import IDENTITY
from kernels.joints.kinds import CHAIN
from kernels.solver.constraints import AZIMUTH, DISTANCE, ELEVATION, HARD, PATH_LENGTH, SPHERE_ON_PLANE, Roles
from rtsim.errors import ConfigError
from rtsim.methods.fdk.fdk_elements import NOTHING, ElementRow, with_row
from rtsim.methods.fdk.fdk_paths import names_of_paths, row_of_path
from rtsim.methods.fdk.fdk_rows import value
from rtsim.models.model import Model
from rtsim.models.neutral import motions, neutral_places

Array = NDArray[np.float64]

ACROSS = 1e-12
"""Cosine of the angle between axes of a joint below which they count as perpendicular."""
ALONG = 0.9
"""Cosine of the angle between the axes of two rotations, above which one hardly shows the other's angle."""
Among = tuple[int | None, bool, Array, Array, Array]


def with_coordinates(model: Model, roles: Roles, names: tuple[str, ...]) -> tuple[Model, Roles]:
    """Add a constraint to a model for each coordinate, joint angle or path among the names, with the same
    name. Return the model, and the roles (which constraints a method uses, with their targets).

    The name of an element that the model has already is skipped. Other names are looked up among coordinates,
    joint angles, muscles, ligaments and springs, in this order. The target of each constraint is its value in
    the neutral pose; for path lengths it is set later, by fdk_paths.from_neutral. Raises ConfigError for
    coordinates of an unsuitable kind, and for those that depend on others.
    """
    for name in names:
        if name in model.names.elements:
            continue
        if name in model.coordinates.names:
            row = row_of_coordinate(model, name)
        elif name in model.names.joint_angles:
            row = row_of_angle(model, name)
        elif name in names_of_paths(model):
            row = row_of_path(model, name)
        else:
            continue
        own = (*model.names.elements, name)
        model = replace(model, elements=with_row(model, row), names=replace(model.names, elements=own))
        roles = roles._replace(
            mode=np.append(roles.mode, HARD),
            weight=np.append(roles.weight, 0.0),
            target=np.append(roles.target, neutral_target(model, len(own) - 1)),
        )
    return model, roles


def neutral_target(model: Model, e: int) -> float:
    """Return the target with which the constraint of index e in model.elements is satisfied in the neutral
    pose [m, rad]; 0 for the length of a path, whose target `fdk_paths.from_neutral` sets later."""
    kind = model.elements.kind[e]
    if kind == PATH_LENGTH:
        return 0.0
    found = value(model, e, *neutral_places(model))
    return math.sqrt(found) if kind == DISTANCE else found


def possible(model: Model) -> list[str]:
    """Return the names of the coordinates, joint angles and paths that can be FDK degrees of freedom."""
    found = []
    for name in model.coordinates.names:
        with suppress(ConfigError):
            row_of_coordinate(model, name)
            found.append(name)
    return [*found, *model.names.joint_angles, *names_of_paths(model)]


def row_of_angle(model: Model, name: str) -> ElementRow:
    """Build the constraint (element) whose value is a joint angle (flexion, adduction or internal rotation)
    with the sign in which results state it.
    """
    joints, (j, k) = model.joints, divmod(model.names.joint_angles.index(name), 3)
    near, far = int(joints.proximal[j]), int(joints.distal[j])
    P, D, sign = joints.axes_proximal[j], joints.axes_distal[j], model.joint_signs[j, k]
    e1, e3 = P[:, 2], D[:, 1]
    if k == 2:
        return ElementRow(
            kind=AZIMUTH, body_a=near, body_b=far, point_a=e1, point_b=D[:, 2], normal_b=-sign * e3
        )
    return ElementRow(
        kind=AZIMUTH if k == 0 else ELEVATION,
        body_a=far,
        body_b=near,
        point_a=e3,
        point_b=P[:, 1],
        normal_b=sign * e1,
    )


def row_of_coordinate(model: Model, name: str) -> ElementRow:
    """Build the constraint element whose value Phi is a coordinate minus its neutral value; ConfigError if it
    is not a pure translation or rotation."""
    tree, dof = model.tree, int(model.coordinates.dof[model.coordinates.names.index(name)])
    if dof in model.couplers.dof:
        raise ConfigError(
            f"the coordinate {name!r} follows from another coordinate by a coupler",
            where="fdk.dofs",
            remedy="name the coordinate that it follows",
        )
    body = int(tree.dof_body[dof])
    parent, moves, own = int(tree.parent[body]), motions(model, body), own_motions(model, dof)
    turns = [k for k, (rotates, _, _) in enumerate(moves) if rotates]
    mine = [k for k in own if k in turns]
    if mine:
        axes = [moves[k][1] for k in turns]
        kind, swapped, point, start, normal = rotation_among(axes, turns.index(mine[0]), moves[mine[0]][2])
        if len(mine) == 1 and is_plain(model, dof, mine[0]) and kind is not None:
            child, base = (body, tree.rotation_in_child[body]), (parent, tree.rotation_in_parent[body])
            (a, A), (b, B) = (base, child) if swapped else (child, base)
            return ElementRow(
                kind=kind, body_a=a, body_b=b, point_a=A @ point, point_b=B @ start, normal_b=B @ normal
            )
    elif own:
        axis = moves[own[0]][1]
        slides = [k for k in range(len(moves)) if k not in turns]
        across = all(k == own[0] or abs(moves[k][1] @ axis) < ACROSS for k in slides)
        plain = len(own) == 1 and is_plain(model, dof, own[0])
        if plain and across and max(slides) < min(turns, default=len(moves)):
            position, rotation = neutral_places(model)
            place = position[body] + rotation[body] @ tree.position_in_child[body]
            if parent >= 0:
                place = rotation[parent].T @ (place - position[parent])
            normal = tree.rotation_in_parent[body] @ axis
            return ElementRow(
                kind=SPHERE_ON_PLANE,
                body_a=body,
                body_b=parent,
                point_a=tree.position_in_child[body],
                point_b=place,
                normal_b=normal,
            )
    raise ConfigError(
        f"the coordinate {name!r} cannot be a degree of freedom of force-dependent kinematics",
        where="fdk.dofs",
        allowed="a displacement that is the only motion of its coordinate, in a joint whose displacements "
        "all precede its rotations, and perpendicular to the joint's other displacements; or an angle that "
        "is the only one of its joint, one of two about axes that are not almost parallel, or one of three "
        "about mutually perpendicular axes; and either of them only if it is equal to the coordinate, not a "
        "function of it",
        remedy="name a joint angle instead, or an element of kind plane or distance along which the joint "
        "moves",
    )


def own_motions(model: Model, dof: int) -> list[int]:
    """Return the indices of those elementary motions of a joint that are driven by the coordinate of the
    degree of freedom `dof`.
    """
    tree, body = model.tree, int(model.tree.dof_body[dof])
    if tree.kind[body] != CHAIN:
        return [0] if motions(model, body) else []
    first, stop = tree.chains.start[body], tree.chains.start[body + 1]
    found: list[int] = np.flatnonzero(tree.chains.dof[first:stop] == dof - tree.v_start[body]).tolist()
    return found


def is_plain(model: Model, dof: int, motion: int) -> bool:
    """Return whether the elementary motion with index `motion` of a joint equals the coordinate of the degree
    of freedom `dof`, instead of being a function of it.
    """
    tree, body = model.tree, int(model.tree.dof_body[dof])
    return bool(
        tree.kind[body] != CHAIN or tree.chains.function[tree.chains.start[body] + motion] == IDENTITY
    )


def rotation_among(axes: list[Array], own: int, neutral: float) -> Among:
    """Find the constraint element whose angle equals one rotational coordinate of a joint, whatever the
    values of the joint's other rotations.

    axes : unit axes of the joint's rotations, (3,) each, the one next to the parent first
    own : index of the rotation among them
    neutral : value of the rotation in the neutral pose [rad]

    Returns the kind of the element (AZIMUTH, ELEVATION), whether its first body is the parent of the joint,
    and the three directions that define its angle, in the axes of the joint; the kind is None if no element
    has such an angle.
    """
    first, last = axes[0], axes[-1]
    if len(axes) == 1:
        other = np.cross(first, np.eye(3)[np.abs(first).argmin()])
        other /= np.linalg.norm(other)
        return AZIMUTH, False, other, other, first
    if len(axes) == 2 and abs(first @ last) < ALONG:
        if own == 0:
            return AZIMUTH, False, last, across(last, first), first
        return AZIMUTH, True, first, across(first, last), -last
    if len(axes) == 3 and np.abs(np.triu(np.array(axes) @ np.transpose(axes), 1)).max() < ACROSS:
        if own == 1:  # growing with the angle about the neutral pose, on either side of the pole
            hand = math.copysign(1.0, float(first @ np.cross(axes[1], last)) * math.cos(neutral))
            return ELEVATION, False, last, NOTHING, hand * first
        return (AZIMUTH, False, last, last, first) if own == 0 else (AZIMUTH, True, first, first, -last)
    return None, False, NOTHING, NOTHING, NOTHING


def across(x: Array, axis: Array) -> Array:
    """Return the unit direction (3,) of the component of x (3,) that is perpendicular to a unit axis (3,)."""
    left = x - (x @ axis) * axis
    return np.asarray(left / np.linalg.norm(left), np.float64)
