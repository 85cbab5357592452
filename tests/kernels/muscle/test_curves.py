"""Dimensionless curves of the muscle: published landmarks, slopes, smoothness, signs, extremes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.muscle import curves
from tests.naive.hill import BELLS, D1, D4, force_length, force_velocity, passive_force, tendon_force

STRAIN = 0.049
# name: (kernel, twin, ends of the range looked at, points where pieces of its code meet)
CURVES: dict[str, tuple[Callable, Callable, tuple[float, float], tuple[float, ...]]] = {
    "force_length": (curves.force_length, force_length, (0.05, 2.2), (0.1495, 0.1335)),
    "force_velocity": (curves.force_velocity, force_velocity, (-1.5, 2.0), (-1.0, -0.0459, -0.69)),
    "passive_force": (curves.passive_force, passive_force, (0.0, 3.0), (2.35,)),
    "tendon_force": (
        lambda x: curves.tendon_force(x, STRAIN),
        lambda x: tendon_force(x, STRAIN),
        (-0.1, 0.2),
        (0.0, STRAIN * 5.0 / math.log(6.0), STRAIN * math.log(2.0) / math.log(6.0)),
    ),
}
NAMES = list(CURVES)


def points(name: str, n: int) -> np.ndarray:
    """Return n points over the curve's range and those where its pieces meet, with their neighbours."""
    low, high = CURVES[name][2]
    seams = [x + d for x in CURVES[name][3] for d in (-1e-9, 0.0, 1e-9)]
    return np.concatenate([np.linspace(low, high, n), seams])


