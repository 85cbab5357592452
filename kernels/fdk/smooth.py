"""The quantities of force-dependent kinematics that are smooth functions of the pose: speeds and
accelerations, the load from inverse dynamics, and the generalized forces of muscles at full activation.
"""

from __future__ import annotations

from kernels.algebra.copying import copy
from kernels.algebra.linear import inner_product
from kernels.compiler.jit import njit
from kernels.dynamics.inertia import spatial_inertia
from kernels.dynamics.inverse import newton_euler, transmit
from kernels.fdk.bands import bands_at
from kernels.fdk.optimum import optimum_rates
from kernels.fdk.problem import BALANCED, NOT_PLACED, NOT_RECRUITED
from kernels.fdk.rates import drivers_of, moving_pose, rates
from kernels.muscle.elastic import OK
from kernels.muscle.strengths import all_strengths
from kernels.path.muscle_path import follow_paths, gradients


@njit
def smooth_parts(joint, q, work, out):
    """Compute the Smooth quantities at the coordinates q; return BALANCED or the reason of failure.

    The equations are eqs 9, 10, 12 and 13 of Andersen et al. 2017; speeds and accelerations may instead be
    those of the optimal pose (kernels/fdk/optimum). The load contains neither contacts nor straight
    ligaments; external wrenches, which are fixed in ground, are subtracted from it.

    joint : FdkModel - model with its FDK degrees of freedom, and the current frame
    q : (n_q,) - generalized coordinates [rad, m]
    work : FdkWork - working space of one frame; its fields dynamics, constraint and path are written
    out : Smooth - motion, load, and muscles and ligaments along paths at this pose, written
    """
    system, dynamics = joint.system, work.dynamics
    moving_pose(system.tree, q, out.v, dynamics)
    if joint.of_optimum and drivers_of(joint) == 0:  # drivers leave no residuals: both are the same
        known = optimum_rates(joint, q, work, out)
    else:
        known = rates(joint, q, work, out)
    if not known:
        return NOT_PLACED
    spatial_inertia(system.bodies, dynamics.pose, dynamics.inertia)
    newton_euler(system, out.v_dot, joint.external, dynamics)
    transmit(system.tree, dynamics.pose, dynamics.reaction, out.tau)
    borne, row = joint.borne, work.constraint.row
    for k in range(borne.shape[0]):
        out.demand[k] = out.tau[borne[k]]
        for h in range(joint.held.shape[0]):
            out.row[h, k] = row[joint.held[h], borne[k]]
    bound = bands_at(joint.bands, system.tree, dynamics.pose, q, borne, work.bands, out)
    if not (muscles_at(joint, q, work, out) and bound):
        return NOT_RECRUITED
    others_at(joint, row, out)
    return BALANCED


@njit
def others_at(joint, row, out):
    """Write the generalized forces at full activation, rows of out.action, of the elements after the muscles:
    one-way reactions, then reserve actuators in both directions.

    joint : FdkModel - model with its FDK degrees of freedom, and the current frame
    row : (n_row, n_v) - Jacobian rows of the constraints
    out : Smooth - its field action is written
    """
    borne, first = joint.borne, joint.acting.shape[0]
    for r in range(joint.pushing.shape[0]):
        for k in range(borne.shape[0]):
            out.action[first + r, k] = joint.strength[r] * row[joint.pushing[r], borne[k]]
    first += joint.pushing.shape[0]
    for r in range(joint.reserved.shape[0]):
        for s in range(2):
            out.action[first + 2 * r + s, :] = 0.0  # slopes leave their differences here
            out.action[first + 2 * r + s, joint.reserved[r]] = (1.0 - 2.0 * s) * joint.reserve[r]


@njit
def muscles_at(joint, q, work, out):
    """Compute lengths, speeds, forces at full activation (strengths) and the resulting generalized forces
    (actions) of all muscles; return False where a path or a muscle's fibre equilibrium is not found.

    joint : FdkModel - model with its FDK degrees of freedom, and the current frame
    q : (n_q,) - generalized coordinates [rad, m]
    work : FdkWork - working space of one frame; its field path is written
    out : Smooth - its length, speed, strength, passive and action are written; passive forces are subtracted
        from its demand
    """
    path, tree, stations = work.path, joint.system.tree, joint.stations
    follow_paths(tree, stations, joint.surfaces, work.dynamics.pose, q, path)
    gradients(tree, stations, work.dynamics.pose, 1, path)
    for m in range(out.length.shape[0]):
        out.length[m] = path.length[m]
        out.speed[m] = inner_product(path.gradient[m], out.v)
    if joint.isometric:
        copy(joint.muscles.max_isometric_force, out.strength)  # passive forces stay 0
    elif all_strengths(joint.muscles, out.length, out.speed, out.strength, out.passive) != OK:
        return False
    sound = True
    for i in range(joint.acting.shape[0]):
        m = joint.acting[i]
        sound = sound and path.status[m] == 0
        for k in range(joint.borne.shape[0]):
            arm = -path.gradient[m, joint.borne[k]]
            out.action[i, k] = arm * out.strength[m]
            out.demand[k] -= arm * out.passive[m]
    return sound
