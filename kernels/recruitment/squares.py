"""Recruitment with the criterion sum weight x^2: Newton's method on the dual objective, which is piecewise
quadratic.

With the drive u = C' multiplier, the activation of an element is u / (2 weight), limited to the range from 0
to most. The unmet load (residual of the rows) is the gradient of the dual objective, which is concave; its
second derivative comes from the elements that are not at a bound. A step goes to the maximum of the objective
along the Newton direction, so that every step raises it. Near the solution a few steps reach it exactly; from
the solution of the last frame often one does.
"""

from __future__ import annotations

import math

from kernels.algebra.linear import cholesky_drop, solve_lower, solve_lower_transposed
from kernels.compiler.jit import njit
from kernels.recruitment.certificate import certified, is_impossible
from kernels.recruitment.problem import NOT_CONVERGED, OPTIMAL, VIOLATED
from kernels.recruitment.step import DEPENDENT

N_STEP, N_SEARCH = 30, 30
"""Largest number of steps, and of trial points along one step."""
FLAT = 1e-3
"""Slope at which the search along a step ends, in parts of the slope at its start [1]."""
HELD = 1e-6
"""Curvature that elements at a bound contribute to their rows, as a fraction of their contribution away from
bounds: so rows whose elements are all at bounds keep some curvature [1]."""


@njit
def by_squares(problem, options, state, work, out):
    """Find the activations with the least sum of weight x^2; return (status, number of steps).

    work contains the problem as scaled by scale_rows and scale_weights; the status is OPTIMAL, VIOLATED or
    NOT_CONVERGED.

    problem : Recruitment - muscles and other elements, and the load (demand) that they bear
    options : RecruitmentOptions - the criterion and tolerances
    state : RecruitmentState - activations and multipliers of the last frame, updated
    work : RecruitmentWork - the scaled problem, and working space, written
    out : RecruitmentOut - results; objective, gap, residual are written
    """
    warm = state.started[0] == 1
    if not warm:
        state.multiplier[:] = 0.0
    for n in range(N_STEP):
        respond(problem, state, work)
        if certified(problem, options, 0.0, state, work, out):
            return OPTIMAL, n
        if n > 0 and is_impossible(problem, state, work):
            return VIOLATED, n
        newton_direction(not warm and n == 0, state, work)
        step = best_step(problem, state, work)
        if not step > 0.0:
            return NOT_CONVERGED, n
        for j in range(work.r.shape[0]):
            state.multiplier[j] += step * work.dmultiplier[j]
    return NOT_CONVERGED, N_STEP


@njit
def respond(problem, state, work):
    """Write the activations that follow from the present multipliers of the rows, the multipliers of their
    bounds, and the unmet load r.

    problem : Recruitment - muscles and other elements, and the load (demand) that they bear
    state : RecruitmentState - multiplier is read; x, lower and upper are written
    work : RecruitmentWork - drive and r are written
    """
    a, n_row = work.action, work.r.shape[0]
    for j in range(n_row):
        work.r[j] = work.demand[j]
    for i in range(state.x.shape[0]):
        drive = 0.0
        for j in range(n_row):
            drive += a[i, j] * state.multiplier[j]
        work.drive[i] = drive
        free = drive / (2.0 * work.weight[i])
        x = min(max(free, 0.0), problem.most[i])
        state.x[i] = x
        state.lower[i] = max(0.0, -drive)
        state.upper[i] = 2.0 * work.weight[i] * max(0.0, free - x) if free > 0.0 else 0.0
        if x != 0.0:
            for j in range(n_row):
                work.r[j] -= a[i, j] * x


@njit
def newton_direction(all_free, state, work):
    """Write the Newton step of the rows' multipliers, S^-1 r with the unmet load r, into work.dmultiplier.

    all_free : bool - whether all elements are treated as not at a bound; otherwise S = sum c c' / (2 weight)
        is over those not at a bound, c being an element's action on the rows
    state : RecruitmentState - activations and multipliers
    work : RecruitmentWork - S, dmultiplier and dx = C' dmultiplier are written
    """
    a, S, step, n_row = work.action, work.S, work.dmultiplier, work.r.shape[0]
    S[:, :] = 0.0
    for i in range(state.x.shape[0]):
        held = not all_free and (state.lower[i] > 0.0 or state.upper[i] > 0.0)
        part = 0.5 / work.weight[i]
        for j in range(n_row):
            s = a[i, j] * part
            if held:
                S[j, j] += HELD * s * a[i, j]
            elif s != 0.0:
                for k in range(j + 1):
                    S[j, k] += s * a[i, k]
    cholesky_drop(S, n_row, DEPENDENT)
    for j in range(n_row):
        step[j] = work.r[j]
    solve_lower(S, n_row, step)
    solve_lower_transposed(S, n_row, step)
    for i in range(state.x.shape[0]):
        s = 0.0
        for j in range(n_row):
            s += a[i, j] * step[j]
        work.dx[i] = s


@njit
def best_step(problem, state, work):
    """Return the factor of the Newton step that makes the dual objective largest; 0 if it does not rise along
    the step.

    The derivative of the objective along the step falls piecewise linearly; its zero is found by Newton's
    method in a bracket.

    problem : Recruitment - muscles and other elements, and the load (demand) that they bear
    state : RecruitmentState - activations and multipliers
    work : RecruitmentWork - drive and dx of `newton_direction`
    """
    rising = 0.0
    for j in range(work.r.shape[0]):
        rising += work.r[j] * work.dmultiplier[j]
    if not rising > 0.0:
        return 0.0
    ascent = 0.0
    for j in range(work.demand.shape[0]):
        ascent += work.demand[j] * work.dmultiplier[j]
    low, high, t = 0.0, math.inf, 1.0
    for _ in range(N_SEARCH):
        slope, curvature = ascent, 0.0
        for i in range(state.x.shape[0]):
            bend = 0.5 / work.weight[i]
            x = (work.drive[i] + t * work.dx[i]) * bend
            if 0.0 < x < problem.most[i]:
                curvature += work.dx[i] * work.dx[i] * bend
            slope -= work.dx[i] * min(max(x, 0.0), problem.most[i])
        if abs(slope) <= FLAT * rising:
            return t
        if slope > 0.0:
            low = t
        else:
            high = t
        t = t + slope / curvature if curvature > 0.0 else 2.0 * t
        if not low < t < high:
            t = 0.5 * (low + high) if high < math.inf else 2.0 * low
    return t
