"""The three curves of a torque generator, without unit, as knots of chains of corners (kernels/bezier).

t^A over z = (theta - theta_o) / theta_w follows exp(-z^2 / 2): knots at 0, +-1 and where it falls to 1/1000.
t^PE over s = (theta - theta_0) / (theta_1 - theta_0) follows an exponential: 0 up to 0, 1, steep 4.6, at 1.
t^V over w = omega / omega_max, shortening > 0: Hill's hyperbola a (1 - w) / (a + w) from 0 to 0.9, by way of
t^V(1/2), then smoothly to 0 at 1; t^V(omega_max^E) for w <= -0.9.
The first two are the same for all generators. Millard et al. (2019), appendix A; what the paper leaves open
(knots, slopes, shapes) as in the authors' own program, the muscle addon of RBDL, by its published numbers.
Its t^PE depends on the unit of angles where theta_1 - theta_0 is above 1.394 rad; this one never does.
"""

from __future__ import annotations

import math

from kernels.bezier.chain import evaluate_segment, write_corner_of
from kernels.compiler.jit import njit

N_ANGLE, N_PASSIVE, N_VELOCITY = 4, 2, 4
"""Corners of t^A, t^PE and t^V."""
HALF_WIDTH = math.sqrt(2.0 * math.log(1000.0))
SHOULDER = math.exp(-0.5)
STIFFNESS = 4.6
"""Slope of t^PE at s = 1, near ln 100: the exponential whose value there is 100 times that at 0."""
TOE, TOE_STIFFNESS = 0.05, 0.01 * STIFFNESS
"""Where t^PE has left zero, and its slope there."""
ROUND, EARLY = 0.5, 0.7
"""Shapes of corners, of t^A and t^PE, and of the lengthening side of t^V."""
PLATEAU, LATE = -0.9, 0.9
N_HALVING, N_PROBE = 10, 9


@njit
def angle_knots(knots_out, shapes_out):
    """knots_out : (5, 3), shapes_out : (4,) - t^A over z."""
    for k in range(5):
        z = (k - 2.0) if abs(k - 2) < 2 else math.copysign(HALF_WIDTH, k - 2.0)
        inner = SHOULDER if abs(k - 2) == 1 else 0.0
        knots_out[k, 0], knots_out[k, 1], knots_out[k, 2] = z, inner, -z * inner
    knots_out[2, 1] = 1.0
    for k in range(4):
        shapes_out[k] = ROUND


@njit
def passive_knots(knots_out, shapes_out):
    """knots_out : (3, 3), shapes_out : (2,) - t^PE over s."""
    for k in range(3):
        knots_out[0, k] = 0.0
    knots_out[1, 0], knots_out[1, 1], knots_out[1, 2] = TOE, 0.5 * TOE * TOE_STIFFNESS, TOE_STIFFNESS
    knots_out[2, 0], knots_out[2, 1], knots_out[2, 2] = 1.0, 1.0, STIFFNESS
    shapes_out[0] = shapes_out[1] = ROUND


@njit
def hill(half, w):
    """(value, slope) of Hill's hyperbola at w: 1 at 0, `half` at 1/2, 0 at 1."""
    a = 0.5 * half / (0.5 - half)
    return a * (1.0 - w) / (a + w), -a * (1.0 + a) / ((a + w) * (a + w))


@njit
def hill_by_half(half, w):
    """Derivatives of (value, slope) of Hill's hyperbola at w by its value at 1/2."""
    a = 0.5 * half / (0.5 - half)
    a_by = 0.25 / ((0.5 - half) * (0.5 - half))
    value = w * (1.0 - w) / ((a + w) * (a + w))
    slope = (a - w * (1.0 + 2.0 * a)) / ((a + w) * (a + w) * (a + w))
    return value * a_by, slope * a_by


@njit
def velocity_knots(lengthening, half, knots_out, shapes_out):
    """Knots of t^V over w; the shapes of its last two corners are found by `find_shape`.

    lengthening : float - t^V(omega_max^E), at least 1 [1]
    half : float - t^V(1/2), above 0, below 1/2 [1]
    knots_out : (5, 3), shapes_out : (4,) - written
    """
    at_rest, late = hill(half, 0.0), hill(half, LATE)
    for k in range(5):
        for j in range(3):
            knots_out[k, j] = 0.0
    knots_out[0, 0], knots_out[0, 1] = -1.0, lengthening
    knots_out[1, 0], knots_out[1, 1] = PLATEAU, lengthening
    knots_out[2, 1], knots_out[2, 2] = 1.0, at_rest[1]
    knots_out[3, 0], knots_out[3, 1], knots_out[3, 2] = LATE, late[0], late[1]
    knots_out[4, 0] = 1.0
    shapes_out[0] = shapes_out[1] = EARLY
    shapes_out[2] = shapes_out[3] = ROUND


@njit
def velocity_knots_by_half(half, by_out):
    """by_out : (5, 3) - derivatives of the knots of t^V by t^V(1/2); those by t^V(omega_max^E) are plain."""
    at_rest, late = hill_by_half(half, 0.0), hill_by_half(half, LATE)
    for k in range(5):
        for j in range(3):
            by_out[k, j] = 0.0
    by_out[2, 2] = at_rest[1]
    by_out[3, 1], by_out[3, 2] = late[0], late[1]


@njit
def find_shape(half, knots, segment, ends, curves):
    """The shape of the corner from w = 0 to 0.9 that lies nearest to Hill's hyperbola, by halved steps.

    half : float - t^V(1/2) [1]
    knots : (5, 3) - of t^V
    segment : int - of that corner; overwritten while shapes are tried
    ends : (6,) - scratch
    curves : Curves - the table
    """
    for k in range(3):
        ends[k], ends[3 + k] = knots[2, k], knots[3, k]
    shape, step = 0.5, 0.25
    least = distance_from_hill(half, shape, segment, ends, curves)
    for _ in range(N_HALVING):
        start = shape
        for sign in range(-1, 2, 2):
            tried = start + sign * step
            away = distance_from_hill(half, tried, segment, ends, curves)
            if away < least:
                least, shape = away, tried
        step *= 0.5
    return shape


@njit
def distance_from_hill(half, shape, segment, ends, curves):
    """Sum of distances of a corner of this shape from Hill's hyperbola, at ninths of w from 0 to 8/9.

    half : float - t^V(1/2) [1]
    shape : float - to be tried [1]
    segment : int - overwritten
    ends : (6,) - of the corner
    curves : Curves - the table
    """
    write_corner_of(ends, shape, segment, curves)
    total = 0.0
    for k in range(N_PROBE):
        w = k / N_PROBE
        total += abs(evaluate_segment(curves, segment, w)[0] - hill(half, w)[0])
    return total
