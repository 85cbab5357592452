"""Elements between two bodies that hold a scalar Phi(q) at zero, hard or soft.

SPHERE_ON_PLANE: Phi = (a - b) . n - target, a sphere centre on body A, point b and unit normal n on B
  (point-on-plane: target 0). Sancisi et al. 2017, section 2.1.
DISTANCE: Phi = |a - b|^2 - target^2 [m^2] (eq. 4).

Only the dofs on the path between the two bodies change Phi: dofs nearer to ground move both rigidly.
Side +1 of a path dof moves body A, side -1 moves body B. A new kind is one branch in `element_values`,
`element_rows` and `add_curvature`, with its line here and a row in tests/kernels/test_constraints.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels._jit import njit
from kernels.copying import copy
from kernels.rotation import rotate
from kernels.tree import along, point_in_ground

SPHERE_ON_PLANE, DISTANCE = 0, 1
OFF, SOFT, HARD = 0, 1, 2


class Elements(NamedTuple):
    """Geometry of n_element scalar constraints."""

    kind: np.ndarray  # (n_element,) int64
    body_a: np.ndarray  # (n_element,) int64
    body_b: np.ndarray  # (n_element,) int64
    point_a: np.ndarray  # (n_element, 3) - in body A [m]
    point_b: np.ndarray  # (n_element, 3) - in body B [m]
    normal_b: np.ndarray  # (n_element, 3) - in body B, unit; planes only
    n_path: np.ndarray  # (n_element,) int64 - number of dofs on the path
    path: np.ndarray  # (n_element, n_path_max) int64 - those dofs, ground first within a side
    side: np.ndarray  # (n_element, n_path_max) float64 - +1 moves A, -1 moves B


class Roles(NamedTuple):
    """What one method asks of each element."""

    mode: np.ndarray  # (n_element,) int64 - OFF, SOFT or HARD
    weight: np.ndarray  # (n_element,) - weight of a soft one [1/m^2 for DISTANCE, 1 for planes]
    target: np.ndarray  # (n_element,) - radius, or length [m]


class ElementWork(NamedTuple):
    """Working space: end points, gaps and path motions of every element."""

    value: np.ndarray  # (n_element,) - Phi
    row: np.ndarray  # (n_element, n_path_max) - dPhi along the path
    end_a: np.ndarray  # (n_element, 3) - in ground [m]
    end_b: np.ndarray  # (n_element, 3)
    normal: np.ndarray  # (n_element, 3)
    motion: np.ndarray  # (n_path_max, 3) - motion of A's (or B's) end by each path dof
    turn: np.ndarray  # (n_path_max, 3) - motion of the normal
    lever: np.ndarray  # (n_path_max, 3) - gap or normal X axis of the dof
    lever_turn: np.ndarray  # (n_path_max, 3) - gap X axis of the dof


def new_element_work(n_element: int, n_path: int) -> ElementWork:
    """Allocate an ElementWork."""
    return ElementWork(
        np.zeros(n_element),
        np.zeros((n_element, n_path)),
        np.zeros((n_element, 3)),
        np.zeros((n_element, 3)),
        np.zeros((n_element, 3)),
        np.zeros((n_path, 3)),
        np.zeros((n_path, 3)),
        np.zeros((n_path, 3)),
        np.zeros((n_path, 3)),
    )


@njit
def element_values(elements, pose, target, work):
    """work.value, end_a, end_b, normal of all elements at a pose; target : (n_element,) [m]."""
    for e in range(elements.kind.shape[0]):
        a, b, n = work.end_a[e], work.end_b[e], work.normal[e]
        point_in_ground(pose, elements.body_a[e], elements.point_a[e], a)
        point_in_ground(pose, elements.body_b[e], elements.point_b[e], b)
        dx, dy, dz = a[0] - b[0], a[1] - b[1], a[2] - b[2]
        if elements.kind[e] == SPHERE_ON_PLANE:
            if elements.body_b[e] < 0:
                copy(elements.normal_b[e], n)
            else:
                rotate(pose.rotation[elements.body_b[e]], elements.normal_b[e], n)
            work.value[e] = dx * n[0] + dy * n[1] + dz * n[2] - target[e]
        else:
            work.value[e] = dx * dx + dy * dy + dz * dz - target[e] * target[e]


@njit
def element_rows(tree, elements, pose, work):
    """work.row : (n_element, n_path_max) - dPhi/dq along each path, after element_values.

    The force that works along Phi is equal and opposite on one line through both bodies: its wrench is
    (r x F, F) with F = n for a plane and 2 (a - b) for a distance, and each dof's slope is twist . wrench.
    """
    for e in range(elements.kind.shape[0]):
        mx, my, mz, fx, fy, fz = element_wrench(elements, pose, e, work)
        for k in range(elements.n_path[e]):
            work.row[e, k] = elements.side[e, k] * along(
                pose.twist, elements.path[e, k], mx, my, mz, fx, fy, fz
            )


@njit
def element_wrench(elements, pose, e, work):
    """Wrench of element e on body A per unit multiplier, after element_values: moment about the reference
    point and force; body B feels the opposite."""
    end_a, end_b, normal, origin = work.end_a, work.end_b, work.normal, pose.position[0]
    fx, fy, fz = normal[e, 0], normal[e, 1], normal[e, 2]
    if elements.kind[e] == DISTANCE:
        fx = 2.0 * (end_a[e, 0] - end_b[e, 0])
        fy = 2.0 * (end_a[e, 1] - end_b[e, 1])
        fz = 2.0 * (end_a[e, 2] - end_b[e, 2])
    x, y, z = end_a[e, 0] - origin[0], end_a[e, 1] - origin[1], end_a[e, 2] - origin[2]
    return y * fz - z * fy, z * fx - x * fz, x * fy - y * fx, fx, fy, fz


@njit
def path_motions(tree, elements, pose, e, work):
    """work.motion, work.turn : motion of the end a dof carries, and of the normal if it moves B."""
    end_a, end_b, normal, motion, turn = work.end_a, work.end_b, work.normal, work.motion, work.turn
    axis, centre = pose.axis, pose.centre
    for k in range(elements.n_path[e]):
        d = elements.path[e, k]
        wx, wy, wz = axis[d, 0], axis[d, 1], axis[d, 2]
        if tree.dof_rotates[d] == 0:
            motion[k, 0], motion[k, 1], motion[k, 2] = wx, wy, wz
            turn[k, 0], turn[k, 1], turn[k, 2] = 0.0, 0.0, 0.0
            continue
        if elements.side[e, k] > 0.0:
            x, y, z = end_a[e, 0], end_a[e, 1], end_a[e, 2]
        else:
            x, y, z = end_b[e, 0], end_b[e, 1], end_b[e, 2]
        x, y, z = x - centre[d, 0], y - centre[d, 1], z - centre[d, 2]
        motion[k, 0], motion[k, 1], motion[k, 2] = wy * z - wz * y, wz * x - wx * z, wx * y - wy * x
        x, y, z = normal[e, 0], normal[e, 1], normal[e, 2]
        turn[k, 0], turn[k, 1], turn[k, 2] = wy * z - wz * y, wz * x - wx * z, wx * y - wy * x


@njit
def add_curvature(tree, elements, pose, e, factor, work, H):
    """H += factor * d2Phi/dq2 of element e, lower triangle, after element_values.

    With x the gap (DISTANCE) or the normal (plane), and m the first derivatives of an end, its second
    derivative along x is x . (w_i x m_k) = (x X w_i) . m_k: the levers x X w_i are taken once per dof.
    """
    path_motions(tree, elements, pose, e, work)
    levers(tree, elements, pose, e, work)
    motion, turn, lever, lever_turn = work.motion, work.turn, work.lever, work.lever_turn
    plane = elements.kind[e] == SPHERE_ON_PLANE
    scale = factor if plane else 2.0 * factor
    for k in range(elements.n_path[e]):
        q, side_k = elements.path[e, k], elements.side[e, k]
        for i in range(k + 1):
            p, side_i = elements.path[e, i], elements.side[e, i]
            h = 0.0
            if side_i == side_k:
                half = 0.5 if p != q and tree.dof_group[p] == tree.dof_group[q] else 1.0
                h = half * side_i * dot(lever, i, motion, k)
                if half < 1.0 and tree.dof_rotates[p] == tree.dof_rotates[q]:
                    # inside a ball the rotations act at once: the symmetric part
                    h += half * side_i * dot(lever, k, motion, i)
                if plane and side_i < 0.0:
                    h += half * dot(lever_turn, i, turn, k)
                    if half < 1.0 and tree.dof_rotates[p] == tree.dof_rotates[q]:
                        h += half * dot(lever_turn, k, turn, i)
            if not plane:
                h += side_i * side_k * dot(motion, i, motion, k)
            else:
                if side_i < 0.0:
                    h += side_k * dot(turn, i, motion, k)
                if side_k < 0.0:
                    h += side_i * dot(turn, k, motion, i)
            H[max(p, q), min(p, q)] += scale * h


@njit
def levers(tree, elements, pose, e, work):
    """work.lever, work.lever_turn : x X axis of each rotation, x the gap or the normal; the gap again."""
    end_a, end_b, normal = work.end_a, work.end_b, work.normal
    dx, dy, dz = end_a[e, 0] - end_b[e, 0], end_a[e, 1] - end_b[e, 1], end_a[e, 2] - end_b[e, 2]
    x, y, z = dx, dy, dz
    if elements.kind[e] == SPHERE_ON_PLANE:
        x, y, z = normal[e, 0], normal[e, 1], normal[e, 2]
    for k in range(elements.n_path[e]):
        d = elements.path[e, k]
        turns = float(tree.dof_rotates[d])
        wx, wy, wz = turns * pose.axis[d, 0], turns * pose.axis[d, 1], turns * pose.axis[d, 2]
        work.lever[k, 0] = y * wz - z * wy
        work.lever[k, 1] = z * wx - x * wz
        work.lever[k, 2] = x * wy - y * wx
        work.lever_turn[k, 0] = dy * wz - dz * wy
        work.lever_turn[k, 1] = dz * wx - dx * wz
        work.lever_turn[k, 2] = dx * wy - dy * wx


@njit
def dot(a, i, b, k):
    """Row i of a : (., 3) times row k of b : (., 3)."""
    return a[i, 0] * b[k, 0] + a[i, 1] * b[k, 1] + a[i, 2] * b[k, 2]
