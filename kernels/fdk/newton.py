"""f(alpha) = 0 by Newton's method with a golden-section line search, warm from the last frame.

The first step takes the slopes of the last frame's answer, later ones those at hand. A step that does not
bring |f| down is shortened by golden section to where |f| is least along it (Andersen et al. 2017, figure 1).
"""

from __future__ import annotations

import math

from kernels._jit import entry, njit
from kernels.copying import copy, copy_matrix
from kernels.fdk.problem import BALANCED, NOT_BALANCED, NOT_BORNE
from kernels.fdk.residual import fdk_residual
from kernels.fdk.slopes import fdk_differences, fdk_slopes
from kernels.linear import lu, lu_solve

GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
N_SECTION = 12
"""Places looked at along a step that is shortened: the last are 0.3 % of it apart."""


@entry
def find_balance(joint, options, sharing, state, work, out):
    """state.alpha : (n_fdk,) where f = 0; (BALANCED or why not, Newton steps). Leaves slopes at the answer.

    joint : Joint - the frame; its targets written
    options : FdkOptions
    sharing : Sharing - updated
    state : FdkState - updated; where it ends without balance, alpha is where |f| was least
    work : FdkWork - of the answer
    out : FdkOut - of the answer
    """
    out.evaluations[0] = 0
    status = fdk_residual(joint, options, sharing, state.alpha, state, work, out)
    fresh = False
    for n in range(options.n_iteration):
        if not is_known(status):
            state.known[0] = 0
            return status, n
        if out.size[0] <= options.tolerance:
            return finish(joint, options, sharing, status, state, work, out), n
        if state.known[0] == 0 or n > 0:
            known = slopes(joint, options, sharing, status, state, work, out)
            if known != BALANCED:
                state.known[0] = 0
                return known, n
            fresh = True
        state.known[0] = 1
        before = out.size[0]
        status = step(joint, options, sharing, status, state, work, out)
        if not out.size[0] < before:
            if fresh:
                break
            state.known[0] = 0
    state.known[0] = 0
    return NOT_BALANCED if is_known(status) else status, options.n_iteration


@njit
def is_known(status):
    """Whether an evaluation gave f."""
    return status == BALANCED or status == NOT_BORNE


@njit
def slopes(joint, options, sharing, status, state, work, out):
    """state.J, by the way that the options ask for; BALANCED, or why there is none.

    joint : Joint
    options : FdkOptions
    sharing : Sharing
    status : int - of the evaluation at hand
    state : FdkState - J written
    work : FdkWork - written
    out : FdkOut - of the evaluation at hand, again
    """
    if options.difference > 0.0:
        return fdk_differences(joint, options, sharing, state, work, out)
    return fdk_slopes(joint, options, status, state, work)


@njit
def finish(joint, options, sharing, status, state, work, out):
    """Slopes at the answer, for its stability and for the next frame; the status of the frame.

    joint : Joint
    options : FdkOptions
    sharing : Sharing
    status : int - of the evaluation at hand
    state : FdkState - J, known written
    work : FdkWork - written
    out : FdkOut
    """
    known = slopes(joint, options, sharing, status, state, work, out)
    state.known[0] = int(known == BALANCED)
    return status


@njit
def step(joint, options, sharing, status, state, work, out):
    """One step from state.alpha; the status of the evaluation at which it ends.

    joint : Joint
    options : FdkOptions
    sharing : Sharing
    status : int - of the evaluation at hand
    state : FdkState - alpha and its evaluation updated
    work : FdkWork - step, trial, factor written
    out : FdkOut - updated
    """
    n, before, largest = state.alpha.shape[0], out.size[0], 0.0
    copy(state.alpha, work.trial[1])
    copy_matrix(state.J, work.factor)
    if not lu(work.factor, n, work.pivot):
        return status
    for k in range(n):
        work.step[k] = -out.residual[k]
    lu_solve(work.factor, n, work.pivot, work.step)
    for k in range(n):
        largest = max(largest, abs(work.step[k]))
    if not math.isfinite(largest):
        return status
    scale = min(1.0, options.longest / largest) if largest > 0.0 else 1.0
    for k in range(n):
        work.step[k] *= scale
    status = look(1.0, joint, options, sharing, state, work, out)
    if is_known(status) and out.size[0] < before:
        return status
    part = section(joint, options, sharing, before, state, work, out)
    return look(part, joint, options, sharing, state, work, out)


@njit
def look(part, joint, options, sharing, state, work, out):
    """Evaluation at part of the step from work.trial[1]; its status. Where f is not known, |f| is infinite.

    part : float
    joint : Joint
    options : FdkOptions
    sharing : Sharing
    state : FdkState - alpha written
    work : FdkWork
    out : FdkOut - written
    """
    for k in range(state.alpha.shape[0]):
        state.alpha[k] = work.trial[1, k] + part * work.step[k]
    status = fdk_residual(joint, options, sharing, state.alpha, state, work, out)
    if not is_known(status):
        out.size[0] = math.inf
    return status


@njit
def section(joint, options, sharing, before, state, work, out):
    """Part of the step at which |f| is least, by golden section over all of it; 0 where it falls nowhere.

    joint : Joint
    options : FdkOptions
    sharing : Sharing
    before : float - |f| at the outset
    state : FdkState - written
    work : FdkWork - written
    out : FdkOut - written
    """
    low, high, best, least = 0.0, 1.0, 0.0, before
    a, b = 1.0 - GOLDEN, GOLDEN
    look(a, joint, options, sharing, state, work, out)
    f_a = out.size[0]
    look(b, joint, options, sharing, state, work, out)
    f_b = out.size[0]
    for _ in range(N_SECTION):
        if f_a < least:
            best, least = a, f_a
        if f_b < least:
            best, least = b, f_b
        if f_a <= f_b:
            high, b, f_b = b, a, f_a
            a = high - GOLDEN * (high - low)
            look(a, joint, options, sharing, state, work, out)
            f_a = out.size[0]
        else:
            low, a, f_a = a, b, f_b
            b = low + GOLDEN * (high - low)
            look(b, joint, options, sharing, state, work, out)
            f_b = out.size[0]
    return best
