"""Forward dynamics of an unconstrained joint tree by the articulated-body algorithm."""

from __future__ import annotations

from kernels.compiler.jit import inlined, njit
from kernels.dynamics.inertia import MASS, MOMENT, XX, XY, XZ, YY, YZ, ZZ, spatial_inertia
from kernels.dynamics.inverse import body_force, carry, take_off
from kernels.dynamics.motion import velocities
from kernels.joints.tree import pose


@njit
def forward_dynamics(system, q, v, tau, wrench, work, v_dot_out):
    """Compute v_dot of M v_dot + h = tau + J' wrench by articulated bodies (Featherstone 2008, table 7.1).

    The dofs of a joint are eliminated one by one, as if massless bodies lay between them, so that no joint
    needs a small matrix of its own.

    system : System - joint tree of bodies with mass, in a gravitational field
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    tau : (n_v,) - generalized forces [N m, N]
    wrench : (n_body, 6) - external moment about the origin of ground and external force on each body, in
        ground axes [N m, N]
    work : DynamicsWork - working space, overwritten
    v_dot_out : (n_v,) - generalized accelerations [rad/s^2, m/s^2]
    """
    pose(system.tree, q, work.pose)
    velocities(system.tree, work.pose, v, work.velocities)
    spatial_inertia(system.bodies, work.pose, work.inertia)
    free_bodies(system.tree, wrench, work)
    eliminate(system.tree, tau, work)
    accelerate(system, work, v_dot_out)


@inlined
def free_bodies(tree, wrench, work):
    """Write the inertia and the bias force of each body, on its own, without the bodies distal to it, into
    work.articulated and work.bias_force.

    wrench : (n_body, 6) - external moment about the origin of ground and external force on each body, in
      ground axes
    """
    for b in range(tree.parent.shape[0]):
        row, A = work.inertia[b], work.articulated[b]
        m, hx, hy, hz = row[MASS], row[MOMENT], row[MOMENT + 1], row[MOMENT + 2]
        A[0, 0] = row[XX]
        A[1, 0], A[1, 1] = row[XY], row[YY]
        A[2, 0], A[2, 1], A[2, 2] = row[XZ], row[YZ], row[ZZ]
        A[3, 0], A[3, 1], A[3, 2], A[3, 3] = 0.0, hz, -hy, m
        A[4, 0], A[4, 1], A[4, 2], A[4, 3], A[4, 4] = -hz, 0.0, hx, 0.0, m
        A[5, 0], A[5, 1], A[5, 2], A[5, 3], A[5, 4], A[5, 5] = hy, -hx, 0.0, 0.0, 0.0, m
        p, a = work.bias_force[b], work.acceleration[b]
        for i in range(6):
            a[i] = 0.0
        body_force(work.inertia, b, a, work.velocities.body[b], p)
        take_off(wrench[b], work.pose.position[0], p)


@inlined
def eliminate(tree, tau, work):
    """Eliminate all dofs from the leaves to the root: compute articulated inertias and bias forces.

    With the articulated inertia A, bias force p and twist S of each dof, this writes work.U = A S, work.D =
    1/(S . U) and work.u = tau - S . p, where tau : (n_v,) are the generalized forces.
    """
    for b in range(tree.parent.shape[0] - 1, -1, -1):
        A, p, c = work.articulated[b], work.bias_force[b], work.velocities.bias[b]
        for d in range(tree.v_start[b + 1] - 1, tree.v_start[b] - 1, -1):
            eliminate_dof(work.pose.twist[d], A, p, d, tau[d], work)
        above = tree.parent[b]
        if above >= 0:
            A_above, p_above = work.articulated[above], work.bias_force[above]
            for i in range(6):
                s = p[i]
                for j in range(i + 1):
                    s += A[i, j] * c[j]
                    A_above[i, j] += A[i, j]
                for j in range(i + 1, 6):
                    s += A[j, i] * c[j]
                p_above[i] += s


@inlined
def eliminate_dof(s, A, p, d, tau, work):
    """Replace articulated inertia and bias force of a body by those on the parent's side of one dof.

    The part of the inertia that the dof does not transmit is taken out.

    s : (6,) - twist of the dof
    A : (6, 6) - articulated inertia, lower triangle, updated
    p : (6,) - bias force, updated [N m, N]
    d : int - index of the dof
    tau : float - generalized force on the dof [N m, N]
    work : DynamicsWork - its U (A s), D (inverse of s . U) and u (tau - s . p) of the dof are written
    """
    s0, s1, s2, s3, s4, s5 = s[0], s[1], s[2], s[3], s[4], s[5]
    u0 = A[0, 0] * s0 + A[1, 0] * s1 + A[2, 0] * s2 + A[3, 0] * s3 + A[4, 0] * s4 + A[5, 0] * s5
    u1 = A[1, 0] * s0 + A[1, 1] * s1 + A[2, 1] * s2 + A[3, 1] * s3 + A[4, 1] * s4 + A[5, 1] * s5
    u2 = A[2, 0] * s0 + A[2, 1] * s1 + A[2, 2] * s2 + A[3, 2] * s3 + A[4, 2] * s4 + A[5, 2] * s5
    u3 = A[3, 0] * s0 + A[3, 1] * s1 + A[3, 2] * s2 + A[3, 3] * s3 + A[4, 3] * s4 + A[5, 3] * s5
    u4 = A[4, 0] * s0 + A[4, 1] * s1 + A[4, 2] * s2 + A[4, 3] * s3 + A[4, 4] * s4 + A[5, 4] * s5
    u5 = A[5, 0] * s0 + A[5, 1] * s1 + A[5, 2] * s2 + A[5, 3] * s3 + A[5, 4] * s4 + A[5, 5] * s5
    inverse = 1.0 / (s0 * u0 + s1 * u1 + s2 * u2 + s3 * u3 + s4 * u4 + s5 * u5)
    left = tau - (s0 * p[0] + s1 * p[1] + s2 * p[2] + s3 * p[3] + s4 * p[4] + s5 * p[5])
    U = work.U[d]
    U[0], U[1], U[2], U[3], U[4], U[5] = u0, u1, u2, u3, u4, u5
    work.D[d], work.u[d] = inverse, left
    rate = left * inverse
    p[0] += u0 * rate
    p[1] += u1 * rate
    p[2] += u2 * rate
    p[3] += u3 * rate
    p[4] += u4 * rate
    p[5] += u5 * rate
    for i in range(6):
        g = U[i] * inverse
        for j in range(i + 1):
            A[i, j] -= g * U[j]


@inlined
def accelerate(system, work, v_dot_out):
    """Compute the generalized accelerations v_dot_out : (n_v,) and the accelerations of the bodies,
    work.acceleration, from the root to the leaves; called after `eliminate`.
    """
    tree, twist = system.tree, work.pose.twist
    for b in range(tree.parent.shape[0]):
        a = work.acceleration[b]
        carry(system, b, work)
        for d in range(tree.v_start[b], tree.v_start[b + 1]):
            U, s = work.U[d], twist[d]
            rate = work.u[d]
            for i in range(6):
                rate -= U[i] * a[i]
            rate *= work.D[d]
            v_dot_out[d] = rate
            for i in range(6):
                a[i] += rate * s[i]
