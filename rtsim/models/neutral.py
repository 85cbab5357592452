"""Neutral pose of a model's bodies, computed as by kernels/joints/tree.pose but without compilation.

`rtsim check` and the start of a run need a model's feet, without waiting seconds for compilation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.algebra.functions import SPLINE, Functions
from kernels.joints.kinds import CHAIN
from kernels.joints.motions import ROTATES
from rtsim.models.model import Model
from rtsim.models.packing.functions import value
from rtsim.models.packing.joints import ROWS
from rtsim.models.packing.tree import Function

Array = NDArray[np.float64]


def neutral_places(model: Model) -> tuple[Array, Array]:
    """Return the origins (n_body, 3) [m] and the axes (n_body, 3, 3) of all bodies in ground."""
    tree = model.tree
    position, rotation = np.zeros((len(tree.parent), 3)), np.zeros((len(tree.parent), 3, 3))
    for b, p in enumerate(tree.parent.tolist()):
        x, R = frame_in_ground(p, position, rotation)
        x, R = x + R @ tree.position_in_parent[b], R @ tree.rotation_in_parent[b]
        x = x + R @ ROWS[tree.kind[b]].offset(tree.parameter[b])
        for rotates, axis, amount in motions(model, b):
            if rotates:
                R = R @ turned_about(axis, amount)
            else:
                x = x + amount * (R @ axis)
        rotation[b] = R @ tree.rotation_in_child[b].T
        position[b] = x - rotation[b] @ tree.position_in_child[b]
    return position, rotation


def frame_in_ground(body: int, position: Array, rotation: Array) -> tuple[Array, Array]:
    """Return origin (3,) [m] and axes (3, 3) of a body in ground; body -1 is ground itself.

    position, rotation : origins (n_body, 3) [m] and axes (n_body, 3, 3) of all bodies
    """
    return (position[body], rotation[body]) if body >= 0 else (np.zeros(3), np.eye(3))


def motions(model: Model, b: int) -> list[tuple[bool, Array, float]]:
    """Return the rotations and translations about fixed axes of which body b's joint consists, in their order
    (none for joints such as ball and free): whether it is a rotation, its axis (3,), and its value in the
    neutral pose [rad, m].
    """
    tree, k, d = model.tree, model.tree.q_start[b], model.tree.v_start[b]
    q = model.q_neutral
    if tree.kind[b] != CHAIN:  # of joints of several freedoms their rows tell all there is
        one = tree.v_start[b + 1] - d == 1
        return [(bool(tree.dof_rotates[d] == ROTATES), tree.parameter[b], float(q[k]))] if one else []
    chains = tree.chains
    found = []
    for m in range(chains.start[b], chains.start[b + 1]):
        x, f = float(q[k + chains.dof[m]]), int(chains.function[m])
        amount = value(function_at(tree.functions, f), x) if f >= 0 else x
        found.append((bool(chains.rotates[m]), chains.axis[m], amount))
    return found


def function_at(functions: Functions, f: int) -> Function:
    """Return function number f of the table Functions of kernels/algebra/functions, with its kind and
    parameters.
    """
    kind, count, first = int(functions.kind[f]), int(functions.n_term[f]), int(functions.start[f])
    n = 3 * count if kind == SPLINE else count
    return Function(kind, count, tuple(functions.data[first : first + n].tolist()))


def turned_about(axis: Array, angle: float) -> Array:
    """Return the rotation matrix (3, 3) for a rotation by an angle [rad] about a unit axis (3,)."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K))


def neutral_lengths(model: Model) -> tuple[float, ...]:
    """Return the values in the neutral pose [m] of the coordinates that are lengths; () if all are zero.

    In some models such a coordinate is the distance between the origins of two bodies, which is large also in
    the neutral pose. Only its change from this value describes the motion of the joint, so the curve of such
    a coordinate is drawn relative to it.
    """
    coordinates = model.coordinates
    values = model.q_neutral[coordinates.q[~coordinates.is_angle]]
    return tuple(values.tolist()) if values.any() else ()
