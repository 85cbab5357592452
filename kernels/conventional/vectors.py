"""Operations on vectors and axes that are tuples of three floats, as these need no memory to be allocated."""

from __future__ import annotations

import math

from kernels.algebra.spatial import dot, vector_product
from kernels.compiler.jit import njit


@njit
def point(places, k):
    """Return row k of the positions places : (n, 3) as a tuple."""
    return places[k, 0], places[k, 1], places[k, 2]


@njit
def plus(a, scale, b):
    """Return the vector a + scale b, for vectors a and b and a number scale."""
    return a[0] + scale * b[0], a[1] + scale * b[1], a[2] + scale * b[2]


@njit
def normed(a):
    """Return the unit vector along a; NaN if the length of a is zero."""
    size = math.sqrt(dot(a, a))
    return a[0] / size, a[1] / size, a[2] / size


@njit
def square_to(a, z):
    """Return the unit vector along that component of the vector a that is orthogonal to the unit vector z."""
    return normed(plus(a, -dot(a, z), z))


@njit
def framed(z, y):
    """Return orthonormal axes x, y, z: z along the first vector, y in the plane of both vectors, on the
    second one's side.
    """
    z = normed(z)
    y = square_to(y, z)
    return vector_product(y, z), y, z


@njit
def turned(a, b, angle):
    """Return two orthogonal axes a and b after a rotation of both by an angle [rad] in their plane, from a
    towards b.
    """
    c, s = math.cos(angle), math.sin(angle)
    return (
        (c * a[0] + s * b[0], c * a[1] + s * b[1], c * a[2] + s * b[2]),
        (c * b[0] - s * a[0], c * b[1] - s * a[1], c * b[2] - s * a[2]),
    )


@njit
def cardan(P, D):
    """Return the Cardan angles (a, b, c) [rad] with P' D = Ry(a) Rx(b) Rz(c), where P and D are the axes of
    the proximal and of the distal segment, as triples of unit vectors.
    """
    sine = -dot(P[1], D[2])
    sine = min(1.0, max(-1.0, sine)) if sine == sine else sine
    return (
        math.atan2(dot(P[0], D[2]), dot(P[2], D[2])),
        math.asin(sine),
        math.atan2(dot(P[1], D[0]), dot(P[1], D[1])),
    )
