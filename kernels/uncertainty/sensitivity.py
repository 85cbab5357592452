"""Sensitivity of an optimum: how numbers of the pose change with the gradient of the objective or with the
constraints.

At an optimum of min F subject to Phi = 0 a change dg of the gradient moves the pose by -P dg, with P = Z
(Z'HZ)^-1 Z', H the Hessian of the Lagrangian and Z the directions that keep Phi. With the factor of a Newton
step (kernels/solver/kkt_step) P = G - G A' (A G A')^-1 A G, G = (H + rho A'A)^-1. Numbers are solved for
together, one in each column.

A large rho keeps A G A' well conditioned if rows are nearly linearly dependent (its condition is some 1 /
(rho t^2) at an angle t between them), but multiplies the rounding errors of H in the results by rho. One step
of iterative refinement of H x + A'b = f removes these for any rho: `velocity` takes it, as its result is
differenced in time (kernels/fdk/optimum). Skeel 1980, Mathematics of Computation 35, 817-832: refinement in
working precision.

As measured markers move with x-dot, dg/dt = -J'W x-dot: the optimum moves with v = P J'W x-dot, which the
differentiated conditions of optimality state (Andersen et al. 2009, 2017, below eq. 5). Fiacco 1983,
Introduction to Sensitivity and Stability Analysis in Nonlinear Programming, chapter 3.
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
"""Curvature of rho A'A relative to the mean diagonal of H, its increase at a further try,
and number of tries."""
CLOSE = 3e-7
"""Last step of the solver up to which its factors, those of the pose before that step, are used [rad, m]:
they differ by as little."""


class OneAnswer(NamedTuple):
    """Sensitivity of one number to the gradient of the objective, computed with iterative refinement."""

    H: Annotated[np.ndarray, Floats("n_v", "n_v")]  # Hessian of the Lagrangian, lower triangle
    x: Annotated[np.ndarray, Floats("n_v", 1)]  # f, then P f
    b: Annotated[np.ndarray, Floats("n_element", 1)]  # its sensitivities to the hard elements' targets
    left: Annotated[np.ndarray, Floats("n_v", 1)]  # what f - H x - A'b leaves, then what it changes x by
    more: Annotated[np.ndarray, Floats("n_element", 1)]  # and b


def new_one_answer(n_v: int, n_element: int) -> OneAnswer:
    """Allocate a OneAnswer: the sensitivity of one number to the gradient; n_element is the number of scalar
    constraints."""
    return allocate(OneAnswer, n_v=n_v, n_element=n_element)


@njit
def stand_at(problem, q, multiplier, work):
    """Factorise the KKT system at a solution; return the number of hard constraints, or -1 if the solution is
    no minimum.

    Pose and constraint rows are computed, too. If the solver has just ended at this solution, with a last
    step of at most CLOSE, its factors are kept.

    problem : FrameProblem - model, roles of its elements, and measured markers
    q : (n_q,) - the solution [m, rad]
    multiplier : (n_element,) - its multipliers; entry k belongs to the k-th hard element
    work : Work - the factors H, Y and S, the pose, the gradients and the constraint rows are written
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
    """Compute the pose, the gradient and the constraint rows at q, without a step of the solver; return the
    number of hard elements.

    problem : FrameProblem - model, roles of its elements, and measured markers
    q : (n_q,) - generalized coordinates [m, rad]
    multiplier : (n_element,) - multipliers of the hard elements
    work : Work - q_trial, size, the pose, the gradients and the constraint rows are written
    """
    copy(q, work.q_trial)
    work.size[0] = math.inf
    objective(problem, q, work)
    n_hard, _ = optimality(problem, multiplier, work)
    return n_hard


@njit
def stand_beside(problem, q, fixed, work):
    """Factorise the KKT system at any pose by first derivatives alone (Gauss-Newton); return the number of
    hard elements, or -1 if the pose is not determined.

    Second derivatives are left out because they are multiplied by residuals, which do not belong to that
    pose. Bounds are left out, too, except for coordinates that are given as fixed.

    problem : FrameProblem - model, roles of its elements, and measured markers
    q : (n_q,) - generalized coordinates [m, rad]
    fixed : (n_v,) int64 - 1 = a coordinate at its bound
    work : Work - multiplier_trial, the factors H, Y, S, the pose, gradients and constraint rows are written
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
    """Factorise the KKT system at q, near a solution, for those element targets with which q would be the
    optimum.

    Return the number of hard elements, or -1 if it is no minimum.

    Multipliers follow from the gradient, by a Gauss-Newton step along the hard elements; their error is of
    second order in the distance from the solution.

    problem : FrameProblem - model, roles of its elements, and measured markers
    q : (n_q,) - generalized coordinates [m, rad]
    work : Work - multiplier_trial, the factors H, Y, S, the pose, gradients and constraint rows are written
    H_out : (n_v, n_v) - Hessian of the Lagrangian, lower triangle, written
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
    """Compute the velocity dq/dt = P J'W x-dot of the optimum while the markers move with x-dot [rad/s, m/s].

    It is exact to rounding, by one step of iterative refinement, and includes coordinates that couplers give.

    couplers : Couplers - or None
    n_hard : int - number of hard elements
    work : Work - after stand_with_targets
    one : OneAnswer - its H is that of stand_with_targets; its x : (n_v, 1) is J'W x-dot before, dq/dt
        afterwards; b, left and more are written
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
    """Write the Cholesky factor of H + rho A'A into work.H; return False if H is not positive definite for
    all x with A x = 0.

    rho is larger than a step needs, so that this also holds where hard elements are nearly linearly
    dependent, as those of a knee near a singular pose.

    problem : FrameProblem - model, roles of its elements, and measured markers
    multiplier : (n_element,) - multipliers of the hard elements, one after the other
    n_hard : int - number of hard elements
    second_order : float - 1 = exact, 0 = Gauss-Newton
    work : Work - with the gradient and the constraint rows that `optimality` has computed; its H, scale,
        slope and aim are written
    H_out : (n_v, n_v) - H before it is factored, lower triangle; None = not needed
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
    """Replace derivatives of numbers, the columns of X, by their sensitivities P X to the gradient; write
    those to the hard elements' targets into B.

    For a column f of X, with Y = L'^-1 A' and S = Y'Y, the column of B is S^-1 Y' L'^-1 f: the change of f'q
    per unit by which an element's Phi deviates from 0. Coordinates that couplers give are expressed by their
    drivers; those at a bound do not change.

    couplers : Couplers - or None
    n_hard : int - number of hard elements
    work : Work - after stand_at
    X, B : (n_v, K), (n_element, K) - written; only the first n_hard rows of B
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
    """Write the sensitivities of the published numbers to the targets of soft elements into B, after the
    rows of the hard elements.

    The sensitivity to a target is the weight of the element times the product of its row dPhi/dq with x, a
    column of X. Call it after `answer`.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    roles : Roles - mode, weight and target of each element in the method
    n_hard : int - number of hard elements
    solver : Work - working space of the solver; its field delta is written
    X : (n_v, K) - sensitivities P f of the K numbers to the gradient, computed by `answer`
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
    """Write the quadratic form x' M x (a variance) for every column x of X into value_out.

    M : (n, n) - symmetric matrix, lower triangle
    X : (n, K) - vectors x
    row : (K,) - working space
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
