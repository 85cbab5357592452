"""Forward dynamics under hard constraints, their multipliers, and the reactions in all joints."""

from __future__ import annotations

from kernels.algebra.linear import cholesky, cholesky_drop, solve_lower, solve_lower_transposed
from kernels.compiler.jit import entry, inlined, njit
from kernels.dynamics.constraints import (
    DEPENDENT,
    constraint_bias,
    constraint_rows,
)
from kernels.dynamics.inertia import spatial_inertia
from kernels.dynamics.inverse import newton_euler, transmit
from kernels.dynamics.mass import composite_mass
from kernels.dynamics.motion import velocities
from kernels.dynamics.rolling import GAPS, SLIPS, relieve_rolling, rolling_bias, rolling_rows
from kernels.joints.tree import point_in_ground, pose
from kernels.solver.constraints import HARD, element_wrench

OK, MASSLESS = 0, 1
NO_MASS = 1e-14
"""Fraction of the largest diagonal entry of the mass matrix below which a pivot of its Cholesky factorisation
is taken as rounding error [1]."""


@entry
def constrained_dynamics(
    system, constraints, q, v, tau, wrench, work, constraint_work, v_dot_out, lambda_out
):
    """Compute the accelerations and the constraint multipliers of a system under hard constraints.

    They fulfil M v_dot + h = tau + J' wrench + G' lambda and G v_dot = -bias, with the mass matrix M, the
    forces h of velocities and gravity, the Jacobian J of the bodies, the rows G and the bias dG/dt v of the
    constraints. The multipliers lambda solve G M^-1 G' lambda = -bias - G M^-1 (tau + J' wrench - h). A row
    that depends linearly on earlier ones, or is zero up to rounding errors, gets the multiplier 0, and its
    pivot in constraint_work.kernel is infinite. q and v are assumed to satisfy the constraints. Return OK, or
    MASSLESS where the mass matrix is not positive definite (a dof moves no mass).

    system : System - joint tree of bodies with mass, in a gravitational field
    constraints : Constraints - all hard constraints of the system
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    tau : (n_v,) - generalized forces [N m, N]
    wrench : (n_body, 6) - external moment about the origin of ground and external force on each body, in
        ground axes [N m, N]
    work : DynamicsWork - working space, overwritten
    constraint_work : ConstraintWork - working space, overwritten
    v_dot_out : (n_v,) - generalized accelerations [rad/s^2, m/s^2]
    lambda_out : (n_row,) - multipliers, in the order of the constraint rows
    """
    tree = system.tree
    n_v = v_dot_out.shape[0]
    pose(tree, q, work.pose)
    velocities(tree, work.pose, v, work.velocities)
    spatial_inertia(system.bodies, work.pose, work.inertia)
    drift(tree, work.velocities.bias, work.acceleration)
    n = constraint_rows(tree, constraints, work.pose, q, constraint_work)
    constraint_bias(
        tree, constraints, work.pose, work.velocities.body, work.acceleration, q, v, constraint_work
    )
    rolling_bias(constraints.rolls, work.pose, work.velocities.body, work.acceleration, n, constraint_work)
    n = rolling_rows(tree, constraints.rolls, work.pose, GAPS, n, constraint_work)
    n = rolling_rows(tree, constraints.rolls, work.pose, SLIPS, n, constraint_work)
    for d in range(n_v):
        v_dot_out[d] = 0.0
    newton_euler(system, v_dot_out, wrench, work)
    transmit(tree, work.pose, work.reaction, v_dot_out)
    composite_mass(tree, work.pose, work.inertia, work.M)
    if not cholesky(work.M, n_v, NO_MASS * heaviest(work.M)):
        return MASSLESS
    for d in range(n_v):
        v_dot_out[d] = tau[d] - v_dot_out[d]
    solve_lower(work.M, n_v, v_dot_out)
    constrain(n, work, constraint_work, v_dot_out, lambda_out)
    solve_lower_transposed(work.M, n_v, v_dot_out)
    return OK


