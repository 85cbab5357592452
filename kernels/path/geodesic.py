"""Geodesics of wrapping surfaces and their Jacobi fields: the course of a path on a surface, and how
neighbouring geodesics diverge from it.

SPHERE and CYLINDER are in closed form. An ELLIPSOID is scaled to the unit sphere by y = x / axes. With d = 1
/ axes^2, w = sum d y^2 and the Gaussian curvature K, the equations of a geodesic and of its Jacobi fields f,
f'' = -K f, contain no velocities:
  y'' = -(j / w^2) d y,  K = d1 d2 d3 / w^2,  j = w |y'|^2 (Joachimsthal's invariant, constant on a geodesic).
So a Runge-Kutta-Nystrom method integrates both. Curvatures and geodesics: do Carmo 1976, Differential
Geometry of Curves and Surfaces, sections 3-3 and 4-4. Fields a (a(0) = 1, a'(0) = 0, for a shift of the start
sideways) and r (r(0) = 0, r'(0) = 1, for a rotation of the direction): Scholz et al. 2016, Multibody Syst Dyn
36, 195-219.

The step is in proportion to the local radius of curvature. After an arc of one radian the error is 2e-11 of
the size on a round ellipsoid, 1e-10 with axes up to 5:1 and 1e-9 at 10:1; length and gradient of a path are
as accurate.
"""

from __future__ import annotations

import math

from kernels.algebra.spatial import dot
from kernels.compiler.jit import njit
from kernels.path.nystrom import (
    NODES,
    SPEEDS,
    STAGE_1,
    STAGE_2,
    STAGE_3,
    STAGE_4,
    STAGE_5,
    STAGE_6,
    STAGE_7,
    WEIGHTS,
    plus,
    plus_2,
    plus_3,
)
from kernels.path.surfaces import CYLINDER, ELLIPSOID, SPHERE

STEP = 0.25  # of the local radius of curvature
N_STEP = 400  # against endless loops: many times round


@njit
def flow(kind, size, x, t, s, x_out, t_out):
    """Follow the geodesic from x along t for the length s; return (a, a', r, r') at its end.

    a [1] and r [m] are the Jacobi fields for a sideways shift of the start and a rotation of the direction
    there, a' [1/m] and r' [1] their derivatives along the geodesic.

    kind : int - SPHERE, CYLINDER or ELLIPSOID
    size : (3,) - radii or half axes [m]
    x : (3,) - starting point on the surface [m]
    t : (3,) - unit tangent there
    s : float - length of the geodesic [m]
    x_out : (3,) - end of the geodesic [m], written
    t_out : (3,) - its unit direction there, written
    """
    if kind == SPHERE:
        return flow_sphere(size[0], x, t, s, x_out, t_out)
    if kind == CYLINDER:
        return flow_cylinder(size[0], x, t, s, x_out, t_out)
    if kind != ELLIPSOID:
        x_out[:] = math.nan
        t_out[:] = math.nan
        return math.nan, math.nan, math.nan, math.nan
    shape, place, rate = depart(size, x, t)
    left = s
    for _ in range(N_STEP):
        h = step_length(shape, place, rate)
        last = not h < left
        place, rate = step(shape, left if last else h, place, rate)
        if last:
            break
        left -= h
    arrive(size, place, rate, x_out, t_out)
    return place[3], rate[3], place[4], rate[4]


@njit
def flow_sphere(radius, x, t, s, x_out, t_out):
    """Follow a great circle of a sphere from x along t for the length s; return the Jacobi fields (a, a', r,
    r') at its end: a for a sideways shift of the start, r for a rotation of the direction there.

    radius : float - radius of the sphere [m]
    x : (3,) - starting point on the surface [m]
    t : (3,) - unit tangent there
    s : float - length of the geodesic [m]
    x_out : (3,) - end of the geodesic [m], written
    t_out : (3,) - its unit direction there, written
    """
    c, n = math.cos(s / radius), math.sin(s / radius)
    for i in range(3):
        xi, ti = x[i], t[i]
        x_out[i] = c * xi + n * radius * ti
        t_out[i] = c * ti - n * xi / radius
    return c, -n / radius, radius * n, c


@njit
def flow_cylinder(radius, x, t, s, x_out, t_out):
    """Follow a helix of a cylinder about z from x along t for the length s; return the Jacobi fields (a, a',
    r, r') at its end: a for a sideways shift of the start, r for a rotation of the direction there.

    radius : float - radius of the cylinder [m]
    x : (3,) - starting point on the surface [m]
    t : (3,) - unit tangent there
    s : float - length of the geodesic [m]
    x_out : (3,) - end of the geodesic [m], written
    t_out : (3,) - its unit direction there, written
    """
    around = (x[0] * t[1] - x[1] * t[0]) / radius
    c, n = math.cos(around * s / radius), math.sin(around * s / radius)
    px, py = x[0], x[1]
    x_out[0], x_out[1], x_out[2] = c * px - n * py, n * px + c * py, x[2] + s * t[2]
    t_out[0], t_out[1], t_out[2] = -around * x_out[1] / radius, around * x_out[0] / radius, t[2]
    return 1.0, 0.0, s, 1.0


