"""Functions of one coordinate by NumPy and SciPy: value, slope and curvature."""

from __future__ import annotations

import functools

import numpy as np
from numpy.polynomial import Polynomial
from scipy.interpolate import CubicSpline

from kernels.algebra.functions import LINEAR, POLYNOMIAL, SINE, SPLINE, Functions


def evaluated(functions: Functions, f: int, x: float) -> tuple[float, float, float]:
    """Return (value, slope, curvature) of function f at x; f = -1 is x itself."""
    if f < 0:
        return x, 1.0, 0.0
    kind, start, n = functions.kind[f], functions.start[f], functions.n_term[f]
    numbers = functions.data[start:]
    if kind == LINEAR:
        slope, intercept = numbers[:2]
        return derivatives(np.array([intercept, slope]), x)
    if kind == POLYNOMIAL:
        return derivatives(numbers[:n], x)
    if kind == SPLINE:
        return straight_beyond_ends(numbers[: 2 * n], x)
    if kind == SINE:
        amplitude, omega, phase, offset = numbers[:4]
        wave = amplitude * np.exp(1j * (omega * x + phase)) * (1j * omega) ** np.arange(3)
        return float(wave[0].imag) + offset, float(wave[1].imag), float(wave[2].imag)
    return float(numbers[0]), 0.0, 0.0


def derivatives(coefficients: np.ndarray, x: float) -> tuple[float, float, float]:
    """Return (value, slope, curvature) of a polynomial, lowest power first."""
    value, slope, curvature = (float(p(x)) for p in polynomials(coefficients.tobytes()))
    return value, slope, curvature


@functools.lru_cache(256)
def polynomials(coefficients: bytes) -> tuple[Polynomial, ...]:
    """Return a polynomial and its first two derivatives; made once, as twins ask for it a million times."""
    p = Polynomial(np.frombuffer(coefficients))
    return p, p.deriv(), p.deriv(2)


@functools.lru_cache(256)
def natural_spline(numbers: bytes) -> CubicSpline:
    """Return the natural cubic spline through knots and values; made once, likewise."""
    knots, values = np.frombuffer(numbers).reshape(2, -1)
    return CubicSpline(knots, values, bc_type="natural")


def straight_beyond_ends(numbers: np.ndarray, x: float) -> tuple[float, float, float]:
    """Return (value, slope, curvature) of the natural cubic spline through knots and values, in a row."""
    spline = natural_spline(numbers.tobytes())
    end = float(np.clip(x, spline.x[0], spline.x[-1]))
    value, slope = float(spline(end)), float(spline(end, 1))
    if end != x:
        return value + slope * (x - end), slope, 0.0
    return value, slope, float(spline(x, 2))
