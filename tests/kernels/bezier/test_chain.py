"""Chains of corners: smooth everywhere, slopes exact, also by the parameters of their knots."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.bezier.chain import (
    evaluate,
    evaluate_by,
    evaluate_segment,
    new_curves,
    write_chain,
    write_chain_slope,
)
from kernels.bezier.corner import NO_CORNER, OK
from tests.naive.torque_generators import curve

Array = NDArray[np.float64]
KNOTS = np.array([[-1.0, 1.2, 0.0], [-0.4, 1.2, 0.0], [0.0, 1.0, -2.0], [0.8, 0.2, -0.3], [1.0, 0.18, 0.0]])
SHAPES = np.array([0.7, 0.5, 0.3, 0.9])


def chain(knots: Array = KNOTS, shapes: Array = SHAPES):
    """A table whose second curve has these knots."""
    curves = new_curves((1, len(shapes)))
    assert write_chain(knots, shapes, 1, np.zeros(6), curves) == OK
    return curves


@pytest.mark.parametrize("x", [-2.0, -1.0, -0.9, -0.4, -0.2, -1e-12, 0.0, 0.3, 0.79, 0.95, 1.0, 3.0])
def test_a_chain_is_that_of_the_twin(x):
    """Protects value, slope and curvature, straight ends included."""
    naive = curve([tuple(knot) for knot in KNOTS], list(SHAPES), x)
    assert evaluate(chain(), 1, x) == pytest.approx(naive, rel=1e-11, abs=1e-11)


def test_knots_are_met_with_their_slope_and_without_curvature():
    """Protects C2: both sides of every knot have its value, its slope and no curvature."""
    curves = chain()
    for k, (x, y, slope) in enumerate(KNOTS):
        for segment in {max(k - 1, 0), min(k, 3)}:
            assert evaluate_segment(curves, 1 + segment, x) == pytest.approx((y, slope, 0.0), abs=1e-11)
        around = [evaluate(curves, 1, x + side * 1e-9) for side in (-1, 1)]
        assert np.abs(np.subtract(*around)).max() < 1e-6


def test_slopes_are_the_differences():
    """Protects both derivatives along the chain and beyond its ends."""
    curves, h = chain(), 1e-5
    for x in np.linspace(-1.3, 1.3, 131) + 1e-3:
        _, slope, curvature = evaluate(curves, 1, x)
        ahead, behind = evaluate(curves, 1, x + h), evaluate(curves, 1, x - h)
        assert slope == pytest.approx((ahead[0] - behind[0]) / (2 * h), rel=1e-6, abs=1e-6)
        assert curvature == pytest.approx((ahead[1] - behind[1]) / (2 * h), rel=1e-5, abs=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_slopes_by_parameters_are_the_differences(seed):
    """Protects the derivative at a fixed x by whatever the knots depend on."""
    by, h = np.random.default_rng(seed).normal(size=KNOTS.shape), 1e-6
    by[1, 1:] = by[0, 1:] = 0.1, 0.0  # both ends of a level stretch stay level
    curves, slopes = chain(), new_curves((1, 4))
    write_chain_slope(KNOTS, SHAPES, by, 1, np.zeros((2, 6)), slopes)
    ahead, behind = chain(KNOTS + h * by), chain(KNOTS - h * by)
    for x in np.linspace(-1.4, 1.4, 57) + 1e-3:
        difference = (evaluate(ahead, 1, x)[0] - evaluate(behind, 1, x)[0]) / (2 * h)
        assert evaluate_by(curves, slopes, 1, x) == pytest.approx(difference, rel=1e-5, abs=1e-6)


def test_a_chain_of_rising_knots_rises():
    """Protects from wiggles: between knots that only rise, values only rise."""
    knots = np.array([[0.0, 0.0, 0.0], [0.05, 0.001, 0.05], [1.0, 1.0, 4.6]])
    curves = chain(knots, np.array([0.5, 0.5]))
    values = [evaluate(curves, 1, x)[0] for x in np.linspace(-0.1, 1.2, 400)]
    assert (np.diff(values) >= 0.0).all()


@pytest.mark.parametrize("slope", [1.0, -3.0])
def test_what_is_no_corner_is_refused(slope):
    """Protects from curves that turn back: tangents that meet outside are told."""
    knots = np.array([[0.0, 0.0, slope], [1.0, 0.2, 1.1 * slope]])
    curves = new_curves((1,))
    assert write_chain(knots, np.array([0.5]), 0, np.zeros(6), curves) == NO_CORNER


def test_nothing_comes_of_nan():
    """Protects callers: NaN goes through, and ends."""
    assert np.isnan(evaluate(chain(), 1, np.nan)).all()
