"""One step of the interior-point method of recruitment: predictor and centred corrector with one
factorisation.

The perturbed optimality conditions of kernels/recruitment/problem.py, x lower = mu and room upper = mu, are
linearised (Mehrotra 1992, SIAM J Optim 2:575-601); room is most - x, lower and upper are the multipliers of
the bounds, mu is the barrier parameter. With H = G'' + lower / x + upper / room, which is diagonal, there
remains a system of the rows alone, S = C H^-1 C' + soft 1; min/max adds a term of rank one to it. Rows that
depend on others are left out of the factor.
"""

from __future__ import annotations

import math

from kernels.algebra.linear import cholesky_drop, solve_lower, solve_lower_transposed
from kernels.compiler.jit import inlined, njit
from kernels.recruitment.criterion import slopes

TO_BOUNDARY = 0.995
"""Part of the distance to the nearest bound that a step goes [1]."""
CENTRED = 0.02
"""Least mu, over p - 1 times the residual of stationarity: below it a curved criterion is overshot [1]."""
ROUNDED = 1e-15
"""Residual of stationarity that is rounding, over the terms of a row, where a row's multiplier is what it
lacks: waiting for less may hold mu, and so every distance from a bound, where it is [1]."""
FLAT, FOLLOWED, SHORTER, N_SHORTER = 3, 5.0, 0.6, 40
"""Power above which a step must follow the slopes of the criterion: it may miss them by FOLLOWED times mu, or
times their present residual; otherwise it is shortened by SHORTER, at most N_SHORTER times."""
DEPENDENT = 1e-13
"""Fraction of a row that must remain after its components along other rows are subtracted; with less, the row
is left out as dependent [1]."""


@njit
def factorise(options, soft, state, work):
    """Write H^-1 and the Cholesky factor of S, the matrix of an interior-point step; return kappa, the
    divisor of the term of rank one for min/max.

    options : RecruitmentOptions - the criterion and tolerances
    soft : float - 1 where equations (rows) may be violated, else 0
    state : RecruitmentState - activations and multipliers
    work : RecruitmentWork - inverse, edge, S and v are written
    """
    a, S, v = work.action, work.S, work.v
    n_row, kappa = v.shape[0], 0.0
    S[:, :] = 0.0
    v[:] = 0.0
    for i in range(state.x.shape[0]):
        _, curvature = slopes(options.power, work.weight[i], state.x[i])
        edge = state.upper[i] / work.room[i]
        own = curvature + state.lower[i] / state.x[i]
        inverse = 1.0 / (own + edge)
        work.inverse[i], work.edge[i] = inverse, edge
        for j in range(n_row):
            s = a[i, j] * inverse
            if s != 0.0:
                for k in range(j + 1):
                    S[j, k] += s * a[i, k]
                v[j] += s * edge
        kappa += edge * own * inverse
    for j in range(n_row):
        S[j, j] += soft
    if options.power == 0:
        for j in range(n_row):
            for k in range(j + 1):
                S[j, k] += v[j] * v[k] / kappa
    cholesky_drop(S, n_row, DEPENDENT)
    return kappa


@njit
def direction(options, kappa, unbalanced, state, work):
    """Write the interior-point step of activations and multipliers (dx, dlower, dupper, dmultiplier) into
    work.

    work.low and work.high contain the targets of the complementarity conditions. Returns the step of the
    largest activation, 0 unless min/max.

    options : RecruitmentOptions - the criterion and tolerances
    kappa : float - divisor of the term of rank one for min/max, computed by `factorise` for the same state
    unbalanced : float - 1 minus the sum of the multipliers `upper`, for min/max
    state : RecruitmentState - activations and multipliers
    work : RecruitmentWork - the steps and rhs are written
    """
    a, rhs, n_row = work.action, work.rhs, work.rhs.shape[0]
    rest = -unbalanced
    for j in range(n_row):
        rhs[j] = work.r[j]
    for i in range(state.x.shape[0]):
        s = work.inverse[i] * (work.low[i] - work.high[i] - work.dual[i])
        work.dx[i] = s
        rest += work.high[i] + work.edge[i] * s
        for j in range(n_row):
            rhs[j] -= a[i, j] * s
    if options.power == 0:
        for j in range(n_row):
            rhs[j] -= work.v[j] * rest / kappa
    step = work.dmultiplier
    for j in range(n_row):
        step[j] = rhs[j]
    solve_lower(work.S, n_row, step)
    solve_lower_transposed(work.S, n_row, step)
    dpeak = 0.0
    if options.power == 0:
        dpeak = rest
        for j in range(n_row):
            dpeak += work.v[j] * step[j]
        dpeak /= kappa
    for i in range(state.x.shape[0]):
        s = work.edge[i] * dpeak
        for j in range(n_row):
            s += a[i, j] * step[j]
        work.dx[i] += work.inverse[i] * s
        work.dlower[i] = work.low[i] - state.lower[i] / state.x[i] * work.dx[i]
        work.dupper[i] = work.high[i] - work.edge[i] * (dpeak - work.dx[i])
    return dpeak


