"""Friction laws: twins, derivatives, and what is claimed of each in the literature."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from kernels.forces.friction import (
    ANDERSSON,
    BENGISU_AKAY,
    BROWN_MCPHEE,
    HOLLARS,
    N_FRICTION,
    SPECKER,
    friction_force,
    saturation,
)  # fmt: skip
from tests.naive import friction
from tests.naive.friction import Parameters

LAWS = (BROWN_MCPHEE, ANDERSSON, HOLLARS, SPECKER, BENGISU_AKAY)
WITH_CORNER = (HOLLARS, BENGISU_AKAY)
# The stick-slip and the impact experiment of Brown (2017), and coarser friction.
DRY = Parameters()
WET = Parameters(mu_v=10.0, k_v=0.0154)
COARSE = Parameters(mu_s=0.9, mu_d=0.6, v_t=0.05, mu_v=3.0, F_nt=40.0, k_v=0.1, v_d=0.025, p=1.3, k_tanh=90.0)
ALL = (DRY, WET, COARSE)
v_t, F_n = DRY.v_t, 9.81


def row(parameters: Parameters) -> np.ndarray:
    """Return the parameters as the kernels read them."""
    found = np.array(parameters)
    assert found.shape == (N_FRICTION,)
    return found


def speeds(parameters: Parameters) -> np.ndarray:
    """Return velocities from creep to absurdity, both signs, with rest and the seams of the laws."""
    at = parameters.v_t
    seams = [at, np.nextafter(at, 0.0), np.nextafter(at, 1.0), 0.0625 * at, 4.775 * at, 19.1 * parameters.v_d]
    positive = np.concatenate([np.geomspace(1e-12, 1e3, 60), np.linspace(0.02, 6.0, 60) * at, seams])
    return np.concatenate([-positive, [0.0], positive])


def force(law: int, parameters: Parameters, v: float, normal: float) -> float:
    """Return the friction force alone [N]."""
    return friction_force(law, row(parameters), v, normal)[0]


def test_saturation_is_the_hyperbolic_tangent() -> None:
    """Protects the pieces of the fast tanh, to the last digits, also relative to tiny arguments."""
    positive = np.concatenate(
        [np.geomspace(1e-300, 30.0, 500), [0.25, np.nextafter(0.25, 0.0), 17.1, 19.1, 1e300]]
    )
    for x in positive:
        assert saturation(x) == pytest.approx(math.tanh(x), rel=1e-15, abs=0.0)
        assert saturation(-x) == -saturation(x)
    assert saturation(0.0) == 0.0
    assert saturation(math.inf) == 1.0
    assert math.isnan(saturation(math.nan))


@pytest.mark.parametrize("law", LAWS)
def test_force_is_the_published_equation(law: int) -> None:
    """Protects every law against its equation written plainly, whatever the velocity and the load."""
    for parameters in ALL:
        p = row(parameters)
        for v, normal in itertools.product(speeds(parameters), (-3.0, 0.0, 1e-9, 0.3, 9.81, 4e3)):
            found = friction_force(law, p, v, normal)[0]
            assert found == pytest.approx(
                friction.friction_force(law, parameters, v, normal),
                rel=1e-12,
                abs=2e-15 * (normal + parameters.mu_v * parameters.v_t),
            )


@pytest.mark.parametrize("law", LAWS)
def test_derivatives_are_the_differences(law: int) -> None:
    """Protects both derivatives, away from the corners at v_t."""
    for parameters in ALL:
        p = row(parameters)
        steepest = 1.0 / max(1.0 / parameters.v_t, 1.0 / parameters.v_d, parameters.k_tanh)
        for v, normal in itertools.product(speeds(parameters), (0.3, 9.81, 900.0)):
            h, dF = 1e-4 * max(steepest, abs(v)), 1e-4 * normal
            if abs(v) > 30.0 or (law in WITH_CORNER and abs(abs(v) - parameters.v_t) <= 2.0 * h):
                continue
            found, by_v, by_F = friction_force(law, p, v, normal)
            rounding = 1e-14 * (abs(found) + normal + parameters.mu_v * parameters.v_t)
            # fourth order: what it neglects is 1e-12 of the steepest slope
            inner = force(law, parameters, v + h, normal) - force(law, parameters, v - h, normal)
            outer = force(law, parameters, v + 2.0 * h, normal) - force(law, parameters, v - 2.0 * h, normal)
            neglected = 1e-12 * normal / steepest
            if law == ANDERSSON and parameters.p != 2.0 and abs(v) < 0.02 * parameters.v_t:
                continue  # |v|^p has no higher derivatives at rest
            if law == BENGISU_AKAY and abs(v) <= 2.0 * h:
                continue  # the parabola turns its curvature round at rest
            assert by_v == pytest.approx(
                (8.0 * inner - outer) / (12.0 * h), rel=1e-8, abs=rounding / h + neglected
            )
            ahead, behind = force(law, parameters, v, normal + dF), force(law, parameters, v, normal - dF)
            assert by_F == pytest.approx((ahead - behind) / (2.0 * dF), rel=1e-6, abs=rounding / dF)


@pytest.mark.parametrize("law", LAWS)
def test_force_is_odd_and_zero_without_contact(law: int) -> None:
    """Protects symmetry to the bit, and that what does not touch does not rub."""
    for parameters in ALL:
        p = row(parameters)
        for v in speeds(parameters):
            there, back = friction_force(law, p, v, 7.0), friction_force(law, p, -v, 7.0)
            assert there == (-back[0], back[1], -back[2])
            for normal in (0.0, -1e-12, -50.0):
                assert friction_force(law, p, v, normal) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("law", LAWS)
def test_absurd_velocities_give_finite_results(law: int) -> None:
    """Protects against overflow of squares and exponentials; a result that is not a number stays one."""
    for parameters in ALL:
        for v in (1e150, -1e250):
            assert all(math.isfinite(x) for x in friction_force(law, row(parameters), v, 9.81))
        assert math.isnan(force(law, parameters, math.nan, 9.81))
        assert math.isnan(force(law, parameters, 1e-4, math.nan))


@pytest.mark.parametrize("law", LAWS)
def test_friction_never_gives_power(law: int) -> None:
    """Protects F v >= 0; of SPECKER with viscous friction only from a small load on, below it drives."""
    for parameters in ALL:
        lightest = 1e-6
        if law == SPECKER:
            mu_s, mu_d, at, mu_v, _, _, v_d, _, _ = parameters
            lightest = max(lightest, mu_v * at / (mu_s - mu_d * math.tanh(at / v_d)))
            if mu_v > 0.0:
                assert force(law, parameters, 0.3 * at, 0.01 * lightest) < 0.0
        for v, load in itertools.product(speeds(parameters), (1.0, 30.0, 1e3, 1e6)):
            assert force(law, parameters, v, load * lightest) * v >= 0.0


def test_brown_mcphee_law_is_smooth_in_velocity() -> None:
    """Protects C1: force and slope from both sides agree at rest and at v_t, where others have corners."""
    for parameters, at in itertools.product(ALL, (0.0, 1.0, -1.0)):
        p, h = row(parameters), 1e-7 * parameters.v_t
        v = at * parameters.v_t
        below, here, above = (friction_force(BROWN_MCPHEE, p, v + d, F_n) for d in (-h, 0.0, h))
        left, right = (here[0] - below[0]) / h, (above[0] - here[0]) / h
        scale = F_n / parameters.v_t
        assert left == pytest.approx(right, abs=2e-6 * scale)
        assert here[1] == pytest.approx(right, abs=2e-6 * scale)
        assert below[1] == pytest.approx(above[1], abs=2e-6 * scale)


def test_brown_mcphee_law_begins_smoothly_with_contact() -> None:
    """Protects C1 in the depth of a contact with F_n = k depth^2, also while sliding in a viscous film."""
    p, k, v = row(WET), 1e7, 5.0
    for depth in (1e-6, 1e-8, 1e-10):
        found, by_v, by_F = friction_force(BROWN_MCPHEE, p, v, k * depth**2)
        # everything that reaches the Jacobian goes to 0 with the depth, the value it has outside
        assert abs(found) <= 30.0 * k * depth**2
        assert abs(by_v) <= 5.0 * k * depth**2
        assert abs(by_F * 2.0 * k * depth) <= 60.0 * k * depth
        assert by_F == pytest.approx(found / (k * depth**2), rel=1e-9)


def test_brown_mcphee_law_settles_and_peaks_where_it_claims() -> None:
    """Protects the parameters' meaning: 0.1 % at v_t, static friction mu_s F_n as the peak at 1.01 v_t."""
    only_dynamic = DRY._replace(mu_s=DRY.mu_d)
    for v in np.linspace(1.0, 50.0, 50) * v_t:
        assert 0.999 * DRY.mu_d * F_n <= force(BROWN_MCPHEE, only_dynamic, v, F_n) <= DRY.mu_d * F_n
    assert force(BROWN_MCPHEE, only_dynamic, 0.9 * v_t, F_n) < 0.999 * DRY.mu_d * F_n
    top = minimize_scalar(
        lambda v: -force(BROWN_MCPHEE, DRY, v, F_n), bounds=(0.0, 3.0 * v_t), options={"xatol": 1e-9}
    )
    assert top.x == pytest.approx(1.01 * v_t, rel=1e-3)
    assert -top.fun == pytest.approx(DRY.mu_s * F_n, rel=1e-3)
    assert force(BROWN_MCPHEE, DRY, v_t, F_n) == pytest.approx(
        F_n * (DRY.mu_s - DRY.mu_d * (1.0 - math.tanh(4.0))), rel=1e-14
    )
    assert force(BROWN_MCPHEE, DRY, 100.0 * v_t, F_n) == pytest.approx(DRY.mu_d * F_n, rel=1e-5)


