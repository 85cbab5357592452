"""Speeds and accelerations of the optimum itself, as measured markers move.

The conditions of optimality of Andersen et al. 2017, eq. 4, differentiated once,

    [H A'] [v       ]   [J'W x-dot]
    [A 0 ] [lambda-dot] = [0        ],    H the Hessian of the Lagrangian, residuals and multipliers included

(kernels/uncertainty/sensitivity); eq. 9 has J'WJ in place of H. A second differentiation would need third
derivatives: instead v-dot is the central difference of v along the motion, with moved markers, and no optimum
is solved for again.
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
    """Write the speeds and accelerations of the optimum at q; return False where it is no minimum.

    Afterwards the rows of constraints are at q, as after kernels/fdk/rates.rates.

    joint : FdkModel - its fit's measured and its velocity written, and restored
    q : (n_q,) - generalized coordinates [rad, m]
    work : FdkWork - working space of one frame; its fields fit, dynamics, constraint, kept, answer and
        q_moved are written
    out : Smooth - v, v_dot : (n_v,) written
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
    """Write dq/dt of the optimum at q; return False where it is no minimum.

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
