"""Standard deviations of the results of inverse dynamics: joint moments, forces and powers, generalized
forces, the residual.

An error of the pose displaces every body by a twist xi z(t). The twist xi follows from one column of a factor
of the covariance of the tangent coordinates; the time course z has the standard deviation 1, and its value,
first and second derivative after a filter have a covariance of their own
(rtsim/methods/kinematics/rate_errors). As xi moves with the body, the error of the body's velocity V is xi z'
and that of its acceleration A is xi z'' + V x xi z'. In the body's axes, where its inertia is constant, they
also change by - xi x V z and - xi x A z, and the wrench f that accelerates the body moves with it, by xi x* f
z (x and x*: cross products of twists with twists and with wrenches, Featherstone 2008, section 2.9). As f is
quadratic in V, its derivative is half the difference of two values. The load across a joint changes by the
sum over the distal bodies; its centre and its axes move with their bodies. Errors of a body's mass and of its
external wrench are added. All errors are independent, so that their squares add up.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.linear import cholesky_drop
from kernels.algebra.spatial import cross
from kernels.compiler.jit import njit
from kernels.dynamics.inertia import MASS
from kernels.dynamics.inverse import body_force, take_off
from kernels.dynamics.kinetics import N_RESOLVED
from kernels.fdk.read_joints import JointFrames, new_joint_frames, place_frames, read_joints

DEPENDENT = 1e-9
"""Part of its variance below which an error counts as a function of the others [1]."""


class KineticDeviations(NamedTuple):
    """Standard deviations of the results of inverse dynamics (kernels/dynamics/kinetics.Kinetics) and of
    generalized forces.
    """

    moment: Annotated[np.ndarray, Floats("n_joint", N_RESOLVED, 3)]  # [N m]
    force: Annotated[np.ndarray, Floats("n_joint", N_RESOLVED, 3)]  # [N]
    angle_rate: Annotated[np.ndarray, Floats("n_joint", 3)]  # [rad/s]
    power: Annotated[np.ndarray, Floats("n_joint", 2)]  # [W]
    residual: Annotated[np.ndarray, Floats(2, 3)]  # [N m], [N]
    tau: Annotated[np.ndarray, Floats("n_v")]  # [N m, N]


class LoadErrors(NamedTuple):
    """Errors of the input of inverse dynamics: of the pose with its rates, of masses, and of external
    wrenches.
    """

    covariance: np.ndarray  # (2, n_v, n_v) - of tangent coordinates, of each kind of errors
    rates: (
        np.ndarray
    )  # (2, 3, 3) - z, z', z'' in independent parts, one a row, that a filter leaves of each kind
    mass: np.ndarray  # (n_body,) - standard deviation of a body's mass as a fraction of it
    wrench: (
        np.ndarray
    )  # (n_body, 6, 6) - of the external wrench about ground's origin, a factor's columns as rows


class ErrorWork(NamedTuple):
    """Working space for the standard deviations of joint loads (kinetic_deviations)."""

    factor: Annotated[np.ndarray, Floats(2, "n_v", "n_v")]
    # xi of each body, about the origin of body 0; the last: ground
    shift: Annotated[np.ndarray, Floats("n_body + 1", 6)]
    force: Annotated[np.ndarray, Floats("n_body", 6)]  # change of what each joint transmits
    own: Annotated[np.ndarray, Floats("n_body", 6)]  # what each body needs by itself
    spatial: Annotated[np.ndarray, Floats(5, 6)]
    frames: JointFrames


def new_kinetic_deviations(n_joint: int, n_v: int) -> KineticDeviations:
    """Allocate the KineticDeviations of n_joint joints and n_v generalized forces."""
    return allocate(KineticDeviations, n_joint=n_joint, n_v=n_v)


def new_error_work(n_body: int, n_v: int, n_joint: int) -> ErrorWork:
    """Allocate an ErrorWork: working space for the standard deviations of joint loads."""
    return allocate(ErrorWork, n_v=n_v, n_body=n_body, frames=new_joint_frames(n_joint))


@njit
def kinetic_deviations(system, cuts, errors, dynamics, kinetics, work, out):
    """Compute the standard deviations of joint loads and generalized forces; call it directly after
    kernels/dynamics/kinetics.joint_kinetics.

    system : System - joint tree of bodies with mass, in a gravitational field
    cuts : Cuts - joints across which loads are computed, and the root body
    errors : LoadErrors - errors of the input of inverse dynamics
    dynamics : DynamicsWork - poses, velocities, accelerations and inertia of the bodies, from joint_kinetics
    kinetics : Kinetics - results of joint_kinetics
    work : ErrorWork - working space of kinetic_deviations, written
    out : KineticDeviations - standard deviations of joint loads and generalized forces, written
    """
    tree, shift = system.tree, work.shift
    for array in (out.moment, out.force):
        array[:, :, :] = 0.0
    for array in (out.angle_rate, out.power, out.residual):
        array[:, :] = 0.0
    out.tau[:] = 0.0
    place_frames(cuts, dynamics, kinetics, work.frames)
    own_forces(dynamics, work)
    for kind in range(2):
        factor_covariance(errors.covariance[kind], work.factor[kind])
        for k in range(out.tau.shape[0]):
            if work.factor[kind, k, k] > 0.0 and work.factor[kind, k, k] < math.inf:
                move_bodies(tree, dynamics.pose.twist, work.factor[kind], k, shift)
                for c in range(3):
                    change_forces(tree, errors.rates[kind, c], dynamics, work)
                    read_joints(tree, cuts, errors.rates[kind, c], dynamics, kinetics, work, out)
    shift[:, :] = 0.0
    still = errors.rates[0, 0]
    for b in range(tree.parent.shape[0]):
        if errors.mass[b] * dynamics.inertia[b, MASS] > 0.0:
            only_at(tree, b, errors.mass[b], work.own[b], work)
            read_joints(tree, cuts, still, dynamics, kinetics, work, out)
        for k in range(6):
            if add_wrench(tree, b, errors.wrench[b, k], dynamics, work):
                read_joints(tree, cuts, still, dynamics, kinetics, work, out)
    conclude(out)


@njit
def factor_covariance(covariance, factor_out):
    """Write a lower triangular factor of covariance : (n, n) into factor_out : (n, n).

    A column that depends on the others gets an infinite diagonal entry, and is not used.
    """
    n = covariance.shape[0]
    for i in range(n):
        for k in range(i + 1):
            factor_out[i, k] = covariance[i, k]
    cholesky_drop(factor_out, n, DEPENDENT)


@njit
def own_forces(dynamics, work):
    """Write, for each body by itself, the wrench that its inertia and weight require into work.own : (n_body,
    6).

    Moments are about the origin of body 0.
    """
    for b in range(work.own.shape[0]):
        body_force(dynamics.inertia, b, dynamics.acceleration[b], dynamics.velocities.body[b], work.own[b])


@njit
def move_bodies(tree, twist, factor, k, shift_out):
    """Write the displacements (small twists) of all bodies by one independent error of the pose, column k of
    a factor of its covariance.

    tree : Tree - joint tree of the bodies
    twist : (n_v, 6) - twists of all dofs
    factor : (n_v, n_v) - lower triangular factor of the covariance of the pose
    k : int - index of the column
    shift_out : (n_body + 1, 6) - twists, written
    """
    for b in range(tree.parent.shape[0]):
        p = tree.parent[b]
        for i in range(6):
            shift_out[b, i] = shift_out[p, i] if p >= 0 else 0.0
        for d in range(max(tree.v_start[b], k), tree.v_start[b + 1]):
            s = factor[d, k]
            for i in range(6):
                shift_out[b, i] += s * twist[d, i]


@njit
def change_forces(tree, rates, dynamics, work):
    """Write the change of the wrench across each joint, caused by an error that displaces all bodies, into
    work.force : (n_body, 6).

    tree : Tree - joint tree of the bodies
    rates : (3,) - factor z of the displacements in work.shift, and its first and second time derivative
    dynamics : DynamicsWork - intermediate results of the dynamics, and working space
    work : ErrorWork - working space of kinetic_deviations; its fields force and spatial are written
    """
    a, v, more, less, carried = (
        work.spatial[0], work.spatial[1], work.spatial[2], work.spatial[3], work.spatial[4],
    )  # fmt: skip
    for b in range(tree.parent.shape[0]):
        xi, V, own = work.shift[b], dynamics.velocities.body[b], work.own[b]
        cross(V, xi, carried)
        cross(dynamics.acceleration[b], xi, more)
        for i in range(6):
            a[i] = xi[i] * rates[2] + carried[i] * rates[1] + more[i] * rates[0]
            v[i] = xi[i] * rates[1] + carried[i] * rates[0]
        force_slope(dynamics.inertia, b, a, v, V, more, less)
        for i in range(6):
            work.force[b, i] = more[i]
        add_carried(xi, own, rates[0], work.force[b])
    sum_beyond(tree, work.force)


@njit
def add_carried(xi, force, z, change):
    """Add the change z xi x* force of a wrench that moves with a body by the small twist xi z; x* is the
    cross product of a twist and a wrench.

    xi : (6,) - twist by which the body moves
    force : (6,) - the wrench, moment first
    z : float - factor of the twist
    change : (6,) - added to
    """
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        change[i] += z * (
            xi[j] * force[k] - xi[k] * force[j] + xi[3 + j] * force[3 + k] - xi[3 + k] * force[3 + j]
        )
        change[3 + i] += z * (xi[j] * force[3 + k] - xi[k] * force[3 + j])


@njit
def force_slope(inertia, b, a, v, V, slope_out, work):
    """Write the change, to first order, of the wrench that a body's inertia requires, for given changes of
    its acceleration and velocity.

    inertia : (n_body, N_INERTIA) - spatial inertias of the bodies
    b : int - row of the body
    a, v : (6,) - changes of acceleration and velocity, overwritten
    V : (6,) - velocity of the body
    slope_out : (6,) - change of the wrench, written
    work : (6,) - working space
    """
    for i in range(6):
        v[i] = V[i] + v[i]
    body_force(inertia, b, a, v, slope_out)
    for i in range(6):
        a[i] = -a[i]
        v[i] = 2.0 * V[i] - v[i]
    body_force(inertia, b, a, v, work)
    for i in range(6):
        slope_out[i] = 0.5 * (slope_out[i] - work[i])


@njit
def sum_beyond(tree, force):
    """Sum wrenches over subtrees, in place: add those of all distal bodies to that of each body; force :
    (n_body, 6).
    """
    for b in range(tree.parent.shape[0] - 1, 0, -1):
        p = tree.parent[b]
        if p >= 0:
            for i in range(6):
                force[p, i] += force[b, i]


@njit
def only_at(tree, b, scale, wrench, work):
    """Write the change of the wrenches across all joints if one body needs an additional wrench into
    work.force : (n_body, 6).

    tree : Tree - joint tree of the bodies
    b : int - index of the body
    scale : float - factor of the wrench
    wrench : (6,) - additional wrench about the origin of body 0
    work : ErrorWork - working space of kinetic_deviations; its field force is written
    """
    work.force[:, :] = 0.0
    for i in range(6):
        work.force[b, i] = scale * wrench[i]
    sum_beyond(tree, work.force)


@njit
def add_wrench(tree, b, wrench, dynamics, work):
    """Write the change of the wrenches across all joints if an external wrench acts on one body into
    work.force : (n_body, 6).

    Return False, and write nothing, if the wrench is zero.

    tree : Tree - joint tree of the bodies
    b : int - index of the body
    wrench : (6,) - external wrench about ground's origin
    dynamics : DynamicsWork - intermediate results of the dynamics, and working space
    work : ErrorWork - working space of kinetic_deviations; its fields force and spatial are written
    """
    size = 0.0
    for i in range(6):
        size += abs(wrench[i])
    if not size > 0.0:
        return False
    for i in range(6):
        work.spatial[0, i] = 0.0
    take_off(wrench, dynamics.pose.position[0], work.spatial[0])
    only_at(tree, b, 1.0, work.spatial[0], work)
    return True


@njit
def conclude(out):
    """Replace the variances in all arrays of KineticDeviations by standard deviations, their square roots."""
    for j in range(out.moment.shape[0]):
        for f in range(out.moment.shape[1]):
            for i in range(3):
                out.moment[j, f, i] = math.sqrt(out.moment[j, f, i])
                out.force[j, f, i] = math.sqrt(out.force[j, f, i])
        for i in range(3):
            out.angle_rate[j, i] = math.sqrt(out.angle_rate[j, i])
        for i in range(2):
            out.power[j, i] = math.sqrt(out.power[j, i])
    for k in range(2):
        for i in range(3):
            out.residual[k, i] = math.sqrt(out.residual[k, i])
    for d in range(out.tau.shape[0]):
        out.tau[d] = math.sqrt(out.tau[d])