def test_brown_mcphee_viscous_friction_is_whole_from_transition_force_on() -> None:
    """Protects F_nt: within 0.1 % of mu_v v there, and independent of the load above."""
    v = 2.0
    for normal in (WET.F_nt, 3.0 * WET.F_nt, 100.0 * WET.F_nt):
        viscous = force(BROWN_MCPHEE, WET, v, normal) - force(BROWN_MCPHEE, DRY, v, normal)
        assert viscous == pytest.approx(WET.mu_v * v, rel=1e-3)


def test_hollars_reaches_static_friction_with_a_corner() -> None:
    """Protects the peak mu_s F_n exactly at v_t, and which side's slope is given there."""
    p = row(DRY)
    here = friction_force(HOLLARS, p, v_t, F_n)
    assert here[0] == pytest.approx(DRY.mu_s * F_n, rel=1e-15)
    inside = friction_force(HOLLARS, p, v_t * (1.0 - 1e-9), F_n)[1]
    outside = friction_force(HOLLARS, p, v_t * (1.0 + 1e-9), F_n)[1]
    assert here[1] == pytest.approx(outside, rel=1e-6)
    # d/ds of mu_d + 2 (mu_s - mu_d) / (1 + s^2) at 1, and on top of it the rising line's
    assert outside == pytest.approx(-(DRY.mu_s - DRY.mu_d) * F_n / v_t, rel=1e-6)
    assert inside - outside == pytest.approx(DRY.mu_s * F_n / v_t, rel=1e-6)


