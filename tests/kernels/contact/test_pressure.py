"""Normal forces: every law against its equation and its differences, and that contact never pulls."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from kernels.contact.pressure import HUNT_CROSSLEY, KELVIN_VOIGT, POWER, VOLUMETRIC, normal_force

LAWS = (VOLUMETRIC, KELVIN_VOIGT, HUNT_CROSSLEY, POWER)
# stiffness, damping, exponent, a b c of each law
ROWS = {
    VOLUMETRIC: np.array([1.6e7, 0.565, 0.0, 4.3e-5]),
    KELVIN_VOIGT: np.array([5e4, 80.0, 0.0, 0.0]),
    HUNT_CROSSLEY: np.array([3e5, 1e5, 1.5, 0.0]),
    POWER: np.array([1e7, 0.0, 2.0, 0.0]),
}
DEPTHS = (1e-9, 1e-3, 0.2, 0.9, 1.7, 1.999)
SPEEDS = (-30.0, -0.4, 0.0, 0.2, 1.5, 2.5, 40.0)
H = 0.023


def expected(law: int, d: float, h: float, v_n: float) -> float:
    """Return the force of a law [N]: eqs 5.44, 2.1, 2.2 and section 4.3.2 of Brown (2017), never negative."""
    stiffness, damping, exponent, size = ROWS[law]
    depth = d * h
    force = {
        VOLUMETRIC: stiffness * size * math.pi * d**2 * (3.0 - d) / 3.0 * (1.0 - damping * v_n),
        KELVIN_VOIGT: stiffness * depth - damping * v_n,
        HUNT_CROSSLEY: stiffness * depth**exponent - damping * depth**exponent * v_n,
        POWER: stiffness * depth**exponent,
    }[law]
    return max(0.0, float(force))


@pytest.mark.parametrize("law", LAWS)
def test_force_is_the_published_equation_and_never_pulls(law: int) -> None:
    """Protects every law against its equation written plainly, at any depth and speed."""
    pulls = 0
    for d, v_n in itertools.product(DEPTHS, SPEEDS):
        found = normal_force(law, ROWS[law], d, H, v_n)[0]
        assert found == pytest.approx(expected(law, d, H, v_n), rel=1e-12)
        pulls += found == 0.0
    assert pulls > 0 or law == POWER


@pytest.mark.parametrize("law", LAWS)
def test_derivatives_are_the_differences(law: int) -> None:
    """Protects the derivatives by depth, height and speed on both sides of the clamp."""
    x = np.array([0.0, H, 0.0])
    for d, v_n in itertools.product(DEPTHS[1:], SPEEDS):
        x[0], x[2] = d, v_n
        force, *slope = normal_force(law, ROWS[law], *x)
        for i, size in enumerate((d, H, 1.0)):
            step = np.zeros(3)
            step[i] = 1e-4 * size
            inner = expected(law, *(x + step)) - expected(law, *(x - step))
            outer = expected(law, *(x + 2.0 * step)) - expected(law, *(x - 2.0 * step))
            tolerance = 1e-10 * max(force, expected(law, d, H, -40.0)) / size
            assert slope[i] == pytest.approx(
                (8.0 * inner - outer) / (12.0 * step[i]), rel=1e-9, abs=tolerance
            )


@pytest.mark.parametrize("law", LAWS)
def test_touch_down_belongs_to_the_open_side(law: int) -> None:
    """Protects that nothing acts, not even a slope, up to and at d = 0, however fast the approach."""
    for d, v_n in itertools.product((-0.3, -1e-300, 0.0, -0.0), SPEEDS):
        assert normal_force(law, ROWS[law], d, H, v_n) == (0.0, 0.0, 0.0, 0.0)


def test_clamped_contact_has_no_slope() -> None:
    """Protects the end of a fast parting: force and slopes are zero at the clamp and beyond."""
    for law, v_n in (
        (VOLUMETRIC, 1.0 / 0.565),
        (KELVIN_VOIGT, 5e4 * 0.5 * 0.25 / 80.0),
        (HUNT_CROSSLEY, 3.0),
    ):
        for parting in (v_n * (1.0 + 1e-12), 2.0 * v_n):
            assert normal_force(law, ROWS[law], 0.5, 0.25, parting) == (0.0, 0.0, 0.0, 0.0)
        assert normal_force(law, ROWS[law], 0.5, 0.25, v_n * (1.0 - 1e-9))[0] > 0.0


def test_swallowed_ellipsoid_feels_no_more() -> None:
    """Protects d > 2: the force of the whole volume, without slope, though still damped."""
    p = ROWS[VOLUMETRIC]
    whole = p[0] * p[3] * 4.0 / 3.0 * math.pi
    for d in (2.0, 2.5, 40.0):
        force, by_d, by_h, by_v = normal_force(VOLUMETRIC, p, d, H, -0.5)
        assert force == pytest.approx(whole * (1.0 + 0.5 * p[1]), rel=1e-14)
        assert (by_d, by_h) == (0.0, 0.0)
        assert by_v == pytest.approx(-whole * p[1], rel=1e-14)
