"""The Jacobian df/dalpha of force-dependent kinematics (FDK), where alpha are the values of the FDK degrees
of freedom and f the forces that remain along them: by implicit differentiation of the equations that an
evaluation of f solves, or by central differences of f.

The derivative dq/dalpha of the pose is that of kernels/uncertainty/sensitivity. Along it, forces of contacts
and ligaments change by their own derivatives (kernels/forces), and activations x and reactions phi by the
conditions of optimality of kernels/fdk/balance, with the same elements between their bounds. Changes along it
have the prefix d; C are the generalized forces of the elements at full activation, A the constraint rows, d
alone the load, y the multipliers of C' x + A' phi = d, and W the second derivatives of the cost:

    [C' W^-1 C  A'] [dy  ]   [dd - dC' x - dA' phi - C' W^-1 dC y]
    [A          0 ] [dphi] = [-dA y                              ]

The smooth quantities (kernels/fdk/smooth: eqs 9, 10 and 12, paths, strengths) are differentiated by central
differences in that direction. No pose is solved again for them, and the step is so short that they are exact
to some 1e-9.
Where muscles balance only a part of the load, activations are kept. Andersen et al. 2017 take central
differences of f itself, with steps of 5e-5 m.
"""

from __future__ import annotations

from kernels.algebra.copying import copy
from kernels.algebra.linear import inner_product, lu_solve
from kernels.compiler.jit import njit
from kernels.dynamics.twist_rates import twist_rates
from kernels.fdk.balance import along_rows, drive_of
from kernels.fdk.problem import BALANCED, NOT_BORNE, NOT_PLACED
from kernels.fdk.residual import fdk_residual, per_metre
from kernels.fdk.smooth import smooth_parts
from kernels.forces.assembly import force_derivatives
from kernels.joints.tree import integrate
from kernels.solver.constraints import DISTANCE
from kernels.uncertainty.sensitivity import answer, stand_at


@njit
def fdk_slopes(joint, options, status, state, work):
    """Write df/dalpha, the Jacobian of the remaining load f along the FDK degrees of freedom with respect to
    their values alpha, at the alpha of the last fdk_residual; return BALANCED or the reason of failure.

    joint : FdkModel - model with its FDK degrees of freedom, and the current frame
    options : FdkOptions - settings of the search for the equilibrium
    status : int - status of that evaluation of f
    state : FdkState - its J : (n_fdk, n_fdk) is written [N/m]
    work : FdkWork - its fields `near`, `beside` and `way`, and derivatives of the forces, are written; `at`
        and `balance`, the results of fdk_residual, are kept
    """
    fit, tree = joint.fit, joint.system.tree
    n_hard = stand_at(fit, state.q, state.multiplier, work.fit)
    if n_hard < 0:
        return NOT_PLACED
    work.follow[:, :] = 0.0
    for d in range(work.g.shape[0]):
        work.follow[d, d] = 1.0
    answer(tree.couplers, n_hard, work.fit, work.follow, work.way)
    slopes_of_elements(joint, work)
    for k in range(joint.fdk.shape[0]):
        way = work.way[joint.held[joint.fdk[k]]]
        for d in range(way.shape[0]):
            way[d] *= per_metre(joint, k)
        h = options.smooth
        integrate(tree, state.q, way, h, work.q_near)
        one = smooth_parts(joint, work.q_near, work, work.near)
        integrate(tree, state.q, way, -h, work.q_near)
        other = smooth_parts(joint, work.q_near, work, work.beside)
        if one != BALANCED or other != BALANCED:
            return max(one, other)
        difference(work.near, work.beside, 0.5 / h)
        column(joint, way, status, work)
        for j in range(joint.fdk.shape[0]):
            state.J[j, k] = per_metre(joint, j) * work.mu[joint.fdk[j]]
        if fit.elements.kind[joint.element[k]] == DISTANCE:
            state.J[k, k] += 2.0 * work.balance.reaction[joint.fdk[k]]
    return BALANCED


