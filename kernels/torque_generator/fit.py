"""Fit of a torque generator to a motion: the smallest change of its parameters with which it can make the
motion.

The problem is eq. 9 of Millard et al. (2019), J Biomech, doi 10.1016/j.jbiomech.2019.04.004:
  minimise (x - x_o)' W (x - x_o)  subject to r(x) >= 0 and to bounds of x,
with the five fitted parameters x, their targets x_o, a diagonal matrix W of weights, and the inequalities r,
called rows (kernels/torque_generator/demands). It is solved by sequential quadratic programming with exact
second derivatives within a trust region (Fletcher 1987, Practical Methods of Optimization, sections 12.4,
14.4). Every iteration solves two quadratic programs for a step d of x, with the Jacobian G of the rows. The
first one finds the smallest violation t of the rows that a step can reach to first order (0 if it can fulfil
all of them); the second one, with this t, finds the best step:
  1. minimise t + small d'd  subject to r + G d + t >= 0, t >= 0, |d| <= trust
  2. minimise (x + d - x_o)' W (x + d - x_o) + d'C d/2  subject to r + G d + t >= 0, |d| <= trust
where C is minus the sum of the rows' second derivatives times their Lagrange multipliers. A step is accepted
if it lowers the objective plus a penalty on the largest violation (an exact penalty function; its weight as
in Byrd, Nocedal, Waltz 2008, Comput Optim Appl 39:117-141). A second-order correction accounts for the
curvature of the rows. The problem is not convex: the result is the local minimum to which the start leads.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.linear import cholesky
from kernels.algebra.quadratic import Quadratic, QuadraticWork, new_quadratic, solve_quadratic
from kernels.compiler.jit import entry, njit
from kernels.torque_generator.demands import (
    N_KIND,
    N_PIECE,
    add_curvatures,
    largest_violation,
    write_rows,
)
from kernels.torque_generator.torque import N_FIT

FITTED, IMPOSSIBLE, UNFINISHED = 0, 1, 2
"""Status of `fit`: a minimum was found; no point near the result fulfils all rows; the iterations were
exhausted."""


class FitOptions(NamedTuple):
    """Targets and weights of the parameters, bounds and tolerances for the fit of a torque generator."""

    target: np.ndarray  # (5,) - x_o
    weight: np.ndarray  # (5,) - diagonal of W
    low: np.ndarray  # (5,)
    high: np.ndarray  # (5,)
    trust: float  # first trust region [1, rad]
    settled: float  # step at which it has converged [1, rad]
    fulfilled: float  # largest violation of a row that counts as none [tau_o]
    n_iteration: int


class GeneratorFitWork(NamedTuple):
    """Working space of the fit of one torque generator: quadratic program, rows, and a trial step."""

    program: Quadratic
    quadratic: QuadraticWork
    value: Annotated[np.ndarray, Floats("rows")]  # rows
    tried: Annotated[np.ndarray, Floats("rows")]  # rows at a step that is tried
    x: Annotated[np.ndarray, Floats(N_FIT)]  # a step that is tried
    piece: Annotated[np.ndarray, Floats(N_PIECE)]
    H: Annotated[np.ndarray, Floats(N_FIT, N_FIT)]


def new_fit_work(n_frame: int) -> GeneratorFitWork:
    """Allocate a GeneratorFitWork for motions of n_frame frames."""
    rows = N_KIND * n_frame
    program, work = new_quadratic(N_FIT + 1, rows + 1 + 2 * N_FIT)
    return allocate(GeneratorFitWork, rows=rows, program=program, quadratic=work)


SMALL = 1e-3
"""Weight of the squared step beside the violation, in the program for the least violation."""
ALLOWED = 0.5
"""Fraction of the tolerated violation by which the rows are relaxed, so that there is room between them."""
STEERED = 0.5
"""Fraction of the predicted decrease of the penalty that the predicted decrease of objective and penalty
together has to reach, whatever the objective does."""
LEAST_TRUST, MOST_TRUST = 1e-12, 1.0
POOR, GOOD = 0.1, 0.75
"""Fractions of the decrease that the program predicts: below the first a step is rejected, above the second
the next one may be longer."""
ROUNDING = 1e-15
FIRST_SHIFT, MOST_SHIFT = 1e-3, 1e12
DEFINITE = 1e-6


@entry
def fit(demands, options, work, x):
    """Fit the parameters of a torque generator to a motion; return (status, iterations, largest violation
    [tau_o]).

    The status is FITTED, IMPOSSIBLE or UNFINISHED. work.quadratic.multiplier contains the multipliers of the
    last quadratic program: those of the rows, of t >= 0, and of the lower and upper bound of each parameter.

    demands : Demands - the motion, and the inequalities that it sets for a generator
    options : FitOptions - target, bounds and tolerances of the fit
    work : GeneratorFitWork - working space, overwritten
    x : (5,) - starting values of the parameters, replaced by the result
    """
    for i in range(N_FIT):
        x[i] = min(max(x[i], options.low[i]), options.high[i])
    work.quadratic.multiplier[:] = 0.0
    trust, penalty = options.trust, 1.0
    for n in range(options.n_iteration):
        write_rows(demands, x, work.piece, work.value, work.program.G)
        violation = largest(work.value)
        bound(options, x, trust, work)
        add_bends(demands, x, work)
        left = least_violation(options, violation, work)
        pose(options, x, left, work)
        solve_quadratic(work.program, work.quadratic)
        gain = foreseen_gain(work)
        if violation > left and gain < 0.0:
            penalty = max(penalty, -gain / ((1.0 - STEERED) * (violation - left)))
        penalty = max(penalty, total(work))
        now = merit(options, x, violation, penalty)
        predicted = gain + penalty * max(violation - left, 0.0)
        length = largest_step(work.quadratic.y)
        if length < options.settled or predicted <= ROUNDING * (1.0 + now) or trust < LEAST_TRUST:
            return (FITTED if violation <= options.fulfilled else IMPOSSIBLE), n, violation
        ratio = (now - attempt(demands, options, x, penalty, work)) / predicted
        if ratio < POOR:
            correct(left, work)
            ratio = (now - attempt(demands, options, x, penalty, work)) / predicted
        if ratio >= POOR:
            for i in range(N_FIT):
                x[i] = work.x[i]
        trust = next_trust(trust, ratio, length)
    violation = largest_violation(demands, x, work.piece, work.value)
    return UNFINISHED, options.n_iteration, violation


@njit
def add_bends(demands, x, work):
    """Write into work.H the part of the Lagrangian's Hessian that comes from the inequalities (rows): minus
    the sum of their second derivatives, each times its multiplier.

    demands : Demands - the motion, and the inequalities that it sets for a generator
    x : (5,) - fitted parameters
    work : GeneratorFitWork - its H is written
    """
    work.H[:, :] = 0.0
    add_curvatures(demands, x, work.quadratic.multiplier, work.piece, work.H)


@njit
def least_violation(options, violation, work):
    """Return the smallest violation of the inequalities (rows) that a step within its bounds can reach to
    first order [tau_o].

    The result is at least the allowed violation, which is a fixed fraction of options.fulfilled, the largest
    violation that counts as none.

    options : FitOptions - target, bounds and tolerances of the fit
    violation : float - violation without a step [tau_o]
    work : GeneratorFitWork - its program and quadratic are overwritten
    """
    allowed = ALLOWED * options.fulfilled
    if violation <= allowed:
        return allowed
    program = work.program
    program.H[:, :] = 0.0
    for i in range(N_FIT):
        program.H[i, i] = SMALL
        program.h[i] = work.quadratic.y[i] = 0.0
    program.H[N_FIT, N_FIT], program.h[N_FIT] = SMALL, 1.0
    work.quadratic.y[N_FIT] = violation
    for j in range(work.value.shape[0]):
        program.b[j] = work.value[j]
        program.G[j, N_FIT] = 1.0
    solve_quadratic(program, work.quadratic)
    return min(max(work.quadratic.y[N_FIT], 0.0) + allowed, violation)


@njit
def pose(options, x, left, work):
    """Set up the quadratic program for the best step of an iteration, in which every inequality (row) may be
    violated by `left`.

    options : FitOptions - target, bounds and tolerances of the fit
    x : (5,) - fitted parameters
    left : float - permitted violation of each row [tau_o]
    work : GeneratorFitWork - its program is written
    """
    program = work.program
    convexify(work.H, options.weight, work)
    for i in range(N_FIT):
        program.h[i] = 2.0 * options.weight[i] * (x[i] - options.target[i])
        program.H[N_FIT, i] = program.H[i, N_FIT] = 0.0
        work.quadratic.y[i] = 0.0
    program.H[N_FIT, N_FIT], program.h[N_FIT] = 1.0, 0.0
    work.quadratic.y[N_FIT] = 0.0
    for j in range(work.value.shape[0]):
        program.b[j] = work.value[j] + left
        program.G[j, N_FIT] = 0.0


@njit
def convexify(H, weight, work):
    """Set the quadratic program's Hessian to 2 W + H, plus a multiple of the identity if that is needed to
    make it positive definite.

    H : (5, 5) - minus the sum of the rows' second derivatives times their multipliers; weight : (5,) -
        diagonal of W, the weights of the parameters; work : GeneratorFitWork - its program is written.
    """
    shift = 0.0
    while True:
        for i in range(N_FIT):
            for k in range(N_FIT):
                work.program.H[i, k] = work.quadratic.M[i, k] = H[i, k]
            work.program.H[i, i] += 2.0 * weight[i] + shift
            work.quadratic.M[i, i] = work.program.H[i, i]
        if cholesky(work.quadratic.M, N_FIT, DEFINITE) or not shift < MOST_SHIFT:
            return
        shift = max(2.0 * shift, FIRST_SHIFT)


@njit
def bound(options, x, trust, work):
    """Write the bounds of the quadratic program into its last rows: t >= 0, and steps d within the trust
    region and the bounds of x.

    options : FitOptions - target, bounds and tolerances of the fit
    x : (5,) - fitted parameters
    trust : float - largest step [1, rad]
    work : GeneratorFitWork - its program is written
    """
    G, b, j = work.program.G, work.program.b, work.value.shape[0]
    G[j:, :] = 0.0
    G[j, N_FIT], b[j] = 1.0, 0.0
    for i in range(N_FIT):
        low, high = j + 1 + 2 * i, j + 2 + 2 * i
        G[low, i], b[low] = 1.0, min(trust, x[i] - options.low[i])
        G[high, i], b[high] = -1.0, min(trust, options.high[i] - x[i])


@njit
def largest(value):
    """Return the largest violation of the inequalities value : (n,) >= 0; 0 if all are fulfilled."""
    worst = 0.0
    for j in range(value.shape[0]):
        worst = max(worst, -value[j])
    return worst


@njit
def largest_step(y):
    """Return the largest change of a parameter in a step y : (6,), whose last entry is not a parameter."""
    length = 0.0
    for i in range(N_FIT):
        length = max(length, abs(y[i]))
    return length


@njit
def merit(options, x, violation, penalty):
    """Return the penalty function of the fit: the objective plus `penalty` times the violation beyond the
    allowed one.

    options : FitOptions - target, bounds and tolerances of the fit
    x : (5,) - fitted parameters
    violation : float - largest violation of a row [tau_o]
    penalty : float - factor of the violation
    """
    total = penalty * max(violation - ALLOWED * options.fulfilled, 0.0)
    for i in range(N_FIT):
        away = x[i] - options.target[i]
        total += options.weight[i] * away * away
    return total


@njit
def total(work):
    """Return the sum of the Lagrange multipliers of the inequalities (rows): the smallest factor of the
    violation in the penalty function with which its minimum fulfils the inequalities.
    """
    value = 0.0
    for j in range(work.value.shape[0]):
        value += work.quadratic.multiplier[j]
    return value


@njit
def foreseen_gain(work):
    """Return the decrease of the objective that the quadratic program predicts for its step."""
    program, y = work.program, work.quadratic.y
    gain = 0.0
    for i in range(N_FIT):
        gain -= program.h[i] * y[i]
        for k in range(N_FIT):
            gain -= 0.5 * program.H[i, k] * y[i] * y[k]
    return gain


@njit
def attempt(demands, options, x, penalty, work):
    """Write the parameters at the end of the quadratic program's step, within their bounds, into work.x;
    return the penalty function there.

    demands : Demands - the motion, and the inequalities that it sets for a generator
    options : FitOptions - target, bounds and tolerances of the fit
    x : (5,) - fitted parameters before the step
    penalty : float - factor of the violation
    work : GeneratorFitWork - its x and tried are written
    """
    for i in range(N_FIT):
        work.x[i] = min(max(x[i] + work.quadratic.y[i], options.low[i]), options.high[i])
    return merit(options, work.x, largest_violation(demands, work.x, work.piece, work.tried), penalty)


@njit
def correct(left, work):
    """Correct the step for the curvature of the rows (second-order correction).

    The quadratic program is solved again, with the constant terms of its inequalities replaced by the values
    of the rows at the end of its step, minus their first derivatives times that step.

    left : float - permitted violation of each row [tau_o]
    work : GeneratorFitWork - its program and quadratic are overwritten
    """
    program, y = work.program, work.quadratic.y
    for j in range(work.value.shape[0]):
        program.b[j] = work.tried[j] + left
        for i in range(N_FIT):
            program.b[j] -= program.G[j, i] * y[i]
    return solve_quadratic(program, work.quadratic)


@njit
def next_trust(trust, ratio, length):
    """Return the size of the next trust region, the largest change of a parameter in a step.

    trust : float - present size; ratio : float - actual over predicted decrease in the step; length : float -
        largest change of a parameter in the step.
    """
    if ratio < POOR:
        return 0.25 * min(trust, length)
    if ratio > GOOD and length > 0.99 * trust:
        return min(2.0 * trust, MOST_TRUST)
    return trust
