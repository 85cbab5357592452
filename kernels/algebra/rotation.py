"""Rotations: unit quaternions (w, x, y, z), rotation matrices, and conversions between them.

A quaternion q transforms components in the child frame into components in the parent frame: x_parent = R(q)
x_child. Increments are rotation vectors in the child frame: R <- R exp(delta).
"""

from __future__ import annotations

import math

from kernels.compiler.jit import inlined, njit


@njit
def quaternion_to_matrix(q, R_out):
    """Write the rotation matrix of the unit quaternion q : (4,) into R_out : (3, 3)."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    R_out[0, 0] = 1.0 - 2.0 * (y * y + z * z)
    R_out[0, 1] = 2.0 * (x * y - w * z)
    R_out[0, 2] = 2.0 * (x * z + w * y)
    R_out[1, 0] = 2.0 * (x * y + w * z)
    R_out[1, 1] = 1.0 - 2.0 * (x * x + z * z)
    R_out[1, 2] = 2.0 * (y * z - w * x)
    R_out[2, 0] = 2.0 * (x * z - w * y)
    R_out[2, 1] = 2.0 * (y * z + w * x)
    R_out[2, 2] = 1.0 - 2.0 * (x * x + y * y)


@njit
def matrix_to_quaternion(R, q_out):
    """Write the unit quaternion of R : (3, 3) with w >= 0, by the largest of four pivots, into q_out : (4,).

    Source: Shepperd (1978), J. Guidance and Control 1(3), 223-224.
    """
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    if trace > max(R[0, 0], R[1, 1], R[2, 2]):
        q_out[0] = 1.0 + trace
        q_out[1] = R[2, 1] - R[1, 2]
        q_out[2] = R[0, 2] - R[2, 0]
        q_out[3] = R[1, 0] - R[0, 1]
    else:
        i = 0
        if R[1, 1] > R[i, i]:
            i = 1
        if R[2, 2] > R[i, i]:
            i = 2
        j, k = (i + 1) % 3, (i + 2) % 3
        q_out[0] = R[k, j] - R[j, k]
        q_out[1 + i] = 1.0 + R[i, i] - R[j, j] - R[k, k]
        q_out[1 + j] = R[j, i] + R[i, j]
        q_out[1 + k] = R[k, i] + R[i, k]
    norm = math.sqrt(q_out[0] ** 2 + q_out[1] ** 2 + q_out[2] ** 2 + q_out[3] ** 2)
    if q_out[0] < 0.0:
        norm = -norm
    for i in range(4):
        q_out[i] /= norm


@njit
def quaternion_step(q, dx, dy, dz, q_out):
    """Compute q * exp(delta) with delta = (dx, dy, dz) in the child frame.

    q : (4,) - unit quaternion
    dx, dy, dz : float - components of the rotation vector [rad]
    q_out : (4,) - rotated unit quaternion; it may be the array q
    """
    half = 0.5 * math.sqrt(dx * dx + dy * dy + dz * dz)
    if half < 1e-4:
        s = 0.5 * (1.0 - half * half / 6.0)
    else:
        s = 0.5 * math.sin(half) / half
    c = math.cos(half)
    x, y, z = s * dx, s * dy, s * dz
    a0, a1, a2, a3 = q[0], q[1], q[2], q[3]
    b0 = a0 * c - a1 * x - a2 * y - a3 * z
    b1 = a0 * x + a1 * c + a2 * z - a3 * y
    b2 = a0 * y - a1 * z + a2 * c + a3 * x
    b3 = a0 * z + a1 * y - a2 * x + a3 * c
    scale = 1.0 / math.sqrt(b0 * b0 + b1 * b1 + b2 * b2 + b3 * b3)
    q_out[0], q_out[1], q_out[2], q_out[3] = b0 * scale, b1 * scale, b2 * scale, b3 * scale


@njit
def quaternion_difference(a, b, delta_out):
    """Write the rotation vector of b = a * exp(delta), the shorter way round, into delta_out : (3,) [rad]."""
    w = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    x = a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2]
    y = a[0] * b[2] + a[1] * b[3] - a[2] * b[0] - a[3] * b[1]
    z = a[0] * b[3] - a[1] * b[2] + a[2] * b[1] - a[3] * b[0]
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    s = math.sqrt(x * x + y * y + z * z)
    factor = 2.0 if s < 1e-12 else 2.0 * math.atan2(s, w) / s
    delta_out[0], delta_out[1], delta_out[2] = factor * x, factor * y, factor * z


@njit
def rotate(R, x, y_out):
    """Compute y_out : (3,) = R x, with the rotation matrix R : (3, 3) and the vector x : (3,)."""
    for i in range(3):
        y_out[i] = R[i, 0] * x[0] + R[i, 1] * x[1] + R[i, 2] * x[2]


@njit
def multiply(A, B, C_out):
    """Compute C_out : (3, 3) = A B; C_out must not be the array A or B."""
    for i in range(3):
        for j in range(3):
            C_out[i, j] = A[i, 0] * B[0, j] + A[i, 1] * B[1, j] + A[i, 2] * B[2, j]


@njit
def multiply_transposed(A, B, C_out):
    """Compute C_out : (3, 3) = A B'; C_out must not be the array A or B."""
    for i in range(3):
        for j in range(3):
            C_out[i, j] = A[i, 0] * B[j, 0] + A[i, 1] * B[j, 1] + A[i, 2] * B[j, 2]


@inlined
def turn_about(frame, axis, angle, frame_out, axis_out):
    """Rotate a frame about an axis that is fixed in it: frame_out = frame R(axis, angle).

    By Rodrigues' formula a row f of the frame becomes f cos + (f . k) k (1 - cos) + (f x k) sin with the axis
    k.

    frame : (3, 3) - axes as columns
    axis : (3,) - unit vector, in the frame
    angle : float - angle of rotation [rad]
    frame_out : (3, 3) - rotated frame; it may be the array frame
    axis_out : (3,) - the axis in the coordinates outside the frame, frame times axis
    """
    c, s = math.cos(angle), math.sin(angle)
    x, y, z = axis[0], axis[1], axis[2]
    for i in range(3):
        f0, f1, f2 = frame[i, 0], frame[i, 1], frame[i, 2]
        w = f0 * x + f1 * y + f2 * z
        t = w - c * w
        axis_out[i] = w
        frame_out[i, 0] = c * f0 + t * x + s * (f1 * z - f2 * y)
        frame_out[i, 1] = c * f1 + t * y + s * (f2 * x - f0 * z)
        frame_out[i, 2] = c * f2 + t * z + s * (f0 * y - f1 * x)
