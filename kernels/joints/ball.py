"""A ball joint: a rotation by a unit quaternion; its speeds are the angular velocity in the child's frame."""

from __future__ import annotations

from kernels.algebra.rotation import matrix_to_quaternion, quaternion_difference
from kernels.compiler.jit import inlined
from kernels.joints.motions import ROTATES, JointSizes, add_group
from kernels.joints.turning import turn_by, turned_axes, turning_step

BALL_LAYOUT = JointSizes(4, (ROTATES, ROTATES, ROTATES), (0, 0, 0))


@inlined
def ball_motion(tree, b, q, pose_out):
    """Write the rotation of body b, and the axes and the centre of ball joint b, in ground, into pose_out.

    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    q : (n_q,) - generalized coordinates
    pose_out : Pose - positions, axes and twists at the coordinates, written
    """
    k, frame = tree.q_start[b], pose_out.rotation[b]
    turn_by(frame, q[k : k + 4], pose_out.work)
    turned_axes(frame, pose_out.position[b], tree.v_start[b], pose_out)


@inlined
def ball_step(tree, b, q, delta, scale, q_out):
    """Write the quaternion of ball joint b after a rotation step, R exp(scale * delta), into q_out.

    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    q : (n_q,) - generalized coordinates
    delta : (n_v,) - step along the tangent of q [rad]
    scale : float - factor of the step [1]
    q_out : (n_q,) - generalized coordinates after the step, written; may be q itself
    """
    turning_step(q, tree.q_start[b], delta, tree.v_start[b], scale, q_out)


@inlined
def ball_difference(tree, b, q_from, q_to, delta_out):
    """Write the rotation vector from the orientation q_from of ball joint b to q_to, the shorter way round,
    into delta_out.

    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    q_from, q_to : (n_q,) - generalized coordinates at start and end
    delta_out : (n_v,) - rotation vector in the entries of the joint's three dofs [rad], written
    """
    k, v = tree.q_start[b], tree.v_start[b]
    quaternion_difference(q_from[k : k + 4], q_to[k : k + 4], delta_out[v : v + 3])


@inlined
def ball_coordinates(tree, b, R_joint, q_out):
    """Write the unit quaternion of the rotation R_joint : (3, 3) as coordinates of ball joint b into q_out :
    (n_q,).
    """
    k = tree.q_start[b]
    matrix_to_quaternion(R_joint, q_out[k : k + 4])


@inlined
def ball_velocity(tree, pose, b, v, carrier, velocity, bias):
    """Add the motion of ball joint b to the parent's spatial velocity and bias acceleration, which become
    those of the body that it carries.

    tree : Tree, pose : Pose - the joint tree, and positions and twists at its coordinates
    b : int - index of the body that the joint carries
    v : (n_v,) - generalized speeds [rad/s]
    carrier : (6,) - working space
    velocity : (6,) - spatial velocity of the parent, changed to that of the body [rad/s, m/s]
    bias : (6,) - spatial acceleration at zero v_dot, likewise changed [rad/s^2, m/s^2]
    """
    add_group(pose.twist, tree.v_start[b], tree.v_start[b + 1], v, carrier, velocity, bias)
