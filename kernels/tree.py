"""The joint tree: bodies joined by joints, coordinates q on their manifold, speeds v.

Bodies are numbered so that a parent comes before its children. Every joint places a frame on its
parent and one on its child; the coordinates move the second in the first. One table row per speed
(degree of freedom, dof): its body, the next dof towards ground, and whether it rotates.

A chain joint is a row of elementary motions, each a rotation or a translation along an axis of the
frame reached so far, driven by a coordinate or by a function of one (universal, planar and custom
joints; Seth et al. 2010, Nonlinear Dynamics 62, 291-303).

In a free joint translations come before rotations, and all rotations of a ball act at once
(R <- R exp(delta)), so the second derivative of a point on the manifold is w_i x (w_j x r), symmetrised
inside one group of dofs, for i nearer to ground than j (kernels/markers, constraints).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels._jit import inlined, inlined_entry, njit
from kernels.couplers import Couplers
from kernels.functions import Functions, evaluate
from kernels.rotation import (
    matrix_to_quaternion,
    multiply,
    multiply_transposed,
    quaternion_difference,
    quaternion_step,
    quaternion_to_matrix,
    rotate,
    turn_about,
)

WELD, HINGE, SLIDER, BALL, FREE, CHAIN = 0, 1, 2, 3, 4, 5
N_Q = (0, 1, 1, 4, 7)  # coordinates of each kind; a chain has as many as coordinates drive it
N_V = (0, 1, 1, 3, 6)  # speeds of each kind
TRANSLATES, ROTATES, DRIVEN = 0, 1, 2  # what a dof does; driven = by functions of its coordinate


class Chains(NamedTuple):
    """Elementary motions of the chain joints, parent first."""

    start: np.ndarray  # (n_body + 1,) int64 - first motion of each body's joint
    rotates: np.ndarray  # (n_motion,) int64 - 1 = rotation, 0 = translation
    axis: np.ndarray  # (n_motion, 3) - unit, in the frame reached by the motions before
    dof: np.ndarray  # (n_motion,) int64 - within the joint: 0 = its first coordinate
    function: np.ndarray  # (n_motion,) int64 - of that coordinate; -1 = the coordinate itself


class Tree(NamedTuple):
    """Constant description of a tree of n_body bodies, n_q coordinates and n_v speeds."""

    parent: np.ndarray  # (n_body,) int64 - body that carries the joint, -1 = ground
    kind: np.ndarray  # (n_body,) int64 - WELD, HINGE, SLIDER, BALL, FREE, CHAIN
    q_start: np.ndarray  # (n_body,) int64 - first coordinate of the joint
    v_start: np.ndarray  # (n_body + 1,) int64 - first speed of the joint
    axis: np.ndarray  # (n_body, 3) - unit axis of hinge and slider, in the joint frame
    position_in_parent: np.ndarray  # (n_body, 3) - joint frame on the parent [m]
    rotation_in_parent: np.ndarray  # (n_body, 3, 3)
    position_in_child: np.ndarray  # (n_body, 3) - joint frame on the child [m]
    rotation_in_child: np.ndarray  # (n_body, 3, 3)
    placed: np.ndarray  # (n_body, 2) int64 - joint frame: turned in the parent (always where that is ground)?
    # away from the child's own frame?
    dof_body: np.ndarray  # (n_v,) int64 - body moved by the dof
    dof_parent: np.ndarray  # (n_v,) int64 - next dof towards ground, -1 = none
    dof_rotates: np.ndarray  # (n_v,) int64 - TRANSLATES, ROTATES or DRIVEN
    dof_group: np.ndarray  # (n_v,) int64 - dofs of one group act at once: the rotations of a ball
    last_dof: np.ndarray  # (n_body,) int64 - last dof that moves the body, -1 = none
    chains: Chains  # None in a tree without_tables
    functions: Functions  # None in a tree without_tables
    couplers: Couplers | None = None  # of followers that are eliminated (kernels/kkt); None = no coordinate


def without_tables(tree: Tree) -> Tree:
    """The tree without the tables of chains and functions, where it has none: a quarter less to compile."""
    if len(tree.chains.dof) or len(tree.functions.kind) or tree.couplers is not None:
        return tree
    return tree._replace(chains=None, functions=None)  # type: ignore[arg-type]


class Pose(NamedTuple):
    """Where the bodies are, and the motions of all dofs, in ground; written by `pose`.

    A twist is the motion of one dof at unit speed: its angular velocity and the velocity of the point
    that lies at the reference point, the origin of body 0.
    """

    position: np.ndarray  # (n_body, 3) - body origin [m]
    rotation: np.ndarray  # (n_body, 3, 3) - body axes as columns
    axis: np.ndarray  # (n_v, 3) - unit direction of each dof; zero where functions drive
    centre: np.ndarray  # (n_v, 3) - a point of the axis of each rotation [m]
    twist: np.ndarray  # (n_v, 6) - angular, linear
    screw: np.ndarray  # (n_motion, 6) - twist of each elementary motion of a chain
    rate: np.ndarray  # (n_motion, 2) - slope and curvature of its function
    work: np.ndarray  # (2, 3, 3)


def new_pose(n_body: int, n_v: int, n_motion: int = 0) -> Pose:
    """Allocate a Pose."""
    return Pose(
        np.zeros((n_body, 3)),
        np.zeros((n_body, 3, 3)),
        np.zeros((n_v, 3)),
        np.zeros((n_v, 3)),
        np.zeros((n_v, 6)),
        np.zeros((n_motion, 6)),
        np.zeros((n_motion, 2)),
        np.zeros((2, 3, 3)),
    )


@inlined_entry
def pose(tree, q, pose_out):
    """Positions of all bodies and motions of all dofs at the coordinates q : (n_q,)."""
    rotation = pose_out.rotation
    for b in range(tree.parent.shape[0]):
        p, k, v, frame = tree.parent[b], tree.q_start[b], tree.v_start[b], rotation[b]
        joint_centre(tree, b, pose_out)
        turned = tree.placed[b, 0] != 0
        if turned:
            if p < 0:
                copy_frame(tree.rotation_in_parent[b], frame)
            else:
                multiply(rotation[p], tree.rotation_in_parent[b], frame)
        if tree.kind[b] == HINGE:  # the most frequent joint saves a copy
            turn_about(frame if turned else rotation[p], tree.axis[b], q[k], frame, pose_out.axis[v])
            copy_vector(pose_out.position[b], pose_out.centre[v])
        else:
            if not turned:
                copy_frame(rotation[p], frame)
            joint_motion(tree, b, q, pose_out)
        if tree.placed[b, 1]:
            leave_joint(tree, b, pose_out)
    twists(tree, pose_out)


@inlined
def copy_vector(x, y_out):
    """y_out : (3,) = x."""
    y_out[0], y_out[1], y_out[2] = x[0], x[1], x[2]


@inlined
def copy_frame(X, Y_out):
    """Y_out : (3, 3) = X."""
    Y_out[0, 0], Y_out[0, 1], Y_out[0, 2] = X[0, 0], X[0, 1], X[0, 2]
    Y_out[1, 0], Y_out[1, 1], Y_out[1, 2] = X[1, 0], X[1, 1], X[1, 2]
    Y_out[2, 0], Y_out[2, 1], Y_out[2, 2] = X[2, 0], X[2, 1], X[2, 2]


@inlined
def joint_centre(tree, b, pose_out):
    """pose_out.position[b] : (3,) - origin of joint b on its parent."""
    p, x, c = tree.parent[b], pose_out.position[b], tree.position_in_parent[b]
    if p < 0:
        copy_vector(c, x)
        return
    R, above = pose_out.rotation[p], pose_out.position[p]
    x[0] = above[0] + R[0, 0] * c[0] + R[0, 1] * c[1] + R[0, 2] * c[2]
    x[1] = above[1] + R[1, 0] * c[0] + R[1, 1] * c[1] + R[1, 2] * c[2]
    x[2] = above[2] + R[2, 0] * c[0] + R[2, 1] * c[1] + R[2, 2] * c[2]


@inlined
def leave_joint(tree, b, pose_out):
    """pose_out.rotation[b], position[b] from the joint's frame on the child back to the body's own."""
    frame, before, x = pose_out.rotation[b], pose_out.work[0], pose_out.position[b]
    copy_frame(frame, before)
    multiply_transposed(before, tree.rotation_in_child[b], frame)
    rotate(frame, tree.position_in_child[b], pose_out.work[1, 0])
    for i in range(3):
        x[i] -= pose_out.work[1, 0, i]


@inlined
def joint_motion(tree, b, q, pose_out):
    """pose_out.rotation[b], position[b] moved from the joint's frame on the parent to that on the child."""
    kind, k, v = tree.kind[b], tree.q_start[b], tree.v_start[b]
    frame, x = pose_out.rotation[b], pose_out.position[b]
    if kind == BALL:
        turn_by(frame, q[k : k + 4], pose_out.work)
        for d in range(3):
            for i in range(3):
                pose_out.axis[v + d, i] = frame[i, d]
                pose_out.centre[v + d, i] = x[i]
    elif kind == FREE:
        for i in range(3):
            x[i] += frame[i, 0] * q[k] + frame[i, 1] * q[k + 1] + frame[i, 2] * q[k + 2]
        for d in range(3):
            for i in range(3):
                pose_out.axis[v + d, i] = frame[i, d]
        turn_by(frame, q[k + 3 : k + 7], pose_out.work)
        for d in range(3):
            for i in range(3):
                pose_out.axis[v + 3 + d, i] = frame[i, d]
                pose_out.centre[v + d, i] = x[i]
                pose_out.centre[v + 3 + d, i] = x[i]
    elif kind == SLIDER:
        rotate(frame, tree.axis[b], pose_out.axis[v])
        for i in range(3):
            x[i] += q[k] * pose_out.axis[v, i]
        copy_vector(x, pose_out.centre[v])
    elif kind == CHAIN:
        chain_motion(tree.chains, tree.functions, tree, b, q, frame, pose_out)


