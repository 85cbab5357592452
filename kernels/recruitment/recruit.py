"""Muscle recruitment of one frame: an optimisation that starts from the last frame's solution and proves its
result.

Sums of squares are minimised by kernels/recruitment/squares, other criteria by an interior-point method.
Where no activations can bear the load, which the multipliers prove (Farkas), the sum of squares of the unmet
load is minimised instead, with the criterion at a small weight to choose among the solutions.
"""

from __future__ import annotations

import math

from kernels.algebra.copying import copy
from kernels.compiler.jit import njit
from kernels.recruitment.certificate import certified, is_impossible
from kernels.recruitment.conditioned import put_back, resize, size_of, square_rows
from kernels.recruitment.criterion import SPREAD, power_of, slopes
from kernels.recruitment.problem import NOT_CONVERGED, OPTIMAL, VIOLATED, Recruitment, RecruitmentOptions
from kernels.recruitment.squares import by_squares
from kernels.recruitment.step import FLAT, ROUNDED, advance, centre, direction, factorise, is_sound, predict

COLD = 0.3
"""Activations and multipliers that the first frame starts from, in parts of 1."""
WARM = 0.03
"""Least distance from a bound, and least multiplier, with which a later frame starts."""
NEAREST = 1e-16
"""Least distance from a bound that counts as not zero."""
ABOVE = 1e-8
"""Part of its bound by which an element may exceed it in min/max: the gap to which solutions are known."""
SOFT_GAP = 1e-7
"""Relative gap for the sum of squares of violations, which may be far smaller than the demand."""
BORNE = 1e-7
"""Part of the largest demand below which violated rows still count as fulfilled."""
PATIENT = 3
"""Factor of the number of iterations that the last attempt may take."""
TRACE = 1e-9
"""Weight of the criterion beside half the sum of squares of the violations, with rows of the same size."""


@njit
def recruit(problem, options, state, work, out):
    """Find the activations that bear the load of one frame at the least cost; return (status, number of
    iterations).

    The status is OPTIMAL, VIOLATED (no activations bear the load; the unmet part is the smallest) or
    NOT_CONVERGED.

    problem : Recruitment - muscles and other elements, and the load (demand) that they bear
    options : RecruitmentOptions - the criterion and tolerances
    state : RecruitmentState - activations and multipliers of the last frame, updated
    work : RecruitmentWork - the scaled problem, and working space, written
    out : RecruitmentOut - results, written
    """
    scale_rows(problem, work)
    scale_weights(problem, SPREAD / work.weight.shape[0] if options.power == 0 else 1.0, work)
    warm = state.started[0] == 1
    if options.power == 2:
        status, n = by_squares(problem, options, state, work, out)
    else:
        begin(problem, options, warm, state)
        status, n = iterate(problem, options, 0.0, 0.0, state, work, out)
    if status == NOT_CONVERGED and (warm or options.power == 2):
        begin(problem, options, False, state)
        status, more = iterate(problem, options, 0.0, 0.0, state, work, out)
        n += more
    small = status == OPTIMAL and out.gap[0] > options.gap and options.power > FLAT
    if (status == NOT_CONVERGED and options.power != 2) or small:
        status, more = again(problem, options, state, work, out)
        n += more
    if status == OPTIMAL and exceeds(problem, state):  # of min/max, whose bound is max x alone
        status = VIOLATED
    if status != OPTIMAL and is_finite(work.demand, work.action):
        status, more = bear_most(problem, options, state, work, out)
        n += more
    state.started[0] = int(status == OPTIMAL)
    answer(problem, options, status, state, out)
    return status, n


@njit
def again(problem, options, state, work, out):
    """Repeat the iteration with orthonormal rows and scaled activations (kernels/recruitment/conditioned);
    return (status, iterations).

    Afterwards work contains the problem as scaled by scale_rows.

    problem : Recruitment - muscles and other elements, and the load (demand) that they bear
    options : RecruitmentOptions - the criterion and tolerances
    state : RecruitmentState - activations and multipliers of the last frame, updated
    work : RecruitmentWork - the scaled problem, and working space, written
    out : RecruitmentOut - results; gap, residual are written
    """
    if not is_finite(work.demand, work.action):
        return NOT_CONVERGED, 0
    square_rows(work)
    size = size_of(problem, options, work)
    resize(problem, size, work)
    other = Recruitment(problem.action, problem.demand, problem.weight, work.most)
    begin(other, options, False, state)
    patient = RecruitmentOptions(options.power, PATIENT * options.n_iteration, options.residual, options.gap)
    status, n = iterate(other, patient, 0.0, 0.0, state, work, out)
    put_back(options, size, state, work)
    scale_rows(problem, work)
    return status, n


