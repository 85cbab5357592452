"""Proof that a recruitment is optimal, by the gap to a lower bound of its cost, or that the load cannot be
borne.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit
from kernels.recruitment.criterion import least, power_of

NO_DRIVE, PROVED = 1e-7, 1e-9
"""Parts of the multipliers, and of the demand times the multipliers, that count as rounding errors in a
proof."""


@njit
def certified(problem, options, soft, state, work, out):
    """Return whether the activations are proved optimal: the unmet load and the duality gap are within their
    tolerances.

    The gap is the objective minus the dual objective, below which no solution can be. For min/max the dual
    objective is computed with multipliers scaled to sum max(0, drive) = 1, drive = C' multiplier, as is
    required there.

    problem : Recruitment - muscles and other elements, and the load (demand) that they bear
    options : RecruitmentOptions - the criterion and tolerances
    soft : float - 1 where equations (rows) may be violated, else 0
    state : RecruitmentState - activations and multipliers
    work : RecruitmentWork - the scaled problem, and working space
    out : RecruitmentOut - results; objective, gap, residual are written
    """
    largest, most, primal, dual, sum_drive = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(work.r.shape[0]):
        lam = state.multiplier[j]
        largest = max(largest, abs(work.demand[j]))
        most = max(most, abs(work.r[j]))
        dual += lam * work.demand[j] - 0.5 * soft * lam * lam
        primal += 0.5 * soft * lam * lam
    out.residual[0] = most / largest if largest > 0.0 else most
    if out.residual[0] > options.residual:
        return False
    for i in range(state.x.shape[0]):
        if options.power == 0:
            primal = max(primal, state.x[i])
            sum_drive += max(0.0, work.drive[i])
        else:
            primal += work.weight[i] * power_of(state.x[i], options.power)
            dual += least(options.power, work.weight[i], work.drive[i], problem.most[i])
    if options.power == 0 and sum_drive > 0.0:
        dual /= sum_drive
    out.objective[0] = primal
    out.gap[0] = abs(primal - dual) / primal if primal > 0.0 else 0.0
    return out.gap[0] <= options.gap or primal <= 1e-14


@njit
def is_impossible(problem, state, work):
    """Return whether the multipliers prove that no activations within their bounds can bear the load (Farkas
    1902).

    They do if demand . multiplier is more than the activations can contribute to it.

    problem : Recruitment - muscles and other elements, and the load (demand) that they bear
    state : RecruitmentState - activations and multipliers
    work : RecruitmentWork - the scaled problem, and working space
    """
    asked, can, size, largest = 0.0, 0.0, 0.0, 0.0
    for j in range(work.r.shape[0]):
        asked += work.demand[j] * state.multiplier[j]
        size += abs(work.demand[j] * state.multiplier[j])
        largest = max(largest, abs(state.multiplier[j]))
    for i in range(state.x.shape[0]):
        if math.isfinite(problem.most[i]):
            can += max(0.0, work.drive[i]) * problem.most[i]
        elif work.drive[i] > NO_DRIVE * largest:
            return False
    return asked - can > PROVED * size
