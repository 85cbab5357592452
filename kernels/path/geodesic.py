"""Geodesics and their Jacobi fields: where a path on a surface goes, and how its neighbours part from it.

On an ellipsoid and a torus x'' = -k(x) n(x) depends on the place alone once the invariant of the geodesic is
known, and Jacobi fields obey y'' = -K(x) y with the Gaussian curvature K:
  ELLIPSOID, in y = x / axes on the unit sphere, d = 1 / axes^2, w = sum d y^2:
      y'' = -(j / w^2) d y,  K = d1 d2 d3 / w^2,  j = w |y'|^2 (Joachimsthal's invariant).
  TORUS, rho the distance from its axis, v the angle round the tube, c = rho^2 phi' (Clairaut's invariant):
      x'' = -(cos v c^2 / rho^3 + (1 - c^2 / rho^2) / r) n,  K = cos v / (r rho).
So a Runge-Kutta-Nystrom method, which needs no velocities, carries both. Curvatures and invariants: do Carmo
1976, Differential Geometry of Curves and Surfaces, sections 3-3, 4-4 and 5-5. Fields a(0) = 1, a'(0) = 0 and
r(0) = 0, r'(0) = 1: Scholz et al. 2016, Multibody Syst Dyn 36, 195-219. SPHERE and CYLINDER in closed form.

The step is set by the local radius of curvature, so that the ends agree with an exact geodesic to about 1e-11
of the size; what is left turns up in the path's length only to second order in the arc's sideways error.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kernels._jit import njit
from kernels.path.nystrom import N_STAGE, NODES, SPEEDS, STAGES, WEIGHTS
from kernels.path.surfaces import CYLINDER, ELLIPSOID, SPHERE

STEP = 0.4  # of the local radius of curvature
N_STEP = 400  # against endless loops: many times round


class GeodesicWork(NamedTuple):
    """Working space of one geodesic: x, y, z, a, r and their rates."""

    place: np.ndarray  # (5,) - scaled point (ellipsoid) or point [m] (torus), fields a and r
    rate: np.ndarray  # (5,)
    trial: np.ndarray  # (5,)
    bend: np.ndarray  # (N_STAGE, 5) - second derivatives


def new_geodesic_work() -> GeodesicWork:
    """Allocate a GeodesicWork."""
    return GeodesicWork(np.zeros(5), np.zeros(5), np.zeros(5), np.zeros((N_STAGE, 5)))


@njit
def flow(kind, size, x, t, s, x_out, t_out, work):
    """Point and unit direction x_out, t_out : (3,) after the length s [m] from x along t : (3,).

    Returns the Jacobi fields there: a, a', r, r' (r and s in m). x on the surface, t unit and tangent.
    """
    if kind == SPHERE:
        c, n = math.cos(s / size[0]), math.sin(s / size[0])
        for i in range(3):
            x_out[i] = c * x[i] + n * size[0] * t[i]
            t_out[i] = c * t[i] - n * x[i] / size[0]
        return c, -n / size[0], size[0] * n, c
    if kind == CYLINDER:
        around = (x[0] * t[1] - x[1] * t[0]) / size[0]
        c, n = math.cos(around * s / size[0]), math.sin(around * s / size[0])
        x_out[0], x_out[1], x_out[2] = c * x[0] - n * x[1], n * x[0] + c * x[1], x[2] + s * t[2]
        t_out[0], t_out[1], t_out[2] = -around * x_out[1] / size[0], around * x_out[0] / size[0], t[2]
        return 1.0, 0.0, s, 1.0
    invariant = depart(kind, size, x, t, work)
    left = s
    for _ in range(N_STEP):
        h = step_length(kind, size, invariant, work)
        if h >= left:
            break
        step(kind, size, invariant, h, work)
        left -= h
    step(kind, size, invariant, left, work)
    arrive(kind, size, x_out, t_out, work)
    return work.place[3], work.rate[3], work.place[4], work.rate[4]


@njit
def depart(kind, size, x, t, work):
    """work.place, work.rate at the start of a geodesic at x along t : (3,); returns its invariant."""
    for i in range(3):
        scale = 1.0 / size[i] if kind == ELLIPSOID else 1.0
        work.place[i] = x[i] * scale
        work.rate[i] = t[i] * scale
    work.place[3], work.place[4], work.rate[3], work.rate[4] = 1.0, 0.0, 0.0, 1.0
    if kind == ELLIPSOID:
        u = work.rate[0] ** 2 + work.rate[1] ** 2 + work.rate[2] ** 2
        return u * steepness(size, work.place)
    return x[0] * t[1] - x[1] * t[0]


@njit
def arrive(kind, size, x_out, t_out, work):
    """x_out, t_out : (3,) from work.place, work.rate, laid on the surface, the direction tangent and unit."""
    y, v = work.place, work.rate
    if kind == ELLIPSOID:
        scale = 1.0 / math.sqrt(y[0] * y[0] + y[1] * y[1] + y[2] * y[2])
        out = (y[0] * v[0] + y[1] * v[1] + y[2] * v[2]) * scale * scale
        for i in range(3):
            x_out[i] = y[i] * scale * size[i]
            t_out[i] = (v[i] - out * y[i]) * size[i]
    else:
        nx, ny, nz, scale = tube_normal(size, y)
        out = nx * v[0] + ny * v[1] + nz * v[2]
        off = scale - size[1]
        x_out[0], x_out[1], x_out[2] = y[0] - off * nx, y[1] - off * ny, y[2] - off * nz
        t_out[0], t_out[1], t_out[2] = v[0] - out * nx, v[1] - out * ny, v[2] - out * nz
    speed = 1.0 / math.sqrt(t_out[0] * t_out[0] + t_out[1] * t_out[1] + t_out[2] * t_out[2])
    for i in range(3):
        t_out[i] *= speed


@njit
def steepness(size, y):
    """w = sum y^2 / axes^2 = |D x|^2 of the scaled point y : (3,) [1/m^2]: square of 1 / support distance."""
    u, v, w = y[0] / size[0], y[1] / size[1], y[2] / size[2]
    return u * u + v * v + w * w


@njit
def tube_normal(size, x):
    """Unit normal of the torus below or above x : (3,), and the distance from the middle of its tube [m]."""
    rho = math.hypot(x[0], x[1])
    out = rho - size[0]
    distance = math.hypot(out, x[2])
    return x[0] / rho * out / distance, x[1] / rho * out / distance, x[2] / distance, distance


@njit
def step_length(kind, size, invariant, work):
    """Arc length of the next step [m]: STEP times the smallest radius the motion shows here."""
    if kind == ELLIPSOID:
        d, e, f = 1.0 / (size[0] * size[0]), 1.0 / (size[1] * size[1]), 1.0 / (size[2] * size[2])
        return STEP * steepness(size, work.place) / math.sqrt(max(invariant * max(d, e, f), d * e * f))
    return STEP * min(size[1], size[0] - size[1])


@njit
def bending(kind, size, invariant, x, bend_out):
    """bend_out : (5,) - second derivatives of x, y, z, a, r at x : (5,) along the arc."""
    if kind == ELLIPSOID:
        d, e, f = 1.0 / (size[0] * size[0]), 1.0 / (size[1] * size[1]), 1.0 / (size[2] * size[2])
        w = d * x[0] * x[0] + e * x[1] * x[1] + f * x[2] * x[2]
        scale = -1.0 / (w * w)
        pull = invariant * scale
        gauss = d * e * f * scale
        bend_out[0], bend_out[1], bend_out[2] = pull * d * x[0], pull * e * x[1], pull * f * x[2]
    else:
        rho = math.hypot(x[0], x[1])
        nx, ny, nz, distance = tube_normal(size, x)
        cosine = (rho - size[0]) / distance
        turn = invariant * invariant / (rho * rho)
        pull = -(cosine * turn / rho + (1.0 - turn) / size[1])
        gauss = -cosine / (size[1] * rho)
        bend_out[0], bend_out[1], bend_out[2] = pull * nx, pull * ny, pull * nz
    bend_out[3], bend_out[4] = gauss * x[3], gauss * x[4]


@njit
def step(kind, size, invariant, h, work):
    """work.place, work.rate moved on by the arc length h [m]."""
    place, rate, trial, bend = work.place, work.rate, work.trial, work.bend
    bending(kind, size, invariant, place, bend[0])
    for stage in range(1, N_STAGE):
        ahead = NODES[stage] * h
        for i in range(5):
            trial[i] = 0.0
        for j in range(stage):
            weight = STAGES[stage, j]
            for i in range(5):
                trial[i] += weight * bend[j, i]
        for i in range(5):
            trial[i] = place[i] + ahead * rate[i] + h * h * trial[i]
        bending(kind, size, invariant, trial, bend[stage])
    for i in range(5):
        change, turn = 0.0, 0.0
        for j in range(N_STAGE):
            change += WEIGHTS[j] * bend[j, i]
            turn += SPEEDS[j] * bend[j, i]
        place[i] += h * rate[i] + h * h * change
        rate[i] += h * turn
