"""Speeds v and accelerations of the optimal pose of a multi-body optimisation, as the measured markers move.

The conditions of optimality of Andersen et al. 2017, eq. 4, differentiated once,

    [H A'] [v       ]   [J'W x-dot]
    [A 0 ] [lambda-dot] = [0        ],    H the Hessian of the Lagrangian, with residuals and multipliers

(kernels/uncertainty/sensitivity), with the markers' Jacobian J, weights W and velocities x-dot, the
constraint rows A and their multipliers lambda; eq. 9 has J'WJ in place of H. A second differentiation would
need third derivatives: instead v-dot is the central difference of v between two poses along the motion, with
markers moved by their velocities; no further optimum has to be found.
"""

from __future__ import annotations

from kernels.algebra.copying import copy_matrix
from kernels.compiler.jit import njit
from kernels.dynamics.constraints import constraint_rows
from kernels.fdk.rates import gather, moving_pose
from kernels.joints.tree import integrate, pose
from kernels.markers.marker_cost import model_markers
from kernels.uncertainty.sensitivity import stand_with_targets, velocity

MOMENT = 1e-5
"""Time step of the difference to either side [s]:
at 10 Hz truncation and rounding are both below 1e-6 of an acceleration."""


@njit
def optimum_rates(joint, q, work, out):
    """Write the speeds and accelerations of the optimal pose q as the measured markers move; return False
    where q is no minimum of the cost of the markers.

    Afterwards the rows of constraints are at q, as after kernels/fdk/rates.rates.

    joint : FdkModel - model and current frame; its measured markers and their velocities are changed and
        restored
    q : (n_q,) - generalized coordinates [rad, m]
    work : FdkWork - working space of one frame; its fields fit, dynamics, constraint, kept, answer and
        q_moved are written
    out : Smooth - its v and v_dot : (n_v,) are written [rad/s, m/s; rad/s^2, m/s^2]
    """
    tree, kept, part = joint.system.tree, work.kept, 0.5 / MOMENT
    if not optimum_velocity(joint, q, work, out.v):
        return False
    copy_matrix(joint.fit.measured, kept[0])
    copy_matrix(joint.velocity, kept[1])
    known = True
    out.v_dot[:] = 0.0
    for s in range(2):
        side = 1.0 - 2.0 * s
        integrate(tree, q, out.v, side * MOMENT, work.q_moved)
        for m in range(kept.shape[1]):
            for i in range(3):
                joint.fit.measured[m, i] = kept[0, m, i] + side * MOMENT * kept[1, m, i]
                joint.velocity[m, i] = kept[1, m, i] + side * MOMENT * joint.acceleration[m, i]
        known = known and optimum_velocity(joint, work.q_moved, work, work.g)
        for d in range(work.g.shape[0]):
            out.v_dot[d] += side * part * work.g[d]
    copy_matrix(kept[0], joint.fit.measured)
    copy_matrix(kept[1], joint.velocity)
    moving_pose(tree, q, out.v, work.dynamics)
    constraint_rows(tree, joint.constraints, work.dynamics.pose, q, work.constraint)
    return known


@njit
def optimum_velocity(joint, q, work, v_out):
    """Write the generalized speeds of the optimal pose q as the measured markers move; return False where q
    is no minimum of the cost of the markers.

    joint : FdkModel - model with its FDK degrees of freedom, and the current frame
    q : (n_q,) - generalized coordinates [rad, m]
    work : FdkWork - working space of one frame; its fields fit, dynamics.pose, marker.model, g and answer
        are written
    v_out : (n_v,) - speeds [rad/s, m/s], may be work.g, written
    """
    tree, at = joint.system.tree, work.dynamics.pose
    pose(tree, q, at)
    model_markers(joint.fit.markers, at, work.marker.model)
    gather(joint, joint.velocity, False, work)
    n_hard = stand_with_targets(joint.fit, q, work.fit, work.answer.H)
    if n_hard < 0:
        return False
    for d in range(v_out.shape[0]):
        work.answer.x[d, 0] = work.g[d]
    velocity(tree.couplers, n_hard, work.fit, work.answer)
    for d in range(v_out.shape[0]):
        v_out[d] = work.answer.x[d, 0]
    return True
