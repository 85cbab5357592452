"""A corner: one quintic Bezier segment between two points with given slopes, without curvature at its ends.

With the point C where the tangents at both ends meet, and a shape c from 0 (a straight line) to 1 (a sharp
corner), the control points are
  P1 = P0 + c (C - P0),  P2 = (P1 + C) / 2,  P3 = (P4 + C) / 2,  P4 = P5 + c (C - P5)
Three collinear points at either end give y'' = 0 there, so that adjacent corners with a common point and
slope make a curve with two continuous derivatives. Control points with increasing x make x(u) increase, so
that y is a function of x. Where both slopes are the same, C is half way in x. Sources: Millard et al. (2013),
J Biomech Eng 135:021005, and Millard et al. (2019), J Biomech, doi 10.1016/j.jbiomech.2019.04.004, appendix
A.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit

OK, NO_CORNER = 0, 1
"""Status of `write_corner`."""
X0, Y0, S0, X1, Y1, S1 = 0, 1, 2, 3, 4, 5
"""Columns of both ends of a corner, six in a row: x, y and slope at its start, then x, y and slope at its
end."""
N_TERM = 6
PARALLEL = 1.5e-8
"""Difference of two slopes below which they count as equal."""


@njit
def write_corner(ends, c, x_out, y_out):
    """Compute the coefficients of x(u) and y(u) of a segment, lowest power first; u is 0 at the start and 1
    at the end.

    Return OK, or NO_CORNER where the point in which the tangents meet is farther from an end than the other
    end is: then no curve is monotonic between them.

    ends : (6,) - x, y and slope at the start, then x, y and slope at the end
    c : float - shape, 0 to 1 [1]
    x_out, y_out : (6,) - coefficients
    """
    x_meet, y_meet = meeting(ends)
    across = math.hypot(ends[X1] - ends[X0], ends[Y1] - ends[Y0])
    before = math.hypot(x_meet - ends[X0], y_meet - ends[Y0])
    after = math.hypot(x_meet - ends[X1], y_meet - ends[Y1])
    write_coefficients(ends[X0], x_meet, ends[X1], c, x_out)
    write_coefficients(ends[Y0], y_meet, ends[Y1], c, y_out)
    if not (before < across and after < across and ends[X0] < ends[X1]):  # nor NaN
        return NO_CORNER
    return OK


@njit
def meeting(ends):
    """Return (x, y) of the point in which the tangents at both ends of a corner meet; ends : (6,) - x, y and
    slope at the start, then at the end.
    """
    difference = ends[S0] - ends[S1]
    if abs(difference) <= PARALLEL:
        x = 0.5 * (ends[X0] + ends[X1])
    else:
        x = (ends[Y1] - ends[Y0] - ends[X1] * ends[S1] + ends[X0] * ends[S0]) / difference
    return x, ends[Y1] + ends[S1] * (x - ends[X1])


@njit
def write_coefficients(first, meet, last, c, out):
    """Compute the coefficients, in powers of u, of one coordinate (x or y) of a corner.

    first, meet, last : float - the coordinate at the start, at the meeting point of the tangents and at the
        end
    c : float - shape, 0 to 1 [1]
    out : (6,) - coefficients, written
    """
    p1, p4 = first + c * (meet - first), last + c * (meet - last)
    p2, p3 = 0.5 * (p1 + meet), 0.5 * (p4 + meet)
    out[0] = first
    out[1] = 5.0 * (p1 - first)
    out[2] = 10.0 * (p2 - 2.0 * p1 + first)
    out[3] = 10.0 * (p3 - 3.0 * p2 + 3.0 * p1 - first)
    out[4] = 5.0 * (p4 - 4.0 * p3 + 6.0 * p2 - 4.0 * p1 + first)
    out[5] = last - 5.0 * p4 + 10.0 * p3 - 10.0 * p2 + 5.0 * p1 - first


@njit
def write_corner_slope(ends, c, by, x_out, y_out):
    """Compute the derivatives of the coefficients of x(u) and y(u) with respect to a parameter on which the
    ends of the corner depend, but not its shape.

    ends : (6,) - x, y and slope at the start, then x, y and slope at the end
    c : float - shape, 0 to 1 [1]
    by : (6,) - derivatives of ends with respect to the parameter
    x_out, y_out : (6,) - derivatives of the coefficients
    """
    x_meet = meeting(ends)[0]
    difference = ends[S0] - ends[S1]
    if abs(difference) <= PARALLEL:
        x_by = 0.5 * (by[X0] + by[X1])
    else:
        across = by[Y1] - by[Y0] - by[X1] * ends[S1] - ends[X1] * by[S1] + by[X0] * ends[S0]
        x_by = (across + ends[X0] * by[S0] - x_meet * (by[S0] - by[S1])) / difference
    y_by = by[Y1] + by[S1] * (x_meet - ends[X1]) + ends[S1] * (x_by - by[X1])
    write_coefficients(by[X0], x_by, by[X1], c, x_out)  # linear in the points
    write_coefficients(by[Y0], y_by, by[Y1], c, y_out)
