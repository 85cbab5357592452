"""Velocities and bias accelerations of all bodies, as spatial vectors in ground axes.

Every spatial vector (angular part, linear part) is taken about one point at rest, the place where the
origin of body 0 is at this instant (the reference point of kernels/tree.Pose.twist). So nothing is
transformed on the way along the tree: velocities, forces and inertias simply add (Featherstone 2008,
Rigid Body Dynamics Algorithms, chapter 2; all bodies in one coordinate system).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels._jit import inlined, njit
from kernels.tree import BALL, CHAIN, FREE


class Velocities(NamedTuple):
    """Spatial velocities and velocity-product accelerations."""

    body: np.ndarray  # (n_body, 6) - velocity of each body
    bias: np.ndarray  # (n_body, 6) - acceleration that the joint adds at zero v-dot: dS/dt v
    carrier: np.ndarray  # (6,) - working space


def new_velocities(n_body: int) -> Velocities:
    """Allocate Velocities."""
    return Velocities(np.zeros((n_body, 6)), np.zeros((n_body, 6)), np.zeros(6))


@inlined
def velocities(tree, pose, v, velocities_out):
    """velocities_out of all bodies at the speeds v : (n_v,), after kernels/tree.pose."""
    body, bias, carrier = velocities_out.body, velocities_out.bias, velocities_out.carrier
    for b in range(tree.parent.shape[0]):
        p, start, stop = tree.parent[b], tree.v_start[b], tree.v_start[b + 1]
        own, own_bias = body[b], bias[b]
        for i in range(6):
            own[i] = body[p, i] if p >= 0 else 0.0
            own_bias[i] = 0.0
        kind = tree.kind[b]
        if kind == CHAIN:
            chain_velocity(tree, pose, b, v, carrier, own, own_bias)
        elif kind == FREE:
            add_group(pose.twist, start, start + 3, v, carrier, own, own_bias)
            add_group(pose.twist, start + 3, stop, v, carrier, own, own_bias)
        elif kind == BALL:
            add_group(pose.twist, start, stop, v, carrier, own, own_bias)
        else:
            for d in range(start, stop):
                add_motion(pose.twist, d, v[d], own, own_bias)


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
    carrier : (6,) - velocity before the group, written [rad/s, m/s]
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


@njit
def add_cross(velocity, wx, wy, wz, ux, uy, uz, bias):
    """bias += velocity x (w, u), the spatial cross product of motions.

    velocity : (6,) - carried on [rad/s, m/s]
    wx, wy, wz : float - angular part [rad/s]
    ux, uy, uz : float - linear part [m/s]
    bias : (6,) - acceleration at zero v_dot, carried on [rad/s^2, m/s^2]
    """
    vx, vy, vz = velocity[0], velocity[1], velocity[2]
    bias[0] += vy * wz - vz * wy
    bias[1] += vz * wx - vx * wz
    bias[2] += vx * wy - vy * wx
    bias[3] += vy * uz - vz * uy + velocity[4] * wz - velocity[5] * wy
    bias[4] += vz * ux - vx * uz + velocity[5] * wx - velocity[3] * wz
    bias[5] += vx * uy - vy * ux + velocity[3] * wy - velocity[4] * wx


@inlined
def chain_velocity(tree, pose, b, v, carrier, velocity, bias):
    """velocity, bias : (6,) through the motions of a chain joint, f'' v^2 of driven ones included.

    tree : Tree
    pose : Pose
    b : int - body of the chain joint
    v : (n_v,) - speeds [rad/s, m/s]
    carrier : (6,) - velocity before the group, written [rad/s, m/s]
    """
    for m in range(tree.chains.start[b], tree.chains.start[b + 1]):
        speed = v[tree.v_start[b] + tree.chains.dof[m]]
        curving = pose.rate[m, 1] * speed * speed
        add_motion(pose.screw, m, pose.rate[m, 0] * speed, velocity, bias)
        for i in range(6):
            bias[i] += curving * pose.screw[m, i]