@njit
def bear_most(problem, options, state, work, out):
    """Minimise the sum of squares of the unmet load, if not all of it can be borne; return (status,
    iterations).

    Near the solution, the residual of the stationarity condition is only rounding error. If the iteration
    waits for it to fall, the barrier parameter mu may stop falling; if it does not wait, mu may become so
    small that the steps are rounding errors, too. Each variant fails in a few frames, but in different ones,
    so both are tried.

    problem : Recruitment - muscles and other elements, and the load (demand) that they bear
    options : RecruitmentOptions - the criterion and tolerances
    state : RecruitmentState - activations and multipliers, written
    work : RecruitmentWork - the scaled problem, and working space, written
    out : RecruitmentOut - results; objective, gap, residual are written
    """
    power = max(options.power, 2)
    least_squares = RecruitmentOptions(power, options.n_iteration, options.residual, SOFT_GAP)
    scale_weights(problem, TRACE, work)
    begin(problem, least_squares, False, state)
    status, n = iterate(problem, least_squares, 1.0, ROUNDED, state, work, out)
    if status == NOT_CONVERGED:
        begin(problem, least_squares, False, state)
        status, more = iterate(problem, least_squares, 1.0, 0.0, state, work, out)
        n += more
    if status == OPTIMAL and not is_borne(problem, state, work):
        status = VIOLATED
    out.gap[0] = math.nan
    return status, n


@njit
def is_borne(problem, state, work):
    """Return whether the load is borne: the unmet load is a rounding error compared with the largest demand.

    It counts as borne if this holds for the rows either as scaled or as given.

    problem : Recruitment - muscles and other elements, and the load (demand) that they bear
    state : RecruitmentState - activations and multipliers
    work : RecruitmentWork - the scaled problem, and working space
    """
    lacking, demand, lacking_scaled, demand_scaled = 0.0, 0.0, 0.0, 0.0
    for j in range(work.demand.shape[0]):
        left = work.demand[j]
        for i in range(state.x.shape[0]):
            left -= work.action[i, j] * state.x[i]
        lacking_scaled = max(lacking_scaled, abs(left))
        demand_scaled = max(demand_scaled, abs(work.demand[j]))
        lacking = max(lacking, abs(left) / work.scale[j])
        demand = max(demand, abs(problem.demand[j]))
    return lacking_scaled <= BORNE * demand_scaled or lacking <= BORNE * demand


@njit
def is_finite(demand, action):
    """Return whether all numbers of demand : (n_row,) and action : (n_element, n_row) are finite."""
    total = 0.0
    for k in range(demand.shape[0]):
        total += demand[k]
        for i in range(action.shape[0]):
            total += action[i, k]
    return math.isfinite(total)


@njit
def exceeds(problem, state):
    """Return whether any activation is above its bound problem.most by more than the tolerance ABOVE."""
    most = 0.0
    for i in range(state.x.shape[0]):
        most = max(most, state.x[i] / problem.most[i])
    return most > 1.0 + ABOVE


@njit
def scale_rows(problem, work):
    """Write the problem with each row divided by its largest coefficient into work.

    problem : Recruitment - muscles and other elements, and the load (demand) that they bear
    work : RecruitmentWork - action, demand and scale are written
    """
    n_element, n_row = problem.action.shape
    work.scale[:] = 0.0
    for i in range(n_element):
        for j in range(n_row):
            work.scale[j] = max(work.scale[j], abs(problem.action[i, j]))
    for j in range(n_row):
        work.scale[j] = 1.0 / work.scale[j] if work.scale[j] > 0.0 else 1.0
        work.demand[j] = problem.demand[j] * work.scale[j]
    for i in range(n_element):
        for j in range(n_row):
            work.action[i, j] = problem.action[i, j] * work.scale[j]


@njit
def scale_weights(problem, largest, work):
    """Write the weights of the criterion into work.weight : (n_element,), scaled so that their maximum is
    `largest`.
    """
    heaviest = 0.0
    for i in range(work.weight.shape[0]):
        heaviest = max(heaviest, problem.weight[i])
    for i in range(work.weight.shape[0]):
        work.weight[i] = largest * problem.weight[i] / heaviest


@njit
def begin(problem, options, warm, state):
    """Write starting values of the interior-point method inside all bounds: near the last solution, or fixed
    ones.

    problem : Recruitment - muscles and other elements, and the load (demand) that they bear
    options : RecruitmentOptions - the criterion and tolerances
    warm : bool - whether to start from the last solution
    state : RecruitmentState - activations and multipliers, written
    """
    peak, n = 0.0, state.x.shape[0]
    for i in range(n):
        most = problem.most[i]
        bounded = options.power == 0 or math.isfinite(most)
        floor = WARM * min(1.0, most)
        if warm:
            state.x[i] = max(state.x[i], floor)
            state.lower[i] = max(state.lower[i], WARM)
            state.upper[i] = max(state.upper[i], WARM / n if options.power == 0 else WARM)
        else:
            state.x[i] = COLD * min(1.0, most)
            state.lower[i] = COLD
            state.upper[i] = 1.0 / n if options.power == 0 else COLD
        if not bounded:
            state.upper[i] = 0.0
        elif options.power > 0:
            state.x[i] = min(state.x[i], most - floor)
        peak = max(peak, state.x[i])
    state.peak[0] = peak + WARM if warm else 1.0
    if not warm:
        state.multiplier[:] = 0.0


