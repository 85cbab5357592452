"""One Newton step of a frame's constrained least-squares problem (kernels/solver/optimality): the KKT system
with bounds.

[H A'] [delta ]   [ -g ]        A = dPhi, g = gradient of the objective,
[A 0 ] [lambda] = [-Phi]        H = Hessian of the Lagrangian,

with the step delta of the coordinates, and the multipliers lambda and the Jacobian A of the hard elements,
the constraints Phi = 0 that must hold exactly. It is solved with H + rho A'A in place of H, which gives the
same step (Bertsekas 1982, section 2.2). The Cholesky factor of this matrix, eliminated from the leaves of the
tree to the root so that branches stay uncoupled, exists exactly when the step leads to a minimum.
"""

from __future__ import annotations

from kernels.algebra.linear import (
    cholesky_drop,
    cholesky_leaves_first,
    solve_lower,
    solve_lower_transposed,
    solve_towards_leaves,
    solve_towards_root,
)
from kernels.compiler.jit import njit
from kernels.joints.couplers import fold_matrix, isolate
from kernels.markers.marker_cost import marker_hessian
from kernels.solver.constraints import HARD, SOFT, add_curvature
from kernels.solver.coordinates import block

AUGMENTATION = 10.0  # curvature of rho A'A against the mean diagonal of H
PIVOT_FLOOR = 1e-14  # of that mean, under which a pivot is no curvature
DEPENDENT = 1e-13  # relative pivot under which a constraint repeats the others


@njit
def find_step(problem, multiplier, n_hard, second_order, work, q):
    """Compute the Newton step and the new multipliers, within the ranges of coordinates; return False if the
    augmented Hessian is not positive definite, so that the step does not lead to a minimum.

    problem : FrameProblem - model, roles of its elements, and measured markers
    multiplier : (n_element,) - multipliers of the hard elements, one after the other
    n_hard : int - number of hard elements
    second_order : float - 1 = Newton's method, 0 = Gauss-Newton
    work : Work - with the gradient and the constraint rows that `optimality` has computed; the step is
        written into its delta, the new multipliers into its mu
    q : (n_q,) - pose at which the step begins [m, rad]
    """
    limits = problem.roles.limits
    while True:
        if not build_hessian(problem, multiplier, n_hard, second_order, work):
            return False
        newton_step(n_hard, work)
        if not block(limits, q, work.delta, work.fixed, work.gap):  # every round fixes one more
            return True


@njit
def build_hessian(problem, multiplier, n_hard, second_order, work):
    """Compute the Cholesky factor of the augmented Hessian H + rho A'A (in work.H, rho in work.scale); return
    False if it is not positive definite.

    problem : FrameProblem - model, roles of its elements, and measured markers
    multiplier : (n_element,) - multipliers of the hard elements, one after the other
    n_hard : int - number of hard elements
    second_order : float - 1 = Newton's method, 0 = Gauss-Newton
    work : Work - with the gradient and the constraint rows that `optimality` has computed; its fields H,
        scale, slope and aim are written
    """
    size = lagrangian_hessian(problem, multiplier, n_hard, second_order, work)
    augment(n_hard, AUGMENTATION * size, work)
    return cholesky_leaves_first(work.H, work.g.shape[0], PIVOT_FLOOR * size)


@njit
def lagrangian_hessian(problem, multiplier, n_hard, second_order, work):
    """Compute the Hessian of the Lagrangian in work.H, without the coordinates that are fixed or given by
    couplers; return the mean absolute entry of its diagonal.

    problem : FrameProblem - model, roles of its elements, and measured markers
    multiplier : (n_element,) - multipliers of the hard elements, one after the other
    n_hard : int - number of hard elements
    second_order : float - 1 = Newton's method, 0 = Gauss-Newton
    work : Work - with the gradient and the constraint rows that `optimality` has computed; its fields H,
        slope and aim are written
    """
    tree, elements, roles = problem.tree, problem.elements, problem.roles
    H, n_v = work.H, work.g.shape[0]
    marker_hessian(tree, work.pose, work.marker, second_order, H)
    n_row = 0
    for e in range(roles.mode.shape[0]):
        if roles.mode[e] == SOFT:
            row, n_path = work.element.row[e], elements.n_path[e]
            for k in range(n_path):
                for i in range(k + 1):
                    p, r = elements.path[e, k], elements.path[e, i]
                    H[max(p, r), min(p, r)] += roles.weight[e] * row[k] * row[i]
            if second_order > 0.0:
                factor = roles.weight[e] * work.element.value[e]
                add_curvature(tree, elements, work.pose, e, factor, work.element, H)
        elif roles.mode[e] == HARD:
            if second_order > 0.0:
                add_curvature(tree, elements, work.pose, e, multiplier[n_row], work.element, H)
            n_row += 1
    for d in range(n_v):
        H[d, d] += problem.hold[d]
        work.slope[d] = work.g[d]
    fold_matrix(tree.couplers, work.coupler, second_order, H)
    fix_bounds(roles.limits, n_hard, work)
    trace = 0.0
    for d in range(n_v):
        trace += abs(H[d, d])
    return trace / n_v


