"""f(alpha) = 0 by Newton's method, steps shortened in the golden section, warm from the last frame.

The first step takes the slopes of the last frame's answer, later ones those at hand. A step that does not
bring |f| down is shortened in the golden section until it does (Andersen et al. 2017, figure 1, seek where
|f| is least along it). Where no part of it does, |f| has a valley between balances: the flow alpha' = -f
leads out of it and comes to rest where a balance is stable, by pseudo-transient continuation
(Kelley & Keyes 1998, SIAM J Numer Anal 35).
"""

from __future__ import annotations

import math

from kernels.algebra.copying import copy, copy_matrix
from kernels.algebra.linear import inner_product, lu, lu_solve
from kernels.compiler.jit import entry, njit
from kernels.fdk.problem import BALANCED, NOT_BALANCED, NOT_BORNE
from kernels.fdk.residual import fdk_residual
from kernels.fdk.slopes import fdk_differences, fdk_slopes

GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
N_PART = 12
"""Parts of a step that are looked at: the last is 0.5 % of it."""
LEAST_GAIN = 1e-2
"""Of a whole step in |f|: less is none, in parts as much as the step is shortened."""
DRAG = 5e-3
"""Of the flow at first, in parts of the largest slope."""
N_STIFFER = 16
"""How often the drag is doubled, at most, until a step gives way to f."""


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
        n_part = N_PART if fresh else 1
        status = step(n_part, joint, options, sharing, state, work, out)
        if not out.size[0] < before:
            if fresh and is_known(status):
                return follow_flow(n + 1, joint, options, sharing, state, work, out)
            state.known[0] = 0
    state.known[0] = 0
    return NOT_BALANCED if is_known(status) else status, options.n_iteration


@njit
def follow_flow(n_done, joint, options, sharing, state, work, out):
    """(BALANCED or why not, steps) of the flow alpha' = -f from state.alpha, whose slopes are in state.J.

    (J + c) step = -f, the drag c falling as |f|, which may rise on the way: at first in steps of time, at
    last Newton's method. Where it does not come to rest in time, alpha is where it began.

    n_done : int - steps so far; all together are at most options.n_iteration
    joint : Joint
    options : FdkOptions
    sharing : Sharing
    state : FdkState - updated
    work : FdkWork - written
    out : FdkOut - updated
    """
    drag = 0.0
    for k in range(state.alpha.shape[0]):
        drag = max(drag, DRAG * abs(state.J[k, k]))
        work.trial[2, k] = state.alpha[k]
    for n in range(n_done, options.n_iteration):
        before = out.size[0]
        if not against(drag, options, state, work, out):
            break
        status = look(1.0, joint, options, sharing, state, work, out)
        if not is_known(status):
            break
        if out.size[0] <= options.tolerance:
            return finish(joint, options, sharing, status, state, work, out), n + 1
        if slopes(joint, options, sharing, status, state, work, out) != BALANCED:
            break
        drag *= out.size[0] / before
    copy(work.trial[2], state.alpha)
    status = fdk_residual(joint, options, sharing, state.alpha, state, work, out)
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
def step(n_part, joint, options, sharing, state, work, out):
    """One step from state.alpha; the status of the evaluation at which it ends.

    n_part : int - parts of it that are looked at, the whole first
    joint : Joint
    options : FdkOptions
    sharing : Sharing
    state : FdkState - alpha and its evaluation updated
    work : FdkWork - step, trial, factor written
    out : FdkOut - updated
    """
    before, part = out.size[0], 1.0
    if not direction(0.0, options, state, work, out):
        n_part = 0
    for _ in range(n_part):
        status = look(part, joint, options, sharing, state, work, out)
        if out.size[0] < (1.0 - LEAST_GAIN * part) * before:
            return status
        part *= GOLDEN
    return look(0.0, joint, options, sharing, state, work, out)


@njit
def against(drag, options, state, work, out):
    """`direction` with so much drag that it gives way to f, step . f < 0; False if there is none.

    drag : float - the least of it [N/m]
    options : FdkOptions
    state : FdkState
    work : FdkWork - written
    out : FdkOut
    """
    for _ in range(N_STIFFER):
        if not direction(drag, options, state, work, out):
            return False
        if inner_product(work.step, out.residual) < 0.0:
            return True
        drag *= 2.0
    return False


@njit
def direction(drag, options, state, work, out):
    """work.step : (n_fdk,) - from state.alpha, then in work.trial[1], solving (J + drag) step = -f; whether
    there is one.

    drag : float - [N/m]
    options : FdkOptions - no entry longer than its longest step
    state : FdkState
    work : FdkWork - written
    out : FdkOut - of the evaluation at hand
    """
    n, largest = state.alpha.shape[0], 0.0
    copy(state.alpha, work.trial[1])
    copy_matrix(state.J, work.factor)
    for k in range(n):
        work.factor[k, k] += drag
        work.step[k] = 0.0
    if not lu(work.factor, n, work.pivot):
        return False
    for k in range(n):
        work.step[k] = -out.residual[k]
    lu_solve(work.factor, n, work.pivot, work.step)
    for k in range(n):
        largest = max(largest, abs(work.step[k]))
    scale = min(1.0, options.longest / largest) if largest > 0.0 else 1.0
    for k in range(n):
        work.step[k] = scale * work.step[k] if math.isfinite(largest) else 0.0
    return math.isfinite(largest)


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
