"""Wrapping surfaces of muscle paths, fixed to bodies: their sizes, and their poses in ground.

The size of a SPHERE is its radius, of a CYLINDER about its own z axis its radius and half its length (0 = an
infinite cylinder), of an ELLIPSOID its three half axes. For any other kind the functions return NaN.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.copying import copy_matrix
from kernels.algebra.rotation import multiply, rotate
from kernels.compiler.jit import njit
from kernels.joints.tree import point_in_ground

SPHERE, CYLINDER, ELLIPSOID = 0, 1, 2


class Surfaces(NamedTuple):
    """Kinds, sizes, bodies and poses on these bodies of n_surface wrapping surfaces."""

    kind: np.ndarray  # (n_surface,) int64 - SPHERE, CYLINDER, ELLIPSOID
    body: np.ndarray  # (n_surface,) int64 - body that carries it, -1 = ground
    position: np.ndarray  # (n_surface, 3) - centre in the body [m]
    rotation: np.ndarray  # (n_surface, 3, 3) - axes of the surface in the body, as columns
    size: np.ndarray  # (n_surface, 3) - r, -, - | r, half length, - | a, b, c [m]


class Placement(NamedTuple):
    """Positions and axes of the wrapping surfaces in ground, in one pose of the bodies."""

    position: Annotated[np.ndarray, Floats("n_surface", 3)]  # [m]
    rotation: Annotated[np.ndarray, Floats("n_surface", 3, 3)]  # axes as columns


def new_placement(n_surface: int) -> Placement:
    """Allocate a Placement: positions and axes of the surfaces in ground."""
    return allocate(Placement, n_surface=n_surface)


@njit
def place(surfaces, pose, placement_out):
    """Write the positions and axes of all wrapping surfaces in ground, at a pose of the bodies, into
    placement_out.
    """
    for k in range(surfaces.kind.shape[0]):
        b = surfaces.body[k]
        point_in_ground(pose, b, surfaces.position[k], placement_out.position[k])
        if b < 0:
            copy_matrix(surfaces.rotation[k], placement_out.rotation[k])
        else:
            multiply(pose.rotation[b], surfaces.rotation[k], placement_out.rotation[k])


@njit
def into_surface(placement, k, x, y_out):
    """Convert the point x : (3,) from ground to the frame of surface k, y_out : (3,) [m]."""
    R, o = placement.rotation[k], placement.position[k]
    dx, dy, dz = x[0] - o[0], x[1] - o[1], x[2] - o[2]
    for i in range(3):
        y_out[i] = R[0, i] * dx + R[1, i] * dy + R[2, i] * dz


@njit
def out_of_surface(placement, k, y, x_out):
    """Convert the point y : (3,) from the frame of surface k to ground, x_out : (3,) [m]."""
    R, o = placement.rotation[k], placement.position[k]
    for i in range(3):
        x_out[i] = o[i] + R[i, 0] * y[0] + R[i, 1] * y[1] + R[i, 2] * y[2]


@njit
def turn_out_of_surface(placement, k, y, x_out):
    """Rotate a direction y : (3,) from the frame of surface k into ground, x_out : (3,)."""
    rotate(placement.rotation[k], y, x_out)


@njit
def clearance(kind, size, x):
    """Return approximately the distance of a point from a surface, divided by the size of the surface [1];
    negative inside.

    kind : int - SPHERE, CYLINDER or ELLIPSOID
    size : (3,) - radii or half axes [m]
    x : (3,) - the point in the surface frame [m]
    """
    if kind == SPHERE:
        return math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]) / size[0] - 1.0
    if kind == CYLINDER:
        height = math.hypot(x[0], x[1]) / size[0] - 1.0
        return max(height, (abs(x[2]) - size[1]) / size[0]) if size[1] > 0.0 else height
    if kind != ELLIPSOID:
        return math.nan
    u, v, w = x[0] / size[0], x[1] / size[1], x[2] / size[2]
    return math.sqrt(u * u + v * v + w * w) - 1.0


@njit
def quadric(kind, size):
    """Return (d1, d2, d3) [1/m^2] of the equation of a surface, F(x) = sum d x^2 - 1 = 0.

    kind : int - SPHERE, CYLINDER or ELLIPSOID; size : (3,) - radii or half axes [m].
    """
    d = 1.0 / (size[0] * size[0])
    if kind == SPHERE:
        return d, d, d
    if kind == CYLINDER:
        return d, d, 0.0
    if kind != ELLIPSOID:
        return math.nan, math.nan, math.nan
    return d, 1.0 / (size[1] * size[1]), 1.0 / (size[2] * size[2])


@njit
def normal(kind, size, x, n_out):
    """Write the unit outward normal at a point on or near the surface into n_out.

    kind : int - SPHERE, CYLINDER or ELLIPSOID
    size : (3,) - radii or half axes [m]
    x : (3,) - the point in the surface frame [m]
    n_out : (3,) - unit normal in that frame, written
    """
    d, e, f = quadric(kind, size)
    gx, gy, gz = d * x[0], e * x[1], f * x[2]
    scale = 1.0 / math.sqrt(gx * gx + gy * gy + gz * gz)
    n_out[0], n_out[1], n_out[2] = gx * scale, gy * scale, gz * scale


@njit
def curvatures(kind, size, x, t, b):
    """Return normal curvature along t, geodesic torsion, and normal curvature along b at a point [1/m].

    They are the products t' S t, t' S b and b' S b with the shape operator S = dn/dx, the derivative of the
    outward normal; positive where the surface is convex.

    kind : int - SPHERE, CYLINDER or ELLIPSOID
    size : (3,) - radii or half axes [m]
    x : (3,) - point on the surface, in its frame [m]
    t, b : (3,) - unit tangents at x, at right angles to each other
    """
    d, e, f = quadric(kind, size)
    scale = 1.0 / math.sqrt((d * x[0]) ** 2 + (e * x[1]) ** 2 + (f * x[2]) ** 2)
    tt = d * t[0] * t[0] + e * t[1] * t[1] + f * t[2] * t[2]
    tb = d * t[0] * b[0] + e * t[1] * b[1] + f * t[2] * b[2]
    bb = d * b[0] * b[0] + e * b[1] * b[1] + f * b[2] * b[2]
    return tt * scale, tb * scale, bb * scale


@njit
def lay_on(kind, size, x, t, n):
    """Project x onto the surface and make t a unit tangent there, in place; write the normal into n.

    kind : int - SPHERE, CYLINDER or ELLIPSOID
    size : (3,) - radii or half axes [m]
    x : (3,) - point near the surface, in its frame [m], changed
    t : (3,) - direction, changed
    n : (3,) - unit outward normal at x, written
    """
    d, e, f = quadric(kind, size)
    scale = 1.0 / math.sqrt(d * x[0] * x[0] + e * x[1] * x[1] + f * x[2] * x[2])
    x[0], x[1] = x[0] * scale, x[1] * scale
    if kind != CYLINDER:
        x[2] *= scale
    normal(kind, size, x, n)
    out = t[0] * n[0] + t[1] * n[1] + t[2] * n[2]
    tx, ty, tz = t[0] - out * n[0], t[1] - out * n[1], t[2] - out * n[2]
    scale = 1.0 / math.sqrt(tx * tx + ty * ty + tz * tz)
    t[0], t[1], t[2] = tx * scale, ty * scale, tz * scale
