"""Products of spatial vectors (angular part, linear part): motions and wrenches, about one fixed point, in
ground axes.

Source: Featherstone 2008, Rigid Body Dynamics Algorithms, chapter 2.
"""

from __future__ import annotations

from kernels.compiler.jit import inlined, njit


@njit
def add_cross(velocity, wx, wy, wz, ux, uy, uz, bias):
    """Add velocity x (w, u), the spatial cross product of two motions, to bias.

    velocity : (6,) - spatial velocity, first factor [rad/s, m/s]
    wx, wy, wz : float - angular part of the second factor [rad/s]
    ux, uy, uz : float - linear part of the second factor [m/s]
    bias : (6,) - spatial acceleration at zero generalized acceleration, updated [rad/s^2, m/s^2]
    """
    vx, vy, vz = velocity[0], velocity[1], velocity[2]
    bias[0] += vy * wz - vz * wy
    bias[1] += vz * wx - vx * wz
    bias[2] += vx * wy - vy * wx
    bias[3] += vy * uz - vz * uy + velocity[4] * wz - velocity[5] * wy
    bias[4] += vz * ux - vx * uz + velocity[5] * wx - velocity[3] * wz
    bias[5] += vx * uy - vy * ux + velocity[3] * wy - velocity[4] * wx


@njit
def dot(a, b):
    """Return the scalar product of the first three entries of a and b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit
def vector_product(a, b):
    """Return the vector product of the first three entries of a and b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@njit
def cross(a, b, c_out):
    """Compute c_out : (6,) = a x b, the cross product of two motions (Featherstone 2008, eq. 2.31)."""
    for i in range(6):
        c_out[i] = 0.0
    add_cross(a, b[0], b[1], b[2], b[3], b[4], b[5], c_out)


@njit
def add_scaled_cross(scale, a, b, c_out):
    """Add the spatial cross product a x b of two motions : (6,), times the number scale, to c_out : (6,)."""
    w0, w1, w2 = scale * b[0], scale * b[1], scale * b[2]
    add_cross(a, w0, w1, w2, scale * b[3], scale * b[4], scale * b[5], c_out)


@njit
def crossed(a, b, w):
    """Return (a x b) . w, the power of a wrench w : (6,) on the cross product of two motions a, b : (6,)."""
    return (
        (a[1] * b[2] - a[2] * b[1]) * w[0]
        + (a[2] * b[0] - a[0] * b[2]) * w[1]
        + (a[0] * b[1] - a[1] * b[0]) * w[2]
        + (a[1] * b[5] - a[2] * b[4] + a[4] * b[2] - a[5] * b[1]) * w[3]
        + (a[2] * b[3] - a[0] * b[5] + a[5] * b[0] - a[3] * b[2]) * w[4]
        + (a[0] * b[4] - a[1] * b[3] + a[3] * b[1] - a[4] * b[0]) * w[5]
    )


@inlined
def power(a, w):
    """Return the power a . w of a wrench w : (6,) on a motion a : (6,)."""
    return a[0] * w[0] + a[1] * w[1] + a[2] * w[2] + a[3] * w[3] + a[4] * w[4] + a[5] * w[5]
