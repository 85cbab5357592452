"""A ball joint: a rotation by a unit quaternion; its speeds are the angular velocity in the child's frame."""

from __future__ import annotations

from kernels.algebra.rotation import matrix_to_quaternion, quaternion_difference
from kernels.compiler.jit import inlined
from kernels.joints.motions import ROTATES, JointSizes, add_group
from kernels.joints.turning import turn_by, turned_axes, turning_step

BALL_LAYOUT = JointSizes(4, (ROTATES, ROTATES, ROTATES), (0, 0, 0))


@inlined
def ball_motion(tree, b, q, pose_out):
    """pose_out.rotation[b], axis, centre of ball b; q : (n_q,)."""
    k, frame = tree.q_start[b], pose_out.rotation[b]
    turn_by(frame, q[k : k + 4], pose_out.work)
    turned_axes(frame, pose_out.position[b], tree.v_start[b], pose_out)


@inlined
def ball_step(tree, b, q, delta, scale, q_out):
    """q_out : (n_q,) of ball b = R exp(scale * delta).

    tree : Tree
    b : int - body that the joint carries
    q : (n_q,) - coordinates
    delta : (n_v,) - tangent step [rad]
    scale : float
    q_out : (n_q,) - may be q
    """
    turning_step(q, tree.q_start[b], delta, tree.v_start[b], scale, q_out)


@inlined
def ball_difference(tree, b, q_from, q_to, delta_out):
    """delta_out : (n_v,) of ball b: the shorter way round.

    tree : Tree
    b : int - body that the joint carries
    q_from, q_to : (n_q,) - coordinates
    delta_out : (n_v,) [rad]
    """
    k, v = tree.q_start[b], tree.v_start[b]
    quaternion_difference(q_from[k : k + 4], q_to[k : k + 4], delta_out[v : v + 3])


@inlined
def ball_coordinates(tree, b, R_joint, q_out):
    """q_out : (n_q,) of ball b: the rotation of R_joint : (3, 3)."""
    k = tree.q_start[b]
    matrix_to_quaternion(R_joint, q_out[k : k + 4])


@inlined
def ball_velocity(tree, pose, b, v, carrier, velocity, bias):
    """velocity, bias : (6,) through ball b.

    tree : Tree, pose : Pose
    b : int - body that the joint carries
    v : (n_v,) - speeds [rad/s]
    carrier : (6,) - working space
    velocity : (6,) - carried on [rad/s, m/s]
    bias : (6,) - acceleration at zero v_dot, carried on [rad/s^2, m/s^2]
    """
    add_group(pose.twist, tree.v_start[b], tree.v_start[b + 1], v, carrier, velocity, bias)