@njit
def depart(size, x, t):
    """Return the constants and the initial values for the integration of a geodesic of an ellipsoid and its
    Jacobi fields.

    They are (d1, d2, d3, j, d1 d2 d3), the values (x, y, z, a, r) and their derivatives along the geodesic;
    point and derivative are scaled to the unit sphere.

    size : (3,) - half axes [m]; x : (3,) - starting point on the surface [m]; t : (3,) - unit tangent there.
    """
    a, b, c = 1.0 / size[0], 1.0 / size[1], 1.0 / size[2]
    d, e, f = a * a, b * b, c * c
    place = (x[0] * a, x[1] * b, x[2] * c, 1.0, 0.0)
    rate = (t[0] * a, t[1] * b, t[2] * c, 0.0, 1.0)
    speed = dot(rate, rate)
    return (
        (d, e, f, speed * (d * place[0] ** 2 + e * place[1] ** 2 + f * place[2] ** 2), d * e * f),
        place,
        rate,
    )


@njit
def arrive(size, place, rate, x_out, t_out):
    """Write end point and unit direction of an integrated geodesic, projected onto the surface and its
    tangent plane.

    size : (3,) - half axes [m]
    place : (5,) - scaled point and Jacobi fields a and r, as integrated
    rate : (5,) - their derivatives along the geodesic
    x_out : (3,) - point on the surface [m], written
    t_out : (3,) - unit tangent there, written
    """
    x, y, z, u, v, w = place[0], place[1], place[2], rate[0], rate[1], rate[2]
    scale = 1.0 / math.sqrt(x * x + y * y + z * z)
    x, y, z = x * scale, y * scale, z * scale
    out = x * u + y * v + z * w
    x_out[0], x_out[1], x_out[2] = x * size[0], y * size[1], z * size[2]
    u, v, w = (u - out * x) * size[0], (v - out * y) * size[1], (w - out * z) * size[2]
    scale = 1.0 / math.sqrt(u * u + v * v + w * w)
    t_out[0], t_out[1], t_out[2] = u * scale, v * scale, w * scale


@njit
def steepness(shape, y):
    """Return w = sum d y^2 [1/m^2], d = 1 / axes^2, at a point y of an ellipsoid scaled to the unit sphere.

    1 / sqrt(w) is the distance of the tangent plane from the centre. shape : (5,) - constants from `depart`;
    y : point.
    """
    return shape[0] * y[0] * y[0] + shape[1] * y[1] * y[1] + shape[2] * y[2] * y[2]


@njit
def step_length(shape, place, rate):
    """Return the length of the next integration step [m]: STEP times the smallest radius of curvature, here
    and ahead.

    shape : (5,) - constants from `depart`; place, rate : (5,) - values and their derivatives along the
        geodesic.
    """
    radius = STEP / math.sqrt(max(shape[3] * max(shape[0], shape[1], shape[2]), shape[4]))
    h = radius * steepness(shape, place)
    ahead = plus(place, h, rate)
    return min(h, radius * steepness(shape, ahead) / dot(ahead, ahead))


@njit
def bending(shape, x):
    """Return the second derivatives, with respect to arc length, of the scaled point and the Jacobi fields
    (x, y, z, a, r).

    shape : (5,) - constants from `depart`; x : (5,) - those values.
    """
    w = 1.0 / steepness(shape, x)
    scale = -w * w
    pull, gauss = shape[3] * scale, shape[4] * scale
    return pull * shape[0] * x[0], pull * shape[1] * x[1], pull * shape[2] * x[2], gauss * x[3], gauss * x[4]


@njit
def step(shape, h, x, v):
    """Take one integration step along a geodesic; return (x, y, z, a, r) and their derivatives after it.

    shape : (5,) - constants from `depart`; h : float - length of the step [m]; x, v : (5,) - values and
        derivatives before it.
    """
    hh = h * h
    k0 = bending(shape, x)
    k1 = bending(shape, plus_2(x, h * NODES[1], hh * STAGE_1[0], v, k0))
    y = plus_2(plus(x, h * NODES[2], v), hh * STAGE_2[0], hh * STAGE_2[1], k0, k1)
    k2 = bending(shape, y)
    k3 = bending(shape, plus_3(plus(x, h * NODES[3], v), hh, STAGE_3, k0, k1, k2))
    y = plus_3(plus(x, h * NODES[4], v), hh, STAGE_4, k0, k1, k2)
    k4 = bending(shape, plus(y, hh * STAGE_4[3], k3))
    y = plus_3(plus(x, h * NODES[5], v), hh, STAGE_5, k0, k1, k2)
    k5 = bending(shape, plus_2(y, hh * STAGE_5[3], hh * STAGE_5[4], k3, k4))
    y = plus_3(plus(x, h * NODES[6], v), hh, STAGE_6, k0, k1, k2)
    k6 = bending(shape, plus_3(y, hh, STAGE_6[3:], k3, k4, k5))
    y = plus_3(plus(x, h * NODES[7], v), hh, STAGE_7, k0, k1, k2)
    y = plus_3(y, hh, STAGE_7[3:], k3, k4, k5)
    k7 = bending(shape, plus(y, hh * STAGE_7[6], k6))
    x = plus_3(plus(x, h, v), hh, WEIGHTS[2:], k2, k3, k4)
    x = plus_3(x, hh, (WEIGHTS[0], WEIGHTS[5], WEIGHTS[6]), k0, k5, k6)
    v = plus_3(plus(v, h * SPEEDS[0], k0), h, SPEEDS[2:], k2, k3, k4)
    return x, plus_3(v, h, SPEEDS[5:], k5, k6, k7)
