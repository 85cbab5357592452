"""Muscle lengths and moment arms about anatomical joint angles, at the pose of a solved frame.

The angles a, b, c are those of kernels/joints/joint_angles, about the axes e1, e2, e3 of the joint coordinate
system: e1 and e3 are fixed to the proximal and the distal body, and e2 = e3 x e1 is the floating axis. The
angular velocity of the distal body relative to the proximal one is w = a' e1 + b' e2 + c' e3 (Grood and
Suntay 1983), so a' is w times the vector dual to e1, and the motion of that angle alone is a rotation of the
joint about e1. If the method constrains the joint by a mechanism, the other dofs follow the angle as the
mechanism demands. Soft elements are constraint rows with a compliance: they keep their lengths as far as the
hard elements and the angle allow.

A mechanism rotates about all three axes at once. If its motion is mostly flexion, the other two angles change
little with flexion. A moment arm about such an angle would be the arm about flexion divided by the small
derivative of the angle with respect to flexion: metres long, and of either sign. So angles that only follow
another angle are left out.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.rotation import rotate
from kernels.compiler.jit import njit
from kernels.dynamics.constraints import (
    Constraints,
    ConstraintWork,
    constraint_rows,
    element_row,
    factor_rows,
    new_constraint_work,
)
from kernels.joints.joint_angles import JointAxes
from kernels.joints.tree import Tree
from kernels.path.angles import LOCKED, OK, AngleWork, couplings, new_angle_work
from kernels.path.moment_arms import arms_by_partial_velocity
from kernels.path.muscle_path import (
    PathWork,
    follow_paths,
    gradients,
    new_path_work,
    piece_gradient,
    wraps_in_closed_form,
)
from kernels.path.stations import Stations
from kernels.path.surfaces import Surfaces
from kernels.solver.constraints import SOFT

YIELD = 1e-6
"""Weight of the motion of the angle alone against that of soft elements [1/rad^2, 1/m^2]; it is small, so
that the elements prevail."""
COINCIDENT = 1e-20
"""Square of the sine between e1 and e3 below which the angles about the two axes cannot be told apart [1]."""

FOLLOWS = 2.0
"""Speed at which the joint turns at unit rate of an angle [1], above which the angle counts as following
another one: less than half of the rotation is its own."""


class JointLeverage(NamedTuple):
    """Constant input of the moment arms about joint angles: the joint tree, its constraints, the muscle paths
    and the joints.
    """

    tree: Tree
    constraints: Constraints  # hard or soft as in the method that solves the frames
    stations: Stations
    surfaces: Surfaces
    joints: JointAxes


class JointLeverageWork(NamedTuple):
    """Results and working space of moment arms about joint angles; angles are in the order of the joints,
    three for each joint.
    """

    constraint: ConstraintWork
    path: PathWork
    angle: AngleWork
    axes: Annotated[np.ndarray, Floats(6, 3)]  # e1, e2, e3, those of the bodies, and a dual vector
    moment: Annotated[np.ndarray, Floats(6)]


def new_joint_leverage_work(leverage: JointLeverage) -> JointLeverageWork:
    """Allocate a JointLeverageWork: moment arms about joint angles, and working space."""
    n_v = len(leverage.tree.dof_body)
    closed_form = wraps_in_closed_form(leverage.stations, leverage.surfaces)
    constraint = new_constraint_work(leverage.constraints, n_v)
    return allocate(
        JointLeverageWork,
        constraint=constraint,
        path=new_path_work(leverage.stations, leverage.surfaces, n_v, closed_form),
        angle=new_angle_work(3 * len(leverage.joints.proximal), n_v, len(constraint.value)),
    )


@njit
def joint_moment_arms(leverage, pose, q, work, lengths_out, arms_out):
    """Write muscle lengths and moment arms r = -dl/dtheta at a solved pose; return how many paths failed.

    An arm is NaN about an angle that is undefined in this pose (e1 = e3), that the joint does not have, or
    that only follows another angle. Length and arms are NaN for a muscle whose path is not found;
    work.path.status gives the reason.

    leverage : JointLeverage - joint tree, constraints, paths and joints
    pose : Pose - positions and orientations of the bodies, as the solver has written them
    q : (n_q,) - generalized coordinates [rad, m]
    work : JointLeverageWork - results and working space, written
    lengths_out : (n_muscle,) - muscle lengths [m], written
    arms_out : (n_muscle, 3 n_joint) - moment arms [m], written
    """
    tree, constraints, joints = leverage.tree, leverage.constraints, leverage.joints
    follow_paths(tree, leverage.stations, leverage.surfaces, pose, q, work.path)
    gradients(tree, leverage.stations, pose, 1, work.path)
    n = constraint_rows(tree, constraints, pose, q, work.constraint)
    n = soft_rows(constraints, pose, n, work.constraint)
    rows = work.constraint
    factor_rows(n, rows.row, rows.reach, rows.compliance, rows.kernel)
    for j in range(joints.proximal.shape[0]):
        place_joint_angles(tree, joints, j, pose, work)
    couplings(n, work.constraint.row, work.constraint.kernel, work.angle)
    lock_followers(tree, joints, pose, work.angle)
    arms_by_partial_velocity(work, arms_out)
    return leave_undefined_out(work, lengths_out, arms_out)


@njit
def lock_followers(tree, joints, pose, angle):
    """Set the status of those angles to LOCKED that hardly change by themselves, but follow another angle.

    If such an angle changes at unit rate, the joint rotates faster than FOLLOWS (2), mostly about the axis
    of the other angle.

    tree : Tree - the joint tree; joints : JointAxes - bodies of each joint; pose : Pose; angle : AngleWork -
        coupling is read, status written.
    """
    for a in range(angle.status.shape[0]):
        body = joints.distal[a // 3]
        x, y, z = 0.0, 0.0, 0.0
        for i in range(tree.dof_body.shape[0]):
            if tree.dof_body[i] == body:
                speed, turn = angle.coupling[a, i], pose.twist[i]
                x += speed * turn[0]
                y += speed * turn[1]
                z += speed * turn[2]
        if x * x + y * y + z * z > FOLLOWS * FOLLOWS:
            angle.status[a] = LOCKED


@njit
def leave_undefined_out(work, lengths_out, arms_out):
    """Copy the muscle lengths into lengths_out, and set lengths and arms without a value to NaN; return how
    many paths failed.

    work : JointLeverageWork - status of paths and angles; lengths_out : (n_muscle,) [m]; arms_out :
        (n_muscle, 3 n_joint) [m].
    """
    n_failed = 0
    for m in range(arms_out.shape[0]):
        failed = work.path.status[m] != OK
        n_failed += failed
        lengths_out[m] = math.nan if failed else work.path.length[m]
        for a in range(arms_out.shape[1]):
            if failed or work.angle.status[a] != OK:
                arms_out[m, a] = math.nan
    return n_failed


@njit
def soft_rows(constraints, pose, n, work):
    """Write the constraint rows and compliances of all soft elements after the n hard rows; return the new
    number of rows.

    constraints : Constraints - hard and soft elements; pose : Pose; work : ConstraintWork - rows, written.
    """
    for k in range(n):
        work.compliance[k] = 0.0
    for e in range(constraints.elements.kind.shape[0]):
        if constraints.roles.mode[e] == SOFT:
            element_row(constraints.elements, pose, e, work, work.row[n])
            work.reach[n] = 1.0
            work.compliance[n] = YIELD / constraints.roles.weight[e]
            n += 1
    return n


@njit
def place_joint_angles(tree, joints, j, pose, work):
    """Write the gradient of each of the three angles of joint j, and the motion that changes this angle
    alone, into rows 3 j to 3 j + 2 of work.angle.gradient and work.angle.alone.

    tree : Tree - the joint tree
    joints : JointAxes - the joints whose angles are meant, and their axes
    j : int - index of the joint
    pose : Pose - positions and orientations of all bodies in ground
    work : JointLeverageWork - results and working space, written
    """
    p, d = joints.proximal[j], joints.distal[j]
    e1, e2, e3 = work.axes[0], work.axes[1], work.axes[2]
    P, D = joints.axes_proximal[j], joints.axes_distal[j]
    for i in range(3):
        work.axes[3, i], work.axes[4, i] = P[i, 2], D[i, 1]
    rotate(pose.rotation[p], work.axes[3], e1)
    rotate(pose.rotation[d], work.axes[4], e3)
    square = 0.0
    for i in range(3):
        k, m = (i + 1) % 3, (i + 2) % 3
        e2[i] = e3[k] * e1[m] - e3[m] * e1[k]
        square += e2[i] * e2[i]
    if square < COINCIDENT:
        for a in range(3 * j, 3 * j + 3):
            for i in range(tree.dof_body.shape[0]):
                work.angle.gradient[a, i] = 0.0
        return
    sine = math.sqrt(square)
    cosine = e1[0] * e3[0] + e1[1] * e3[1] + e1[2] * e3[2]
    for i in range(3):
        e2[i] /= sine
    for a in range(3):
        e, dual = work.axes[a], work.axes[5]
        other = e3 if a == 0 else e1
        for i in range(3):
            dual[i] = e[i] if a == 1 else (e[i] - cosine * other[i]) / square
        joint_angle_row(tree, pose, p, d, dual, work.moment, work.angle.gradient[3 * j + a])
        for i in range(tree.dof_body.shape[0]):
            turn = pose.twist[i]
            along = turn[0] * e[0] + turn[1] * e[1] + turn[2] * e[2]
            work.angle.alone[3 * j + a, i] = along if tree.dof_body[i] == d else 0.0


@njit
def joint_angle_row(tree, pose, proximal, distal, dual, moment, row_out):
    """Write the derivative of a joint angle along each dof: the scalar product of `dual` and the relative
    angular velocity of the two bodies at unit speed of the dof.

    tree : Tree - the joint tree
    pose : Pose - positions and orientations of all bodies in ground
    proximal, distal : int - indices of the two bodies
    dual : (3,) - vector dual to the axis of the angle, in ground
    moment : (6,) - working space
    row_out : (n_v,) - derivative of the angle along each dof, written
    """
    for i in range(row_out.shape[0]):
        row_out[i] = 0.0
    for i in range(3):
        moment[i], moment[3 + i] = dual[i], 0.0
    piece_gradient(tree, pose, proximal, distal, moment, row_out)