@njit
def turn_by(frame, quaternion, work):
    """frame : (3, 3) <- frame R(quaternion); two matrices of work are used."""
    quaternion_to_matrix(quaternion, work[0])
    copy_frame(frame, work[1])
    multiply(work[1], work[0], frame)


@inlined
def chain_motion(chains, functions, tree, b, q, frame, pose_out):
    """frame : (3, 3) and pose_out.position[b] moved through a chain joint; axes, points, rates on the way.

    chains, functions : Chains, Functions - of the tree, arguments of their own so that None prunes the rest
    tree : Tree
    b : int - body of the chain joint
    q : (n_q,) - coordinates [rad, m]
    pose_out : Pose - written
    """
    if chains is None:
        return
    x = pose_out.position[b]
    for m in range(chains.start[b], chains.start[b + 1]):
        value, slope, curvature = q[tree.q_start[b] + chains.dof[m]], 1.0, 0.0
        if chains.function[m] >= 0:  # a call costs more than the rest of most motions
            value, slope, curvature = evaluate(functions, chains.function[m], value)
        pose_out.rate[m, 0], pose_out.rate[m, 1] = slope, curvature
        axis = pose_out.screw[m]
        if chains.rotates[m]:
            turn_about(frame, chains.axis[m], value, frame, axis)
        else:
            rotate(frame, chains.axis[m], axis)
            for i in range(3):
                x[i] += value * axis[i]
        axis[3], axis[4], axis[5] = x[0], x[1], x[2]
        v = tree.v_start[b] + chains.dof[m]
        if tree.dof_rotates[v] != DRIVEN:
            copy_vector(axis, pose_out.axis[v])
            copy_vector(x, pose_out.centre[v])


