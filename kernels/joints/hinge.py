"""A hinge: one rotation about an axis; tree.parameter is this unit axis in the joint's frame."""

from __future__ import annotations

import math

from kernels.algebra.copying import copy_vector
from kernels.algebra.rotation import turn_about
from kernels.compiler.jit import inlined, njit
from kernels.joints.motions import ROTATES, JointSizes

HINGE_LAYOUT = JointSizes(1, (ROTATES,), (0,))


@inlined
def hinge_motion(tree, b, q, before, pose_out):
    """Write the rotation of body b, and axis and centre of hinge b, in ground, into pose_out.

    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    q : (n_q,) - generalized coordinates [rad]
    before : (3, 3) - axes of the joint's frame on the parent, in ground; may be pose_out.rotation[b]
    pose_out : Pose - positions, axes and twists at the coordinates, written
    """
    k, v = tree.q_start[b], tree.v_start[b]
    turn_about(before, tree.parameter[b], q[k], pose_out.rotation[b], pose_out.axis[v])
    copy_vector(pose_out.position[b], pose_out.centre[v])


@njit
def hinge_coordinates(tree, b, R_joint, q_out):
    """Write the coordinate of hinge b into q_out : (n_q,): the angle about its axis of the rotation R_joint :
    (3, 3) [rad].
    """
    axis, along = tree.parameter[b], 0.0
    sine = (
        (R_joint[2, 1] - R_joint[1, 2]) * axis[0]
        + (R_joint[0, 2] - R_joint[2, 0]) * axis[1]
        + (R_joint[1, 0] - R_joint[0, 1]) * axis[2]
    )
    for i in range(3):
        for j in range(3):
            along += axis[i] * R_joint[i, j] * axis[j]
    cosine = R_joint[0, 0] + R_joint[1, 1] + R_joint[2, 2] - along
    q_out[tree.q_start[b]] = math.atan2(sine, cosine)