@njit
def iterate(problem, options, soft, rounded, state, work, out):
    """Take interior-point steps until the solution is proved optimal, or the load impossible to bear; return
    (status, iterations).

    problem : Recruitment - muscles and other elements, and the load (demand) that they bear
    options : RecruitmentOptions - the criterion and tolerances
    soft : float - 1 where equations (rows) may be violated, else 0
    rounded : float - residual of the stationarity condition that counts as rounding error, over the terms of
        a row [1]
    state : RecruitmentState - activations and multipliers of the last frame, updated
    work : RecruitmentWork - the scaled problem, and working space, written
    out : RecruitmentOut - results; objective, gap, residual are written
    """
    for n in range(options.n_iteration):
        mu, n_pair, unbalanced = measure(problem, options, soft, state, work)
        if certified(problem, options, soft, state, work, out):
            return OPTIMAL, n
        if soft == 0.0 and n > 0 and is_impossible(problem, state, work):
            return VIOLATED, n
        kappa = factorise(options, soft, state, work)
        predict(state, work)
        dpeak = direction(options, kappa, unbalanced, state, work)
        centre(options, rounded, mu, n_pair, dpeak, state, work)
        dpeak = direction(options, kappa, unbalanced, state, work)
        if not is_sound(work):
            return NOT_CONVERGED, n
        advance(options, mu, dpeak, state, work)
    return NOT_CONVERGED, options.n_iteration


@njit
def measure(problem, options, soft, state, work):
    """Write the residuals of the rows and of the stationarity condition; return (mu, number of pairs, 1 - sum
    of upper).

    A pair is the distance from a bound and the multiplier of that bound; mu is the mean of the products of
    all pairs. For min/max, the multipliers `upper` of the largest activation have the sum 1 at the optimum.

    problem : Recruitment - muscles and other elements, and the load (demand) that they bear
    options : RecruitmentOptions - the criterion and tolerances
    soft : float - 1 where equations (rows) may be violated, else 0
    state : RecruitmentState - activations and multipliers; multiplier is written where soft is 1
    work : RecruitmentWork - r, room, drive and dual are written
    """
    a, n_row = work.action, work.r.shape[0]
    total, n_pair, unbalanced = 0.0, 0, 1.0
    copy(work.demand, work.r)
    for i in range(state.x.shape[0]):
        for j in range(n_row):
            work.r[j] -= a[i, j] * state.x[i]
    if soft > 0.0:  # the violations are the multipliers
        copy(work.r, state.multiplier)
        work.r[:] = 0.0
    for i in range(state.x.shape[0]):
        x, drive = state.x[i], 0.0
        for j in range(n_row):
            drive += a[i, j] * state.multiplier[j]
        slope, _ = slopes(options.power, work.weight[i], x)
        work.drive[i] = drive
        work.dual[i] = slope - drive - state.lower[i] + state.upper[i]
        total += x * state.lower[i]
        n_pair += 1
        work.room[i] = 1.0
        if state.upper[i] > 0.0:
            most = state.peak[0] if options.power == 0 else problem.most[i]
            work.room[i] = max(most - x, NEAREST)
            total += work.room[i] * state.upper[i]
            n_pair += 1
        unbalanced -= state.upper[i]
    return total / n_pair, n_pair, unbalanced


@njit
def answer(problem, options, status, state, out):
    """Write activations, unmet load and objective into out, without scaling; NaN if no solution was found.

    problem : Recruitment - muscles and other elements, and the load (demand) that they bear
    options : RecruitmentOptions - the criterion and tolerances
    status : int - status of the iterations
    state : RecruitmentState - activations and multipliers
    out : RecruitmentOut - results, written
    """
    if status == NOT_CONVERGED:
        out.activation[:] = math.nan
        out.violation[:] = math.nan
        out.objective[0] = out.gap[0] = math.nan
        return
    copy(state.x, out.activation)
    copy(problem.demand, out.violation)
    total = 0.0
    for i in range(state.x.shape[0]):
        x = state.x[i]
        if options.power == 0:
            total = max(total, x)
        else:
            total += problem.weight[i] * power_of(x, options.power)
        for j in range(out.violation.shape[0]):
            out.violation[j] -= problem.action[i, j] * x
    out.objective[0] = total
    if status == VIOLATED:
        out.gap[0] = math.nan