@inlined
def twists(tree, pose_out):
    """pose_out.twist : (n_v, 6) of all dofs about the origin of body 0; screws as twists, too."""
    axis, centre, twist, origin = pose_out.axis, pose_out.centre, pose_out.twist, pose_out.position[0]
    for b in range(tree.parent.shape[0]):
        if tree.kind[b] == CHAIN:
            chain_twists(tree.chains, tree, b, pose_out)
            continue
        for d in range(tree.v_start[b], tree.v_start[b + 1]):
            ax, ay, az = axis[d, 0], axis[d, 1], axis[d, 2]
            if tree.dof_rotates[d] == ROTATES:
                x, y, z = centre[d, 0] - origin[0], centre[d, 1] - origin[1], centre[d, 2] - origin[2]
                twist[d, 0], twist[d, 1], twist[d, 2] = ax, ay, az
                twist[d, 3], twist[d, 4], twist[d, 5] = y * az - z * ay, z * ax - x * az, x * ay - y * ax
            else:
                twist[d, 0], twist[d, 1], twist[d, 2] = 0.0, 0.0, 0.0
                twist[d, 3], twist[d, 4], twist[d, 5] = ax, ay, az


@inlined
def chain_twists(chains, tree, b, pose_out):
    """pose_out.screw of the motions of chain joint b as twists, and the twists of its dofs: sum f' screw."""
    if chains is None:
        return
    screw, rate, twist, origin = pose_out.screw, pose_out.rate, pose_out.twist, pose_out.position[0]
    start = tree.v_start[b]
    for d in range(start, tree.v_start[b + 1]):
        for i in range(6):
            twist[d, i] = 0.0
    for m in range(chains.start[b], chains.start[b + 1]):
        s, slope, S = screw[m], rate[m, 0], twist[start + chains.dof[m]]
        ax, ay, az = s[0], s[1], s[2]
        if chains.rotates[m]:
            x, y, z = s[3] - origin[0], s[4] - origin[1], s[5] - origin[2]
            s[3], s[4], s[5] = y * az - z * ay, z * ax - x * az, x * ay - y * ax
        else:
            s[0], s[1], s[2], s[3], s[4], s[5] = 0.0, 0.0, 0.0, ax, ay, az
        for i in range(6):
            S[i] += slope * s[i]


