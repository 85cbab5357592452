"""Chains of Bezier corners: curves with slope, curvature, and derivatives with respect to parameters.

On a segment, x(u) and y(u) are polynomials X and Y of a parameter u from 0 to 1; y' = Y'/X', y'' = (Y'' X' -
Y' X'') / X'^3. Outside its knots a curve is the tangent at its end, y'' = 0, so that both derivatives are
continuous everywhere.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.bezier.corner import (
    N_TERM,
    NO_CORNER,
    OK,
    S0,
    S1,
    X0,
    X1,
    Y0,
    Y1,
    write_corner,
    write_corner_slope,
)
from kernels.compiler.jit import njit

STEADY = 1e-6
"""Step of the iteration for u below which it is the last one: the next would be of the order of its cube."""
MOST_STEPS = 60
"""Greatest number of steps, bisections of the interval where a step leaves it included."""


class BezierCurves(NamedTuple):
    """A table of curves y(x); the segments of a curve are contiguous, from the lowest x to the highest.

    A second table of the same class may hold the derivatives of all these numbers with respect to a parameter
    (`write_chain_slope`).
    """

    first: np.ndarray  # (n_curve + 1,) int64 - first segment, the last entry is the number of segments
    ends: Annotated[np.ndarray, Floats("n_curve", 6)]  # columns X0 to S1 of the whole chain
    x: Annotated[np.ndarray, Floats("n_segment", N_TERM)]  # x(u) in powers of u
    y: Annotated[np.ndarray, Floats("n_segment", N_TERM)]  # y(u)


def new_curves(n_segments: tuple[int, ...]) -> BezierCurves:
    """Allocate a table of curves; n_segments : number of segments of each curve."""
    first = np.concatenate([[0], np.cumsum(n_segments)]).astype(np.int64)
    n = int(first[-1])
    return allocate(BezierCurves, n_curve=len(n_segments), n_segment=n, first=first)


@njit
def write_chain(knots, shapes, c, ends, curves):
    """Compute the segments of curve c from its knots; return OK, or NO_CORNER where no monotonic segment
    exists between two of them.

    knots : (n + 1, 3) - x, y and slope of each knot, x increasing
    shapes : (n,) - shape of each segment, from 0 = straight to 1 = a sharp corner [1]
    c : int - index of the curve
    ends : (6,) - working space
    curves : BezierCurves - curve c is written
    """
    start, status = curves.first[c], OK
    n = curves.first[c + 1] - start
    for k in range(n):
        join(knots, k, k + 1, ends)
        if write_corner_of(ends, shapes[k], start + k, curves) == NO_CORNER:
            status = NO_CORNER
    join(knots, 0, n, curves.ends[c])
    return status


@njit
def write_chain_slope(knots, shapes, by, c, scratch, slopes):
    """Write the derivatives of curve c with respect to a parameter on which its knots depend.

    knots, by : (n + 1, 3) - x, y and slope of each knot, and their derivatives with respect to the parameter
    shapes : (n,) - shape of each segment, from 0 = straight to 1 = a sharp corner [1]
    c : int - index of the curve
    scratch : (2, 6) - working space
    slopes : BezierCurves - derivatives of all numbers of curve c are written
    """
    start = slopes.first[c]
    n = slopes.first[c + 1] - start
    for k in range(n):
        join(knots, k, k + 1, scratch[0])
        join(by, k, k + 1, scratch[1])
        write_corner_slope(scratch[0], shapes[k], scratch[1], slopes.x[start + k], slopes.y[start + k])
    join(by, 0, n, slopes.ends[c])


@njit
def join(knots, i, j, ends_out):
    """Write x, y and slope of the knots i and j of a curve, one after the other, into ends_out : (6,)."""
    for k in range(3):
        ends_out[k], ends_out[3 + k] = knots[i, k], knots[j, k]


@njit
def write_corner_of(ends, shape, segment, curves):
    """Compute one segment of a table of curves from x, y and slope of both ends : (6,) and from its shape;
    return OK or NO_CORNER.
    """
    return write_corner(ends, shape, curves.x[segment], curves.y[segment])


@njit
def evaluate(curves, c, x):
    """Return (value, first derivative, second derivative) of curve c at x."""
    ends = curves.ends[c]
    if x <= ends[X0]:
        return ends[Y0] + ends[S0] * (x - ends[X0]), ends[S0], 0.0
    if x >= ends[X1]:
        return ends[Y1] + ends[S1] * (x - ends[X1]), ends[S1], 0.0
    return evaluate_segment(curves, segment_at(curves, c, x), x)


@njit
def evaluate_segment(curves, segment, x):
    """Return (value, first derivative, second derivative) at x, which must be within the segment."""
    a, b = curves.x[segment], curves.y[segment]
    u = parameter(a, x)
    _, X1u, X2u = powers(a, u)
    y, Y1u, Y2u = powers(b, u)
    inverse = 1.0 / X1u
    slope = Y1u * inverse
    return y, slope, (Y2u - slope * X2u) * inverse * inverse


@njit
def evaluate_by(curves, slopes, c, x):
    """Return the derivative of curve c at a fixed x with respect to a parameter p on which the curve depends;
    slopes : BezierCurves - derivatives of the curves' numbers with respect to p, by write_chain_slope.

    For a curve y(x, p) that is given as x = X(u, p), y = Y(u, p), this derivative is dY/dp - dy/dx dX/dp at
    the same u.
    """
    ends, by = curves.ends[c], slopes.ends[c]
    if x <= ends[X0]:
        return by[Y0] + by[S0] * (x - ends[X0]) - ends[S0] * by[X0]
    if x >= ends[X1]:
        return by[Y1] + by[S1] * (x - ends[X1]) - ends[S1] * by[X1]
    segment = segment_at(curves, c, x)
    u = parameter(curves.x[segment], x)
    slope = powers(curves.y[segment], u)[1] / powers(curves.x[segment], u)[1]
    return powers(slopes.y[segment], u)[0] - slope * powers(slopes.x[segment], u)[0]


@njit
def segment_at(curves, c, x):
    """Return the index of the segment of curve c that contains x; the last segment for NaN."""
    segment = curves.first[c + 1] - 1
    while segment > curves.first[c] and x < curves.x[segment, 0]:
        segment -= 1
    return segment


@njit
def powers(a, u):
    """Return (value, first derivative, second derivative) at u of a polynomial with the coefficients a :
    (6,)."""
    value, slope, half = a[5], 0.0, 0.0
    for k in range(4, -1, -1):
        half = half * u + slope
        slope = slope * u + value
        value = value * u + a[k]
    return value, slope, 2.0 * half


@njit
def parameter(a, x):
    """Return u in 0 to 1 with x(u) = x, for an increasing polynomial x(u) of coefficients a : (6,).

    It is found by Halley's method, with bisection where a step would leave the interval that contains it.
    """
    low, high = 0.0, 1.0
    u = (x - a[0]) / (a[1] + a[2] + a[3] + a[4] + a[5])
    for _ in range(MOST_STEPS):
        value, slope, bend = powers(a, u)
        off = value - x
        step = off * slope / (slope * slope - 0.5 * off * bend)
        if abs(step) < STEADY:
            return u - step
        if off > 0.0:
            high = u
        else:
            low = u
        u -= step
        if not (u > low and u < high):
            u = 0.5 * (low + high)
    return u
