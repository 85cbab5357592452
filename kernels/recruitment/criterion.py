"""The criterion of one element: its value and slopes, and its conjugate, by which an answer is certified."""

from __future__ import annotations

import math

from kernels.compiler.jit import njit

SPREAD = 1e-9
"""Weight of the mean of weight x^2 / 2 beside max x. So little only keeps the steps of min/max determined: of
all answers of the same max x it is their middle that is found, the farthest from all bounds (the analytic
centre, to which interior points lead)."""


@njit
def power_of(x, p):
    """x^p, p a whole number of 0 and more."""
    y = 1.0
    for _ in range(p):
        y *= x
    return y


@njit
def slopes(p, weight, x):
    """First and second derivative of weight x^p, of min/max of weight x^2 / 2, at x > 0.

    p : int - power, 0 = min/max
    weight : float
    x : float - activation
    """
    if p == 0:
        return weight * x, weight
    y = weight * power_of(x, p - 2)
    return p * y * x, p * (p - 1) * y


@njit
def least(p, weight, drive, most):
    """Least of weight x^p - drive x over 0 <= x <= most: an element's part of the dual objective.

    p : int - power of 2 and more
    weight : float
    drive : float
    most : float - inf = no bound
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
