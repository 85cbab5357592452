"""Functions of one coordinate: values and derivatives, what a natural spline promises, and its ends."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernels.algebra.functions import IDENTITY, Functions, evaluate
from rtsim.models.packing.tree import build_functions, constant, linear, lines, polynomial, sine, spline
from tests.naive.functions import evaluated

KNOTS = (-1.2, -0.9, -0.1, 0.05, 0.8, 1.5)
VALUES = (0.4, -0.3, 0.1, 0.2, 0.25, -0.6)
TWO_KNOTS = ((-0.5, 0.7), (0.2, -0.4))
TABLE = {
    "constant": constant(0.7),
    "linear": linear(-1.3, 0.4),
    "polynomial": polynomial((0.3, -0.2, 0.5, 0.1, -0.4)),
    "polynomial of degree 0": polynomial((0.6,)),
    "spline": spline(KNOTS, VALUES),
    "spline of two knots": spline(*TWO_KNOTS),
    "sine": sine(0.7, 1.9, -0.3, 0.2),
    "lines of two points": lines(*TWO_KNOTS),
}
NAMES = list(TABLE)
FUNCTIONS = build_functions(list(TABLE.values()))
SPLINE = NAMES.index("spline")
ROWS = [IDENTITY, *range(len(NAMES))]


def at(f: int, x: float, functions: Functions = FUNCTIONS) -> tuple[float, float, float]:
    """Return the kernel's value, slope and curvature."""
    return evaluate(functions, f, x)


@pytest.mark.parametrize("f", ROWS)
def test_functions_are_those_of_the_twin(f: int) -> None:
    """Protects value, slope and curvature of every kind, each at its own numbers of one table."""
    for x in (*np.linspace(-2.0, 2.0, 41), *KNOTS):
        np.testing.assert_allclose(at(f, float(x)), evaluated(FUNCTIONS, f, float(x)), atol=1e-13)


@pytest.mark.parametrize("f", ROWS)
def test_slope_and_curvature_are_differences(f: int) -> None:
    """Protects the derivatives without any formula, inside and beyond the knots."""
    step = 1e-5
    for x in np.linspace(-1.93, 1.93, 24):
        _, slope, curvature = at(f, x)
        (low, low_slope, _), (high, high_slope, _) = at(f, x - step), at(f, x + step)
        assert slope == pytest.approx((high - low) / (2 * step), abs=1e-8)
        assert curvature == pytest.approx((high_slope - low_slope) / (2 * step), abs=1e-8)


def test_a_spline_goes_through_its_knots() -> None:
    """Protects the interpolation itself."""
    for x, y in zip(KNOTS, VALUES, strict=True):
        assert at(SPLINE, x)[0] == pytest.approx(y, abs=1e-15)


@pytest.mark.parametrize("x", KNOTS)
def test_a_spline_is_smooth_at_its_knots(x: float) -> None:
    """Protects continuity of value, slope and curvature from piece to piece and to the straight ends."""
    tiny = 1e-10
    np.testing.assert_allclose(at(SPLINE, x - tiny), at(SPLINE, x + tiny), atol=1e-7)
    np.testing.assert_allclose(at(SPLINE, x), at(SPLINE, x + tiny), atol=1e-7)


@pytest.mark.parametrize("end", [KNOTS[0], KNOTS[-1]])
def test_a_spline_ends_naturally_and_goes_straight_on(end: float) -> None:
    """Protects the natural condition, no curvature at an end, and the straight line beyond it."""
    value, slope, curvature = at(SPLINE, end)
    assert curvature == 0.0
    for distance in (1e-3, 0.5, 40.0):
        beyond = math.copysign(distance, end)
        expected = (value + slope * beyond, slope, 0.0)
        np.testing.assert_allclose(at(SPLINE, end + beyond), expected, rtol=1e-14)


def test_two_knots_make_a_straight_line() -> None:
    """Protects the shortest spline."""
    (x0, x1), (y0, y1) = TWO_KNOTS
    slope = (y1 - y0) / (x1 - x0)
    for x in (-1.0, -0.5, 0.0, 0.7, 2.0):
        expected = (y0 + slope * (x - x0), slope, 0.0)
        np.testing.assert_allclose(at(NAMES.index("spline of two knots"), x), expected, atol=1e-15)


def test_a_spline_bends_least() -> None:
    """Protects the second derivatives against the property that defines them (Holladay 1957).

    Of all curves through the same points the natural spline has the least integral of curvature squared: the
    integral of its curvature times that of any change that vanishes at the knots is zero.
    """
    x = np.linspace(KNOTS[0], KNOTS[-1], 5401)
    curvature = np.array([at(SPLINE, t)[2] for t in x])
    gaps = np.prod([x - knot for knot in KNOTS], axis=0)
    for bump in (gaps, gaps * np.sin(3.0 * x), gaps * x):
        bending = np.gradient(np.gradient(bump, x), x)
        size = np.trapezoid(np.abs(curvature * bending), x)
        assert abs(np.trapezoid(curvature * bending, x)) < 1e-4 * size


@pytest.mark.parametrize("n", [2, 3, 4, 7, 64])
def test_the_piece_is_found_among_any_number_of_knots(n: int) -> None:
    """Protects the bisection for odd, even and least numbers of uneven knots."""
    rng = np.random.default_rng(n)
    knots = np.cumsum(rng.uniform(0.05, 1.0, n))
    functions = build_functions([spline(list(knots), list(rng.normal(size=n)))])
    for x in (*knots, *(0.5 * (knots[:-1] + knots[1:])), knots[0] - 1.0, knots[-1] + 1.0):
        np.testing.assert_allclose(at(0, x, functions), evaluated(functions, 0, x), atol=1e-11)


@pytest.mark.parametrize("f", [IDENTITY, *(NAMES.index(name) for name in ("linear", "polynomial", "spline"))])
def test_nan_stays_nan(f: int) -> None:
    """Protects against a coordinate that is not there becoming a plausible value."""
    assert math.isnan(at(f, math.nan)[0])
