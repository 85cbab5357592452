"""Evaluation of the residual f(alpha) of force-dependent kinematics (FDK): the load that remains along the
FDK degrees of freedom, if these have the values alpha (Andersen et al. 2017).
"""

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
    """Compute the load f that remains along the FDK degrees of freedom at their values alpha; return
    BALANCED, NOT_BORNE (muscles balance only a part of the load), or the reason why f cannot be computed.

    joint : FdkModel - model with its FDK degrees of freedom, and the current frame; its field targets is
        written
    options : FdkOptions - settings of the search for the equilibrium
    sharing : RowRecruitment - muscle recruitment for the part of the load that the constraints cannot
        balance, updated
    alpha : (n_fdk,) - values of the FDK degrees of freedom [m]
    state : FdkState - solution of the last frame, the start of the next one; its fields q and multiplier are
        updated
    work : FdkWork - its fields at and balance and their intermediate results are written
    out : FdkOut - its residual f : (n_fdk,) [N], size and evaluations are written; NaN where f is not known
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
    """Return dPhi/dalpha of FDK degree of freedom k : int, the change of its constraint value per metre of
    alpha.

    It is 1 for a plane, 1 / lever for an angle, and 2 d for a distance with the current length d [m], as Phi
    of a distance is a difference of squares.
    """
    e = joint.element[k]
    return 2.0 * joint.fit.roles.target[e] if joint.fit.elements.kind[e] == DISTANCE else joint.rate[k]


@njit
def element_forces(joint, q, work):
    """Write the generalized forces of contacts, ligaments and springs, at the pose q for which smooth_parts
    has just computed work.at.

    joint : FdkModel - model with its FDK degrees of freedom, and the current frame
    q : (n_q,) - generalized coordinates [rad, m]
    work : FdkWork - its forces and tau_e : (n_v,), the generalized forces [N, N m], are written
    """
    generalized_forces(joint.forces, work.dynamics.pose, q, work.at.v, work.forces, work.tau_e)
