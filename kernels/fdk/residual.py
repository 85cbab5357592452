"""f(alpha): one evaluation of what is left along the FDK degrees of freedom (Andersen et al. 2017)."""

from __future__ import annotations

import math

from kernels.compiler.jit import njit
from kernels.fdk.balance import bear
from kernels.fdk.problem import BALANCED, NOT_BORNE, NOT_PLACED
from kernels.fdk.smooth import smooth_parts
from kernels.forces.assembly import generalized_forces
from kernels.solver.constraints import DISTANCE
from kernels.solver.kkt import CONVERGED, solve


@njit
def fdk_residual(joint, options, sharing, alpha, state, work, out):
    """out.residual : (n_fdk,) = f at alpha : (n_fdk,) [m]; BALANCED, NOT_BORNE, or why there is none.

    joint : Joint - its targets written
    options : FdkOptions
    sharing : Sharing - updated
    state : FdkState - q, multiplier updated
    work : FdkWork - at, balance and what leads to them
    out : FdkOut - written; not a number where there is none
    """
    out.evaluations[0] += 1
    out.residual[:] = math.nan
    out.size[0] = math.nan
    for k in range(alpha.shape[0]):
        target = joint.rest[k] + joint.rate[k] * alpha[k]
        joint.fit.roles.target[joint.element[k]] = target
        if joint.fit.elements.kind[joint.element[k]] == DISTANCE and not target > 0.0:
            return NOT_PLACED  # its square would be that of a length
    solved = solve(joint.fit, options.fit, work.fit, state.q, state.multiplier)
    if solved.status != CONVERGED:
        state.multiplier[:] = 0.0
        return NOT_PLACED
    status = smooth_parts(joint, state.q, work, work.at)
    if status != BALANCED:
        return status
    element_forces(joint, state.q, work)
    balance = work.balance
    for k in range(joint.borne.shape[0]):
        balance.load[k] = work.at.demand[k] - work.tau_e[joint.borne[k]]
    status = bear(sharing, work.at, balance)
    if status == BALANCED or status == NOT_BORNE:
        size = 0.0
        for k in range(alpha.shape[0]):
            out.residual[k] = per_metre(joint, k) * balance.reaction[joint.fdk[k]]
            size += out.residual[k] * out.residual[k]
        out.size[0] = math.sqrt(size)
    return status


@njit
def per_metre(joint, k):
    """dPhi/dalpha of FDK degree of freedom k : int: 1 for a plane, 1 / lever for an angle, 2 alpha' for a
    distance, whose Phi is the difference of squares, alpha' its length at hand [m].

    joint : Joint
    """
    e = joint.element[k]
    return 2.0 * joint.fit.roles.target[e] if joint.fit.elements.kind[e] == DISTANCE else joint.rate[k]


@njit
def element_forces(joint, q, work):
    """work.tau_e : (n_v,) - of contacts, ligaments and springs, where smooth_parts was last at work.at.

    joint : Joint
    q : (n_q,)
    work : FdkWork - forces, tau_e written
    """
    generalized_forces(joint.forces, work.dynamics.pose, q, work.at.v, work.forces, work.tau_e)
