"""Functions of one coordinate that a model file gives, such as splines of a joint angle, written one by one
into the one table that all kernels read (kernels/algebra/functions).
"""

from __future__ import annotations

import math

import numpy as np

from kernels.algebra.functions import IDENTITY, POLYNOMIAL, SINE, SPLINE, Functions
from rtsim.config.models.function_schema import FunctionSpec
from rtsim.models.packing.tree import (
    Function,
    build_functions,
    constant,
    linear,
    lines,
    polynomial,
    sine,
    spline,
)


class FunctionTable:
    """The functions of a model, numbered in the order in which they are added."""

    def __init__(self) -> None:
        self.rows: list[Function] = []

    def add(self, spec: FunctionSpec) -> int:
        """Add a function of the model file; return its index in the table that kernels read, or IDENTITY for
        the identity, which needs no row."""
        if spec.is_identity:
            return IDENTITY
        self.rows.append(function_of(spec))
        return len(self.rows) - 1

    def build(self) -> Functions:
        """Return all functions as the table Functions of kernels/algebra/functions."""
        return build_functions(self.rows)


def function_of(spec: FunctionSpec) -> Function:
    """Convert a function of one coordinate that a model file gives, such as a spline, a polynomial or a sine,
    for the table of all kernels: to the code of its kind, as in kernels/algebra/functions, and its
    parameters.
    """
    if spec.spline is not None:
        return spline(spec.spline.at, spec.spline.value, spec.spline.ends)
    if spec.lines is not None:
        return lines(spec.lines.at, spec.lines.value)
    if spec.sine is not None:
        return sine(*spec.sine)
    if spec.polynomial is not None:
        return polynomial(spec.polynomial)
    if spec.linear is not None:
        return linear(*spec.linear)
    assert spec.constant is not None
    return constant(spec.constant)


def value(function: Function, x: float) -> float:
    """Evaluate a function of one coordinate at the value x of this coordinate, without compiled kernels."""
    numbers = function.numbers
    if function.kind == SPLINE:
        return spline_at(np.reshape(numbers, (3, -1)), x)[0]
    if function.kind == SINE:
        amplitude, omega, phase, offset = numbers
        return amplitude * math.sin(omega * x + phase) + offset
    if function.kind == POLYNOMIAL:
        return float(np.polynomial.polynomial.polyval(x, numbers))
    return numbers[0] if len(numbers) == 1 else numbers[0] * x + numbers[1]


def is_constant(function: Function) -> bool:
    """Return whether a function of one coordinate has the same value everywhere."""
    numbers = function.numbers
    if function.kind == SPLINE:
        _, y, M = np.reshape(numbers, (3, -1))
        return bool((y == y[0]).all() and not M.any())
    if function.kind == SINE:
        amplitude, omega, _, _ = numbers
        return amplitude * omega == 0.0
    if function.kind == POLYNOMIAL:
        return not any(numbers[1:])
    return len(numbers) == 1 or numbers[0] == 0.0


def spline_at(knots: np.ndarray, x: float) -> tuple[float, float, float]:
    """Return (value, slope, curvature) of a cubic spline at x; straight beyond the ends.

    knots : (3, n) abscissae, values, second derivatives
    """
    at, y, M = knots
    inside = min(max(x, at[0]), at[-1])
    k = min(max(int(np.searchsorted(at, inside)) - 1, 0), len(at) - 2)
    h, s = at[k + 1] - at[k], inside - at[k]
    slope = (y[k + 1] - y[k]) / h - h * (2.0 * M[k] + M[k + 1]) / 6.0
    bend = (M[k + 1] - M[k]) / h
    end_slope = slope + s * (M[k] + 0.5 * s * bend)
    value = y[k] + s * (slope + s * (0.5 * M[k] + s * bend / 6.0)) + end_slope * (x - inside)
    return float(value), float(end_slope), float(M[k] + s * bend) if x == inside else 0.0
