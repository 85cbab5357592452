"""The joint tree: bodies joined by joints, coordinates q on their manifold, speeds v.

Bodies are numbered so that a parent comes before its children. Every joint has a frame that is fixed to its
parent and one that is fixed to its child; its coordinates determine the pose of the second in the first. The
tables of dofs have one row per speed (degree of freedom, dof): its body, the next dof towards ground, and
whether it rotates. The kind of a joint determines what it does (kernels/joints/kinds).

The second derivative of a point with respect to rotations i and j about the axes w is w_i x (w_j x r) for i
nearer to ground than j, where r leads from the axis j to the point (kernels/markers/marker_cost,
constraints); inside one joint see kernels/joints/kinds.order_joint.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.copying import copy_frame, copy_vector
from kernels.algebra.functions import Functions
from kernels.algebra.rotation import multiply, multiply_transposed, rotate
from kernels.compiler.jit import inlined, njit
from kernels.joints.couplers import Couplers
from kernels.joints.kinds import GENERAL, joint_difference, joint_motion, joint_step, joint_twists

N_PARAMETER = 3


class Chains(NamedTuple):
    """Elementary motions (rotations and translations, driven by coordinates) of all chain joints, stored
    joint by joint. A chain joint consists of several such motions, one after another (kernels/joints/chain).
    """

    start: np.ndarray  # (n_body + 1,) int64 - first motion of each body's joint
    rotates: np.ndarray  # (n_motion,) int64 - 1 = rotation, 0 = translation
    axis: np.ndarray  # (n_motion, 3) - unit, in the frame reached by the motions before
    dof: np.ndarray  # (n_motion,) int64 - within the joint: 0 = its first coordinate
    function: np.ndarray  # (n_motion,) int64 - of that coordinate; -1 = the coordinate itself


class Tree(NamedTuple):
    """Constant description of a tree of n_body bodies, n_q coordinates and n_v speeds."""

    parent: np.ndarray  # (n_body,) int64 - body that carries the joint, -1 = ground
    kind: np.ndarray  # (n_body,) int64 - of kernels/joints/kinds
    q_start: np.ndarray  # (n_body + 1,) int64 - first coordinate of the joint
    v_start: np.ndarray  # (n_body + 1,) int64 - first speed of the joint
    parameter: np.ndarray  # (n_body, 3) - numbers of the kind: of a hinge its unit axis, in the joint frame
    position_in_parent: np.ndarray  # (n_body, 3) - joint frame on the parent [m]
    rotation_in_parent: np.ndarray  # (n_body, 3, 3)
    position_in_child: np.ndarray  # (n_body, 3) - joint frame on the child [m]
    rotation_in_child: np.ndarray  # (n_body, 3, 3)
    placed: np.ndarray  # (n_body, 2) int64 - 1 = the joint frame is rotated in the parent, or that is ground;
    # 1 = the joint frame is not the child's own frame
    dof_body: np.ndarray  # (n_v,) int64 - body moved by the dof
    dof_parent: np.ndarray  # (n_v,) int64 - next dof towards ground, -1 = none
    dof_rotates: np.ndarray  # (n_v,) int64 - TRANSLATES, ROTATES or DRIVEN
    dof_group: np.ndarray  # (n_v,) int64 - dofs of one group act at once: the rotations of a ball
    last_dof: np.ndarray  # (n_body,) int64 - last dof that moves the body, -1 = none
    chains: Chains  # None in a tree without_tables
    functions: Functions  # None in a tree without_tables
    couplers: Couplers | None = None  # of followers, which are eliminated; None = there are none


def without_tables(tree: Tree) -> Tree:
    """Return the tree without its tables of chain joints and functions if it needs neither, which saves a
    quarter of the time for compiling.
    """
    if np.isin(tree.kind, GENERAL).any() or len(tree.functions.kind) or tree.couplers is not None:
        return tree
    return tree._replace(chains=None, functions=None)  # type: ignore[arg-type]


class Pose(NamedTuple):
    """Positions and orientations of the bodies and motions of all dofs, in ground; computed by the function
    `pose`.

    A twist is the motion of one dof at unit speed: the angular velocity of the bodies that it moves, and the
    velocity of their (imagined) material point at the origin of body 0.
    """

    position: Annotated[np.ndarray, Floats("n_body", 3)]  # body origin [m]
    rotation: Annotated[np.ndarray, Floats("n_body", 3, 3)]  # body axes as columns
    axis: Annotated[np.ndarray, Floats("n_v", 3)]  # unit direction of each dof; zero where functions drive
    centre: Annotated[np.ndarray, Floats("n_v", 3)]  # a point of the axis of each rotation [m]
    twist: Annotated[np.ndarray, Floats("n_v", 6)]  # angular, linear
    screw: Annotated[np.ndarray, Floats("n_motion", 6)]  # twist of each elementary motion of a chain
    rate: Annotated[np.ndarray, Floats("n_motion", 2)]  # slope and curvature of its function
    work: Annotated[np.ndarray, Floats(2, 3, 3)]


def new_pose(n_body: int, n_v: int, n_motion: int = 0) -> Pose:
    """Allocate a Pose: positions and orientations of the bodies in ground, and twists of all dofs."""
    return allocate(Pose, n_body=n_body, n_v=n_v, n_motion=n_motion)


@inlined
def pose(tree, q, pose_out):
    """Write the positions of all bodies and the motions of all dofs at q : (n_q,) into pose_out."""
    rotation = pose_out.rotation
    for b in range(tree.parent.shape[0]):
        p, frame = tree.parent[b], rotation[b]
        joint_centre(tree, b, pose_out)
        turned = tree.placed[b, 0] != 0
        if turned:
            if p < 0:
                copy_frame(tree.rotation_in_parent[b], frame)
            else:
                multiply(rotation[p], tree.rotation_in_parent[b], frame)
        joint_motion(tree, b, q, turned, pose_out)
        if tree.placed[b, 1]:
            leave_joint(tree, b, pose_out)
    for b in range(tree.parent.shape[0]):
        joint_twists(tree, b, pose_out)


@inlined
def joint_centre(tree, b, pose_out):
    """Write the position in ground of the origin of joint b's frame on the parent into
    pose_out.position[b].
    """
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
    """Replace the pose of the joint's frame on the child, in row b of pose_out, by the pose of body b
    itself.
    """
    frame, before, x = pose_out.rotation[b], pose_out.work[0], pose_out.position[b]
    copy_frame(frame, before)
    multiply_transposed(before, tree.rotation_in_child[b], frame)
    rotate(frame, tree.position_in_child[b], pose_out.work[1, 0])
    for i in range(3):
        x[i] -= pose_out.work[1, 0, i]


@njit
def along(twist, d, mx, my, mz, fx, fy, fz):
    """Return the power of a wrench (moment and force about the origin of body 0) at unit speed of dof d.

    twist : (n_v, 6) - twists of all dofs about the origin of body 0
    d : int - index of the dof
    mx, my, mz : float - components of the moment [N m]
    fx, fy, fz : float - components of the force [N]
    """
    return (
        twist[d, 0] * mx + twist[d, 1] * my + twist[d, 2] * mz
        + twist[d, 3] * fx + twist[d, 4] * fy + twist[d, 5] * fz
    )  # fmt: skip


@inlined
def point_in_ground(pose, body, point, x_out):
    """Write the position in ground of a point fixed in a body into x_out : (3,) [m]; body -1 is ground."""
    if body < 0:
        copy_vector(point, x_out)
    else:
        rotate(pose.rotation[body], point, x_out)
        for i in range(3):
            x_out[i] += pose.position[body, i]


@inlined
def integrate(tree, q, delta, scale, q_out):
    """Write the coordinates after the step scale * delta along the tangent into q_out: lengths and angles are
    added, quaternions rotated.

    tree : Tree - the joint tree
    q : (n_q,) - generalized coordinates [rad, m]
    delta : (n_v,) - step along the tangent of q
    scale : float - factor of the step [1]
    q_out : (n_q,) - generalized coordinates after the step, written; may be q itself
    """
    for b in range(tree.parent.shape[0]):
        joint_step(tree, b, q, delta, scale, q_out)


@njit
def difference(tree, q_from, q_to, delta_out):
    """Write the tangent step delta_out : (n_v,) from q_from to q_to: the delta with integrate(q_from, delta)
    = q_to."""
    for b in range(tree.parent.shape[0]):
        joint_difference(tree, b, q_from, q_to, delta_out)
