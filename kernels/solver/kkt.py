"""Constrained least squares by Newton's method: min 1/2 Psi' W Psi subject to Phi = 0, over the poses of a
joint tree.

Psi contains the residuals of markers and the deviations of soft elements, W their weights, Phi the deviations
of hard elements. Convergence is judged by the residual |(g + A' lambda, Phi)| of the conditions of
optimality, with the gradient g, the Jacobian A of Phi and the multipliers lambda (kernels/solver/optimality);
steps are computed in kernels/solver/kkt_step. If a step does not lead to a minimum, the Hessian is taken
without its second-order terms (Gauss-Newton). A step is halved until the residual or an l1 merit function
decreases.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from kernels.algebra.copying import copy
from kernels.compiler.jit import inlined, njit
from kernels.joints.couplers import place_followers
from kernels.joints.tree import integrate
from kernels.solver.coordinates import clamp
from kernels.solver.kkt_step import find_step
from kernels.solver.optimality import hold_cost, objective, optimality

CONVERGED, NOT_CONVERGED, NON_FINITE = 0, 1, 2
ROUNDING = 1e-14
"""Relative change of the merit function below which it is rounding [1]."""
N_HALVING = 12


class SolverOptions(NamedTuple):
    """Settings of the constrained least-squares solver: tolerance, largest number of iterations, and largest
    step.
    """

    tolerance: float  # optimality residual at which a frame is solved
    max_iterations: int
    max_step: float  # largest rotation [rad] or displacement [m] of one iteration


class SolverEnd(NamedTuple):
    """Result of one solution: status, iterations, residual of the conditions of optimality, and objective."""

    status: int  # CONVERGED, NOT_CONVERGED or NON_FINITE
    iterations: int
    residual: float  # |(g + A' multiplier, Phi)|
    cost: float  # objective, with the terms that hold dofs


@njit
def solve(problem, options, work, q, multiplier):
    """Solve one frame, starting from q and multiplier, which the solution replaces; return a SolverEnd.

    problem : FrameProblem - model, roles of its elements, and measured markers
    options : SolverOptions - settings of the constrained least-squares solver
    work : Work - working space of the solver, written; it is at the solution afterwards
    q : (n_q,) - generalized coordinates [m, rad], updated
    multiplier : (n_element,) - multipliers, updated; entry k belongs to the k-th hard element
    """
    clamp(problem.roles.limits, q)
    place_followers(problem.tree.couplers, problem.tree.functions, q)
    warm = False
    for k in range(multiplier.shape[0]):
        warm = warm or multiplier[k] != 0.0
    copy(q, work.q_trial)
    work.size[0] = math.inf
    cost = objective(problem, q, work)
    work.cost_start[0] = cost - hold_cost(problem, q, work.hold_gap)
    n_hard, residual = optimality(problem, multiplier, work)
    for iteration in range(options.max_iterations):
        if residual <= options.tolerance:
            return SolverEnd(CONVERGED, iteration, residual, cost)
        if not math.isfinite(residual):
            return SolverEnd(NON_FINITE, iteration, residual, cost)
        # without multipliers the Lagrangian's curvature is not known yet
        newton = (warm or iteration > 0) and find_step(problem, multiplier, n_hard, 1.0, work, q)
        if not newton and not find_step(problem, multiplier, n_hard, 0.0, work, q):
            return SolverEnd(NOT_CONVERGED, iteration, residual, cost)
        accepted, residual_trial, cost_trial = search(
            problem, options.max_step, residual, cost, n_hard, work, q, multiplier
        )
        work.size[0] = largest_of(work.delta) if newton else math.inf
        if not accepted:
            # no descent in double precision: the state before the step is the best there is
            copy(q, work.q_trial)
            objective(problem, q, work)
            return SolverEnd(NOT_CONVERGED, iteration + 1, residual, cost)
        copy(work.q_trial, q)
        for k in range(n_hard):
            multiplier[k] = work.multiplier_trial[k]
        cost, residual = cost_trial, residual_trial
    status = CONVERGED if residual <= options.tolerance else NOT_CONVERGED
    return SolverEnd(status, options.max_iterations, residual, cost)


@inlined
def search(problem, max_step, residual, cost, n_hard, work, q, multiplier):
    """Take the Newton step (work.delta, work.mu), halved until the residual of the conditions of optimality
    or the merit function (objective plus penalty times the sum of |Phi|) decreases: a line search.

    problem : FrameProblem - model, roles of its elements, and measured markers
    max_step : float - largest entry of a step that is allowed [rad, m]
    residual : float - residual at the start
    cost : float - objective at the start
    n_hard : int - number of hard elements
    work : Work - after find_step; q_trial, multiplier_trial, and pose, gradients and constraint rows at the
        last trial are written
    q : (n_q,) - pose at the start [m, rad]
    multiplier : (n_element,) - multipliers at the start
    Returns (whether one of them decreased, residual at the last trial, objective at the last trial).
    """
    tree, limits = problem.tree, problem.roles.limits
    scale = step_scale(work.delta, max_step)
    penalty = merit_penalty(work.mu, n_hard)
    merit = cost + penalty * infeasibility(work.phi, n_hard)
    residual_trial, cost_trial = residual, cost
    for _ in range(N_HALVING):
        integrate(tree, q, work.delta, scale, work.q_trial)
        clamp(limits, work.q_trial)
        place_followers(tree.couplers, tree.functions, work.q_trial)
        for k in range(n_hard):
            work.multiplier_trial[k] = multiplier[k] + scale * (work.mu[k] - multiplier[k])
        cost_trial = objective(problem, work.q_trial, work)
        _, residual_trial = optimality(problem, work.multiplier_trial, work)
        merit_trial = cost_trial + penalty * infeasibility(work.phi, n_hard)
        # a merit that falls by rounding alone is no descent: steps would wander about the optimum
        if residual_trial < residual or merit_trial < merit * (1.0 - ROUNDING):
            return True, residual_trial, cost_trial
        scale *= 0.5
    return False, residual_trial, cost_trial


@njit
def step_scale(delta, max_step):
    """Return the factor <= 1 that brings every entry of a step delta : (n_v,) within +-max_step [rad, m]."""
    largest = largest_of(delta)
    return max_step / largest if largest > max_step else 1.0


@njit
def largest_of(delta):
    """Return the largest absolute entry of a step delta : (n_v,)."""
    largest = 0.0
    for d in range(delta.shape[0]):
        largest = max(largest, abs(delta[d]))
    return largest


@njit
def merit_penalty(mu, n_hard):
    """Return the penalty factor of the l1 merit function: so far above the largest multiplier that the
    penalty is exact.

    mu : (n_element,) - multipliers; n_hard : int - number of hard elements, whose multipliers come first.
    """
    largest = 0.0
    for k in range(n_hard):
        largest = max(largest, abs(mu[k]))
    return 1.5 * largest + 1e-9


@njit
def infeasibility(phi, n_hard):
    """Return the sum of |Phi| over the hard (exact) scalar constraints: phi : (n_element,), of which the
    first n_hard entries count."""
    total = 0.0
    for k in range(n_hard):
        total += abs(phi[k])
    return total