@njit
def step_lengths(dpeak, state, work):
    """Return the fraction of the step after which the first activation reaches a bound, and that after which
    the first multiplier becomes zero; both at most 1.

    dpeak : float - step of the largest activation, for min/max
    state : RecruitmentState - activations and multipliers
    work : RecruitmentWork - the scaled problem, and working space
    """
    primal, dual = 1.0, 1.0
    for i in range(state.x.shape[0]):
        if primal * work.dx[i] < -state.x[i]:
            primal = -state.x[i] / work.dx[i]
        if dual * work.dlower[i] < -state.lower[i]:
            dual = -state.lower[i] / work.dlower[i]
        if state.upper[i] > 0.0:
            closing = work.dx[i] - dpeak
            if primal * closing > work.room[i]:
                primal = work.room[i] / closing
            if dual * work.dupper[i] < -state.upper[i]:
                dual = -state.upper[i] / work.dupper[i]
    return primal, dual


@inlined
def predict(state, work):
    """Write the targets of the predictor step, complementarity products of 0, into work.low and work.high."""
    for i in range(state.x.shape[0]):
        work.low[i] = -state.lower[i]
        work.high[i] = -state.upper[i]


@njit
def centre(options, rounded, mu, n_pair, dpeak, state, work):
    """Write the targets of the centred corrector step into work.low and work.high, from the predictor step.

    options : RecruitmentOptions - the criterion and tolerances
    rounded : float - residual of the stationarity condition that counts as rounding error, over the terms of
        a row [1]
    mu : float - mean of the products x lower and room upper
    n_pair : int - number of these products
    dpeak : float - predicted step of the largest activation, for min/max
    state : RecruitmentState - activations and multipliers
    work : RecruitmentWork - low and high are written
    """
    primal, dual = step_lengths(dpeak, state, work)
    left, lacking, terms = 0.0, 0.0, float(state.x.shape[0])
    for j in range(work.demand.shape[0]):
        terms = max(terms, abs(work.demand[j]))
    for i in range(state.x.shape[0]):
        x = state.x[i]
        left += (x + primal * work.dx[i]) * (state.lower[i] + dual * work.dlower[i])
        if state.upper[i] > 0.0:
            room = work.room[i] + primal * (dpeak - work.dx[i])
            left += room * (state.upper[i] + dual * work.dupper[i])
        lacking = max(lacking, (abs(work.dual[i]) - rounded * terms) * x)
    part = left / (n_pair * mu)
    curved = CENTRED * max(options.power - 1, 1) * lacking / mu
    target = mu * min(1.0, max(part * part * part, curved))
    for i in range(state.x.shape[0]):
        work.low[i] = (target - work.dx[i] * work.dlower[i]) / state.x[i] - state.lower[i]
        work.high[i] = 0.0
        if state.upper[i] > 0.0:
            product = (dpeak - work.dx[i]) * work.dupper[i]
            work.high[i] = (target - product) / work.room[i] - state.upper[i]


@njit
def advance(options, mu, dpeak, state, work):
    """Add the step to activations and multipliers, shortened so that it stops just before the nearest bound.

    With a criterion of high power it is shortened until the linear prediction of the criterion's derivatives
    holds.

    options : RecruitmentOptions - the criterion and tolerances
    mu : float - mean of the products x lower and room upper
    dpeak : float - step of the largest activation, for min/max
    state : RecruitmentState - activations and multipliers, written
    work : RecruitmentWork - the scaled problem, and working space
    """
    primal, dual = step_lengths(dpeak, state, work)
    if primal < 1.0:
        primal *= TO_BOUNDARY
    if dual < 1.0:
        dual *= TO_BOUNDARY
    if options.power > 2:  # a curved criterion is followed by x and multipliers together
        primal = dual = min(primal, dual)
    if options.power > FLAT:
        allowed = FOLLOWED * mu
        for i in range(state.x.shape[0]):
            allowed = max(allowed, FOLLOWED * abs(work.dual[i]) * state.x[i])
        for _ in range(N_SHORTER):
            if overshot(options, primal, state, work) <= allowed:
                break
            primal *= SHORTER
            dual = primal
    for i in range(state.x.shape[0]):
        state.x[i] += primal * work.dx[i]
        state.lower[i] += dual * work.dlower[i]
        if state.upper[i] > 0.0:
            state.upper[i] += dual * work.dupper[i]
    for j in range(state.multiplier.shape[0]):
        state.multiplier[j] += dual * work.dmultiplier[j]
    state.peak[0] += primal * dpeak


@njit
def overshot(options, part, state, work):
    """Return how far the criterion's derivatives, after a part of the step, differ from their linear
    prediction: the largest difference over all elements, each multiplied by the activation that the element
    then has.

    options : RecruitmentOptions - the criterion and tolerances
    part : float - part of the step [1]
    state : RecruitmentState - activations and multipliers
    work : RecruitmentWork - the scaled problem, and working space
    """
    worst = 0.0
    for i in range(state.x.shape[0]):
        x = state.x[i]
        y = x + part * work.dx[i]
        slope, bend = slopes(options.power, work.weight[i], x)
        there, _ = slopes(options.power, work.weight[i], y)
        worst = max(worst, y * abs(there - slope - bend * (y - x)))
    return worst


@njit
def is_sound(work):
    """Return whether all numbers of the step in work are finite."""
    total = 0.0
    for i in range(work.dx.shape[0]):
        total += work.dx[i] + work.dlower[i] + work.dupper[i]
    return math.isfinite(total)
