"""The joint tree by homogeneous matrices, and the derivatives of a point dof by dof: slow and obvious.

Every joint is a row of steps, each a rotation or a translation along one axis. A point moved by a rotation w
about c has dx = w X (x - c). Of two steps the one nearer to ground turns everything the other does,
d2x = w_near X dx_far; the rotations of one ball act at once, so d2x is the mean over both orders.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.joints.kinds import BALL, CHAIN, ELLIPSOIDAL, FREE, HINGE, SLIDER
from kernels.joints.motions import DRIVEN
from kernels.joints.tree import Tree
from tests.naive.functions import evaluated

Array = NDArray[np.floating]
TURNING = (BALL, FREE, ELLIPSOIDAL)
"""Kinds that end with a quaternion, and with its angular velocity."""


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
    return slice(tree.q_start[b], tree.q_start[b + 1]), slice(tree.v_start[b], tree.v_start[b + 1])


def n_coordinates(tree: Tree) -> int:
    """Return n_q of a tree."""
    return int(slices(tree, len(tree.parent) - 1)[0].stop)


def turn(axis: Array, angle: float) -> Array:
    """Return the (4, 4) rotation about an axis (3,)."""
    return homogeneous(Rotation.from_rotvec(axis * angle).as_matrix(), np.zeros(3))


def shift(axis: Array, distance: float) -> Array:
    """Return the (4, 4) translation along an axis (3,)."""
    return homogeneous(np.eye(3), axis * distance)


def joint_motion(tree: Tree, b: int, q: Array) -> Array:
    """Return the (4, 4) motion of joint b's child frame in its parent frame at its own coordinates."""
    kind, axis = tree.kind[b], tree.parameter[b]
    if kind == HINGE:
        return turn(axis, q[0])
    if kind == SLIDER:
        return shift(axis, q[0])
    if kind == BALL:
        return homogeneous(quaternion_matrix(q), np.zeros(3))
    if kind == FREE:
        return homogeneous(quaternion_matrix(q[3:]), q[:3])
    if kind == ELLIPSOIDAL:  # its parameters are the radii
        return homogeneous(quaternion_matrix(q), axis * quaternion_matrix(q)[:, 2])
    T = np.eye(4)
    for motion in chain_motions(tree, b, q):
        T = T @ motion
    return T


def chain_motions(tree: Tree, b: int, q: Array) -> list[Array]:
    """Return the (4, 4) motions of chain joint b one by one."""
    chains, motions = tree.chains, []
    for m in range(chains.start[b], chains.start[b + 1]):
        value = evaluated(tree.functions, chains.function[m], q[chains.dof[m]])[0]
        motions.append((turn if chains.rotates[m] else shift)(chains.axis[m], value))
    return motions


class Step(NamedTuple):
    """An elementary motion: what moves when its dof does."""

    dof: int
    rotates: bool
    axis: Array  # (3,) in ground
    centre: Array  # (3,) m - a point of the axis
    at_once: bool = False  # with the other rotations of its ball
    slope: float = 1.0  # of the function that the dof drives it by
    curvature: float = 0.0
    bend: Array | None = None  # (3, 3) second derivatives, a column for each dof of the joint


class State(NamedTuple):
    """A tree at some coordinates: (4, 4) matrices of its frames in ground, and the steps of its joints."""

    tree: Tree
    before: list[Array]  # joint frame on the parent
    after: list[Array]  # joint frame on the body
    body: list[Array]
    steps: list[list[Step]]  # of each joint, parent first

    def axes(self) -> tuple[Array, Array]:
        """Return the direction (n_v, 3) of every dof and a point (n_v, 3) m of every rotation's axis.

        Both are zero for a dof that drives its motions by functions.
        """
        axis, centre = np.zeros((len(self.tree.dof_body), 3)), np.zeros((len(self.tree.dof_body), 3))
        for step in (step for steps in self.steps for step in steps):
            if self.tree.dof_rotates[step.dof] != DRIVEN:
                axis[step.dof], centre[step.dof] = step.axis, step.centre
        return axis, centre

    def path(self, body: int) -> list[Step]:
        """Return the steps that move a body, nearest to ground first."""
        steps: list[Step] = []
        while body >= 0:
            steps = self.steps[body] + steps
            body = int(self.tree.parent[body])
        return steps

    def point(self, body: int, x: Array) -> Array:
        """Return a point (3,) m fixed in a body, in ground; body -1 is ground."""
        return x.copy() if body < 0 else (self.body[body] @ np.append(x, 1.0))[:3]

    def point_derivatives(self, body: int, x: Array) -> tuple[Array, Array]:
        """Return dx (3, n_v) and d2x (3, n_v, n_v) of a point (3,) m fixed in a body, by tangent steps."""
        n_v = len(self.tree.dof_body)
        place, steps = self.point(body, x), self.path(body)
        moved = [cross(s.axis, place - s.centre) if s.rotates else s.axis for s in steps]
        first, second = np.zeros((3, n_v)), np.zeros((3, n_v, n_v))
        for i, near in enumerate(steps):
            first[:, near.dof] += near.slope * moved[i]
            second[:, near.dof, near.dof] += near.curvature * moved[i]
            if near.bend is not None:
                start = self.tree.v_start[self.tree.dof_body[near.dof]]
                second[:, near.dof, start : start + 3] += near.bend
            for j in range(i, len(steps) if near.rotates else 0):
                far = steps[j]
                turned = cross(near.axis, moved[j])
                if together(self.tree, near, far):
                    turned = 0.5 * (turned + cross(far.axis, moved[i]))
                second[:, near.dof, far.dof] += near.slope * far.slope * turned
                if j > i:
                    second[:, far.dof, near.dof] += near.slope * far.slope * turned
        return first, second


