"""Moment arms of all muscles about all angles (Sherman, Seth, Delp 2010).

The moment arm is r = -dl/dtheta, with the muscle's length l and the angle theta. It is positive if the
tension of the muscle drives the angle in its positive sense. There are three methods, which check one
another. They share the path and the coupling vector C of each angle (the speeds of all dofs at theta-dot =
1), and nothing else. With the equations of the paper named above, they are:

FORCE: spatial forces of the path under tension s, as generalized forces f = J' T s: r = C . f / s (eq. 18).
PARTIAL_VELOCITY: the gradient of the length along each dof: r = -C . dl/dq (eq. 15).
VELOCITY: the lengthening speed at theta-dot = 1, from the velocities of the bodies: r = -dl/dt (eq. 11).
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.copying import copy
from kernels.algebra.linear import inner_product
from kernels.compiler.jit import entry, njit
from kernels.dynamics.constraints import (
    Constraints,
    ConstraintWork,
    constraint_rows,
    factor_rows,
    new_constraint_work,
)
from kernels.dynamics.inverse import transmit
from kernels.dynamics.motion import Velocities, new_velocities, velocities
from kernels.dynamics.rolling import GAPS, SLIPS, rolling_rows
from kernels.joints.tree import Pose, Tree, new_pose, pose
from kernels.path.angles import Angles, AngleWork, couplings, new_angle_work, place_angles
from kernels.path.muscle_path import (
    PathWork,
    add_forces,
    follow_paths,
    gradients,
    lengthening_speed,
    new_path_work,
)
from kernels.path.stations import Stations
from kernels.path.surfaces import Surfaces

FORCE, PARTIAL_VELOCITY, VELOCITY = 0, 1, 2


class Leverage(NamedTuple):
    """Constant input of moment arms: the joint tree, its constraints, the muscle paths and the angles."""

    tree: Tree
    constraints: Constraints
    stations: Stations
    surfaces: Surfaces
    angles: Angles


class LeverageWork(NamedTuple):
    """Results and working space of moment arms: pose, constraints, paths, angles and velocities."""

    pose: Pose
    constraint: ConstraintWork
    path: PathWork
    angle: AngleWork
    velocities: Velocities
    wrench: Annotated[np.ndarray, Floats("n_body", 6)]
    force: Annotated[np.ndarray, Floats("n_v")]
    joint_force: Annotated[np.ndarray, Floats("n_v")]


def new_leverage_work(leverage: Leverage) -> LeverageWork:
    """Allocate a LeverageWork: results of moment arms, and working space."""
    tree = leverage.tree
    n_body, n_v = len(tree.parent), len(tree.dof_body)
    n_angle = len(leverage.angles.start) - 1
    constraint = new_constraint_work(leverage.constraints, n_v)
    return allocate(
        LeverageWork,
        n_body=n_body,
        n_v=n_v,
        pose=new_pose(n_body, n_v, len(tree.chains.dof)),
        constraint=constraint,
        path=new_path_work(leverage.stations, leverage.surfaces, n_v),
        angle=new_angle_work(n_angle, n_v, len(constraint.value)),
        velocities=new_velocities(n_body),
    )


@entry
def moment_arms(leverage, q, method, moving_work, work, arms_out):
    """Write the moment arms of all muscles about all angles by one of the three methods.

    Afterwards work.path holds length, gradient and status of every muscle, and work.angle holds value,
    coupling vector and status of every angle. Arms about an angle whose status is not OK are zero. All arms
    are NaN if the method is unknown.

    leverage : Leverage - joint tree, constraints, paths and angles
    q : (n_q,) - generalized coordinates [rad, m]
    method : int - FORCE, PARTIAL_VELOCITY or VELOCITY
    moving_work : int - 1 = with the forces on the coordinates by which path points move within their bodies,
        0 = without; VELOCITY always has them
    work : LeverageWork - results and working space, written
    arms_out : (n_muscle, n_angle) - moment arms [m], written
    """
    tree, stations = leverage.tree, leverage.stations
    pose(tree, q, work.pose)
    follow_paths(tree, stations, leverage.surfaces, work.pose, q, work.path)
    rolls = leverage.constraints.rolls
    n = constraint_rows(tree, leverage.constraints, work.pose, q, work.constraint)
    n = rolling_rows(tree, rolls, work.pose, GAPS, n, work.constraint)
    n = rolling_rows(tree, rolls, work.pose, SLIPS, n, work.constraint)
    rows = work.constraint
    factor_rows(n, rows.row, rows.reach, rows.compliance, rows.kernel)
    place_angles(tree, leverage.angles, q, work.angle)
    couplings(n, work.constraint.row, work.constraint.kernel, work.angle)
    gradients(tree, stations, work.pose, moving_work, work.path)
    if method == FORCE:
        arms_by_force(tree, stations, moving_work, work, arms_out)
    elif method == PARTIAL_VELOCITY:
        arms_by_partial_velocity(work, arms_out)
    elif method == VELOCITY:
        arms_by_velocity(tree, stations, work, arms_out)
    else:
        arms_out[:] = math.nan


@njit
def arms_by_force(tree, stations, moving_work, work, arms_out):
    """Write the moment arms C . f / s of all muscles about all angles (Sherman, Seth, Delp 2010, eqs 16-18).

    f are the generalized forces of the muscle under the tension s = 1 N. C is the coupling vector of the
    angle: the speeds of all dofs at theta-dot = 1 that satisfy the velocity constraints.

    tree : Tree - the joint tree
    stations : Stations - path points and wrapping surfaces (stations) of all paths
    moving_work : int - 1 = with the forces on the coordinates by which path points move within their bodies,
        0 = without
    work : LeverageWork - results and working space, written
    arms_out : (n_muscle, n_angle) - moment arms [m], written
    """
    for m in range(arms_out.shape[0]):
        muscle_force(tree, stations, m, 1.0, moving_work, work)
        for a in range(arms_out.shape[1]):
            arms_out[m, a] = inner_product(work.angle.coupling[a], work.force)


@njit
def muscle_force(tree, stations, m, tension, moving_work, work):
    """Write the generalized forces of muscle m under a given tension into work.force : (n_v,) [N m, N].

    work.wrench is overwritten.

    tree : Tree - the joint tree
    stations : Stations - path points and wrapping surfaces (stations) of all paths
    m : int - index of the muscle
    tension : float - tension of the muscle [N]
    moving_work : int - 1 = with the forces on the coordinates by which path points move within their bodies,
        0 = without
    work : LeverageWork - results and working space, written
    """
    for b in range(work.wrench.shape[0]):
        for i in range(6):
            work.wrench[b, i] = 0.0
    for d in range(work.force.shape[0]):
        work.force[d] = 0.0
    add_forces(stations, m, tension, moving_work, work.path, work.wrench, work.force)
    transmit(tree, work.pose, work.wrench, work.joint_force)
    for d in range(work.force.shape[0]):
        work.force[d] += work.joint_force[d]


@entry
def force_of_muscle(leverage, m, tension, moving_work, work, tau_out):
    """Write the generalized forces of muscle m under a given tension, at the coordinates of the last call of
    moment_arms.

    leverage : Leverage - joint tree, constraints, paths and angles
    m : int - index of the muscle
    tension : float - tension of the muscle [N]
    moving_work : int - 1 = with the forces on the coordinates by which path points move within their bodies,
        0 = without
    work : LeverageWork - results and working space, written
    tau_out : (n_v,) - generalized forces [N m, N], written
    """
    muscle_force(leverage.tree, leverage.stations, m, tension, moving_work, work)
    copy(work.force, tau_out)


@njit
def arms_by_partial_velocity(work, arms_out):
    """Write the moment arms -C . dl/dq of all muscles about all angles into arms_out : (n_muscle, n_angle)
    [m]. C are the coupling vectors of the angles (see arms_by_force), dl/dq the gradients of the muscles'
    lengths (Sherman, Seth, Delp 2010, eq. 15).
    """
    for m in range(arms_out.shape[0]):
        for a in range(arms_out.shape[1]):
            arms_out[m, a] = -inner_product(work.angle.coupling[a], work.path.gradient[m])


@njit
def arms_by_velocity(tree, stations, work, arms_out):
    """Write the moment arms -dl/dt of all muscles about all angles into arms_out : (n_muscle, n_angle) [m].
    dl/dt is the speed at which the muscle lengthens, computed from the velocities of the bodies, when the
    angle theta changes at theta-dot = 1 (Sherman, Seth, Delp 2010, eq. 11).
    """
    for a in range(arms_out.shape[1]):
        velocities(tree, work.pose, work.angle.coupling[a], work.velocities)
        for m in range(arms_out.shape[0]):
            arms_out[m, a] = -lengthening_speed(
                stations, work.velocities.body, work.angle.coupling[a], m, work.path
            )
