"""What kinds of joints share: motions one by one, motions that act at once, coordinates that are numbers."""

from __future__ import annotations

from typing import NamedTuple

from kernels.algebra.spatial import add_cross, add_scaled_cross, cross
from kernels.compiler.jit import inlined, njit

TRANSLATES, ROTATES, DRIVEN = 0, 1, 2
"""What a dof does: one motion along or about its axis; driven = anything else, as by functions."""


class JointSizes(NamedTuple):
    """The sizes of a kind."""

    n_q: int  # coordinates
    dofs: tuple[int, ...] = ()  # what each of its speeds does: TRANSLATES, ROTATES or DRIVEN
    group: tuple[int, ...] = ()  # of each speed: those of one group act at once


@inlined
def axis_twists(tree, b, pose_out):
    """pose_out.twist of the dofs of joint b: a rotation about an axis or a translation along it each."""
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
    """q_out : (n_q,) of joint b = q + scale * delta: coordinates that are their own tangent.

    tree : Tree
    b : int - body that the joint carries
    q : (n_q,) - coordinates [rad, m]
    delta : (n_v,) - tangent step
    scale : float
    q_out : (n_q,) - may be q
    """
    k, v = tree.q_start[b], tree.v_start[b]
    for i in range(tree.v_start[b + 1] - v):
        q_out[k + i] = q[k + i] + scale * delta[v + i]


@inlined
def number_difference(tree, b, q_from, q_to, delta_out):
    """delta_out : (n_v,) of joint b = q_to - q_from.

    tree : Tree
    b : int - body that the joint carries
    q_from, q_to : (n_q,) - coordinates [rad, m]
    delta_out : (n_v,)
    """
    k, v = tree.q_start[b], tree.v_start[b]
    for i in range(tree.v_start[b + 1] - v):
        delta_out[v + i] = q_to[k + i] - q_from[k + i]


@inlined
def add_motion(twist, d, rate, velocity, bias):
    """velocity, bias : (6,) grow by a motion at this rate, carried along: bias += velocity x (twist rate).

    twist : (n_v, 6) - of all dofs, about the reference point
    d : int - dof
    rate : float - speed of the dof [rad/s, m/s]
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
    """As add_motion, for dofs that act at once: all of them are carried by what came before the group.

    twist : (n_v, 6) - of all dofs, about the reference point
    start : int - first dof of the group
    stop : int - the dof after its last
    v : (n_v,) - speeds [rad/s, m/s]
    carrier : (6,) - working space
    velocity : (6,) - carried on [rad/s, m/s]
    bias : (6,) - acceleration at zero v_dot, carried on [rad/s^2, m/s^2]
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
    """psi_dot_out : (n_v, 6) of dofs that act at once: before x S, before : (6,) the velocity before them.

    twist : (n_v, 6) - of all dofs, about the reference point
    start : int - first dof of the group
    stop : int - the dof after its last
    before : (6,) [rad/s, m/s]
    psi_dot_out : (n_v, 6) - of kernels/dynamics/twist_rates
    """
    for d in range(start, stop):
        cross(before, twist[d], psi_dot_out[d])


@inlined
def group_jerks(twist, start, stop, own):
    """own.psi_ddot = A x S + V x psi_dot, own.sway = 2 psi_dot of dofs that act at once.

    twist : (n_v, 6) - of all dofs, about the reference point
    start : int - first dof of the group
    stop : int - the dof after its last
    own : DerivativeWork - its before holds V and A before the group
    """
    V, A = own.before[0], own.before[1]
    for d in range(start, stop):
        for i in range(6):
            own.sway[d, i] = 2.0 * own.psi_dot[d, i]
        cross(A, twist[d], own.psi_ddot[d])
        add_scaled_cross(1.0, V, own.psi_dot[d], own.psi_ddot[d])


@njit
def pass_motion(slope, twist, speed, acceleration, V, A):
    """V, A : (6,) beyond a motion; its speed and acceleration are those of its coordinate, times slope.

    slope : float - of the function that drives the motion
    twist : (6,) - of the motion
    speed : float - of its coordinate [rad/s, m/s]
    acceleration : float - of its coordinate [rad/s^2, m/s^2]
    V : (6,) - velocity [rad/s, m/s]
    A : (6,) - acceleration [rad/s^2, m/s^2]
    """
    add_scaled_cross(slope * speed, V, twist, A)
    for i in range(6):
        V[i] += slope * speed * twist[i]
        A[i] += slope * acceleration * twist[i]