def test_andersson_never_reaches_static_friction() -> None:
    """Protects the finding that k_tanh = 10 000 s/m and v_s = 1 mm/s lose part of the peak."""
    parameters = DRY._replace(v_d=1e-3)
    highest = max(force(ANDERSSON, parameters, v, F_n) for v in np.linspace(0.0, 0.02, 4001))
    assert DRY.mu_d * F_n < highest < 0.99 * DRY.mu_s * F_n
    steep = max(
        force(ANDERSSON, parameters._replace(k_tanh=1e6), v, F_n) for v in np.linspace(0.0, 0.02, 4001)
    )
    assert steep > 0.999 * DRY.mu_s * F_n


def test_specker_has_its_peak_near_transition_velocity() -> None:
    """Protects mu_s F_n at v_t, with viscous friction in it, and the peaks at 1.15 v_t and 1.01 v_t."""
    assert force(SPECKER, WET, v_t, F_n) == pytest.approx(WET.mu_s * F_n, rel=1e-14)
    for ratio, at in ((2.0, 1.15), (4.0, 1.01)):
        parameters = Parameters(mu_s=0.2, mu_d=0.16, v_d=v_t / ratio)
        top = minimize_scalar(
            lambda v, parameters=parameters: -force(SPECKER, parameters, v, F_n),
            bounds=(0.0, 3.0 * v_t),
            options={"xatol": 1e-9},
        )
        assert top.x == pytest.approx(at * v_t, abs=0.005 * v_t)


def test_bengisu_akay_peaks_at_transition_velocity_and_falls() -> None:
    """Protects mu_s F_n as the peak, level from below, the slope of the fall, and mu_d F_n far beyond."""
    p = row(COARSE)
    top, slope, _ = friction_force(BENGISU_AKAY, p, COARSE.v_t, F_n)
    assert top == pytest.approx(COARSE.mu_s * F_n, rel=1e-15)
    assert slope == pytest.approx(-COARSE.k_tanh * (COARSE.mu_s - COARSE.mu_d) * F_n, rel=1e-14)
    assert friction_force(BENGISU_AKAY, p, 0.0, F_n)[1] == pytest.approx(2.0 * COARSE.mu_s * F_n / COARSE.v_t)
    below = friction_force(BENGISU_AKAY, p, COARSE.v_t * (1.0 - 1e-9), F_n)[1]
    assert abs(below) < 1e-8 * 2.0 * COARSE.mu_s * F_n / COARSE.v_t
    assert all(abs(force(BENGISU_AKAY, COARSE, v, F_n)) < top for v in (0.04, 0.06, 3.0))
    assert force(BENGISU_AKAY, COARSE, 1.0, F_n) == pytest.approx(COARSE.mu_d * F_n, rel=1e-9)


@pytest.mark.parametrize(("law", "jumps"), list(zip(LAWS, (False, True, False, True, False), strict=True)))
def test_viscous_friction_at_the_onset_of_contact(law: int, jumps: bool) -> None:
    """Protects which laws hit a moving surface with a jump of mu_v v, and which begin at zero."""
    v = 5.0
    onset = force(law, WET, v, 1e-12)
    assert onset == pytest.approx(WET.mu_v * v if jumps else 0.0, abs=1e-9)
