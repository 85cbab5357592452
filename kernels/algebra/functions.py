"""Scalar functions of one coordinate, with their first and second derivative (slope and curvature), for
joints, couplers between coordinates, and points that move on a body.

A new kind of function needs one constant, one branch in `evaluate` and in kernels/dynamics/third_derivative,
and a row in tests/kernels/algebra/test_functions.py. A kind without a branch gives NaN.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kernels.compiler.jit import njit

CONSTANT, LINEAR, POLYNOMIAL, SPLINE, SINE = 0, 1, 2, 3, 4
IDENTITY = -1
"""Index in place of that of a function: the value is the coordinate itself."""


class Functions(NamedTuple):
    """A table of functions. The numbers of a function are contiguous in data, by its kind:

    CONSTANT: [value]. LINEAR: [slope, intercept]. POLYNOMIAL: coefficients, lowest power first.
    SPLINE: n abscissae (increasing), n values, n second derivatives. SINE: [amplitude, omega, phase, offset]
    of amplitude sin(omega x + phase) + offset.
    """

    kind: np.ndarray  # (n_function,) int64
    start: np.ndarray  # (n_function,) int64 - first number in data
    n_term: np.ndarray  # (n_function,) int64 - coefficients of a polynomial, knots of a spline
    data: np.ndarray  # (n_number,)


@njit
def evaluate(functions, f, x):
    """Return (value, first derivative, second derivative) at x of function f, an index into the table
    functions; for f = IDENTITY or functions = None they are (x, 1, 0).
    """
    if functions is None or f < 0:
        return x, 1.0, 0.0
    kind, start, data = functions.kind[f], functions.start[f], functions.data
    if kind == LINEAR:
        return data[start] * x + data[start + 1], data[start], 0.0
    if kind == POLYNOMIAL:
        value, slope, half_curvature = 0.0, 0.0, 0.0
        for k in range(start + functions.n_term[f] - 1, start - 1, -1):  # Horner, all three at once
            half_curvature = half_curvature * x + slope
            slope = slope * x + value
            value = value * x + data[k]
        return value, slope, 2.0 * half_curvature
    if kind == SPLINE:
        return cubic_spline(data, start, functions.n_term[f], x)
    if kind == SINE:
        omega, turned = data[start + 1], data[start + 1] * x + data[start + 2]
        rise, run = data[start] * math.sin(turned), data[start] * math.cos(turned)
        return rise + data[start + 3], omega * run, -omega * omega * rise
    if kind == CONSTANT:
        return data[start], 0.0, 0.0
    return math.nan, math.nan, math.nan


@njit
def knot_before(data, low, high, x):
    """Return the index of the last number of data[low] to data[high - 1], in increasing order, that is at
    most x; low if there is none.

    It is found by bisection. In a spline it is the knot at which the piece that contains x begins.
    """
    while high - low > 1:
        middle = (low + high) // 2
        if x < data[middle]:
            high = middle
        else:
            low = middle
    return low


@njit
def cubic_spline(data, start, n, x):
    """Return (value, first derivative, second derivative) at x of the cubic spline of n knots that begins at
    data[start]: n abscissae, n values, n second derivatives. Outside its knots it is a straight line.
    """
    low, high = start, start + n - 1
    outside = 0.0
    if x < data[low]:
        outside = x - data[low]
        x = data[low]
        high = low + 1
    elif x > data[high]:
        outside = x - data[high]
        x = data[high]
        low = high - 1
    low = knot_before(data, low, high, x)
    high = low + 1
    h = data[high] - data[low]
    a, b = (data[high] - x) / h, (x - data[low]) / h
    y0, y1 = data[low + n], data[high + n]
    m0, m1 = data[low + 2 * n], data[high + 2 * n]
    value = a * y0 + b * y1 + ((a * a * a - a) * m0 + (b * b * b - b) * m1) * h * h / 6.0
    slope = (y1 - y0) / h + ((3.0 * b * b - 1.0) * m1 - (3.0 * a * a - 1.0) * m0) * h / 6.0
    if outside != 0.0:
        return value + slope * outside, slope, 0.0
    return value, slope, a * m0 + b * m1