@njit
def slopes_of_elements(joint, work):
    """Write the derivatives of the generalized forces of contacts, ligaments and springs with respect to q
    and v, directly after fdk_residual.

    joint : FdkModel - model with its FDK degrees of freedom, and the current frame
    work : FdkWork - its tau_q, tau_v : (n_v, n_v), forces and derivatives are written
    """
    tree, dynamics, at = joint.system.tree, work.dynamics, work.at
    twist_rates(tree, dynamics.pose, at.v, dynamics.velocities, work.derivatives.psi_dot)
    work.tau_q[:, :] = 0.0
    work.tau_v[:, :] = 0.0
    force_derivatives(
        tree, joint.forces, dynamics.pose, dynamics.velocities.body, work.derivatives.psi_dot, at.v_dot, 0.0,
        work.forces, work.tau_q, work.tau_v,
    )  # fmt: skip


@njit
def difference(one, other, part):
    """Replace quantities of `one` by part * (one - other), that is, by their derivatives along the step
    between the two poses.

    They are its fields v (generalized speeds), demand (load that muscles and reactions must balance), action
    (generalized forces of each muscle, reaction and reserve actuator at activation 1) and row (constraint
    rows).

    one, other : Smooth - the same quantities at two poses; one is overwritten
    part : float - factor of the difference: the inverse of the step between the poses
    """
    for d in range(one.v.shape[0]):
        one.v[d] = part * (one.v[d] - other.v[d])
    for k in range(one.demand.shape[0]):
        one.demand[k] = part * (one.demand[k] - other.demand[k])
        for i in range(one.action.shape[0]):
            one.action[i, k] = part * (one.action[i, k] - other.action[i, k])
        for h in range(one.row.shape[0]):
            one.row[h, k] = part * (one.row[h, k] - other.row[h, k])


@njit
def column(joint, way, status, work):
    """Write the directional derivative of the reactions along a change dq of the coordinates into work.mu :
    (n_held,), from the derivatives of the smooth quantities in work.near.

    joint : FdkModel - model with its FDK degrees of freedom, and the current frame
    way : (n_v,) - direction dq
    status : int - NOT_BORNE = activations are kept
    work : FdkWork - working space of one frame; its fields balance.rhs and mu are written
    """
    at, change, balance = work.at, work.near, work.balance
    n, n_held, rhs = balance.load.shape[0], balance.reaction.shape[0], balance.rhs
    for k in range(n):
        d = joint.borne[k]
        rhs[k] = change.demand[k] - inner_product(work.tau_q[d], way) - inner_product(work.tau_v[d], change.v)
        for h in range(n_held):
            rhs[k] -= change.row[h, k] * balance.reaction[h]
    for i in range(balance.activation.shape[0]):
        x = balance.activation[i]
        pushed = 0.0
        if balance.free[i] == 1:
            pushed = drive_of(change, i, balance.multiplier) / balance.bend[i]
        for k in range(n):
            rhs[k] -= change.action[i, k] * x + at.action[i, k] * pushed
    if status == NOT_BORNE:
        along_rows(at, balance, work.mu[:n_held])
        return
    for h in range(n_held):
        rhs[n + h] = -inner_product(change.row[h], balance.multiplier)
    lu_solve(balance.K, n + n_held, balance.pivot, rhs)
    for h in range(n_held):
        work.mu[h] = rhs[n + h]


@njit
def fdk_differences(joint, options, sharing, state, work, out):
    """Write the Jacobian df/dalpha of the FDK residual by central differences of f with the step
    options.difference [m].

    Return BALANCED or the reason why f cannot be computed. Afterwards all results are those of f at
    state.alpha.

    joint : FdkModel - model with its FDK degrees of freedom, and the current frame; its field targets is
        written
    options : FdkOptions - settings of the search for the equilibrium
    sharing : RowRecruitment - muscle recruitment for the part of the load that the constraints cannot
        balance, updated
    state : FdkState - solution of the last frame, the start of the next one; its fields q, multiplier and J
        are written
    work : FdkWork - working space of one frame, written
    out : FdkOut - results of the frame, written
    """
    worst, trial, h, n = BALANCED, work.trial[0], options.difference, joint.fdk.shape[0]
    for s in range(2 * n + 1):  # up and down along each, then back
        k, side = s // 2, 1.0 - 2.0 * (s % 2)
        copy(state.alpha, trial)
        if k < n:
            trial[k] += side * h
        status = fdk_residual(joint, options, sharing, trial, state, work, out)
        if status != NOT_BORNE:
            worst = max(worst, status)
        if k < n:
            for j in range(n):
                before = state.J[j, k] if side < 0.0 else 0.0
                state.J[j, k] = before + side * 0.5 / h * out.residual[j]
    return worst
