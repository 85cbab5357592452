"""Pose of each foot from its own markers alone, and position and velocity of frames that are fixed to the
feet.

In a multi-body optimisation the joints of the model restrict the pose of every segment. With an ankle of one
axis, the foot of the model may be tilted by some 10 degrees while the real foot lies flat. Heel and ball of
the model then press too much or not at all. So the pose of a foot on the ground is taken from the markers of
that foot only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels.algebra.copying import copy
from kernels.algebra.rotation import matrix_to_quaternion, quaternion_to_matrix, rotate
from kernels.compiler.jit import entry
from kernels.solver.initial_pose import fit_body

N_POSE, N_TWIST = 7, 6
"""Numbers of coordinates and of speeds of a free joint (kernels/joints/free)."""


class FootFrames(NamedTuple):
    """Coordinate frames that are fixed to bodies of a model, such as the feet."""

    body: np.ndarray  # (n,) int64
    position: np.ndarray  # (n, 3) - on the body [m]
    rotation: np.ndarray  # (n, 3, 3) - axes on the body, as columns


@entry
def fit_feet(markers, place, weight, followed, fit, q_out):
    """Fit the pose of each body to its own markers, and write its coordinates into q_out.

    markers : Markers - the markers of the model, and the bodies that carry them
    place : (n_marker, 3) - measured positions of the markers in ground [m]
    weight : (n_marker,) - weights of the markers; a marker of weight 0 takes no part
    followed : FootFrames - the bodies, such as feet, and the frames that are fixed to them
    fit : FitWork - working space of the fit, written
    q_out : (n, N_POSE) - coordinates of the free joint of each body, written; NaN with fewer than three
      markers
    """
    for k in range(followed.body.shape[0]):
        if fit_body(markers, followed.body[k], place, weight, fit):
            copy(fit.vectors[0], q_out[k, :3])
            matrix_to_quaternion(fit.matrices[0], q_out[k, 3:])
        else:
            q_out[k, :] = np.nan


@entry
def follow(q, v, followed, k, motion_out):
    """Write position, axes and velocities of frame k, which is fixed to a body, into row k of motion_out.

    q : (N_POSE,) - coordinates of the body [m, unit quaternion]
    v : (N_TWIST,) - speeds of the body, the angular velocity along its own axes [m/s, rad/s]
    followed : FootFrames - the bodies, such as feet, and the frames that are fixed to them
    k : int - index of the frame
    motion_out : BodyMotion - positions and velocities of the frames, of which row k is written
    """
    R, arm, w = motion_out.rotation[k], motion_out.velocity[k], motion_out.turning[k]
    quaternion_to_matrix(q[3:], R)
    rotate(R, v[3:], w)
    rotate(R, followed.position[k], arm)
    ax, ay, az = arm[0], arm[1], arm[2]
    for i, a in enumerate((ax, ay, az)):
        motion_out.position[k, i] = q[i] + a
    arm[0] = v[0] + w[1] * az - w[2] * ay
    arm[1] = v[1] + w[2] * ax - w[0] * az
    arm[2] = v[2] + w[0] * ay - w[1] * ax
    for i in range(3):
        x, y, z = R[i, 0], R[i, 1], R[i, 2]
        for j in range(3):
            axes = followed.rotation[k]
            R[i, j] = x * axes[0, j] + y * axes[1, j] + z * axes[2, j]