@njit
def along(twist, d, mx, my, mz, fx, fy, fz):
    """Power of a wrench (moment, force about the reference point) on dof d at unit speed.

    twist : (n_v, 6) - of all dofs, about the reference point
    d : int - dof
    mx, my, mz : float - of the moment [N m]
    fx, fy, fz : float - of the force [N]
    """
    return (
        twist[d, 0] * mx + twist[d, 1] * my + twist[d, 2] * mz
        + twist[d, 3] * fx + twist[d, 4] * fy + twist[d, 5] * fz
    )  # fmt: skip


@inlined
def point_in_ground(pose, body, point, x_out):
    """x_out : (3,) - a point fixed in a body [m]; body -1 is ground."""
    if body < 0:
        copy_vector(point, x_out)
    else:
        rotate(pose.rotation[body], point, x_out)
        for i in range(3):
            x_out[i] += pose.position[body, i]


@inlined_entry
def integrate(tree, q, delta, scale, q_out):
    """q_out : (n_q,) = q moved by the tangent step scale * delta : (n_v,); may alias q."""
    for b in range(tree.parent.shape[0]):
        kind, k, v = tree.kind[b], tree.q_start[b], tree.v_start[b]
        if kind == HINGE or kind == SLIDER:
            q_out[k] = q[k] + scale * delta[v]
        elif kind == BALL:
            quaternion_step(
                q[k : k + 4],
                scale * delta[v],
                scale * delta[v + 1],
                scale * delta[v + 2],
                q_out[k : k + 4],
            )
        elif kind == FREE:
            for i in range(3):
                q_out[k + i] = q[k + i] + scale * delta[v + i]
            quaternion_step(
                q[k + 3 : k + 7],
                scale * delta[v + 3],
                scale * delta[v + 4],
                scale * delta[v + 5],
                q_out[k + 3 : k + 7],
            )
        elif kind == CHAIN:
            for i in range(tree.v_start[b + 1] - v):
                q_out[k + i] = q[k + i] + scale * delta[v + i]


@njit
def difference(tree, q_from, q_to, delta_out):
    """delta_out : (n_v,) - the tangent step with integrate(q_from, delta) = q_to."""
    for b in range(tree.parent.shape[0]):
        kind, k, v = tree.kind[b], tree.q_start[b], tree.v_start[b]
        if kind == HINGE or kind == SLIDER:
            delta_out[v] = q_to[k] - q_from[k]
        elif kind == BALL:
            quaternion_difference(q_from[k : k + 4], q_to[k : k + 4], delta_out[v : v + 3])
        elif kind == FREE:
            for i in range(3):
                delta_out[v + i] = q_to[k + i] - q_from[k + i]
            quaternion_difference(q_from[k + 3 : k + 7], q_to[k + 3 : k + 7], delta_out[v + 3 : v + 6])
        elif kind == CHAIN:
            for i in range(tree.v_start[b + 1] - v):
                delta_out[v + i] = q_to[k + i] - q_from[k + i]


@njit
def joint_coordinates(tree, b, R_joint, x_joint, q_out):
    """Coordinates of joint b whose child joint frame lies at R_joint, x_joint in the parent joint frame.

    Motion that the joint does not allow is left out: a hinge keeps the rotation about its axis, a
    ball drops the translation. A chain keeps the coordinates it has.

    tree : Tree
    b : int - body
    R_joint : (3, 3) - child joint frame in the parent one
    x_joint : (3,) - its origin there [m]
    q_out : (n_q,) - the joint's coordinates written
    """
    kind, k = tree.kind[b], tree.q_start[b]
    axis = tree.axis[b]
    if kind == HINGE:
        sine = (
            (R_joint[2, 1] - R_joint[1, 2]) * axis[0]
            + (R_joint[0, 2] - R_joint[2, 0]) * axis[1]
            + (R_joint[1, 0] - R_joint[0, 1]) * axis[2]
        )
        along = 0.0
        for i in range(3):
            for j in range(3):
                along += axis[i] * R_joint[i, j] * axis[j]
        cosine = R_joint[0, 0] + R_joint[1, 1] + R_joint[2, 2] - along
        q_out[k] = np.arctan2(sine, cosine)
    elif kind == SLIDER:
        q_out[k] = x_joint[0] * axis[0] + x_joint[1] * axis[1] + x_joint[2] * axis[2]
    elif kind == BALL:
        matrix_to_quaternion(R_joint, q_out[k : k + 4])
    elif kind == FREE:
        copy_vector(x_joint, q_out[k : k + 3])
        matrix_to_quaternion(R_joint, q_out[k + 3 : k + 7])
