"""A hinge: one rotation about an axis; tree.parameter holds it, unit, in the joint's frame."""

from __future__ import annotations

import math

from kernels.algebra.copying import copy_vector
from kernels.algebra.rotation import turn_about
from kernels.compiler.jit import inlined, njit
from kernels.joints.motions import ROTATES, JointSizes

HINGE_LAYOUT = JointSizes(1, (ROTATES,), (0,))


@inlined
def hinge_motion(tree, b, q, before, pose_out):
    """pose_out.rotation[b], axis, centre of hinge b; before : (3, 3) - its frame on the parent.

    tree : Tree
    b : int - body that the joint carries
    q : (n_q,) - coordinates [rad]
    before : (3, 3) - may be pose_out.rotation[b]
    pose_out : Pose - written
    """
    k, v = tree.q_start[b], tree.v_start[b]
    turn_about(before, tree.parameter[b], q[k], pose_out.rotation[b], pose_out.axis[v])
    copy_vector(pose_out.position[b], pose_out.centre[v])


@njit
def hinge_coordinates(tree, b, R_joint, q_out):
    """q_out : (n_q,) of hinge b: the rotation of R_joint : (3, 3) about its axis."""
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
