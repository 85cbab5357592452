"""min 1/2 Psi' W Psi subject to Phi = 0 on the manifold of the joint tree, by Newton's method.

Psi: markers (kernels/markers) and soft elements, Phi: hard elements (kernels/constraints); Sancisi et
al. 2017, eqs 5-9, in joint coordinates instead of natural ones. Each iteration solves

    [H A'] [delta ]   [ -g ]        A = dPhi, g = gradient of the objective,
    [A 0 ] [lambda] = [-Phi]        H = Hessian of the Lagrangian,

with H + rho A'A (same step, Bertsekas 1982, section 2.2), whose Cholesky factor (leaves of the tree before
their root, so that branches stay apart) exists exactly when the step heads for a minimum; where it does
not, H is taken without its second-order terms (Gauss-Newton). Steps are accepted when the optimality
residual |(g + A' lambda, Phi)| or an l1 merit function falls, and halved otherwise.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kernels._jit import njit
from kernels.constraints import (
    HARD,
    SOFT,
    ElementWork,
    add_curvature,
    element_rows,
    element_values,
    new_element_work,
)
from kernels.coordinates import bind_bounds, block, clamp, find_bounds
from kernels.copying import copy
from kernels.couplers import (
    CouplerWork,
    coupler_slopes,
    fold_lagrangian,
    fold_matrix,
    fold_vector,
    isolate,
    new_coupler_work,
    place_followers,
)
from kernels.linear import (
    cholesky_drop,
    cholesky_leaves_first,
    solve_lower,
    solve_lower_transposed,
    solve_towards_leaves,
    solve_towards_root,
)
from kernels.markers import MarkerWork, marker_gradient, marker_hessian, marker_moments, new_marker_work
from kernels.tree import Pose, difference, integrate, new_pose, pose

CONVERGED, NOT_CONVERGED, NON_FINITE = 0, 1, 2
ROUNDING = 1e-14
"""Part of the merit below which a change of it is no more than rounding [1]."""

AUGMENTATION = 10.0  # curvature of rho A'A against the mean diagonal of H
DEPENDENT = 1e-13  # relative pivot under which a constraint repeats the others
N_HALVING = 12


class Options(NamedTuple):
    """Numbers of the solver."""

    tolerance: float  # optimality residual at which a frame is solved
    max_iterations: int
    max_step: float  # largest rotation [rad] or displacement [m] of one iteration


class Work(NamedTuple):
    """Working space of one solve; n = n_v, m = number of elements."""

    pose: Pose
    marker: MarkerWork
    element: ElementWork
    coupler: CouplerWork
    H: np.ndarray  # (n, n)
    A: np.ndarray  # (m, n) - rows of the hard elements, first n_hard used
    span: np.ndarray  # (m, 2) int64 - first and last dof of each row
    Y: np.ndarray  # (m, n) - L'^-1 A'
    S: np.ndarray  # (m, m) - Y Y'
    phi: np.ndarray  # (m,)
    g: np.ndarray  # (n,) - gradient of the objective
    lagrangian: np.ndarray  # (n,) - gradient of the Lagrangian
    unbound: np.ndarray  # (n,) - the same without what bounds take up
    delta: np.ndarray  # (n,)
    mu: np.ndarray  # (m,) - multipliers after the step
    multiplier_trial: np.ndarray  # (m,)
    hold_gap: np.ndarray  # (n,)
    q_trial: np.ndarray  # (n_q,)
    scale: np.ndarray  # (m,) - rho of each hard row
    cost_start: np.ndarray  # (1,) - objective where the last solve began, without what holds dofs
    bound: np.ndarray  # (n,) int64 - which bound a coordinate is at (kernels/coordinates)
    fixed: np.ndarray  # (n,) int64 - 1 = goes to its bound and no further
    gap: np.ndarray  # (n,) - the way there
    slope: np.ndarray  # (n,) - g that the step starts from: coordinates that are fixed have gone
    aim: np.ndarray  # (m,) - Phi, in the same way
    open: np.ndarray  # (n,) int64 - 1 = left open by the markers (kernels/track)


def new_work(
    n_body: int, n_q: int, n_v: int, n_marker: int, n_element: int, n_path: int, n_motion: int = 0
) -> Work:
    """Allocate a Work."""
    n, m = n_v, n_element
    return Work(
        new_pose(n_body, n_v, n_motion),
        new_marker_work(n_marker, n_body),
        new_element_work(n_element, n_path),
        new_coupler_work(n),
        np.zeros((n, n)),
        np.zeros((m, n)),
        np.zeros((m, 2), np.int64),
        np.zeros((m, n)),
        np.zeros((m, m)),
        np.zeros(m),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(m),
        np.zeros(m),
        np.zeros(n),
        np.zeros(n_q),
        np.zeros(m),
        np.zeros(1),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n),
        np.zeros(n),
        np.zeros(m),
        np.zeros(n, np.int64),
    )


@njit
def solve(tree, markers, elements, roles, measured, weight, hold, q_hold, options, work, q, multiplier):
    """Solve one frame from q, multiplier : (n_q,), (n_element,), both overwritten by the solution.

    measured, weight : (n_marker, 3) [m], (n_marker,) - weight 0 = takes no part
    hold, q_hold : (n_v,), (n_q,) - weights that hold dofs near q_hold (0 = free)
    multiplier is packed: entry k belongs to the k-th hard element.
    Returns (status, iterations, residual, objective).
    """
    clamp(roles.limits, q)
    place_followers(tree.couplers, tree.functions, q)
    warm = False
    for k in range(multiplier.shape[0]):
        warm = warm or multiplier[k] != 0.0
    cost = objective(tree, markers, elements, roles, measured, weight, hold, q_hold, q, work)
    work.cost_start[0] = cost - hold_cost(tree, hold, q_hold, q, work.hold_gap)
    n_hard, residual = optimality(tree, elements, roles, hold, multiplier, work)
    for iteration in range(options.max_iterations):
        if residual <= options.tolerance:
            return CONVERGED, iteration, residual, cost
        if not math.isfinite(residual):
            return NON_FINITE, iteration, residual, cost
        # without multipliers the Lagrangian's curvature is not known yet
        newton = (warm or iteration > 0) and find_step(
            tree, elements, roles, hold, multiplier, n_hard, 1.0, work, q
        )
        if not newton and not find_step(tree, elements, roles, hold, multiplier, n_hard, 0.0, work, q):
            return NOT_CONVERGED, iteration, residual, cost
        scale = step_scale(work.delta, options.max_step)
        penalty = merit_penalty(work.mu, n_hard)
        merit = cost + penalty * infeasibility(work.phi, n_hard)
        accepted = False
        for _ in range(N_HALVING):
            integrate(tree, q, work.delta, scale, work.q_trial)
            clamp(roles.limits, work.q_trial)
            place_followers(tree.couplers, tree.functions, work.q_trial)
            for k in range(n_hard):
                work.multiplier_trial[k] = multiplier[k] + scale * (work.mu[k] - multiplier[k])
            cost_trial = objective(
                tree, markers, elements, roles, measured, weight, hold, q_hold, work.q_trial, work
            )
            n_hard, residual_trial = optimality(tree, elements, roles, hold, work.multiplier_trial, work)
            merit_trial = cost_trial + penalty * infeasibility(work.phi, n_hard)
            # a merit that falls by rounding alone is no descent: steps would wander about the optimum
            if residual_trial < residual or merit_trial < merit * (1.0 - ROUNDING):
                accepted = True
                break
            scale *= 0.5
        if not accepted:
            # no descent in double precision: the state before the step is the best there is
            objective(tree, markers, elements, roles, measured, weight, hold, q_hold, q, work)
            return NOT_CONVERGED, iteration + 1, residual, cost
        copy(work.q_trial, q)
        for k in range(n_hard):
            multiplier[k] = work.multiplier_trial[k]
        cost, residual = cost_trial, residual_trial
    status = CONVERGED if residual <= options.tolerance else NOT_CONVERGED
    return status, options.max_iterations, residual, cost


@njit
def objective(tree, markers, elements, roles, measured, weight, hold, q_hold, q, work):
    """Objective at q; leaves pose, moments, element values and hold gaps in work."""
    pose(tree, q, work.pose)
    coupler_slopes(tree.couplers, tree.functions, q, work.coupler)
    find_bounds(roles.limits, q, work.bound)
    cost = marker_moments(tree, markers, work.pose, measured, weight, work.marker)
    element_values(elements, work.pose, roles.target, work.element)
    for e in range(roles.mode.shape[0]):
        if roles.mode[e] == SOFT:
            cost += 0.5 * roles.weight[e] * work.element.value[e] ** 2
    return cost + hold_cost(tree, hold, q_hold, q, work.hold_gap)


@njit
def hold_cost(tree, hold, q_hold, q, gap_out):
    """Sum of 1/2 hold gap^2, gap_out : (n_v,) = q - q_hold along the tangent."""
    difference(tree, q_hold, q, gap_out)
    cost = 0.0
    for d in range(hold.shape[0]):
        cost += 0.5 * hold[d] * gap_out[d] ** 2
    return cost


@njit
def optimality(tree, elements, roles, hold, multiplier, work):
    """Gradient, hard rows and (n_hard, |(g + A' multiplier, Phi)|), after objective.

    What presses a coordinate against its bound is no part of the residual: work.lagrangian has it.
    """
    marker_gradient(tree, work.pose, work.marker, work.g)
    element_rows(tree, elements, work.pose, work.element)
    n_v = work.g.shape[0]
    for d in range(n_v):
        work.g[d] += hold[d] * work.hold_gap[d]
    n_hard = 0
    for e in range(roles.mode.shape[0]):
        value, row = work.element.value[e], work.element.row[e]
        if roles.mode[e] == SOFT:
            for k in range(elements.n_path[e]):
                work.g[elements.path[e, k]] += roles.weight[e] * value * row[k]
        elif roles.mode[e] == HARD:
            hard_row(tree.couplers, elements, e, n_hard, work)
            work.phi[n_hard] = value
            n_hard += 1
    lagrangian_gradient(tree.couplers, n_hard, multiplier, work)
    for d in range(n_v):
        work.unbound[d] = work.lagrangian[d]
    bind_bounds(roles.limits, work.bound, work.unbound, work.fixed, work.gap)
    total = 0.0
    for d in range(n_v):
        total += work.unbound[d] * work.unbound[d]
    for k in range(n_hard):
        work.aim[k] = work.phi[k]
        total += work.phi[k] * work.phi[k]
    return n_hard, math.sqrt(total)


@njit
def hard_row(couplers, elements, e, n, work):
    """work.A[n] : (n_v,) - row of element e, and the range of its entries, after element_rows."""
    A, row, n_v = work.A[n], work.element.row[e], work.g.shape[0]
    for d in range(n_v):
        A[d] = 0.0
    first, last = n_v - 1, 0
    for k in range(elements.n_path[e]):
        d = elements.path[e, k]
        A[d] = row[k]
        first, last = min(first, d), max(last, d)
    if couplers is not None:  # noqa: SIM102 - the compiler leaves out what stands below None alone
        if couplers.dof.shape[0] > 0:  # a driver may be anywhere
            first, last = 0, n_v - 1
    work.span[n, 0], work.span[n, 1] = first, last


@njit
def lagrangian_gradient(couplers, n_hard, multiplier, work):
    """work.lagrangian : (n_v,) = g + A' multiplier; then it, work.g and work.A lose the followers."""
    for d in range(work.g.shape[0]):
        work.lagrangian[d] = work.g[d]
    for k in range(n_hard):
        for d in range(work.span[k, 0], work.span[k, 1] + 1):
            work.lagrangian[d] += work.A[k, d] * multiplier[k]
    fold_lagrangian(couplers, work.coupler, work.lagrangian)
    fold_vector(couplers, work.coupler, work.g)
    for k in range(n_hard):
        fold_vector(couplers, work.coupler, work.A[k])


@njit
def find_step(tree, elements, roles, hold, multiplier, n_hard, second_order, work, q):
    """work.delta, work.mu by build_hessian and newton_step, within the limits; q : (n_q,) at the outset.

    False where the matrix is not positive definite.
    """
    while True:
        if not build_hessian(tree, elements, roles, hold, multiplier, n_hard, second_order, work):
            return False
        newton_step(n_hard, work)
        if not block(roles.limits, q, work.delta, work.fixed, work.gap):  # every round fixes one more
            return True


@njit
def build_hessian(tree, elements, roles, hold, multiplier, n_hard, second_order, work):
    """Cholesky factor of H + rho A'A in work.H, rho in work.scale; False if not positive definite."""
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
        H[d, d] += hold[d]
        work.slope[d] = work.g[d]
    fold_matrix(tree.couplers, work.coupler, second_order, H)
    fix_bounds(roles.limits, n_hard, work)
    trace = 0.0
    for d in range(n_v):
        trace += abs(H[d, d])
    augment(n_hard, AUGMENTATION * trace / n_v, work)
    return cholesky_leaves_first(H, n_v, 1e-14 * trace / n_v)


@njit
def fix_bounds(limits, n_hard, work):
    """Coordinates that are fixed take the way work.gap; the others feel it in work.slope and work.aim.

    Their rows and columns leave work.H and work.A.
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
    """work.H += rho A'A with rho |A_k|^2 = curvature for every hard row; rho in work.scale."""
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
    """work.delta : (n_v,), work.mu : (n_hard,) - step and new multipliers, from the factor in work.H."""
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


@njit
def step_scale(delta, max_step):
    """Factor <= 1 that keeps every entry of delta within max_step."""
    largest = 0.0
    for d in range(delta.shape[0]):
        largest = max(largest, abs(delta[d]))
    return max_step / largest if largest > max_step else 1.0


@njit
def merit_penalty(mu, n_hard):
    """Penalty of the l1 merit function: above the largest multiplier, so that it is exact."""
    largest = 0.0
    for k in range(n_hard):
        largest = max(largest, abs(mu[k]))
    return 1.5 * largest + 1e-9


@njit
def infeasibility(phi, n_hard):
    """Sum of |Phi| over the hard elements."""
    total = 0.0
    for k in range(n_hard):
        total += abs(phi[k])
    return total
