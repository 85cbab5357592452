"""Joint kinetics of a motion: net joint moments and forces, their powers, and the residual: the wrench that
the joint between ground and the root body transmits, zero if motion, masses and external forces agreed.

A cut through a joint separates the bodies distal to it from the rest. The wrench through the cut is what the
distal bodies need besides gravity and the external wrenches. Muscles, ligaments, contacts and the joint
itself exert it all together, wherever they cross. It acts on the distal body (an internal moment, as muscles
would deliver it) and is taken about the joint's centre: the distal body's reference point
(JointAxes.point_distal) or, where Cuts.on_proximal is 1, the proximal one's.

Along the axes of the joint coordinate system, which are oblique, moments and forces are projections, moment .
e_k, and not components. A projection is the moment that does the work of its angle, so that the power of the
moment is the sum of moment_k times angle_rate_k. (The choice of axes changes the numbers: Schache, Baker
2007, Gait Posture 25, 440-452.)
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.copying import copy_frame
from kernels.algebra.rotation import multiply
from kernels.algebra.spatial import dot
from kernels.compiler.jit import njit
from kernels.dynamics.inverse import inverse_dynamics
from kernels.joints.joint_angles import JointAxes, resolve
from kernels.joints.tree import point_in_ground

IN_GROUND, IN_PROXIMAL, IN_DISTAL, ALONG_AXES = 0, 1, 2, 3
"""Axes in which a moment or a force is resolved: those of ground, of the proximal and of the distal body's
anatomy (components), and those of the joint coordinate system (projections)."""
N_RESOLVED = 4


class Cuts(NamedTuple):
    """Joints across which loads are computed, and the root body of the model."""

    joints: JointAxes
    sign: np.ndarray  # (n_joint, 3) - of the angles: -1 where an angle is positive against its axis
    on_proximal: np.ndarray  # (n_joint,) int64 - 1 = the joint's centre is fixed in its proximal body
    root: int  # body whose joint to ground transmits the residual
    weight: float  # of the whole person [N]


class Kinetics(NamedTuple):
    """Moments, forces and powers of all joints in one frame; moments and forces act on the distal body at the
    joint's centre.
    """

    centre: Annotated[np.ndarray, Floats("n_joint", 3)]  # in ground [m]
    # [N m] - ALONG_AXES positive where it raises the angle
    moment: Annotated[np.ndarray, Floats("n_joint", N_RESOLVED, 3)]
    force: Annotated[np.ndarray, Floats("n_joint", N_RESOLVED, 3)]  # [N]
    angle_rate: Annotated[np.ndarray, Floats("n_joint", 3)]  # of the joint angles, with their signs [rad/s]
    power: Annotated[np.ndarray, Floats("n_joint", 2)]  # of the moment, of the force [W]
    # moment about the root's origin [N m], force [N], in ground
    residual: Annotated[np.ndarray, Floats(2, 3)]
    residual_share: Annotated[np.ndarray, Floats(2, 3)]  # the same divided by the weight [m, 1]
    work: Annotated[np.ndarray, Floats(3, 3, 3)]  # working space


def new_kinetics(n_joint: int) -> Kinetics:
    """Allocate a Kinetics: moments, forces and powers of n_joint joints."""
    return allocate(Kinetics, n_joint=n_joint)


@njit
def joint_kinetics(system, cuts, q, v, v_dot, wrench, work, kinetics_out, tau_out):
    """Compute net joint moments and forces, powers and the residual at the root of a motion.

    system : System - joint tree of bodies with mass, in a gravitational field
    cuts : Cuts - joints across which loads are computed, and the root body
    q : (n_q,) - generalized coordinates [rad, m]
    v, v_dot : (n_v,) - generalized speeds and accelerations [rad/s, m/s; rad/s^2, m/s^2]
    wrench : (n_body, 6) - external moment about the origin of ground [N m] and external force [N] on each
        body, in ground axes
    work : DynamicsWork - working space, overwritten
    kinetics_out : Kinetics - joint moments, forces and powers of the frame, written
    tau_out : (n_v,) - generalized forces [N m, N]
    """
    inverse_dynamics(system, q, v, v_dot, wrench, work, tau_out)
    for j in range(cuts.joints.distal.shape[0]):
        cross_joint(cuts, j, work, kinetics_out)
    residual, share, root = kinetics_out.residual, kinetics_out.residual_share, work.reaction[cuts.root]
    move(root, work.pose.position[0], work.pose.position[cuts.root], residual[0])
    for i in range(3):
        residual[1, i] = root[3 + i]
        share[0, i], share[1, i] = residual[0, i] / cuts.weight, residual[1, i] / cuts.weight


@njit
def cross_joint(cuts, j, work, kinetics_out):
    """Write centre, moment, force, angle rates and power of joint j; called after inverse dynamics."""
    joints, pose, origin = cuts.joints, work.pose, work.pose.position[0]
    p, d = joints.proximal[j], joints.distal[j]
    P, D, relative = kinetics_out.work[0], kinetics_out.work[1], kinetics_out.work[2]
    centre, moment, force = kinetics_out.centre[j], kinetics_out.moment[j], kinetics_out.force[j]
    anatomical_axes(pose, p, joints.axes_proximal[j], P)
    anatomical_axes(pose, d, joints.axes_distal[j], D)
    if cuts.on_proximal[j] == 1:
        point_in_ground(pose, p, joints.point_proximal[j], centre)
    else:
        point_in_ground(pose, d, joints.point_distal[j], centre)
    through = work.reaction[d]
    move(through, origin, centre, moment[IN_GROUND])
    for i in range(3):
        force[IN_GROUND, i] = through[3 + i]
        relative[0, i] = velocity_of(work, d, i) - velocity_of(work, p, i)
        relative[1, i] = velocity_of(work, d, 3 + i) - velocity_of(work, p, 3 + i)
    add_turning(relative[0], origin, centre, relative[1])
    resolve_all(P, D, moment)
    resolve_all(P, D, force)
    resolve(P, D, relative[0], kinetics_out.angle_rate[j])
    for i in range(3):
        moment[ALONG_AXES, i] *= cuts.sign[j, i]
        kinetics_out.angle_rate[j, i] *= cuts.sign[j, i]
    kinetics_out.power[j, 0] = dot(moment[IN_GROUND], relative[0])
    kinetics_out.power[j, 1] = dot(force[IN_GROUND], relative[1])


@njit
def anatomical_axes(pose, body, axes, axes_out):
    """Write the anatomical axes : (3, 3) of a body (-1 = ground) in ground into axes_out : (3, 3)."""
    if body < 0:
        copy_frame(axes, axes_out)
    else:
        multiply(pose.rotation[body], axes, axes_out)


@njit
def velocity_of(work, body, i):
    """Return component i of a body's spatial velocity; ground (-1) is at rest."""
    return work.velocities.body[body, i] if body >= 0 else 0.0


