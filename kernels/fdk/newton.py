"""Solution of f(alpha) = 0, the equilibrium of a joint, by Newton's method with steps that are shortened by
the golden section, started from the last frame. alpha are the values of the degrees of freedom of
force-dependent kinematics (FDK), f the forces that remain along them.

The first step uses the Jacobian of the last frame's solution, later ones the current one. A step that does
not reduce |f| is shortened by the golden section until it does (Andersen et al. 2017, figure 1, search for
the least |f| along it). Where no part of the step does, |f| has a local minimum between equilibria. The flow
alpha' = -f leads out of it to a stable equilibrium; it is followed by pseudo-transient continuation (Kelley &
Keyes 1998, SIAM J Numer Anal 35).
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
"""Number of step lengths that are tried: the last is 0.5 % of the step."""
LEAST_GAIN = 1e-2
"""Least relative decrease of |f| by a whole step; for a shortened step it is smaller in the same ratio."""
DRAG = 5e-3
"""Initial drag of the flow, relative to the largest diagonal entry of the Jacobian."""
N_STIFFER = 16
"""Largest number of times that the drag is doubled until a step has a component along -f."""


@entry
def find_balance(joint, options, sharing, state, work, out):
    """Search for the equilibrium: the values state.alpha : (n_fdk,) of the FDK degrees of freedom [m] at
    which the remaining forces f along them are zero within the tolerance.

    Return (BALANCED or the reason of failure, number of Newton steps).

    joint : FdkModel - model with its FDK degrees of freedom, and the current frame; the targets of the
        constraint elements that are FDK degrees of freedom are set to the values that belong to alpha
    options : FdkOptions - settings of the search for the equilibrium
    sharing : RowRecruitment - muscle recruitment for the part of the load that the constraints cannot
        balance, updated
    state : FdkState - at the start alpha and the Jacobian df/dalpha of the last frame, afterwards those of
        the solution; if none is found, alpha is where |f| was least
    work : FdkWork - intermediate results at the solution, written
    out : FdkOut - results at the solution, written
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
    """Follow the flow alpha' = -f, with the remaining force f, from state.alpha to an equilibrium f = 0;
    state.J contains df/dalpha at the start.

    Return (BALANCED or the reason of failure, number of steps).

    Each step solves (J + c 1) step = -f, with a drag c that is proportional to |f|: the first steps follow
    the flow, along which |f| may increase, the last ones are those of Newton's method. If no equilibrium is
    reached within the allowed steps, alpha is restored.

    n_done : int - number of steps so far; all steps together are at most options.n_iteration
    joint : FdkModel - model with its FDK degrees of freedom, and the current frame
    options : FdkOptions - settings of the search for the equilibrium
    sharing : RowRecruitment - muscle recruitment for the part of the load that the constraints cannot
        balance
    state : FdkState - solution of the last frame, the start of the next one, updated
    work : FdkWork - working space of one frame, written
    out : FdkOut - results of the frame, updated
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
    """Return whether an evaluation of f, the force that remains along the FDK degrees of freedom, has
    computed f if it returned this status.
    """
    return status == BALANCED or status == NOT_BORNE


@njit
def slopes(joint, options, sharing, status, state, work, out):
    """Write the Jacobian df/dalpha of the FDK residual into state.J, by finite differences or analytically as
    options.difference states; return BALANCED or the reason of failure.

    joint : FdkModel - model with its FDK degrees of freedom, and the current frame
    options : FdkOptions - settings of the search for the equilibrium
    sharing : RowRecruitment - muscle recruitment for the part of the load that the constraints cannot
        balance
    status : int - status of the current evaluation
    state : FdkState - solution of the last frame, the start of the next one; its field J is written
    work : FdkWork - working space of one frame, written
    out : FdkOut - results of the current evaluation, which are not changed in the end
    """
    if options.difference > 0.0:
        return fdk_differences(joint, options, sharing, state, work, out)
    return fdk_slopes(joint, options, status, state, work)


@njit
def finish(joint, options, sharing, status, state, work, out):
    """Compute the Jacobian at the solution, which shows whether that is stable and which starts the search in
    the next frame; return the status of this frame.

    joint : FdkModel - model with its FDK degrees of freedom, and the current frame
    options : FdkOptions - settings of the search for the equilibrium
    sharing : RowRecruitment - muscle recruitment for the part of the load that the constraints cannot
        balance
    status : int - status of the current evaluation
    state : FdkState - solution of the last frame, the start of the next one; its fields J and known are
        written
    work : FdkWork - working space of one frame, written
    out : FdkOut - results of the frame
    """
    known = slopes(joint, options, sharing, status, state, work, out)
    state.known[0] = int(known == BALANCED)
    return status


@njit
def step(n_part, joint, options, sharing, state, work, out):
    """Take one Newton step from state.alpha, shortened until |f| decreases; return the status of the last
    evaluation of f. If |f| does not decrease, alpha is not changed.

    n_part : int - number of step lengths that are tried, the whole step first
    joint : FdkModel - model with its FDK degrees of freedom, and the current frame
    options : FdkOptions - settings of the search for the equilibrium
    sharing : RowRecruitment - muscle recruitment for the part of the load that the constraints cannot
        balance
    state : FdkState - its alpha, q and multipliers are updated
    work : FdkWork - working space of one frame; its fields step, trial and factor are written
    out : FdkOut - results of the frame, updated
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
    """Write the step that solves (J + drag 1) step = -f, with a drag that is doubled until the step has a
    component along -f; return False if there is no such step.

    drag : float - least value of the drag, the number added to the diagonal of the Jacobian J [N/m]
    options : FdkOptions - settings of the search for the equilibrium
    state : FdkState - solution of the last frame, the start of the next one
    work : FdkWork - working space of one frame, written
    out : FdkOut - results of the frame
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
    """Write the step from state.alpha that solves (J + drag 1) step = -f, with the Jacobian J and the
    residual f; return whether there is one.

    drag : float - number added to the diagonal of the Jacobian [N/m]
    options : FdkOptions - no entry of the step is longer than its longest step
    state : FdkState - solution of the last frame, the start of the next one
    work : FdkWork - its step : (n_fdk,) and trial[1], a copy of state.alpha, factor and pivot are written
    out : FdkOut - results of the current evaluation; its residual f is read
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
    """Evaluate the FDK residual f after a part of the step, at alpha = work.trial[1] + part * work.step;
    return its status. Where f cannot be computed, |f| is set to infinity.

    part : float - part of the step [1]
    joint : FdkModel - model with its FDK degrees of freedom, and the current frame
    options : FdkOptions - settings of the search for the equilibrium
    sharing : RowRecruitment - muscle recruitment for the part of the load that the constraints cannot
        balance
    state : FdkState - solution of the last frame, the start of the next one; its field alpha is written
    work : FdkWork - working space of one frame
    out : FdkOut - results of the frame, written
    """
    for k in range(state.alpha.shape[0]):
        state.alpha[k] = work.trial[1, k] + part * work.step[k]
    status = fdk_residual(joint, options, sharing, state.alpha, state, work, out)
    if not is_known(status):
        out.size[0] = math.inf
    return status
