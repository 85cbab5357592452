"""Variances of joint moments, forces, powers and angle rates, from errors of the bodies' positions and of the
forces through the joints.

Each independent error changes these results; the squares of the changes add up to the variances
(kernels/uncertainty/kinetic_errors). The centre and the axes of a joint move with its bodies. Results are
stated in axes of a body: if an error rotates the body by the small rotation vector t and changes a vector x
by dx as seen in ground, the change as seen from the body is dx - t x x. The axes of a joint are e1, fixed to
one body, e3, fixed to the other, and the floating axis e2 = e3 x e1 / |e3 x e1|, which the rotations of both
bodies change. The rates r_k of the joint angles are defined by: sum r_k e_k is the relative angular velocity
w. So r_k is the scalar product of w and the k-th vector of the dual basis of the axes.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.spatial import add_cross, dot, power, vector_product
from kernels.compiler.jit import njit
from kernels.dynamics.kinetics import (
    ALONG_AXES,
    IN_DISTAL,
    IN_GROUND,
    IN_PROXIMAL,
    add_turning,
    anatomical_axes,
)
from kernels.joints.motions import TRANSLATES
from kernels.solver.output_jacobian import PARALLEL


class JointFrames(NamedTuple):
    """Axes of all joints, relative motions of their bodies, and working space."""

    # anatomical axes of the proximal and the distal body, as columns
    axes: Annotated[np.ndarray, Floats("n_joint", 2, 3, 3)]
    axis: Annotated[np.ndarray, Floats("n_joint", 3, 3)]  # e1, e2, e3, one a row
    dual: Annotated[np.ndarray, Floats("n_joint", 3, 3)]  # those with dual . axis' = 1
    spread: Annotated[np.ndarray, Floats("n_joint")]  # sine of the angle between e1 and e3
    # relative angular velocity, relative velocity at the centre
    motion: Annotated[np.ndarray, Floats("n_joint", 2, 3)]
    arm: Annotated[np.ndarray, Floats("n_joint", 3)]  # of the centre about the origin of body 0 [m]
    change: Annotated[np.ndarray, Floats(8, 3)]


def new_joint_frames(n_joint: int) -> JointFrames:
    """Allocate a JointFrames: axes and motions of n_joint joints."""
    return allocate(JointFrames, n_joint=n_joint)


@njit
def place_frames(cuts, dynamics, kinetics, frames):
    """Write the axes of all joints and the relative motions of their bodies; called after joint_kinetics.

    cuts : Cuts - joints across which loads are computed, and the root body
    dynamics : DynamicsWork - intermediate results of the dynamics, and working space
    kinetics : Kinetics - joint moments, forces and powers of the frame
    frames : JointFrames - written
    """
    joints, pose, V = cuts.joints, dynamics.pose, dynamics.velocities.body
    origin = pose.position[0]
    for j in range(joints.distal.shape[0]):
        p, d = joints.proximal[j], joints.distal[j]
        P, D, e, dual = frames.axes[j, 0], frames.axes[j, 1], frames.axis[j], frames.dual[j]
        anatomical_axes(pose, p, joints.axes_proximal[j], P)
        anatomical_axes(pose, d, joints.axes_distal[j], D)
        cosine = 0.0
        for i in range(3):
            e[0, i], e[2, i] = P[i, 2], D[i, 1]
            cosine += P[i, 2] * D[i, 1]
            frames.arm[j, i] = kinetics.centre[j, i] - origin[i]
            frames.motion[j, 0, i] = V[d, i] - (V[p, i] if p >= 0 else 0.0)
            frames.motion[j, 1, i] = V[d, 3 + i] - (V[p, 3 + i] if p >= 0 else 0.0)
        add_turning(frames.motion[j, 0], origin, kinetics.centre[j], frames.motion[j, 1])
        square = max(1.0 - cosine * cosine, PARALLEL)
        frames.spread[j] = math.sqrt(square)
        x, y, z = vector_product(e[2], e[0])
        e[1, 0], e[1, 1], e[1, 2] = x / frames.spread[j], y / frames.spread[j], z / frames.spread[j]
        for i in range(3):
            dual[0, i] = (e[0, i] - cosine * e[2, i]) / square
            dual[1, i] = e[1, i]
            dual[2, i] = (e[2, i] - cosine * e[0, i]) / square


@njit
def read_joints(tree, cuts, rates, dynamics, kinetics, work, out):
    """Add the squares of the changes of all joint results that one error causes to the variances in out.

    It is called for every independent error of a position of the bodies or of a force.

    tree : Tree - joint tree of the bodies
    cuts : Cuts - joints across which loads are computed, and the root body
    rates : (3,) - size z of the error, and its first and second time derivative
    dynamics : DynamicsWork - intermediate results of the dynamics, and working space
    kinetics : Kinetics - joint moments, forces and powers of the frame
    work : ErrorWork - its shift and force, the displacements and wrenches that the error causes, are read;
        frames.change and spatial are written
    out : KineticDeviations - variances, written
    """
    for j in range(cuts.joints.distal.shape[0]):
        read_wrench(cuts, j, rates, kinetics, work, out)
        read_motion(cuts, j, rates, kinetics, work, out)
    root, change = work.force[cuts.root], work.frames.change[0]
    arm, W, xi = work.frames.change[1], dynamics.reaction[cuts.root], work.shift[cuts.root]
    for i in range(3):
        arm[i] = dynamics.pose.position[cuts.root, i] - dynamics.pose.position[0, i]
    about(root, W, arm, xi, rates[0], change)
    for i in range(3):
        out.residual[0, i] += change[i] * change[i]
        out.residual[1, i] += root[3 + i] * root[3 + i]
    turned = work.spatial[0]
    for d in range(out.tau.shape[0]):
        b = tree.dof_body[d]
        carrier = tree.parent[b] if tree.dof_rotates[d] == TRANSLATES else b
        for i in range(6):
            turned[i] = 0.0
        t = dynamics.pose.twist[d]
        add_cross(work.shift[carrier], t[0], t[1], t[2], t[3], t[4], t[5], turned)
        slope = power(t, work.force[b]) + rates[0] * power(turned, dynamics.reaction[b])
        out.tau[d] += slope * slope


@njit
def about(change, wrench, arm, xi, z, moment_out):
    """Write the change of the moment of a wrench about a point, where both the wrench changes and the point
    moves with a body.

    change, wrench : (6,) - change of the wrench, and the wrench, about the origin of body 0
    arm : (3,) - the point relative to that origin [m]
    xi : (6,) - twist of the body that carries the point
    z : float - size of the twist
    moment_out : (3,) - change of the moment [N m], written
    """
    sx, sy, sz = vector_product(xi, arm)
    sx, sy, sz = z * (sx + xi[3]), z * (sy + xi[4]), z * (sz + xi[5])
    x, y, w = arm[0], arm[1], arm[2]
    moment_out[0] = change[0] - y * change[5] + w * change[4] - sy * wrench[5] + sz * wrench[4]
    moment_out[1] = change[1] - w * change[3] + x * change[5] - sz * wrench[3] + sx * wrench[5]
    moment_out[2] = change[2] - x * change[4] + y * change[3] - sx * wrench[4] + sy * wrench[3]


@njit
def read_wrench(cuts, j, rates, kinetics, work, out):
    """Add the squares of the changes of moment and force of joint j that one error causes to their variances;
    write the changes in ground axes into work.frames.change[0] and [1].

    cuts : Cuts - joints across which loads are computed, and the root body
    j : int - joint
    rates : (3,) - size z of the error, and its first and second time derivative
    kinetics : Kinetics - joint moments, forces and powers of the frame
    work : ErrorWork - working space of kinetic_deviations; its field frames.change is written
    out : KineticDeviations - variances; its fields moment and force are updated
    """
    p, d, frames = cuts.joints.proximal[j], cuts.joints.distal[j], work.frames
    moment, force, wrench = frames.change[0], frames.change[1], work.spatial[0]
    for i in range(3):
        wrench[3 + i] = kinetics.force[j, IN_GROUND, i]
    carrier = p if cuts.on_proximal[j] == 1 else d
    about(work.force[d], wrench, frames.arm[j], work.shift[carrier], rates[0], moment)
    for i in range(3):
        force[i] = work.force[d, 3 + i]
    turn_axes(frames.axis[j], frames.spread[j], work.shift[p], work.shift[d], rates[0], frames.change)
    for change, x, total in (
        (moment, kinetics.moment[j, IN_GROUND], out.moment[j]),
        (force, kinetics.force[j, IN_GROUND], out.force[j]),
    ):
        for i in range(3):
            total[IN_GROUND, i] += change[i] * change[i]
        add_turned(change, x, frames.axes[j, 0], work.shift[p], rates[0], total[IN_PROXIMAL])
        add_turned(change, x, frames.axes[j, 1], work.shift[d], rates[0], total[IN_DISTAL])
        for k in range(3):
            s = dot(change, frames.axis[j, k]) + dot(x, frames.change[2 + k])
            total[ALONG_AXES, k] += s * s


@njit
def turn_axes(axis, spread, proximal, distal, z, change_out):
    """Write the changes of the joint axes e1, e2, e3 by twists of the two bodies into rows 2, 3 and 4 of
    change_out.

    axis : (3, 3) - e1, e2, e3, one in each row
    spread : float - sine of the angle between e1 and e3
    proximal, distal : (6,) - twists of the proximal and of the distal body
    z : float - size of the twists
    change_out : (8, 3) - its rows 2 to 4 are written
    """
    one, two, three = change_out[2], change_out[3], change_out[4]
    one[0], one[1], one[2] = vector_product(proximal, axis[0])
    three[0], three[1], three[2] = vector_product(distal, axis[2])
    ax, ay, az = vector_product(three, axis[0])
    bx, by, bz = vector_product(axis[2], one)
    two[0], two[1], two[2] = (ax + bx) / spread, (ay + by) / spread, (az + bz) / spread
    along = dot(two, axis[1])
    for i in range(3):
        one[i] *= z
        two[i] = z * (two[i] - along * axis[1, i])
        three[i] *= z


@njit
def add_turned(change, x, axes, xi, z, total):
    """Add the squares of the changes of a vector x, resolved in the axes of a body that rotates, to total.

    change : (3,) - change of x in ground
    x : (3,) - the vector, in ground
    axes : (3, 3) - axes of the body, as columns
    xi : (6,) - twist of the body
    z : float - size of the twist
    total : (3,) - sums of squares along the three axes, updated
    """
    a, b, c = vector_product(xi, x)
    a, b, c = change[0] - z * a, change[1] - z * b, change[2] - z * c
    for i in range(3):
        s = axes[0, i] * a + axes[1, i] * b + axes[2, i] * c
        total[i] += s * s


@njit
def read_motion(cuts, j, rates, kinetics, work, out):
    """Add the squares of the changes of the angle rates and the power of joint j that one error causes to
    their variances; called after read_wrench.

    cuts : Cuts - joints across which loads are computed, and the root body
    j : int - joint
    rates : (3,) - size z of the error, and its first and second time derivative
    kinetics : Kinetics - joint moments, forces and powers of the frame
    work : ErrorWork - working space of kinetic_deviations; its field frames.change is written
    out : KineticDeviations - variances; its fields angle_rate and power are updated
    """
    p, d, frames = cuts.joints.proximal[j], cuts.joints.distal[j], work.frames
    change, arm, turning = frames.change, frames.arm[j], frames.motion[j, 0]
    w, u = change[5], change[6]
    carrier = p if cuts.on_proximal[j] == 1 else d
    x, y, z = vector_product(work.shift[carrier], arm)
    shifted = change[7]
    shifted[0], shifted[1], shifted[2] = (
        rates[0] * (x + work.shift[carrier, 3]),
        rates[0] * (y + work.shift[carrier, 4]),
        rates[0] * (z + work.shift[carrier, 5]),
    )
    x, y, z = vector_product(turning, shifted)
    for i in range(3):
        w[i] = rates[1] * (work.shift[d, i] - work.shift[p, i])
        u[i] = rates[1] * (work.shift[d, 3 + i] - work.shift[p, 3 + i])
    ax, ay, az = vector_product(w, arm)
    u[0], u[1], u[2] = u[0] + ax + x, u[1] + ay + y, u[2] + az + z
    moment, force = kinetics.moment[j, IN_GROUND], kinetics.force[j, IN_GROUND]
    s = dot(change[0], turning) + dot(moment, w)
    out.power[j, 0] += s * s
    s = dot(change[1], frames.motion[j, 1]) + dot(force, u)
    out.power[j, 1] += s * s
    for k in range(3):
        rate = kinetics.angle_rate[j, k] * cuts.sign[j, k]
        for i in range(3):
            w[i] -= rate * change[2 + k, i]
    for k in range(3):
        s = dot(frames.dual[j, k], w)
        out.angle_rate[j, k] += s * s
