"""How an optimum answers: what numbers of a pose change by when its gradient or its constraints do.

At an optimum of min F subject to Phi = 0 a change dg of the gradient moves the pose by -P dg, with
P = Z (Z'HZ)^-1 Z', H the Hessian of the Lagrangian and Z the directions that keep Phi. From the factor of a
Newton step (kernels/solver/kkt_step) P = G - G A' (A G A')^-1 A G, G = (H + rho A'A)^-1. Numbers are solved
side by side, one a column.
A large rho keeps A G A' well conditioned where rows nearly repeat each other, some 1 / (rho t^2) at an angle
t between them, and costs answers rho times the rounding of H. One step of refinement on H x + A'b = f takes
that back, whatever rho is: `velocity` does it, as v is differenced in time (kernels/fdk/optimum).
Skeel 1980, Mathematics of Computation 35, 817-832: refinement in working precision.
As measured markers move with x-dot, dg/dt = -J'W x-dot: the optimum moves with v = P J'W x-dot, what the
differentiated conditions of optimality say (Andersen et al. 2009, 2017, below eq. 5).
Fiacco 1983, Introduction to Sensitivity and Stability Analysis in Nonlinear Programming, chapter 3.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.copying import copy, copy_matrix
from kernels.algebra.linear import (
    cholesky_leaves_first,
    columns_of_cholesky,
    columns_towards_leaves,
    columns_towards_root,
)
from kernels.compiler.jit import njit
from kernels.joints.couplers import fold_columns, fold_vector, unfold_columns
from kernels.solver.constraints import HARD, SOFT
from kernels.solver.kkt_step import PIVOT_FLOOR, augment, build_hessian, lagrangian_hessian, newton_step
from kernels.solver.optimality import objective, optimality

AUGMENTATION, AUGMENT_MORE, N_AUGMENT = 1e5, 1e4, 2
"""Curvature of rho A'A against the mean diagonal of H, how much more at a further try, how many tries."""
CLOSE = 3e-7
"""Step of the solver from whose outset its factors will do [rad, m]: they differ by as little."""


class OneAnswer(NamedTuple):
    """One number's answer, refined."""

    H: Annotated[np.ndarray, Floats("n_v", "n_v")]  # Hessian of the Lagrangian, lower triangle
    x: Annotated[np.ndarray, Floats("n_v", 1)]  # f, then P f
    b: Annotated[np.ndarray, Floats("n_element", 1)]  # its answers to the hard elements' targets
    left: Annotated[np.ndarray, Floats("n_v", 1)]  # what f - H x - A'b leaves, then what it changes x by
    more: Annotated[np.ndarray, Floats("n_element", 1)]  # and b


def new_one_answer(n_v: int, n_element: int) -> OneAnswer:
    """Allocate a OneAnswer."""
    return allocate(OneAnswer, n_v=n_v, n_element=n_element)


@njit
def stand_at(problem, q, multiplier, work):
    """Pose, rows and factors at a solution; returns n_hard, or -1 where it is no minimum.

    Where the solver has just left it they are there: those of its last step, as small as CLOSE, will do.

    problem : Problem
    q : (n_q,) - the solution
    multiplier : (n_element,) - of it
    work : Work - H, Y, S, pose and what objective and optimality leave
    """
    there = problem.roles.limits is None and work.size[0] <= CLOSE
    for k in range(q.shape[0]):
        there = there and work.q_trial[k] == q[k]
    if there:
        n_hard = 0
        for e in range(problem.roles.mode.shape[0]):
            n_hard += int(problem.roles.mode[e] == HARD)
        return n_hard
    n_hard = rows_at(problem, q, multiplier, work)
    if not factor(problem, multiplier, n_hard, 1.0, work, None):
        return -1
    newton_step(n_hard, work)
    return n_hard


@njit
def rows_at(problem, q, multiplier, work):
    """Pose, gradient and rows at q, which are of no step of the solver; returns n_hard.

    problem : Problem
    q : (n_q,)
    multiplier : (n_element,)
    work : Work - q_trial, size and what objective and optimality leave
    """
    copy(q, work.q_trial)
    work.size[0] = math.inf
    objective(problem, q, work)
    n_hard, _ = optimality(problem, multiplier, work)
    return n_hard


@njit
def stand_beside(problem, q, fixed, work):
    """As stand_at, at any pose, with slopes alone: curvature times residuals, which are none of that pose, is
    left out. So are bounds, but for what is said to rest on one.

    problem : Problem
    q : (n_q,)
    fixed : (n_v,) int64 - 1 = a coordinate at its bound
    work : Work - multiplier_trial and what stand_at leaves
    """
    multiplier = work.multiplier_trial
    multiplier[:] = 0.0
    n_hard = rows_at(problem, q, multiplier, work)
    copy(fixed, work.fixed)
    work.gap[:] = 0.0
    if not factor(problem, multiplier, n_hard, 0.0, work, None):
        return -1
    newton_step(n_hard, work)
    return n_hard


@njit
def stand_with_targets(problem, q, work, H_out):
    """As stand_at, beside a solution: q is taken as the optimum of the targets that its elements have there.

    Multipliers follow from the gradient, by a step of Gauss and Newton along the hard elements: off by the
    square of the way from the solution.

    problem : Problem
    q : (n_q,)
    work : Work - multiplier_trial and what stand_at leaves
    H_out : (n_v, n_v) - Hessian of the Lagrangian, lower triangle
    """
    multiplier = work.multiplier_trial
    multiplier[:] = 0.0
    n_hard = rows_at(problem, q, multiplier, work)
    if not build_hessian(problem, multiplier, n_hard, 0.0, work):
        return -1
    work.aim[:] = 0.0
    newton_step(n_hard, work)
    copy(work.mu, multiplier)
    optimality(problem, multiplier, work)
    if not factor(problem, multiplier, n_hard, 1.0, work, H_out):
        return -1
    newton_step(n_hard, work)
    return n_hard


