"""Inverse dynamics: the generalized forces of a motion, and the wrenches that the joints transmit."""

from __future__ import annotations

from kernels.compiler.jit import njit
from kernels.dynamics.inertia import MASS, MOMENT, XX, XY, XZ, YY, YZ, ZZ, spatial_inertia
from kernels.dynamics.motion import velocities
from kernels.joints.tree import pose


@njit
def inverse_dynamics(system, q, v, v_dot, wrench, work, tau_out):
    """Compute tau = M v_dot + h - J' wrench by the recursive Newton-Euler algorithm (Featherstone 2008, table
    5.1).

    work.reaction : (n_body, 6) is left with the wrench that each joint transmits to its body, about the
    origin of body 0.

    system : System - joint tree of bodies with mass, in a gravitational field
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    v_dot : (n_v,) - generalized accelerations [rad/s^2, m/s^2]
    wrench : (n_body, 6) - external moment about the origin of ground [N m] and external force [N] on each
        body, in ground axes
    work : DynamicsWork - working space, overwritten
    tau_out : (n_v,) - generalized forces [N m, N]
    """
    pose(system.tree, q, work.pose)
    velocities(system.tree, work.pose, v, work.velocities)
    spatial_inertia(system.bodies, work.pose, work.inertia)
    newton_euler(system, v_dot, wrench, work)
    transmit(system.tree, work.pose, work.reaction, tau_out)


@njit
def newton_euler(system, v_dot, wrench, work):
    """Compute the force I a + v x* I v - wrench that each body on its own needs, with its spatial inertia I,
    acceleration a and velocity v; called after pose, velocities and spatial_inertia.

    system : System - joint tree of bodies with mass, in a gravitational field
    v_dot : (n_v,) - generalized accelerations [rad/s^2, m/s^2]
    wrench : (n_body, 6) - external moment about the origin of ground [N m] and external force [N] on each
        body, in ground axes
    work : DynamicsWork - its acceleration and its reaction, (n_body, 6) each, are written
    """
    tree, twist = system.tree, work.pose.twist
    for b in range(tree.parent.shape[0]):
        a = work.acceleration[b]
        carry(system, b, work)
        for d in range(tree.v_start[b], tree.v_start[b + 1]):
            for i in range(6):
                a[i] += v_dot[d] * twist[d, i]
        body_force(work.inertia, b, a, work.velocities.body[b], work.reaction[b])
        take_off(wrench[b], work.pose.position[0], work.reaction[b])


@njit
def carry(system, b, work):
    """Set the acceleration of body b to that of its parent, plus the part from its joint that does not depend
    on the generalized accelerations; it is row b of work.acceleration.

    Gravity is contained: ground has the acceleration -gravity.
    """
    p, a, bias = system.tree.parent[b], work.acceleration[b], work.velocities.bias[b]
    for i in range(6):
        above = work.acceleration[p, i] if p >= 0 else 0.0
        a[i] = above + bias[i]
    if p < 0:
        for i in range(3):
            a[3 + i] -= system.gravity[i]


@njit
def take_off(wrench, origin, force):
    """Subtract an external wrench : (6,) on a body from force : (6,), the spatial force that moves the body.

    The moment of the wrench is about the origin of ground, that of the force about the point origin : (3,).
    """
    x, y, z = origin[0], origin[1], origin[2]
    force[0] -= wrench[0] - y * wrench[5] + z * wrench[4]
    force[1] -= wrench[1] - z * wrench[3] + x * wrench[5]
    force[2] -= wrench[2] - x * wrench[4] + y * wrench[3]
    for i in range(3, 6):
        force[i] -= wrench[i]


@njit
def body_force(inertia, b, a, v, force_out):
    """Compute force_out : (6,) = I a + v x* (I v) of one body (Featherstone 2008, eq. 2.61).

    inertia : (n_body, N_INERTIA) - spatial inertias
    b : int - row of the body
    a : (6,) - spatial acceleration of the body [rad/s^2, m/s^2]
    v : (6,) - spatial velocity of the body [rad/s, m/s]
    force_out : (6,) - moment about the origin of body 0 and force [N m, N]
    """
    m = inertia[b, MASS]
    hx, hy, hz = inertia[b, MOMENT], inertia[b, MOMENT + 1], inertia[b, MOMENT + 2]
    xx, yy, zz = inertia[b, XX], inertia[b, YY], inertia[b, ZZ]
    xy, xz, yz = inertia[b, XY], inertia[b, XZ], inertia[b, YZ]
    wx, wy, wz, ux, uy, uz = v[0], v[1], v[2], v[3], v[4], v[5]
    ax, ay, az, bx, by, bz = a[0], a[1], a[2], a[3], a[4], a[5]
    # momentum: about the origin of body 0 (l), linear (p)
    lx = xx * wx + xy * wy + xz * wz + hy * uz - hz * uy
    ly = xy * wx + yy * wy + yz * wz + hz * ux - hx * uz
    lz = xz * wx + yz * wy + zz * wz + hx * uy - hy * ux
    px, py, pz = m * ux + wy * hz - wz * hy, m * uy + wz * hx - wx * hz, m * uz + wx * hy - wy * hx
    force_out[0] = xx * ax + xy * ay + xz * az + hy * bz - hz * by + wy * lz - wz * ly + uy * pz - uz * py
    force_out[1] = xy * ax + yy * ay + yz * az + hz * bx - hx * bz + wz * lx - wx * lz + uz * px - ux * pz
    force_out[2] = xz * ax + yz * ay + zz * az + hx * by - hy * bx + wx * ly - wy * lx + ux * py - uy * px
    force_out[3] = m * bx + ay * hz - az * hy + wy * pz - wz * py
    force_out[4] = m * by + az * hx - ax * hz + wz * px - wx * pz
    force_out[5] = m * bz + ax * hy - ay * hx + wx * py - wy * px


@njit
def transmit(tree, pose, force, tau_out):
    """Sum force : (n_body, 6) over subtrees, in place, and project it onto the twists of the dofs.

    tau_out : (n_v,) - generalized forces: the twist of each dof times the force of its subtree [N m, N]
    """
    twist = pose.twist
    for b in range(tree.parent.shape[0] - 1, -1, -1):
        f0, f1, f2, f3, f4, f5 = force[b, 0], force[b, 1], force[b, 2], force[b, 3], force[b, 4], force[b, 5]
        for d in range(tree.v_start[b], tree.v_start[b + 1]):
            tau_out[d] = (
                twist[d, 0] * f0 + twist[d, 1] * f1 + twist[d, 2] * f2
                + twist[d, 3] * f3 + twist[d, 4] * f4 + twist[d, 5] * f5
            )  # fmt: skip
        p = tree.parent[b]
        if p >= 0:
            force[p, 0] += f0
            force[p, 1] += f1
            force[p, 2] += f2
            force[p, 3] += f3
            force[p, 4] += f4
            force[p, 5] += f5