@njit
def fix_bounds(limits, n_hard, work):
    """Eliminate the coordinates that are fixed at a bound from the linear system; their step is work.gap.

    The effect of that step on the other coordinates is added to the right-hand sides: to the gradient
    work.slope and to the constraint values work.aim. The rows and columns of the fixed coordinates are
    removed from work.H and work.A.

    limits : CoordinateRanges or None; n_hard : int - number of hard elements; work : Work, written.
    """
    if limits is None:
        return
    n_v, H = work.g.shape[0], work.H
    for k in range(limits.dof.shape[0]):
        d = limits.dof[k]
        if work.fixed[d] == 0:
            continue
        gap = work.gap[d]
        for i in range(n_v):
            work.slope[i] += gap * H[max(i, d), min(i, d)]
        isolate(d, H)
        work.slope[d] = -gap
        for r in range(n_hard):
            work.aim[r] += gap * work.A[r, d]  # once: the next round finds a zero
            work.A[r, d] = 0.0


@njit
def augment(n_hard, curvature, work):
    """Add rho A_k'A_k to the Hessian work.H for every row A_k of the hard elements' Jacobian, with
    rho |A_k|^2 = curvature, and write rho into work.scale.

    n_hard : int - number of hard rows; curvature : float - curvature that is added along each row.
    """
    H = work.H
    for k in range(n_hard):
        row, first, stop = work.A[k], work.span[k, 0], work.span[k, 1] + 1
        size = 0.0
        for d in range(first, stop):
            size += row[d] * row[d]
        rho = curvature / size if size > 0.0 else 0.0
        work.scale[k] = rho
        for i in range(first, stop):
            if row[i] != 0.0:
                push = rho * row[i]
                for j in range(first, i + 1):
                    H[i, j] += push * row[j]


@njit
def newton_step(n_hard, work):
    """Solve the linear system of a Newton step (see the module) with the Cholesky factor of H + rho A'A in
    work.H.

    n_hard : int - number of hard elements, the constraints that must hold exactly
    work : Work - the step delta : (n_v,) is written into its delta, the new multipliers lambda of the hard
        elements : (n_hard,) into its mu
    """
    n_v, L, S, span = work.g.shape[0], work.H, work.S, work.span
    for d in range(n_v):
        work.delta[d] = -work.slope[d]
    for k in range(n_hard):
        push, Y = work.scale[k] * work.aim[k], work.Y[k]
        for d in range(n_v):
            Y[d] = work.A[k, d]
            work.delta[d] -= push * Y[d]
        solve_towards_root(L, span[k, 1], Y)
    solve_towards_root(L, n_v - 1, work.delta)
    for k in range(n_hard):
        Y = work.Y[k]
        for i in range(k + 1):
            other, s = work.Y[i], 0.0
            for d in range(min(span[k, 1], span[i, 1]) + 1):
                s += Y[d] * other[d]
            S[k, i] = s
        s = work.aim[k]
        for d in range(span[k, 1] + 1):
            s += Y[d] * work.delta[d]
        work.mu[k] = s
    cholesky_drop(S, n_hard, DEPENDENT)
    solve_lower(S, n_hard, work.mu)
    solve_lower_transposed(S, n_hard, work.mu)
    for k in range(n_hard):
        for d in range(span[k, 1] + 1):
            work.delta[d] -= work.Y[k, d] * work.mu[k]
    solve_towards_leaves(L, n_v, work.delta)