@njit
def velocity(couplers, n_hard, work, one):
    """one.x : (n_v, 1) <- P x with followers: dq/dt of the optimum [rad/s, m/s] from x = J'W x-dot.

    To rounding, by one step of refinement.

    couplers : Couplers - or None
    n_hard : int
    work : Work - after stand_with_targets
    one : OneAnswer - H that of stand_with_targets; x, b, left, more written
    """
    x, left = one.x, one.left
    fold_columns(couplers, work.coupler, x)
    copy_matrix(x, left)
    answer(couplers, n_hard, work, x, one.b)
    for i in range(x.shape[0]):
        left[i, 0] -= one.H[i, i] * x[i, 0]
        for j in range(i):
            left[i, 0] -= one.H[i, j] * x[j, 0]
            left[j, 0] -= one.H[i, j] * x[i, 0]
        for h in range(n_hard):
            left[i, 0] -= work.A[h, i] * one.b[h, 0]
    answer(couplers, n_hard, work, left, one.more)
    for i in range(x.shape[0]):
        x[i, 0] += left[i, 0]
    unfold_columns(couplers, work.coupler, x)


@njit
def factor(problem, multiplier, n_hard, second_order, work, H_out):
    """Cholesky factor of H + rho A'A in work.H; False where H is not positive definite along A x = 0.

    With rho beyond what a step needs, also where hard elements nearly repeat each other, as those of a knee
    near a singular pose.

    problem : Problem
    multiplier : (n_element,) - of the hard elements, packed
    n_hard : int
    second_order : float - 1 = exact, 0 = Gauss-Newton
    work : Work - after optimality; H, scale, slope, aim written
    H_out : (n_v, n_v) - H before it is factored, lower triangle; None = not asked for
    """
    curvature = AUGMENTATION
    for _ in range(N_AUGMENT):
        size = lagrangian_hessian(problem, multiplier, n_hard, second_order, work)
        if H_out is not None:
            copy_matrix(work.H, H_out)
        augment(n_hard, curvature * size, work)
        if cholesky_leaves_first(work.H, work.g.shape[0], PIVOT_FLOOR * size):
            return True
        curvature *= AUGMENT_MORE
    return False


@njit
def answer(couplers, n_hard, work, X, B):
    """X : (n_v, K) <- P X, and B : (n_element, K) - how the numbers follow the hard elements' targets.

    For columns f of X: with Y = L'^-1 A' and S = Y'Y, B = S^-1 Y' L'^-1 f is the change of f'q per unit that
    an element's Phi is allowed. Followers take part by their drivers, coordinates at a bound not at all.

    couplers : Couplers - or None
    n_hard : int
    work : Work - after stand_at
    X, B : (n_v, K), (n_element, K) - written; of B the first n_hard rows
    """
    fold_columns(couplers, work.coupler, X)
    n_v, K = X.shape
    for d in range(n_v):
        if work.fixed[d] == 1:
            X[d, :] = 0.0
    columns_towards_root(work.H, n_v, X)
    for h in range(n_hard):
        B[h, :] = 0.0
        for d in range(work.span[h, 1] + 1):
            y = work.Y[h, d]
            for k in range(K):
                B[h, k] += y * X[d, k]
    columns_of_cholesky(work.S, n_hard, B)
    for h in range(n_hard):
        for d in range(work.span[h, 1] + 1):
            y = work.Y[h, d]
            for k in range(K):
                X[d, k] -= y * B[h, k]
    columns_towards_leaves(work.H, n_v, X)


@njit
def soft_answers(model, roles, n_hard, solver, X, B):
    """B : (n_element, K) - after the hard elements, how the numbers follow the soft elements' targets.

    Weight times x along the element's row, after answer.

    model : Skeleton
    roles : Roles
    n_hard : int
    solver : Work - delta written
    X : (n_v, K)
    B : (n_element, K) - written
    """
    elements, along, n = model.elements, solver.delta, n_hard
    for e in range(roles.mode.shape[0]):
        if roles.mode[e] == SOFT:
            along[:] = 0.0
            for i in range(elements.n_path[e]):
                along[elements.path[e, i]] = roles.weight[e] * solver.element.row[e, i]
            fold_vector(model.tree.couplers, solver.coupler, along)
            B[n, :] = 0.0
            for d in range(along.shape[0]):
                if along[d] != 0.0:
                    for k in range(B.shape[1]):
                        B[n, k] += along[d] * X[d, k]
            n += 1


@njit
def quadratic_forms(M, X, row, value_out):
    """value_out : (K,) = x' M x of every column x of X.

    M : (n, n) - lower triangle
    X : (n, K)
    row : (K,) - written
    value_out : (K,) - written
    """
    value_out[:] = 0.0
    for i in range(X.shape[0]):
        for k in range(X.shape[1]):
            row[k] = M[i, i] * X[i, k]
        for j in range(i):
            y = 2.0 * M[i, j]
            if y != 0.0:
                for k in range(X.shape[1]):
                    row[k] += y * X[j, k]
        for k in range(X.shape[1]):
            value_out[k] += X[i, k] * row[k]
