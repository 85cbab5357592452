"""Where feet are by their own markers, and how what lies on them moves.

A solver of many segments bends every one of them to its joints: a foot behind an ankle of one axis cannot lie
flat where that axis has it otherwise, by some 10 degrees, and its heel and ball press too much or not at all.
So a foot on the ground is taken from its markers alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels.algebra.copying import copy
from kernels.algebra.rotation import matrix_to_quaternion, quaternion_to_matrix, rotate
from kernels.compiler.jit import entry
from kernels.solver.initial_pose import fit_body

N_POSE, N_TWIST = 7, 6
"""Coordinates and speeds of a free joint (kernels/joints/free)."""


class FootFrames(NamedTuple):
    """Frames on the bodies of a model, as those of feet."""

    body: np.ndarray  # (n,) int64
    position: np.ndarray  # (n, 3) - on the body [m]
    rotation: np.ndarray  # (n, 3, 3) - axes on the body, as columns


@entry
def fit_feet(markers, place, weight, followed, fit, q_out):
    """q_out : (n, N_POSE) - coordinates of the bodies by their markers; NaN where fewer than three are there.

    markers : Markers
    place : (n_marker, 3) - of the markers in ground [m]
    weight : (n_marker,) - 0 = takes no part
    followed : Followed
    fit : FitWork - written
    q_out : (n, N_POSE) - written
    """
    for k in range(followed.body.shape[0]):
        if fit_body(markers, followed.body[k], place, weight, fit):
            copy(fit.vectors[0], q_out[k, :3])
            matrix_to_quaternion(fit.matrices[0], q_out[k, 3:])
        else:
            q_out[k, :] = np.nan


@entry
def follow(q, v, followed, k, motion_out):
    """motion_out : Motion - row k: that of frame k on its body.

    q : (N_POSE,) - coordinates of the body
    v : (N_TWIST,) - speeds, the angular velocity along the body's axes [m/s, rad/s]
    followed : Followed
    k : int
    motion_out : Motion - row k written
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
