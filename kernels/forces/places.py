"""Points and directions of bodies in ground axes, returned as three numbers each instead of arrays, for
speed; body -1 is ground.
"""

from __future__ import annotations

from kernels.compiler.jit import inlined, njit


@inlined
def place(pose, body, point):
    """Return the position (x, y, z) of a body's point in ground axes, relative to the origin of body 0
    [m].

    pose : Pose - poses of all bodies in ground
    body : int - index of the body, -1 = ground
    point : (3,) - the point in the body's axes [m]
    """
    o, x, y, z = pose.position[0], point[0], point[1], point[2]
    if body < 0:
        return x - o[0], y - o[1], z - o[2]
    R, c = pose.rotation[body], pose.position[body]
    return (
        R[0, 0] * x + R[0, 1] * y + R[0, 2] * z + (c[0] - o[0]),
        R[1, 0] * x + R[1, 1] * y + R[1, 2] * z + (c[1] - o[1]),
        R[2, 0] * x + R[2, 1] * y + R[2, 2] * z + (c[2] - o[2]),
    )


@inlined
def direction(pose, body, vector):
    """Return the components (x, y, z) in ground axes of a vector that is fixed in a body."""
    x, y, z = vector[0], vector[1], vector[2]
    if body < 0:
        return x, y, z
    R = pose.rotation[body]
    return (
        R[0, 0] * x + R[0, 1] * y + R[0, 2] * z,
        R[1, 0] * x + R[1, 1] * y + R[1, 2] * z,
        R[2, 0] * x + R[2, 1] * y + R[2, 2] * z,
    )


@inlined
def add_force(x, y, z, fx, fy, fz, wrench):
    """Add the wrench about the origin of body 0 that a force at a point exerts.

    x, y, z : float - position of the point relative to the origin of body 0 [m]
    fx, fy, fz : float - the force [N]
    wrench : (6,) - moment [N m] and force [N], added to
    """
    wrench[0] += y * fz - z * fy
    wrench[1] += z * fx - x * fz
    wrench[2] += x * fy - y * fx
    wrench[3] += fx
    wrench[4] += fy
    wrench[5] += fz


@njit
def add_stiffness(D, a, b, slopes):
    """Add the derivative, with respect to a small twist, of the wrench of a force D x at the point b, where x
    is the displacement of the point a by that twist.

    D : (9,) - stiffness or damping matrix [N/m, N s/m], row by row, a tuple
    a, b : (3,) - points relative to the origin of body 0 [m], tuples
    slopes : (6, 6) - row k is the derivative of the wrench with respect to unit twist k, added to
    """
    xx, xy, xz, yx, yy, yz, zx, zy, zz = D
    ax, ay, az = a
    bx, by, bz = b
    # displacement by a unit twist: its axis x a, or its direction
    add_force(bx, by, bz, ay * xz - az * xy, ay * yz - az * yy, ay * zz - az * zy, slopes[0])
    add_force(bx, by, bz, az * xx - ax * xz, az * yx - ax * yz, az * zx - ax * zz, slopes[1])
    add_force(bx, by, bz, ax * xy - ay * xx, ax * yy - ay * yx, ax * zy - ay * zx, slopes[2])
    add_force(bx, by, bz, xx, yx, zx, slopes[3])
    add_force(bx, by, bz, xy, yy, zy, slopes[4])
    add_force(bx, by, bz, xz, yz, zz, slopes[5])


@njit
def add_displaced(a, fx, fy, fz, slopes):
    """Add the derivative, with respect to a small twist of the body, of the moment of a constant force at its
    point a.

    a : (3,) - point relative to the origin of body 0 [m]
    fx, fy, fz : float - the force [N]
    slopes : (6, 6) - row k is the derivative of the wrench with respect to unit twist k, added to
    """
    ax, ay, az = a
    # (axis x a) x f = a (axis . f) - axis (a . f), direction x f
    s = ax * fx + ay * fy + az * fz
    slopes[0, 0] += ax * fx - s
    slopes[0, 1] += ay * fx
    slopes[0, 2] += az * fx
    slopes[1, 0] += ax * fy
    slopes[1, 1] += ay * fy - s
    slopes[1, 2] += az * fy
    slopes[2, 0] += ax * fz
    slopes[2, 1] += ay * fz
    slopes[2, 2] += az * fz - s
    slopes[3, 1] -= fz
    slopes[3, 2] += fy
    slopes[4, 0] += fz
    slopes[4, 2] -= fx
    slopes[5, 0] -= fy
    slopes[5, 1] += fx
