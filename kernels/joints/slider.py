"""A slider: one translation along an axis; tree.parameter is this unit axis in the joint's frame."""

from __future__ import annotations

from kernels.algebra.copying import copy_vector
from kernels.algebra.rotation import rotate
from kernels.compiler.jit import inlined
from kernels.joints.motions import TRANSLATES, JointSizes

SLIDER_LAYOUT = JointSizes(1, (TRANSLATES,), (0,))


@inlined
def slider_motion(tree, b, q, pose_out):
    """Write position, axis and centre of slider b into pose_out, at the coordinates q : (n_q,) [m]."""
    v, x = tree.v_start[b], pose_out.position[b]
    rotate(pose_out.rotation[b], tree.parameter[b], pose_out.axis[v])
    for i in range(3):
        x[i] += q[tree.q_start[b]] * pose_out.axis[v, i]
    copy_vector(x, pose_out.centre[v])


@inlined
def slider_coordinates(tree, b, x_joint, q_out):
    """Write the coordinate of slider b into q_out, the component of x_joint : (3,) along its axis [m]."""
    axis = tree.parameter[b]
    q_out[tree.q_start[b]] = x_joint[0] * axis[0] + x_joint[1] * axis[1] + x_joint[2] * axis[2]
