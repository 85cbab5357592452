"""The three dimensionless curves of a torque generator, made of Bezier curves between knots (kernels/bezier):
each such piece is a corner.

t^A, the active torque-angle curve over z = (theta - theta_o) / theta_w, with the optimal angle theta_o and
the width theta_w, follows exp(-z^2 / 2), with knots at 0, +-1 and where it is 1/1000. t^PE, the passive
torque over s = (theta - theta_0) / (theta_1 - theta_0), follows an exponential: it is 0 up to the angle
theta_0 (s <= 0), and 1 with the slope 4.6 at the angle theta_1 (s = 1). t^V, the torque-speed curve over
w = omega / omega_max, with omega > 0 in shortening and the largest shortening speed omega_max, is Hill's
hyperbola a (1 - w) / (a + w) from 0 to 0.9, through t^V(1/2), and then goes smoothly to 0 at 1; in fast
lengthening, w <= -0.9, it has the constant value t^V(omega_max^E). The numbers t^V(1/2) and
t^V(omega_max^E) define it. The first two curves are the same for all generators. Source: Millard et al.
(2019), appendix A; what the paper leaves open (knots, slopes, shapes) is as in the authors' own program,
the muscle addon of RBDL, by its published numbers. Its t^PE depends on the unit of angles where theta_1 -
theta_0 is above 1.394 rad; this one never does.
"""

from __future__ import annotations

import math

from kernels.bezier.chain import evaluate_segment, write_corner_of
from kernels.compiler.jit import njit

N_ANGLE, N_PASSIVE, N_VELOCITY = 4, 2, 4
"""Number of corners of t^A, t^PE and t^V."""
HALF_WIDTH = math.sqrt(2.0 * math.log(1000.0))
SHOULDER = math.exp(-0.5)
STIFFNESS = 4.6
"""Slope of t^PE at s = 1. It is near ln 100, that of the exponential of which the value there is 100 times
that at 0."""
TOE, TOE_STIFFNESS = 0.05, 0.01 * STIFFNESS
"""Value of s at which t^PE has left zero, and its slope there."""
ROUND, EARLY = 0.5, 0.7
"""Shapes of the corners of t^A and t^PE, and of those on the lengthening side of t^V."""
PLATEAU, LATE = -0.9, 0.9
N_HALVING, N_PROBE = 10, 9


@njit
def angle_knots(knots_out, shapes_out):
    """Write the knots of the active torque-angle curve t^A over z, and the shapes of the Bezier corners
    between them.

    knots_out : (5, 3) - z, value and slope of each knot
    shapes_out : (4,) - shape of each corner
    """
    for k in range(5):
        z = (k - 2.0) if abs(k - 2) < 2 else math.copysign(HALF_WIDTH, k - 2.0)
        inner = SHOULDER if abs(k - 2) == 1 else 0.0
        knots_out[k, 0], knots_out[k, 1], knots_out[k, 2] = z, inner, -z * inner
    knots_out[2, 1] = 1.0
    for k in range(4):
        shapes_out[k] = ROUND


@njit
def passive_knots(knots_out, shapes_out):
    """Write the knots of the passive torque curve t^PE over s, and the shapes of the Bezier corners between
    them.

    knots_out : (3, 3) - s, value and slope of each knot
    shapes_out : (2,) - shape of each corner
    """
    for k in range(3):
        knots_out[0, k] = 0.0
    knots_out[1, 0], knots_out[1, 1], knots_out[1, 2] = TOE, 0.5 * TOE * TOE_STIFFNESS, TOE_STIFFNESS
    knots_out[2, 0], knots_out[2, 1], knots_out[2, 2] = 1.0, 1.0, STIFFNESS
    shapes_out[0] = shapes_out[1] = ROUND


@njit
def hill(half, w):
    """Return (value, slope) at w of Hill's hyperbola that is 1 at w = 0, `half` at w = 1/2 and 0 at w = 1."""
    a = 0.5 * half / (0.5 - half)
    return a * (1.0 - w) / (a + w), -a * (1.0 + a) / ((a + w) * (a + w))


@njit
def hill_by_half(half, w):
    """Return the derivatives of (value, slope) of Hill's hyperbola at w with respect to `half`, its value at
    w = 1/2.
    """
    a = 0.5 * half / (0.5 - half)
    a_by = 0.25 / ((0.5 - half) * (0.5 - half))
    value = w * (1.0 - w) / ((a + w) * (a + w))
    slope = (a - w * (1.0 + 2.0 * a)) / ((a + w) * (a + w) * (a + w))
    return value * a_by, slope * a_by


@njit
def velocity_knots(lengthening, half, knots_out, shapes_out):
    """Write the knots of the torque-speed curve t^V over w, and the shapes of the Bezier corners between
    them.

    lengthening : float - t^V(omega_max^E), value of the curve in fast lengthening, at least 1 [1]
    half : float - t^V(1/2), above 0 and below 1/2 [1]
    knots_out : (5, 3) - w, value and slope of each knot
    shapes_out : (4,) - shape of each corner; those of the last two are only preliminary (`find_shape`)
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
    """Write the derivatives of the knots of the torque-speed curve t^V with respect to t^V(1/2) into by_out :
    (5, 3).

    half : float - t^V(1/2) [1]. The derivatives with respect to t^V(omega_max^E) are constants.
    """
    at_rest, late = hill_by_half(half, 0.0), hill_by_half(half, LATE)
    for k in range(5):
        for j in range(3):
            by_out[k, j] = 0.0
    by_out[2, 2] = at_rest[1]
    by_out[3, 1], by_out[3, 2] = late[0], late[1]


@njit
def find_shape(half, knots, segment, ends, curves):
    """Return the shape with which the Bezier corner of t^V from w = 0 to 0.9 is nearest to Hill's hyperbola.

    It is found by a search with halved steps.

    half : float - t^V(1/2) [1]
    knots : (5, 3) - knots of t^V
    segment : int - index of the segment in `curves` that has this corner; overwritten while shapes are tried
    ends : (6,) - working space
    curves : BezierCurves - table of curves
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
    """Return the sum of the distances, in value, of a Bezier corner of t^V from Hill's hyperbola at the nine
    points w = 0, 1/9, ..., 8/9.

    half : float - t^V(1/2) [1]
    shape : float - shape of the corner [1]
    segment : int - index of the segment in `curves` that has this corner, overwritten
    ends : (6,) - both knots of the corner
    curves : BezierCurves - table of curves
    """
    write_corner_of(ends, shape, segment, curves)
    total = 0.0
    for k in range(N_PROBE):
        w = k / N_PROBE
        total += abs(evaluate_segment(curves, segment, w)[0] - hill(half, w)[0])
    return total
