"""Derivatives of inverse dynamics: how tau = M v_dot + h changes with q and with v.

Let S be the twist of a dof, and V, A, I and F the velocity, acceleration, inertia and force of a body, all as
spatial vectors about one point at rest. A dof e carries the bodies i distal to it as one rigid body. The
vectors psi_dot_e, psi_ddot_e and psi_s_dot_e, defined by the following equations, are the same for all i:
  dV_i/dq_e = psi_dot_e + S_e x V_i                     (kernels/dynamics/twist_rates)
  dA_i/dq_e = psi_ddot_e + psi_dot_e x V_i + S_e x A_i
  dF_i/dq_e = S_e x* F_i + I_i psi_ddot_e + B_i psi_dot_e
  dF_i/dv_e = I_i psi_s_dot_e + B_i S_e,   psi_s_dot_e = psi_dot_e + dS_e/dt
where F = I A + V x* I V and B x = I (x x V) + x x* I V + V x* I x. Forces, I and B are summed over subtrees,
and each pair of dofs on one path of the tree costs four inner products.
Sources: Singh, Russo, Wensing 2022 (IEEE Robotics and Automation Letters 7(2), 1776-1783); Carpentier,
Mansard 2018 (Robotics: Science and Systems XIV). The short form of B and the derivatives in chain joints,
rows of rotations and translations of which a coordinate may drive several by functions, are our own.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.spatial import power
from kernels.compiler.jit import inlined, njit
from kernels.dynamics.coriolis import IMPULSE, N_CORIOLIS, add_coriolis, coriolis
from kernels.dynamics.inertia import N_INERTIA, momentum
from kernels.dynamics.inverse import body_force
from kernels.dynamics.twist_rates import twist_rates
from kernels.joints.kinds import joint_jerks, joint_within
from kernels.joints.tree import Tree


class DerivativeWork(NamedTuple):
    """Working space of inverse_dynamics_derivatives; spatial vectors are about the origin of body 0."""

    psi_dot: Annotated[np.ndarray, Floats("n_v", 6)]  # of each dof, as defined above
    psi_ddot: Annotated[np.ndarray, Floats("n_v", 6)]
    psi_s_dot: Annotated[np.ndarray, Floats("n_v", 6)]
    acceleration: Annotated[np.ndarray, Floats("n_body", 6)]  # ground accelerates against gravity
    # what the joint transmits to the body without external wrenches
    force: Annotated[np.ndarray, Floats("n_body", 6)]
    inertia: Annotated[np.ndarray, Floats("n_body", N_INERTIA)]  # of the subtree
    coriolis: Annotated[np.ndarray, Floats("n_body", N_CORIOLIS)]  # B of the subtree
    lever: Annotated[np.ndarray, Floats("n_v", 9)]  # I S and angular part of B'S, of the subtree
    wrench_q: Annotated[np.ndarray, Floats("n_v", 6)]  # dF/dq of the subtree
    wrench_v: Annotated[np.ndarray, Floats("n_v", 6)]  # dF/dv of the subtree
    # velocity and acceleration before a motion, and a cross product
    before: Annotated[np.ndarray, Floats(3, 6)]


def new_derivative_work(tree: Tree) -> DerivativeWork:
    """Allocate a DerivativeWork: working space of the derivatives of inverse dynamics."""
    n_body, n_v = len(tree.parent), len(tree.dof_body)
    return allocate(DerivativeWork, n_v=n_v, n_body=n_body)


@njit
def inverse_dynamics_derivatives(system, q, v, v_dot, work, derivative_work, tau_q_out, tau_v_out):
    """Compute the derivatives of tau = M v_dot + h with respect to q and v, at fixed v_dot.

    Gravity is contained in h; external wrenches are not. dq is the tangent step of
    kernels/joints/tree.integrate.

    system : System - joint tree of bodies with mass, in a gravitational field
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    v_dot : (n_v,) - generalized accelerations [rad/s^2, m/s^2]
    work : DynamicsWork - its pose, velocities and inertia (of each body on its own) belong to q and v and
        are kept
    derivative_work : DerivativeWork - working space, overwritten
    tau_q_out : (n_v, n_v) - dtau_d/dq_e in row d, column e
    tau_v_out : (n_v, n_v) - dtau_d/dv_e in row d, column e
    """
    twist_rates(system.tree, work.pose, v, work.velocities, derivative_work.psi_dot)
    derivatives_after_rates(system, q, v, v_dot, work, derivative_work, tau_q_out, tau_v_out)


@inlined
def derivatives_after_rates(system, q, v, v_dot, work, own, tau_q_out, tau_v_out):
    """Compute the derivatives of tau = M v_dot + h with respect to q and v, at fixed v_dot, where twist_rates
    has already written own.psi_dot.

    system : System - joint tree of bodies with mass, in a gravitational field
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    v_dot : (n_v,) - generalized accelerations [rad/s^2, m/s^2]
    work : DynamicsWork - its pose, velocities and inertia (of each body on its own) are read
    own : DerivativeWork - its psi_dot is read, all else is written
    tau_q_out : (n_v, n_v) - dtau_d/dq_e in row d, column e
    tau_v_out : (n_v, n_v) - dtau_d/dv_e in row d, column e
    """
    tree = system.tree
    accelerations(system, q, v, v_dot, work, own)
    for b in range(tree.parent.shape[0]):
        body_force(work.inertia, b, own.acceleration[b], work.velocities.body[b], own.force[b])
        for k in range(N_INERTIA):
            own.inertia[b, k] = work.inertia[b, k]
        coriolis(work.inertia[b], work.velocities.body[b], own.coriolis[b])
    gather(tree, own)
    responses(tree, work.pose.twist, own)
    pair_up(tree, work.pose.twist, own, tau_q_out, tau_v_out)
    for b in range(tree.parent.shape[0]):
        joint_within(tree, work.pose, b, own.force[b], tau_q_out)


@inlined
def accelerations(system, q, v, v_dot, work, own):
    """Compute the spatial accelerations of the bodies, and two derivatives for every dof: psi_ddot = A x S +
    V x psi_dot, and psi_s_dot = psi_dot + dS/dt.

    S is the twist of the dof, and psi_dot is that of kernels/dynamics/twist_rates. V and A are the velocity
    and the acceleration that the body has without the motion of this dof, of those that act at once with it,
    and of all that come after them in the tree.

    system : System - joint tree of bodies with mass, in a gravitational field
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    v_dot : (n_v,) - generalized accelerations [rad/s^2, m/s^2]
    work : DynamicsWork - its pose and velocities are read
    own : DerivativeWork - its acceleration, psi_ddot and psi_s_dot are written
    """
    tree, twist, body = system.tree, work.pose.twist, work.velocities.body
    V, A = own.before[0], own.before[1]
    for b in range(tree.parent.shape[0]):
        p = tree.parent[b]
        for i in range(6):
            V[i] = body[p, i] if p >= 0 else 0.0
            A[i] = own.acceleration[p, i] if p >= 0 else 0.0
        if p < 0:
            for i in range(3):
                A[3 + i] -= system.gravity[i]
        for i in range(6):
            own.acceleration[b, i] = A[i] + work.velocities.bias[b, i]
        for d in range(tree.v_start[b], tree.v_start[b + 1]):
            for i in range(6):
                own.acceleration[b, i] += v_dot[d] * twist[d, i]
        joint_jerks(tree, work.pose, b, q, v, v_dot, body[b], own)


@inlined
def gather(tree, own):
    """Replace the force, inertia and Coriolis matrix of each body (own.force, own.inertia, own.coriolis) by
    the sum over the body's subtree, that is over the body and all bodies that it carries.
    """
    for b in range(tree.parent.shape[0] - 1, 0, -1):
        p = tree.parent[b]
        if p >= 0:
            for k in range(6):
                own.force[p, k] += own.force[b, k]
            for k in range(N_INERTIA):
                own.inertia[p, k] += own.inertia[b, k]
            for k in range(N_CORIOLIS):
                own.coriolis[p, k] += own.coriolis[b, k]


@inlined
def responses(tree, twist, own):
    """Compute the derivatives of the force of every dof's subtree with respect to its coordinate
    (own.wrench_q) and speed (own.wrench_v), where the dof carries the subtree as one rigid body.

    The products of the dof's twist with the subtree's inertia and Coriolis matrix are written into own.lever.
    """
    for d in range(tree.dof_body.shape[0]):
        b = tree.dof_body[d]
        S, psi_dot, lever, f, B = twist[d], own.psi_dot[d], own.lever[d], own.force[b], own.coriolis[b]
        momentum(own.inertia, b, S, lever)
        px, py, pz = B[IMPULSE], B[IMPULSE + 1], B[IMPULSE + 2]
        lever[6] = B[0] * S[0] + B[3] * S[1] + B[6] * S[2] + py * S[5] - pz * S[4]
        lever[7] = B[1] * S[0] + B[4] * S[1] + B[7] * S[2] + pz * S[3] - px * S[5]
        lever[8] = B[2] * S[0] + B[5] * S[1] + B[8] * S[2] + px * S[4] - py * S[3]
        wrench = own.wrench_q[d]
        momentum(own.inertia, b, own.psi_ddot[d], wrench)
        add_coriolis(B, psi_dot, wrench)
        wrench[0] += S[1] * f[2] - S[2] * f[1] + S[4] * f[5] - S[5] * f[4]
        wrench[1] += S[2] * f[0] - S[0] * f[2] + S[5] * f[3] - S[3] * f[5]
        wrench[2] += S[0] * f[1] - S[1] * f[0] + S[3] * f[4] - S[4] * f[3]
        wrench[3] += S[1] * f[5] - S[2] * f[4]
        wrench[4] += S[2] * f[3] - S[0] * f[5]
        wrench[5] += S[0] * f[4] - S[1] * f[3]
        momentum(own.inertia, b, own.psi_s_dot[d], own.wrench_v[d])
        add_coriolis(B, S, own.wrench_v[d])


@inlined
def pair_up(tree, twist, own, tau_q_out, tau_v_out):
    """Compute the derivatives of tau with respect to q and v as if all dofs of one joint acted at once.

    kinds.joint_within corrects tau_q_out for joints whose dofs act one after another.

    tree : Tree - joint tree of the bodies
    twist : (n_v, 6) - twists of all dofs, about the origin of body 0
    own : DerivativeWork - derivatives of the forces of all subtrees, written by `responses`
    tau_q_out : (n_v, n_v) - dtau/dq
    tau_v_out : (n_v, n_v) - dtau/dv
    """
    n_v = tree.dof_body.shape[0]
    for d in range(n_v):
        for e in range(n_v):
            tau_q_out[d, e] = 0.0
            tau_v_out[d, e] = 0.0
    for d in range(n_v):
        b = tree.dof_body[d]
        for e in range(tree.v_start[b], tree.v_start[b + 1]):
            respond(twist, own, d, e, tau_q_out, tau_v_out)
        e = tree.dof_parent[tree.v_start[b]]
        while e >= 0:
            respond(twist, own, d, e, tau_q_out, tau_v_out)
            # dof d moves only its own subtree, and with it what that asks of e; e itself stays
            tau_q_out[e, d] = power(twist[e], own.wrench_q[d])
            tau_v_out[e, d] = power(twist[e], own.wrench_v[d])
            e = tree.dof_parent[e]


@inlined
def respond(twist, own, d, e, tau_q_out, tau_v_out):
    """Write entry (d, e) of tau_q_out and of tau_v_out, where dof e carries dof d and all of its subtree.

    With the vectors psi of the module's docstring, the twist S_d, and the inertia I and Coriolis matrix B of
    the subtree of dof d:
      dtau_d/dq_e = (I S_d) . psi_ddot_e + (B'S_d) . psi_dot_e
      dtau_d/dv_e = (I S_d) . psi_s_dot_e + (B'S_d) . S_e
    The terms with S_e x of the module's equations are left out: they rotate the whole subtree with all its
    velocities and forces, which does not change tau_d.

    twist : (n_v, 6) - twists of all dofs, about the origin of body 0
    own : DerivativeWork - read: psi_dot, psi_ddot, psi_s_dot, and lever, which contains I S_d and the angular
        part of B'S_d (its linear part is 0)
    d, e : int - indices of the dofs
    tau_q_out : (n_v, n_v) - dtau/dq
    tau_v_out : (n_v, n_v) - dtau/dv
    """
    lever, psi_dot, S = own.lever[d], own.psi_dot[e], twist[e]
    tau_q_out[d, e] = (
        power(own.psi_ddot[e], lever) + lever[6] * psi_dot[0] + lever[7] * psi_dot[1] + lever[8] * psi_dot[2]
    )
    tau_v_out[d, e] = power(own.psi_s_dot[e], lever) + lever[6] * S[0] + lever[7] * S[1] + lever[8] * S[2]
