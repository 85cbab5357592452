"""Joint angles and displacements by the joint coordinate system (Grood and Suntay 1983; ISB, Wu et al. 2002).

The axes of a joint are e1 = z of the proximal body, e3 = y of the distal body, and e2 = e3 x e1 (floating).
With R the distal axes in the proximal ones, the mobile Z-X-Y sequence gives the angles
  about e1 atan2(-R01, R11), about e2 asin(R21), about e3 atan2(-R20, R22).
The displacement is resolved along the three non-orthogonal axes: d = c1 e1 + c2 e2 + c3 e3 (Sancisi
et al. 2017, section 2.3).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kernels.algebra.rotation import multiply
from kernels.compiler.jit import njit
from kernels.joints.tree import point_in_ground

SINGULAR = 1e-20
"""cos^2 of the second angle below which the first and the third are rotations about the same axis [1]."""


class JointAxes(NamedTuple):
    """Anatomical axes of n_joint joints, and the two points between which displacements are measured."""

    proximal: np.ndarray  # (n_joint,) int64 - proximal body
    distal: np.ndarray  # (n_joint,) int64 - distal body
    axes_proximal: np.ndarray  # (n_joint, 3, 3) - anatomical axes as columns, in the proximal body
    axes_distal: np.ndarray  # (n_joint, 3, 3) - in the distal body
    point_proximal: np.ndarray  # (n_joint, 3) - where the displacement begins, in that body [m]
    point_distal: np.ndarray  # (n_joint, 3) - where it ends, in the distal body [m]


@njit
def joint_angles(joints, pose, work, angles_out, displacements_out):
    """Write the joint angles and displacements of all joints.

    At the singularity |R21| = 1 the first and the third angle are rotations about the same axis: the first is
    then the whole rotation, and the third is 0.

    joints : JointAxes - anatomical axes and reference points
    pose : Pose - positions and orientations of all bodies in ground
    work : (3, 3, 3) - working space
    angles_out : (n_joint, 3) - angles about e1, e2, e3 [rad], written
    displacements_out : (n_joint, 3) - displacements along e1, e2, e3 [m], written
    """
    P, D, E = work[0], work[1], work[2]
    for j in range(joints.proximal.shape[0]):
        p, d = joints.proximal[j], joints.distal[j]
        multiply(pose.rotation[p], joints.axes_proximal[j], P)
        multiply(pose.rotation[d], joints.axes_distal[j], D)
        r01 = P[0, 0] * D[0, 1] + P[1, 0] * D[1, 1] + P[2, 0] * D[2, 1]
        r11 = P[0, 1] * D[0, 1] + P[1, 1] * D[1, 1] + P[2, 1] * D[2, 1]
        r20 = P[0, 2] * D[0, 0] + P[1, 2] * D[1, 0] + P[2, 2] * D[2, 0]
        r21 = P[0, 2] * D[0, 1] + P[1, 2] * D[1, 1] + P[2, 2] * D[2, 1]
        r22 = P[0, 2] * D[0, 2] + P[1, 2] * D[1, 2] + P[2, 2] * D[2, 2]
        angles_out[j, 0] = math.atan2(-r01, r11)
        angles_out[j, 1] = math.asin(min(1.0, max(-1.0, r21)))
        angles_out[j, 2] = math.atan2(-r20, r22)
        if r01 * r01 + r11 * r11 < SINGULAR:
            r00 = P[0, 0] * D[0, 0] + P[1, 0] * D[1, 0] + P[2, 0] * D[2, 0]
            r10 = P[0, 1] * D[0, 0] + P[1, 1] * D[1, 0] + P[2, 1] * D[2, 0]
            angles_out[j, 0] = math.atan2(r10, r00)
            angles_out[j, 2] = 0.0
        point_in_ground(pose, p, joints.point_proximal[j], E[0])
        point_in_ground(pose, d, joints.point_distal[j], E[1])
        for i in range(3):
            E[2, i] = E[1, i] - E[0, i]
        resolve(P, D, E[2], displacements_out[j])


@njit
def resolve(P, D, x, c_out):
    """Write the components c_out : (3,) of a vector x : (3,) along the oblique joint axes, x = c1 e1 + c2 e2
    + c3 e3; zeros where e1 and e3 coincide.

    P, D : (3, 3) are the axes of the proximal and the distal body as columns; e1 = z of P, e3 = y of D, and
    e2 is the unit vector along e3 x e1.
    """
    e1x, e1y, e1z = P[0, 2], P[1, 2], P[2, 2]
    e3x, e3y, e3z = D[0, 1], D[1, 1], D[2, 1]
    e2x, e2y, e2z = e3y * e1z - e3z * e1y, e3z * e1x - e3x * e1z, e3x * e1y - e3y * e1x
    norm = math.sqrt(e2x * e2x + e2y * e2y + e2z * e2z)
    if norm < 1e-12:  # e1 and e3 coincide: no floating axis
        c_out[:] = 0.0
        return
    e2x, e2y, e2z = e2x / norm, e2y / norm, e2z / norm
    x1 = x[0] * e1x + x[1] * e1y + x[2] * e1z
    x3 = x[0] * e3x + x[1] * e3y + x[2] * e3z
    cosine = e1x * e3x + e1y * e3y + e1z * e3z
    det = 1.0 - cosine * cosine
    c_out[0] = (x1 - cosine * x3) / det
    c_out[1] = x[0] * e2x + x[1] * e2y + x[2] * e2z
    c_out[2] = (x3 - cosine * x1) / det
