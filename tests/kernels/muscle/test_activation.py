"""Activation dynamics: twin, derivatives, bounds, time constants, extremes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.muscle.activation import activation_rate
from tests.naive import hill

MUSCLES = hill.random_muscles(np.random.default_rng(1), 4)
inside = st.floats(0.0, 1.0)
anywhere = st.floats(allow_nan=False, allow_infinity=False)


@settings(derandomize=True, deadline=None, database=None, max_examples=100)
@given(m=st.integers(0, 3), e=inside, a=inside)
def test_rate_is_that_of_the_twin(m: int, e: float, a: float) -> None:
    """Protects the equation."""
    assert activation_rate(MUSCLES, m, e, a)[0] == pytest.approx(
        hill.activation_rate(MUSCLES, m, e, a), rel=1e-11, abs=1e-11
    )


@settings(derandomize=True, deadline=None, database=None, max_examples=100)
@given(m=st.integers(0, 3), e=st.floats(0.001, 0.999), a=st.floats(-0.3, 1.3))
def test_derivatives_are_the_differences(m: int, e: float, a: float) -> None:
    """Protects both derivatives, also where a state overshoots its bounds."""
    h = 1e-6
    _, by_a, by_e = activation_rate(MUSCLES, m, e, a)
    if min(abs(a), abs(a - 1.0)) > h:  # at its bounds the rate has a corner
        ahead, behind = activation_rate(MUSCLES, m, e, a + h)[0], activation_rate(MUSCLES, m, e, a - h)[0]
        assert by_a == pytest.approx((ahead - behind) / (2 * h), rel=1e-6, abs=1e-5)
    ahead, behind = activation_rate(MUSCLES, m, e + h, a)[0], activation_rate(MUSCLES, m, e - h, a)[0]
    assert by_e == pytest.approx((ahead - behind) / (2 * h), rel=1e-6, abs=1e-5)


def test_activation_stays_between_its_bounds() -> None:
    """Protects the interval: at min_activation it cannot fall, at 1 it cannot rise, for any excitation."""
    for e in (-1e300, -1.0, 0.0, 0.3, 1.0, 7.0, 1e300):
        assert activation_rate(MUSCLES, 0, e, 0.01)[0] >= 0.0
        assert activation_rate(MUSCLES, 0, e, 1.0)[0] <= 0.0
    assert activation_rate(MUSCLES, 0, 0.0, 0.01)[0] == 0.0
    assert activation_rate(MUSCLES, 0, 1.0, 1.0)[0] == pytest.approx(0.0, abs=1e-12)


def test_each_direction_has_its_own_time() -> None:
    """Protects the switch: far from rest the rates are those of Winters' two time constants."""
    muscles = hill.random_muscles(
        np.random.default_rng(2), 1, activation_time=0.015, deactivation_time=0.060, min_activation=0.0
    )
    # within tanh(10 gap) of the pure laws (e - a) / (tau_a g) and (e - a) g / tau_d
    assert activation_rate(muscles, 0, 1.0, 0.2)[0] == pytest.approx(0.8 / (0.015 * 0.8), rel=1e-4)
    assert activation_rate(muscles, 0, 0.0, 0.8)[0] == pytest.approx(-0.8 * 1.7 / 0.060, rel=1e-4)


@settings(derandomize=True, deadline=None, database=None, max_examples=200)
@given(e=anywhere, a=anywhere)
def test_every_finite_input_gives_finite_rates(e: float, a: float) -> None:
    """Protects robustness: no NaN, no infinity, and always towards the bounds."""
    found = activation_rate(MUSCLES, 1, e, a)
    assert all(math.isfinite(x) for x in found)
    if a <= 0.0:
        assert found[0] >= 0.0
    if a >= 1.0:
        assert found[0] <= 0.0
