"""A free joint: three translations along the axes of its frame on the parent, then a rotation.

The rotation is that of a ball joint. The coordinates are x, y, z and a unit quaternion; the speeds are the
rates of x, y, z and the angular velocity in the child's frame.
"""

from __future__ import annotations

from kernels.algebra.copying import copy_vector
from kernels.algebra.rotation import matrix_to_quaternion, quaternion_difference
from kernels.algebra.spatial import crossed
from kernels.compiler.jit import inlined
from kernels.joints.motions import (
    ROTATES,
    TRANSLATES,
    JointSizes,
    add_group,
    group_jerks,
    group_rates,
    pass_motion,
)
from kernels.joints.turning import turn_by, turned_axes, turning_jerks, turning_step

FREE_LAYOUT = JointSizes(7, 3 * (TRANSLATES,) + 3 * (ROTATES,), (0, 0, 0, 1, 1, 1))


@inlined
def free_motion(tree, b, q, pose_out):
    """Write rotation and position of body b, and axes and centres of the dofs of free joint b, into pose_out,
    at the coordinates q : (n_q,) [m].
    """
    k, v, frame, x = tree.q_start[b], tree.v_start[b], pose_out.rotation[b], pose_out.position[b]
    for i in range(3):
        x[i] += frame[i, 0] * q[k] + frame[i, 1] * q[k + 1] + frame[i, 2] * q[k + 2]
    turned_axes(frame, x, v, pose_out)
    turn_by(frame, q[k + 3 : k + 7], pose_out.work)
    turned_axes(frame, x, v + 3, pose_out)


@inlined
def free_step(tree, b, q, delta, scale, q_out):
    """Write the coordinates of free joint b after a step into q_out: position x + scale * delta, rotation R
    exp(scale * delta).

    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    q : (n_q,) - generalized coordinates [m]
    delta : (n_v,) - step along the tangent of q [m, rad]
    scale : float - factor of the step [1]
    q_out : (n_q,) - generalized coordinates after the step, written; may be q itself
    """
    k, v = tree.q_start[b], tree.v_start[b]
    for i in range(3):
        q_out[k + i] = q[k + i] + scale * delta[v + i]
    turning_step(q, k + 3, delta, v + 3, scale, q_out)


@inlined
def free_difference(tree, b, q_from, q_to, delta_out):
    """Write the step of free joint b from q_from to q_to, a displacement and a rotation vector, into
    delta_out.

    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    q_from, q_to : (n_q,) - generalized coordinates at start and end [m]
    delta_out : (n_v,) - step along the tangent of q [m, rad], written
    """
    k, v = tree.q_start[b], tree.v_start[b]
    for i in range(3):
        delta_out[v + i] = q_to[k + i] - q_from[k + i]
    quaternion_difference(q_from[k + 3 : k + 7], q_to[k + 3 : k + 7], delta_out[v + 3 : v + 6])


@inlined
def free_coordinates(tree, b, R_joint, x_joint, q_out):
    """Write the coordinates of free joint b at which its frame on the child has a given pose in its frame on
    the parent into q_out.

    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    R_joint : (3, 3) - axes of the joint's frame on the child in that on the parent, as columns
    x_joint : (3,) - its origin there [m]
    q_out : (n_q,) - generalized coordinates, of which those of the joint are written
    """
    k = tree.q_start[b]
    copy_vector(x_joint, q_out[k : k + 3])
    matrix_to_quaternion(R_joint, q_out[k + 3 : k + 7])


@inlined
def free_velocity(tree, pose, b, v, carrier, velocity, bias):
    """Add the motion of free joint b to the parent's spatial velocity and bias acceleration, which become
    those of the body that it carries.

    tree : Tree, pose : Pose - the joint tree, and positions and twists at its coordinates
    b : int - index of the body that the joint carries
    v : (n_v,) - generalized speeds [m/s, rad/s]
    carrier : (6,) - working space
    velocity : (6,) - spatial velocity of the parent, changed to that of the body [rad/s, m/s]
    bias : (6,) - spatial acceleration at zero v_dot, likewise changed [rad/s^2, m/s^2]
    """
    start = tree.v_start[b]
    add_group(pose.twist, start, start + 3, v, carrier, velocity, bias)
    add_group(pose.twist, start + 3, start + 6, v, carrier, velocity, bias)


@inlined
def free_twist_rates(tree, pose, b, v, before, psi_dot_out):
    """Write psi_dot of the dofs e of free joint b: the vectors with which dV_i/dq_e = psi_dot_e + S_e x V_i
    for the velocity V_i of every body i that dof e moves, with its twist S_e. The rotations come after the
    translations.

    tree : Tree, pose : Pose - the joint tree, and positions and twists at its coordinates
    b : int - index of the body that the joint carries
    v : (n_v,) - generalized speeds [m/s, rad/s]
    before : (6,) - spatial velocity of the parent, overwritten [rad/s, m/s]
    psi_dot_out : (n_v, 6) - psi_dot of kernels/dynamics/twist_rates, written
    """
    twist, start = pose.twist, tree.v_start[b]
    group_rates(twist, start, start + 3, before, psi_dot_out)
    for i in range(3, 6):
        before[i] += (
            v[start] * twist[start, i]
            + v[start + 1] * twist[start + 1, i]
            + v[start + 2] * twist[start + 2, i]
        )
    group_rates(twist, start + 3, start + 6, before, psi_dot_out)


@inlined
def free_jerks(tree, pose, b, v, v_dot, velocity, own):
    """Write two terms from which derivatives of accelerations are formed, for the dofs of free joint b:
    own.psi_ddot and own.psi_s_dot.

    With V_i and A_i, the spatial velocity and acceleration of a body i that dof e moves, and S_e, the twist
    of the dof, they are defined by
      dA_i/dq_e = psi_ddot_e + psi_dot_e x V_i + S_e x A_i,   dA_i/dv_e = psi_s_dot_e = psi_dot_e + dS_e/dt
    (kernels/dynamics/derivatives).

    tree : Tree, pose : Pose - the joint tree, and positions and twists at its coordinates
    b : int - index of the body that the joint carries
    v : (n_v,) - generalized speeds [m/s, rad/s]
    v_dot : (n_v,) - generalized accelerations [m/s^2, rad/s^2]
    velocity : (6,) - spatial velocity of that body [rad/s, m/s]
    own : DerivativeWork - results, written; its `before` contains velocity and acceleration of the parent,
      overwritten
    """
    start = tree.v_start[b]
    group_jerks(pose.twist, start, start + 3, own)
    for d in range(start, start + 3):
        pass_motion(1.0, pose.twist[d], v[d], v_dot[d], own.before[0], own.before[1])
    turning_jerks(tree, pose.twist, velocity, b, own)


@inlined
def free_within(tree, pose, b, force, tau_q_out):
    """Subtract (S_e x S_d) . force, with the twists S of rotations e and translations d of free joint b, from
    tau_q_out.

    This corrects tau_q_out, which was computed as if every dof of a joint moved the others: the rotations of
    a free joint do not change the axes of its translations.

    tree : Tree, pose : Pose - the joint tree, and positions and twists at its coordinates
    b : int - index of the body that the joint carries
    force : (6,) - wrench that the joint transmits, about the origin of body 0 [N m, N]
    tau_q_out : (n_v, n_v) - derivative of the generalized forces with respect to q, changed
    """
    start = tree.v_start[b]
    for d in range(start, start + 3):
        for e in range(start + 3, start + 6):
            tau_q_out[d, e] -= crossed(pose.twist[e], pose.twist[d], force)