@njit
def move(wrench, origin, centre, moment_out):
    """Write the moment M - (centre - origin) x F about centre of a wrench that is given about origin.

    The result goes into moment_out : (3,); M and F are moment and force of wrench : (6,).
    """
    x, y, z = centre[0] - origin[0], centre[1] - origin[1], centre[2] - origin[2]
    moment_out[0] = wrench[0] - y * wrench[5] + z * wrench[4]
    moment_out[1] = wrench[1] - z * wrench[3] + x * wrench[5]
    moment_out[2] = wrench[2] - x * wrench[4] + y * wrench[3]


@njit
def add_turning(w, origin, centre, u):
    """Add w x (centre - origin) to the velocity u : (3,), with the angular velocity w : (3,).

    This converts the velocity of a body's point at origin into that of its point at centre.
    """
    x, y, z = centre[0] - origin[0], centre[1] - origin[1], centre[2] - origin[2]
    u[0] += w[1] * z - w[2] * y
    u[1] += w[2] * x - w[0] * z
    u[2] += w[0] * y - w[1] * x


@njit
def resolve_all(P, D, rows):
    """Resolve a vector given in ground axes (row IN_GROUND of rows) in the axes of the proximal body, in
    those of the distal body, and along the axes of the joint coordinate system.

    rows : (N_RESOLVED, 3) has one row per set of axes. P, D : (3, 3) hold the axes of the proximal and of the
      distal body as columns.

    Where e1 and e3 are parallel there is no floating axis e2, and the projection on it is set to 0.
    """
    x = rows[IN_GROUND]
    for i in range(3):
        rows[IN_PROXIMAL, i] = P[0, i] * x[0] + P[1, i] * x[1] + P[2, i] * x[2]
        rows[IN_DISTAL, i] = D[0, i] * x[0] + D[1, i] * x[1] + D[2, i] * x[2]
    e2x = D[1, 1] * P[2, 2] - D[2, 1] * P[1, 2]
    e2y = D[2, 1] * P[0, 2] - D[0, 1] * P[2, 2]
    e2z = D[0, 1] * P[1, 2] - D[1, 1] * P[0, 2]
    size = math.sqrt(e2x * e2x + e2y * e2y + e2z * e2z)
    rows[ALONG_AXES, 0] = rows[IN_PROXIMAL, 2]
    rows[ALONG_AXES, 1] = (e2x * x[0] + e2y * x[1] + e2z * x[2]) / size if size > 1e-12 else 0.0
    rows[ALONG_AXES, 2] = rows[IN_DISTAL, 1]
