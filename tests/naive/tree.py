"""The joint tree by homogeneous matrices, and the derivatives of a point dof by dof: slow and obvious.

A point moved by a rotation w about c has dx = w X (x - c). Of two dofs in different joints the one nearer to
ground turns everything the other does, d2x = w_near X dx_far; the rotations of one ball act at once, so d2x
is the mean over both orders.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.tree import BALL, FREE, HINGE, N_Q, N_V, SLIDER, Tree

Array = NDArray[np.floating]


def quaternion_matrix(q: Array) -> Array:
    """Return the rotation (3, 3) of a unit quaternion w, x, y, z."""
    return Rotation.from_quat(np.roll(q, -1)).as_matrix()


def matrix_quaternion(R: Array) -> Array:
    """Return the unit quaternion w, x, y, z with w >= 0 of a rotation (3, 3)."""
    q = np.roll(Rotation.from_matrix(R).as_quat(), 1)
    return -q if q[0] < 0.0 else q


def homogeneous(R: Array, x: Array) -> Array:
    """Return the (4, 4) matrix of a rotation (3, 3) and a translation (3,) m."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, x
    return T


def slices(tree: Tree, b: int) -> tuple[slice, slice]:
    """Return where the coordinates and the speeds of joint b are."""
    q, v, kind = tree.q_start[b], tree.v_start[b], tree.kind[b]
    return slice(q, q + N_Q[kind]), slice(v, v + N_V[kind])


def joint_motion(kind: int, axis: Array, q: Array) -> Array:
    """Return the (4, 4) motion of a joint's child frame in its parent frame at its own coordinates."""
    if kind == HINGE:
        return homogeneous(Rotation.from_rotvec(axis * q[0]).as_matrix(), np.zeros(3))
    if kind == SLIDER:
        return homogeneous(np.eye(3), axis * q[0])
    if kind == BALL:
        return homogeneous(quaternion_matrix(q), np.zeros(3))
    if kind == FREE:
        return homogeneous(quaternion_matrix(q[3:]), q[:3])
    return np.eye(4)


class State(NamedTuple):
    """A tree at some coordinates: (4, 4) matrices of its frames in ground, and the axes of its dofs."""

    tree: Tree
    before: list[Array]  # joint frame on the parent
    after: list[Array]  # joint frame on the body
    body: list[Array]

    def axes(self) -> tuple[Array, Array]:
        """Return the direction (n_v, 3) of every dof and a point (n_v, 3) m of every rotation's axis."""
        tree = self.tree
        axis, centre = np.zeros((len(tree.dof_body), 3)), np.zeros((len(tree.dof_body), 3))
        for b, kind in enumerate(tree.kind):
            own = slices(tree, b)[1]
            before, after = self.before[b], self.after[b]
            centre[own] = after[:3, 3]
            if kind in (HINGE, SLIDER):
                axis[own] = before[:3, :3] @ tree.axis[b]
            elif kind == BALL:
                axis[own] = after[:3, :3].T
            elif kind == FREE:
                axis[own] = np.vstack([before[:3, :3].T, after[:3, :3].T])
        return axis, centre

    def point(self, body: int, x: Array) -> Array:
        """Return a point (3,) m fixed in a body, in ground; body -1 is ground."""
        return x.copy() if body < 0 else (self.body[body] @ np.append(x, 1.0))[:3]

    def point_derivatives(self, body: int, x: Array) -> tuple[Array, Array]:
        """Return dx (3, n_v) and d2x (3, n_v, n_v) of a point (3,) m fixed in a body, by tangent steps."""
        tree, n_v = self.tree, len(self.tree.dof_body)
        axis, centre = self.axes()
        place, dofs = self.point(body, x), dofs_of(tree, body)
        first, second = np.zeros((3, n_v)), np.zeros((3, n_v, n_v))
        for d in dofs:
            first[:, d] = cross(axis[d], place - centre[d]) if tree.dof_rotates[d] else axis[d]
        for near in dofs:
            for far in dofs:
                if far < near or not tree.dof_rotates[near]:
                    continue
                turned = cross(axis[near], first[:, far])
                if tree.dof_body[near] == tree.dof_body[far]:
                    turned = 0.5 * (turned + cross(axis[far], first[:, near]))
                second[:, near, far] = second[:, far, near] = turned
        return first, second


def state(tree: Tree, q: Array) -> State:
    """Return the tree at the coordinates q (n_q,)."""
    at = State(tree, [], [], [])
    for b, parent in enumerate(tree.parent):
        carrier = at.body[parent] if parent >= 0 else np.eye(4)
        at.before.append(carrier @ homogeneous(tree.rotation_in_parent[b], tree.position_in_parent[b]))
        motion = joint_motion(tree.kind[b], tree.axis[b], q[slices(tree, b)[0]])
        at.after.append(at.before[b] @ motion)
        on_child = homogeneous(tree.rotation_in_child[b], tree.position_in_child[b])
        at.body.append(at.after[b] @ np.linalg.inv(on_child))
    return at


def cross(a: Array, b: Array) -> Array:
    """Return a X b of two vectors (3,); numpy.cross takes twenty times as long."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def dofs_of(tree: Tree, body: int) -> list[int]:
    """Return the dofs that move a body, nearest to ground first."""
    dofs: list[int] = []
    while body >= 0:
        dofs = [d for d, b in enumerate(tree.dof_body) if b == body] + dofs
        body = int(tree.parent[body])
    return dofs


def integrate(tree: Tree, q: Array, delta: Array) -> Array:
    """Return q moved by the tangent step delta (n_v,): rotations by R exp(delta)."""
    q_new = q.astype(float)
    for b, kind in enumerate(tree.kind):
        own, speeds = slices(tree, b)
        step = delta[speeds]
        if kind in (HINGE, SLIDER):
            q_new[own] = q[own] + step
        elif kind in (BALL, FREE):
            turn = Rotation.from_rotvec(step[-3:]).as_matrix()
            q_new[own.stop - 4 : own.stop] = matrix_quaternion(
                quaternion_matrix(q[own.stop - 4 : own.stop]) @ turn
            )
            if kind == FREE:
                q_new[own.start : own.start + 3] = q[own.start : own.start + 3] + step[:3]
    return q_new


def difference(tree: Tree, q_from: Array, q_to: Array) -> Array:
    """Return the shortest tangent step (n_v,) from q_from to q_to."""
    delta = np.zeros(len(tree.dof_body))
    for b, kind in enumerate(tree.kind):
        own, speeds = slices(tree, b)
        if kind in (HINGE, SLIDER):
            delta[speeds] = q_to[own] - q_from[own]
        elif kind in (BALL, FREE):
            start, stop = (quaternion_matrix(q[own.stop - 4 : own.stop]) for q in (q_from, q_to))
            delta[speeds.stop - 3 : speeds.stop] = Rotation.from_matrix(start.T @ stop).as_rotvec()
            if kind == FREE:
                delta[speeds.start : speeds.start + 3] = (q_to - q_from)[own.start : own.start + 3]
    return delta