def together(tree: Tree, a: Step, b: Step) -> bool:
    """Return whether two steps are rotations of one ball."""
    return a.at_once and b.at_once and tree.dof_body[a.dof] == tree.dof_body[b.dof]


def joint_steps(tree: Tree, b: int, q: Array, before: Array, after: Array) -> list[Step]:
    """Return the steps of joint b between its frames (4, 4) on the parent and on the body."""
    kind, v, x = tree.kind[b], int(tree.v_start[b]), after[:3, 3]
    if kind in (HINGE, SLIDER):
        return [Step(v, kind == HINGE, before[:3, :3] @ tree.parameter[b], x)]
    if kind == BALL:
        return [Step(v + i, True, after[:3, i], x, True) for i in range(3)]
    if kind == FREE:
        shifts = [Step(v + i, False, before[:3, i], x) for i in range(3)]
        return shifts + [Step(v + 3 + i, True, after[:3, i], x, True) for i in range(3)]
    if kind == ELLIPSOIDAL:  # its centre moves as the child's third axis does, stretched
        F, c = before[:3, :3], after[:3, :3].T
        M = F @ np.diag(tree.parameter[b]) @ F.T
        twice = [[cross(c[i], cross(c[j], c[2])) for j in range(3)] for i in range(3)]
        bends = 0.5 * (np.array(twice) + np.swapaxes(twice, 0, 1)) @ M.T
        shifts = [Step(v + i, False, M @ cross(c[i], c[2]), x, bend=bends[i].T) for i in range(3)]
        return shifts + [Step(v + i, True, c[i], x, True) for i in range(3)]
    steps, T, chains = [], before, tree.chains
    for m, motion in enumerate(chain_motions(tree, b, q), tree.chains.start[b]):
        axis, dof = T[:3, :3] @ chains.axis[m], int(chains.dof[m])
        T = T @ motion
        _, slope, curvature = evaluated(tree.functions, chains.function[m], q[dof])
        steps.append(Step(v + dof, bool(chains.rotates[m]), axis, T[:3, 3], False, slope, curvature))
    return steps


def state(tree: Tree, q: Array) -> State:
    """Return the tree at the coordinates q (n_q,)."""
    at = State(tree, [], [], [], [])
    for b, parent in enumerate(tree.parent):
        carrier = at.body[parent] if parent >= 0 else np.eye(4)
        at.before.append(carrier @ homogeneous(tree.rotation_in_parent[b], tree.position_in_parent[b]))
        own = q[slices(tree, b)[0]]
        at.after.append(at.before[b] @ joint_motion(tree, b, own))
        at.steps.append(joint_steps(tree, b, own, at.before[b], at.after[b]))
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
        if kind in (HINGE, SLIDER, CHAIN):
            q_new[own] = q[own] + step
        elif kind in TURNING:
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
        if kind in (HINGE, SLIDER, CHAIN):
            delta[speeds] = q_to[own] - q_from[own]
        elif kind in TURNING:
            start, stop = (quaternion_matrix(q[own.stop - 4 : own.stop]) for q in (q_from, q_to))
            delta[speeds.stop - 3 : speeds.stop] = Rotation.from_matrix(start.T @ stop).as_rotvec()
            if kind == FREE:
                delta[speeds.start : speeds.start + 3] = (q_to - q_from)[own.start : own.start + 3]
    return delta