@inlined
def constrain(n, work, constraint_work, x, lambda_out):
    """Compute the multipliers of the constraints, and add the accelerations that their forces cause.

    Symbols are those of constrained_dynamics. With M = L L' and x = L^-1 (tau + J' wrench - h), the
    multipliers are those with which G L'^-1 x = -bias holds after the addition.

    n : int - number of constraint rows
    work : DynamicsWork - its M holds the Cholesky factor L of the mass matrix; Y = L^-1 G' is written, one
      constraint per row
    constraint_work : ConstraintWork - its row holds G and its bias is read; the Cholesky factor of Y Y' is
      written into its kernel
    x : (n_v,) - on entry L^-1 (tau + J' wrench - h); L^-1 G' lambda is added
    lambda_out : (n_row,) - multipliers
    """
    G, Y, S, n_v = constraint_work.row, work.Y, constraint_work.kernel, x.shape[0]
    for i in range(n):
        for d in range(n_v):
            Y[i, d] = G[i, d]
        solve_lower(work.M, n_v, Y[i])
        left = -constraint_work.bias[i]
        for d in range(n_v):
            left -= Y[i, d] * x[d]
        lambda_out[i] = left
        for j in range(i + 1):
            s = 0.0
            for d in range(n_v):
                s += Y[i, d] * Y[j, d]
            S[i, j] = s
    cholesky_drop(S, n, DEPENDENT, constraint_work.reach)
    solve_lower(S, n, lambda_out)
    solve_lower_transposed(S, n, lambda_out)
    for i in range(n):
        for d in range(n_v):
            x[d] += Y[i, d] * lambda_out[i]


@njit
def heaviest(M):
    """Return the largest diagonal entry of the mass matrix M : (n_v, n_v), as a scale for its pivots."""
    largest = 0.0
    for d in range(M.shape[0]):
        largest = max(largest, M[d, d])
    return largest


@njit
def drift(tree, bias, drift_out):
    """Write the spatial accelerations that the bodies have where all generalized accelerations v_dot are 0,
    without gravity, into drift_out : (n_body, 6).

    bias : (n_body, 6) - acceleration that the joint of each body adds at v_dot = 0: dS/dt v, with the twists
        S of its dofs
    """
    for b in range(tree.parent.shape[0]):
        p = tree.parent[b]
        for i in range(6):
            above = drift_out[p, i] if p >= 0 else 0.0
            drift_out[b, i] = above + bias[b, i]


@entry
def joint_reactions(
    system, constraints, q, v, v_dot, wrench, multiplier, work, constraint_work, reaction_out
):
    """Compute the wrench that each joint, its actuators included, transmits from the parent to the body.

    system : System - joint tree of bodies with mass, in a gravitational field
    constraints : Constraints - all hard constraints of the system
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    v_dot : (n_v,) - generalized accelerations [rad/s^2, m/s^2]
    wrench : (n_body, 6) - external moment about the origin of ground and external force on each body, in
        ground axes [N m, N]
    multiplier : (n_row,) - multipliers of the hard constraints, in the order of constraints.constraint_rows
        and then of rolling; those of elements and of rolling act on the two bodies, those of couplers act
        inside the joints
    work : DynamicsWork - working space, overwritten
    constraint_work : ConstraintWork - working space, overwritten
    reaction_out : (n_body, 6) - moment about the joint's centre [N m] and force [N] on each body, in ground
        axes
    """
    tree, origin = system.tree, work.pose.position[0]
    pose(tree, q, work.pose)
    velocities(tree, work.pose, v, work.velocities)
    spatial_inertia(system.bodies, work.pose, work.inertia)
    newton_euler(system, v_dot, wrench, work)
    constraint_rows(tree, constraints, work.pose, q, constraint_work)
    n = 0
    for e in range(constraints.elements.kind.shape[0]):
        if constraints.roles.mode[e] == HARD:
            push_apart(constraints.elements, e, multiplier[n], work, constraint_work)
            n += 1
    n += constraints.couplers.dof.shape[0]
    relieve_rolling(constraints.rolls, work.pose, multiplier, n, constraint_work, work.reaction)
    transmit(tree, work.pose, work.reaction, work.u)
    for b in range(tree.parent.shape[0]):
        centre, force = reaction_out[b, :3], work.reaction[b]
        point_in_ground(work.pose, b, tree.position_in_child[b], centre)
        x, y, z = centre[0] - origin[0], centre[1] - origin[1], centre[2] - origin[2]
        for i in range(6):
            reaction_out[b, i] = force[i]
        reaction_out[b, 0] -= y * force[5] - z * force[4]
        reaction_out[b, 1] -= z * force[3] - x * force[5]
        reaction_out[b, 2] -= x * force[4] - y * force[3]


@njit
def push_apart(elements, e, multiplier, work, constraint_work):
    """Subtract from work.reaction of both bodies the wrench with which the constraint element e acts on
    them.

    elements : Elements - geometry of the constraint elements
    e : int - index of the element
    multiplier : float - multiplier of the element's constraint
    work : DynamicsWork - its reaction is updated
    constraint_work : ConstraintWork - its element is read, after element_values
    """
    mx, my, mz, fx, fy, fz = element_wrench(elements, work.pose, e, constraint_work.element)
    for body, sign in ((elements.body_a[e], -multiplier), (elements.body_b[e], multiplier)):
        if body >= 0:
            force = work.reaction[body]
            force[0] += sign * mx
            force[1] += sign * my
            force[2] += sign * mz
            force[3] += sign * fx
            force[4] += sign * fy
            force[5] += sign * fz
