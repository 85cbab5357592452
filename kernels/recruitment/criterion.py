"""The recruitment criterion of one element: its derivatives, and its part of the dual objective, which
certifies a solution.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit

SPREAD = 1e-9
"""Weight of the mean of weight x^2 / 2 beside max x. It is so small that it only keeps the steps of min/max
determined: of all solutions with the same max x the one in their middle is found, the farthest from all
bounds (the analytic centre, to which interior points lead)."""


@njit
def power_of(x, p):
    """Return x^p for a whole number p >= 0."""
    y = 1.0
    for _ in range(p):
        y *= x
    return y


@njit
def slopes(p, weight, x):
    """Return first and second derivative of weight x^p at x > 0; for min/max (p = 0) those of weight x^2 / 2.

    p : int - power, 0 = min/max
    weight : float - weight of the element [1]
    x : float - activation [1]
    """
    if p == 0:
        return weight * x, weight
    y = weight * power_of(x, p - 2)
    return p * y * x, p * (p - 1) * y


@njit
def least(p, weight, drive, most):
    """Return the minimum of weight x^p - drive x over 0 <= x <= most: one element's part of the dual
    objective.

    p : int - power of 2 and more
    weight : float - weight of the element [1]
    drive : float - scalar product of the element's action on the rows and their multipliers
    most : float - largest activation, inf = no bound [1]
    """
    if drive <= 0.0:
        return 0.0
    x = drive / (p * weight)
    if p == 3:
        x = math.sqrt(x)
    elif p > 3:
        x = x ** (1.0 / (p - 1))
    x = min(x, most)
    return weight * power_of(x, p) - drive * x