@pytest.mark.parametrize("name", NAMES)
def test_curve_is_its_twin(name: str) -> None:
    """Protects the values against the published equations written plainly."""
    kernel, twin = CURVES[name][:2]
    for x in points(name, 201):
        assert kernel(x)[0] == pytest.approx(twin(x), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_slope_is_the_difference_of_the_value(name: str) -> None:
    """Protects analytic slopes, also where pieces of a curve meet."""
    kernel = CURVES[name][0]
    h = 1e-5 * (CURVES[name][2][1] - CURVES[name][2][0])
    for x in points(name, 201):
        difference = (
            kernel(x - 2 * h)[0] - 8 * kernel(x - h)[0] + 8 * kernel(x + h)[0] - kernel(x + 2 * h)[0]
        ) / 12
        assert kernel(x)[1] == pytest.approx(difference / h, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_curvature_has_no_jump(name: str) -> None:
    """Protects C2: the second difference across each seam tends to those beside it as the step shrinks."""
    kernel, _, (low, high), seams = CURVES[name]

    def curvature(x: float, h: float) -> float:
        return (kernel(x + h)[1] - kernel(x - h)[1]) / (2 * h)

    for x in seams:
        jumps = []
        for h in (4e-4 * (high - low), 1e-4 * (high - low)):
            here = [curvature(x + k * h, 0.25 * h) for k in (-1, 1)]
            jumps.append(abs(here[1] - here[0]))
        scale = max(abs(curvature(x, 1e-4)), 1e-3)
        # a jump would stay; a C2 curve loses it in proportion to the step
        assert jumps[1] <= 0.3 * jumps[0] + 1e-6 * scale


def test_landmarks_of_the_active_curves() -> None:
    """Protects f_L(1) = 1, the top near optimal length, f_V(-1) = 0, f_V(0) = 1 and the eccentric plateau."""
    assert curves.force_length(1.0)[0] == pytest.approx(1.0, abs=1e-15)
    lengths = np.linspace(0.2, 2.0, 1801)
    values = [curves.force_length(x)[0] for x in lengths]
    assert lengths[int(np.argmax(values))] == pytest.approx(1.0, abs=0.03)
    assert max(values) == pytest.approx(1.0, abs=2e-3)
    assert curves.force_length(0.4)[0] < 0.1
    assert curves.force_length(1.8)[0] < 0.1
    assert curves.force_velocity(0.0)[0] == pytest.approx(1.0, abs=1e-14)
    assert curves.force_velocity(-1.0)[0] == pytest.approx(0.005 * math.log(2.0), abs=1e-12)
    # OpenSim's documentation of the published curve: 1.794 at v = 1
    assert curves.force_velocity(1.0)[0] == pytest.approx(1.794, abs=5e-4)


def test_landmarks_of_the_passive_curves() -> None:
    """Protects f_P(1 + e0) = 1 and f_T: 1 at its strain, 0 at slack length, nothing when slack."""
    assert curves.passive_force(1.6)[0] == pytest.approx(1.0, abs=1e-14)
    assert curves.passive_force(1.0)[0] == pytest.approx(math.exp(-4.0), abs=1e-15)
    for strain in (0.02, STRAIN, 0.1):
        assert curves.tendon_force(strain, strain)[0] == pytest.approx(1.0, abs=1e-14)
        assert curves.tendon_force(0.0, strain)[0] == pytest.approx(0.005 * math.log(2.0), abs=1e-15)
        assert 0.0 < curves.tendon_force(-strain, strain)[0] < 1e-9
    # above the corner it is De Groote's exponential with kT = 35 (strain ln(6) / 35), c2 = 1, c3 = c1
    for strain in (0.02, 0.04, 0.06):
        published = 0.2 * (math.exp(35.0 * strain) - 1.0)
        assert curves.tendon_force(strain, math.log(6.0) / 35.0)[0] == pytest.approx(published, abs=1e-11)


def test_constants_are_the_published_ones() -> None:
    """Protects the solved constants: those the paper prints to three digits, those OpenSim solved in full."""
    assert pytest.approx(BELLS[0][0], abs=1e-14) == curves.B11
    assert pytest.approx(D1, abs=1e-14) == curves.D1
    assert pytest.approx(D4, abs=1e-14) == curves.D4
    assert round(curves.B11, 3) == 0.815


anywhere = st.floats(allow_nan=False, allow_infinity=False)


@settings(derandomize=True, deadline=None, database=None, max_examples=200)
@given(x=anywhere)
def test_curves_are_finite_and_never_push(x: float) -> None:
    """Protects every finite input: values and slopes finite, no negative force."""
    held, _ = curves.limited(x)
    for name in NAMES:
        value, slope = CURVES[name][0](held)
        assert math.isfinite(value)
        assert math.isfinite(slope)
        assert value >= 0.0
        if name != "force_length":
            assert slope >= 0.0


@pytest.mark.parametrize("name", ["force_velocity", "passive_force", "tendon_force"])
def test_curves_rise(name: str) -> None:
    """Protects monotony, on which the equilibria rest."""
    values = [CURVES[name][0](x)[0] for x in np.linspace(*CURVES[name][2], 1001)]
    assert (np.diff(values) > 0.0).all()


def test_zero_denominators_of_the_bells_are_no_poles() -> None:
    """Protects f_L where a bell's denominator is 0: that bell is flat zero there, the others go on."""
    for x in (-curves.B32 / curves.B42, -curves.B31 / curves.B41):
        for near in (x, np.nextafter(x, 1.0), np.nextafter(x, -9.0)):
            value, slope = curves.force_length(near)
            beside = [curves.force_length(near + d)[0] for d in (-1e-4, 1e-4)]
            assert value == pytest.approx(0.5 * sum(beside), rel=1e-4)
            assert slope == pytest.approx((beside[1] - beside[0]) / 2e-4, rel=1e-4)


def test_positive_part_is_close_to_the_sharp_one() -> None:
    """Protects the corner: log(2) width at zero, above max(x, 0) everywhere, exact away from it; C2."""
    width = 0.01
    assert curves.positive_part(0.0, width)[0] == pytest.approx(width * math.log(2.0), rel=1e-15)
    for x in np.linspace(-1.0, 1.0, 401):
        value, slope, curvature = curves.positive_part(x, width)
        assert max(x, 0.0) <= value <= max(x, 0.0) + width * math.log(2.0) * (1.0 + 1e-15)
        h = 1e-6
        ahead, behind = curves.positive_part(x + h, width), curves.positive_part(x - h, width)
        assert slope == pytest.approx((ahead[0] - behind[0]) / (2 * h), abs=1e-8)
        assert curvature == pytest.approx((ahead[1] - behind[1]) / (2 * h), abs=1e-5)


def test_not_a_number_is_not_hidden() -> None:
    """Protects callers: NaN stays NaN through the limits and the curves."""
    assert math.isnan(curves.limited(math.nan)[0])
    assert math.isnan(curves.held(math.nan)[0])
    for name in NAMES:
        assert math.isnan(CURVES[name][0](math.nan)[0])
