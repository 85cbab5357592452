"""Small convex quadratic programs with many inequalities: min y'Hy/2 + h'y subject to G y + b >= 0.

A primal-dual interior-point method with a predictor and a corrector (Mehrotra 1992, SIAM J Optim 2:575-601;
Nocedal & Wright 2006, Numerical Optimization, algorithm 16.4) solves them, for a few unknowns and hundreds of
rows: each iteration factorises one matrix of the size of the unknowns. The start may be any point, and H may
be singular as long as the inequalities determine the solution.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.linear import cholesky, solve_lower, solve_lower_transposed
from kernels.compiler.jit import njit

SOLVED, UNSOLVED = 0, 1
"""Status of `solve_quadratic`."""
MOST_ITERATIONS = 60
GAP = 1e-15
"""Mean product of slack and multiplier below which the program counts as solved."""
CLOSED = 1e-12
"""Largest violation of a row, relative to its size, below which the program counts as solved."""
BACK = 0.995
"""Fraction of the step to the nearest bound that is taken."""
LEAST_SLACK = 1e-2
"""Least slack of a row at the start."""
FIRM = 1e-13
"""Fraction of the diagonal that is added to it before the factorisation."""


class Quadratic(NamedTuple):
    """A quadratic program of n unknowns and m inequalities: min y'Hy/2 + h'y subject to G y + b >= 0."""

    H: Annotated[np.ndarray, Floats("n", "n")]
    h: Annotated[np.ndarray, Floats("n")]
    G: Annotated[np.ndarray, Floats("m", "n")]
    b: Annotated[np.ndarray, Floats("m")]


class QuadraticWork(NamedTuple):
    """State of the interior-point method: y holds the start, and afterwards the solution."""

    y: Annotated[np.ndarray, Floats("n")]
    slack: Annotated[np.ndarray, Floats("m")]
    multiplier: Annotated[np.ndarray, Floats("m")]
    slack_step: Annotated[np.ndarray, Floats("m")]
    multiplier_step: Annotated[np.ndarray, Floats("m")]
    product: Annotated[np.ndarray, Floats("m")]  # wanted decrease of slack * multiplier
    open: Annotated[np.ndarray, Floats("m")]  # G y + b - slack
    M: Annotated[np.ndarray, Floats("n", "n")]
    slope: Annotated[np.ndarray, Floats("n")]  # H y + h - G' multiplier
    y_step: Annotated[np.ndarray, Floats("n")]


def new_quadratic(n: int, m: int) -> tuple[Quadratic, QuadraticWork]:
    """Allocate a quadratic program of n unknowns and m inequalities, and the state of its solution."""
    program = allocate(Quadratic, n=n, m=m)
    work = allocate(QuadraticWork, n=n, m=m)
    return program, work


@njit
def solve_quadratic(program, work):
    """Solve a quadratic program by an interior-point method from the start work.y.

    Return SOLVED, or UNSOLVED where work.y is the last iterate and no solution.

    program : Quadratic - the quadratic program
    work : QuadraticWork - its y and multiplier are the solution
    """
    m = program.b.shape[0]
    for j in range(m):
        value = row_value(program, work.y, j)
        work.slack[j] = max(value, LEAST_SLACK)
        work.multiplier[j] = LEAST_SLACK / work.slack[j]
    for _ in range(MOST_ITERATIONS):
        mean, largest = residuals(program, work)
        if mean < GAP and largest < CLOSED:
            return SOLVED
        if not math.isfinite(mean) or not factorise(program, work):
            return UNSOLVED
        for j in range(m):
            work.product[j] = work.slack[j] * work.multiplier[j]
        direct(program, work)
        alpha = longest(work, 1.0)
        after = 0.0
        for j in range(m):
            slack = work.slack[j] + alpha * work.slack_step[j]
            after += slack * (work.multiplier[j] + alpha * work.multiplier_step[j])
        after /= m
        centre = mean * (after / mean) ** 3
        for j in range(m):
            work.product[j] += work.slack_step[j] * work.multiplier_step[j] - centre
        direct(program, work)
        go(work, longest(work, BACK))
    mean, largest = residuals(program, work)
    return SOLVED if mean < 1e6 * GAP and largest < 1e3 * CLOSED else UNSOLVED


@njit
def row_value(program, y, j):
    """Return the value of inequality j, row j of G y + b, which is not negative at a feasible y : (n,)."""
    value = program.b[j]
    for k in range(y.shape[0]):
        value += program.G[j, k] * y[k]
    return value


@njit
def residuals(program, work):
    """Return the mean product of slack and multiplier, and the largest relative violation of an inequality.

    The residuals G y + b - slack are written into work.open, and the gradient H y + h - G' multiplier of the
    Lagrangian into work.slope.
    """
    n, m = work.y.shape[0], program.b.shape[0]
    for i in range(n):
        work.slope[i] = program.h[i]
        for k in range(n):
            work.slope[i] += program.H[i, k] * work.y[k]
    mean, largest = 0.0, 0.0
    for j in range(m):
        work.open[j] = row_value(program, work.y, j) - work.slack[j]
        largest = max(largest, abs(work.open[j]) / (1.0 + abs(program.b[j])))
        mean += work.slack[j] * work.multiplier[j]
        for i in range(n):
            work.slope[i] -= program.G[j, i] * work.multiplier[j]
    return mean / m, largest


@njit
def factorise(program, work):
    """Compute the Cholesky factor of H + G' (multiplier / slack) G in work.M; return False if it is not
    positive definite.
    """
    n, m = work.y.shape[0], program.b.shape[0]
    for i in range(n):
        for k in range(i + 1):
            work.M[i, k] = program.H[i, k]
    for j in range(m):
        weight = work.multiplier[j] / work.slack[j]
        for i in range(n):
            weighted = weight * program.G[j, i]
            for k in range(i + 1):
                work.M[i, k] += weighted * program.G[j, k]
    for i in range(n):
        work.M[i, i] *= 1.0 + FIRM
    return cholesky(work.M, n, 0.0)


@njit
def direct(program, work):
    """Compute the Newton steps of unknowns, slacks and multipliers, after `residuals` and `factorise`.

    To first order they make the residuals zero, and reduce the product of slack and multiplier of each
    inequality by its entry of work.product.
    """
    n, m = work.y.shape[0], program.b.shape[0]
    for i in range(n):
        work.y_step[i] = -work.slope[i]
    for j in range(m):
        pull = (work.product[j] + work.multiplier[j] * work.open[j]) / work.slack[j]
        for i in range(n):
            work.y_step[i] -= program.G[j, i] * pull
    solve_lower(work.M, n, work.y_step)
    solve_lower_transposed(work.M, n, work.y_step)
    for j in range(m):
        step = work.open[j]
        for i in range(n):
            step += program.G[j, i] * work.y_step[i]
        work.slack_step[j] = step
        work.multiplier_step[j] = -(work.product[j] + work.multiplier[j] * step) / work.slack[j]


@njit
def longest(work, part):
    """Return the fraction, at most 1, of the computed steps that may be taken so that no slack and no
    multiplier becomes negative: it is `part` of the fraction at which the first of them becomes zero.
    """
    nearest = 1.0 / part
    for j in range(work.slack.shape[0]):
        if work.slack_step[j] < -work.slack[j] / nearest:
            nearest = -work.slack[j] / work.slack_step[j]
        if work.multiplier_step[j] < -work.multiplier[j] / nearest:
            nearest = -work.multiplier[j] / work.multiplier_step[j]
    return part * nearest


@njit
def go(work, alpha):
    """Add the fraction alpha of their computed steps to the unknowns, slacks and multipliers."""
    for i in range(work.y.shape[0]):
        work.y[i] += alpha * work.y_step[i]
    for j in range(work.slack.shape[0]):
        work.slack[j] += alpha * work.slack_step[j]
        work.multiplier[j] += alpha * work.multiplier_step[j]
