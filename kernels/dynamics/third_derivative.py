"""Third derivatives of the functions that drive chain joints; the derivative of f'' v^2 with respect to q
contains them."""

from __future__ import annotations

import math

from kernels.algebra.functions import CONSTANT, LINEAR, POLYNOMIAL, SINE, SPLINE, knot_before
from kernels.compiler.jit import njit


@njit
def third_derivative(functions, f, x):
    """Return the third derivative at x of the function with the index f; NaN if its kind is not known.

    An index below 0 stands for x itself, so that the result is 0. At a knot of a spline, where the derivative
    jumps, it is that of the piece after the knot.
    """
    if f < 0:
        return 0.0
    kind, start, n, data = functions.kind[f], functions.start[f], functions.n_term[f], functions.data
    third = 0.0
    if kind == POLYNOMIAL:
        for k in range(n - 1, 2, -1):
            third = third * x + k * (k - 1) * (k - 2) * data[start + k]
    elif kind == SPLINE:
        if data[start] <= x < data[start + n - 1]:
            low = knot_before(data, start, start + n - 1, x)
            high = low + 1
            third = (data[high + 2 * n] - data[low + 2 * n]) / (data[high] - data[low])
    elif kind == SINE:
        omega = data[start + 1]
        third = -data[start] * omega * omega * omega * math.cos(omega * x + data[start + 2])
    elif kind != CONSTANT and kind != LINEAR:  # whose third derivative is zero
        third = math.nan
    return third
