"""Functions that several kinds of joints use: velocities of single and of simultaneous motions, steps of
coordinates that are lengths or angles.
"""

from __future__ import annotations

from typing import NamedTuple

from kernels.algebra.spatial import add_cross, add_scaled_cross, cross
from kernels.compiler.jit import inlined, njit

TRANSLATES, ROTATES, DRIVEN = 0, 1, 2
"""Motion along a dof: a translation along its axis, a rotation about it, or (DRIVEN) anything else, as by
functions."""


class JointSizes(NamedTuple):
    """Number of coordinates of a kind of joint, and what each of its speeds does."""

    n_q: int  # coordinates
    dofs: tuple[int, ...] = ()  # what each of its speeds does: TRANSLATES, ROTATES or DRIVEN
    group: tuple[int, ...] = ()  # of each speed: those of one group act at once


@inlined
def axis_twists(tree, b, pose_out):
    """Write the twists of the dofs of joint b, each a rotation about an axis or a translation along it, into
    pose_out.twist.
    """
    axis, centre, twist, origin = pose_out.axis, pose_out.centre, pose_out.twist, pose_out.position[0]
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
def number_step(tree, b, q, delta, scale, q_out):
    """Write q + scale * delta of joint b, whose coordinates are lengths or angles, into q_out.

    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    q : (n_q,) - generalized coordinates [rad, m]
    delta : (n_v,) - step along the tangent of q
    scale : float - factor of the step [1]
    q_out : (n_q,) - generalized coordinates after the step, written; may be q itself
    """
    k, v = tree.q_start[b], tree.v_start[b]
    for i in range(tree.v_start[b + 1] - v):
        q_out[k + i] = q[k + i] + scale * delta[v + i]


@inlined
def number_difference(tree, b, q_from, q_to, delta_out):
    """Write q_to - q_from of joint b, whose coordinates are lengths or angles, into delta_out.

    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    q_from, q_to : (n_q,) - generalized coordinates at start and end [rad, m]
    delta_out : (n_v,) - step along the tangent of q, written
    """
    k, v = tree.q_start[b], tree.v_start[b]
    for i in range(tree.v_start[b + 1] - v):
        delta_out[v + i] = q_to[k + i] - q_from[k + i]


@inlined
def add_motion(twist, d, rate, velocity, bias):
    """Add the motion of a dof to the velocity and bias acceleration of a body: bias += velocity x (twist *
    rate), velocity += twist * rate.

    twist : (n_v, 6) - twists of all dofs about the origin of body 0
    d : int - index of the dof
    rate : float - speed of the dof [rad/s, m/s]
    velocity : (6,) - spatial velocity, changed [rad/s, m/s]
    bias : (6,) - spatial acceleration at zero v_dot, changed [rad/s^2, m/s^2]
    """
    wx, wy, wz = rate * twist[d, 0], rate * twist[d, 1], rate * twist[d, 2]
    ux, uy, uz = rate * twist[d, 3], rate * twist[d, 4], rate * twist[d, 5]
    add_cross(velocity, wx, wy, wz, ux, uy, uz, bias)
    velocity[0] += wx
    velocity[1] += wy
    velocity[2] += wz
    velocity[3] += ux
    velocity[4] += uy
    velocity[5] += uz


@inlined
def add_group(twist, start, stop, v, carrier, velocity, bias):
    """Add simultaneous motions of several dofs, with the sum u of twist * rate, to the velocity and bias
    acceleration of a body: bias += velocity x u, velocity += u.

    None of these motions moves the axis of another one: all axes move with the velocity that the body has
    without these motions.

    twist : (n_v, 6) - twists of all dofs about the origin of body 0
    start : int - first dof of the group
    stop : int - the dof after the last one of the group
    v : (n_v,) - generalized speeds [rad/s, m/s]
    carrier : (6,) - working space
    velocity : (6,) - spatial velocity of the parent, changed to that of the body [rad/s, m/s]
    bias : (6,) - spatial acceleration at zero v_dot, likewise changed [rad/s^2, m/s^2]
    """
    for i in range(6):
        carrier[i] = 0.0
    for d in range(start, stop):
        for i in range(6):
            carrier[i] += v[d] * twist[d, i]
    add_cross(velocity, carrier[0], carrier[1], carrier[2], carrier[3], carrier[4], carrier[5], bias)
    for i in range(6):
        velocity[i] += carrier[i]


@inlined
def group_rates(twist, start, stop, before, psi_dot_out):
    """Write psi_dot = before x S of simultaneous motions with the twists S: the vectors with which
    dV_i/dq_e = psi_dot_e + S_e x V_i for the velocity V_i of every body i that dof e moves.

    twist : (n_v, 6) - twists of all dofs about the origin of body 0
    start : int - first dof of the group
    stop : int - the dof after the last one of the group
    before : (6,) - spatial velocity before these motions [rad/s, m/s]
    psi_dot_out : (n_v, 6) - psi_dot of kernels/dynamics/twist_rates, written
    """
    for d in range(start, stop):
        cross(before, twist[d], psi_dot_out[d])


@inlined
def group_jerks(twist, start, stop, own):
    """Write two terms from which derivatives of accelerations are formed, for simultaneous motions with the
    twists S: own.psi_ddot = A x S + V x psi_dot and own.psi_s_dot = 2 psi_dot.

    V and A are the spatial velocity and acceleration without these motions, and psi_dot = V x S
    (group_rates). For a body i that dof e moves, with the velocity V_i and the acceleration A_i,
      dA_i/dq_e = psi_ddot_e + psi_dot_e x V_i + S_e x A_i,   dA_i/dv_e = psi_s_dot_e
    (kernels/dynamics/derivatives).

    twist : (n_v, 6) - twists of all dofs about the origin of body 0
    start : int - first dof of the group
    stop : int - the dof after the last one of the group
    own : DerivativeWork - its psi_dot is read, and its field `before`, which contains V and A; its psi_ddot
      and psi_s_dot are written
    """
    V, A = own.before[0], own.before[1]
    for d in range(start, stop):
        for i in range(6):
            own.psi_s_dot[d, i] = 2.0 * own.psi_dot[d, i]
        cross(A, twist[d], own.psi_ddot[d])
        add_scaled_cross(1.0, V, own.psi_dot[d], own.psi_ddot[d])


@njit
def pass_motion(slope, twist, speed, acceleration, V, A):
    """Add a motion, driven by a coordinate through a function, to the velocity V and the acceleration A
    that a body has without it.

    The term of the acceleration that contains the second derivative of the function is not included.

    slope : float - derivative of the function that drives the motion
    twist : (6,) - twist of the motion
    speed : float - speed of its coordinate [rad/s, m/s]
    acceleration : float - acceleration of its coordinate [rad/s^2, m/s^2]
    V : (6,) - spatial velocity, changed [rad/s, m/s]
    A : (6,) - spatial acceleration, changed [rad/s^2, m/s^2]
    """
    add_scaled_cross(slope * speed, V, twist, A)
    for i in range(6):
        V[i] += slope * speed * twist[i]
        A[i] += slope * acceleration * twist[i]
