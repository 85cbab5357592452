"""Normal forces: every law against its equation and its differences, and that contact never pulls."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kernels.contact.pressure import HUNT_CROSSLEY, KELVIN_VOIGT, POWER, VOLUMETRIC, normal_force

LAWS = (VOLUMETRIC, KELVIN_VOIGT, HUNT_CROSSLEY, POWER)
# stiffness, damping, exponent of each law
ROWS = {
    VOLUMETRIC: np.array([1.6e7, 0.565, 0.0]),
    KELVIN_VOIGT: np.array([5e4, 80.0, 0.0]),
    HUNT_CROSSLEY: np.array([3e5, 1e5, 1.5]),
    POWER: np.array([1e7, 0.0, 2.0]),
}
DEPTHS = (2e-11, 2e-5, 5e-3, 0.02, 0.05)  # [m]
VOLUMES = (1e-12, 3e-6, 4e-5)  # [m^3]
SPEEDS = (-30.0, -0.4, 0.0, 0.2, 1.5, 2.5, 40.0)
VOLUME = 3e-6


def expected(law: int, depth: float, volume: float, v_n: float) -> float:
    """Return the force of a law [N]: eqs 5.44, 2.1, 2.2 and section 4.3.2 of Brown (2017), never negative."""
    stiffness, damping, exponent = ROWS[law]
    force = {
        VOLUMETRIC: stiffness * volume * (1.0 - damping * v_n),
        KELVIN_VOIGT: stiffness * depth - damping * v_n,
        HUNT_CROSSLEY: stiffness * depth**exponent - damping * depth**exponent * v_n,
        POWER: stiffness * depth**exponent,
    }[law]
    return max(0.0, float(force))


@pytest.mark.parametrize("law", LAWS)
def test_force_is_the_published_equation_and_never_pulls(law: int) -> None:
    """Protects every law against its equation written plainly, at any depth, volume and speed."""
    pulls = 0
    for depth, volume, v_n in itertools.product(DEPTHS, VOLUMES, SPEEDS):
        found = normal_force(law, ROWS[law], depth, volume, v_n)[0]
        assert found == pytest.approx(expected(law, depth, volume, v_n), rel=1e-12)
        pulls += found == 0.0
    assert pulls > 0 or law == POWER


@pytest.mark.parametrize("law", LAWS)
def test_derivatives_are_the_differences(law: int) -> None:
    """Protects the derivatives by depth, volume and speed on both sides of the clamp."""
    for depth, volume, v_n in itertools.product(DEPTHS[1:], VOLUMES[1:], SPEEDS):
        x = np.array([depth, volume, v_n])
        force, *slope = normal_force(law, ROWS[law], *x)
        for i, size in enumerate((depth, volume, 1.0)):
            step = np.zeros(3)
            step[i] = 1e-4 * size
            inner = expected(law, *(x + step)) - expected(law, *(x - step))
            outer = expected(law, *(x + 2.0 * step)) - expected(law, *(x - 2.0 * step))
            tolerance = 1e-10 * max(force, expected(law, depth, volume, -40.0)) / size
            assert slope[i] == pytest.approx(
                (8.0 * inner - outer) / (12.0 * step[i]), rel=1e-9, abs=tolerance
            )


@pytest.mark.parametrize("law", LAWS)
def test_touch_down_belongs_to_the_open_side(law: int) -> None:
    """Protects that nothing acts, not even a slope, up to and at depth 0, however fast the approach."""
    for d, v_n in itertools.product((-0.3, -1e-300, 0.0, -0.0), SPEEDS):
        assert normal_force(law, ROWS[law], d, VOLUME, v_n) == (0.0, 0.0, 0.0, 0.0)


def test_clamped_contact_has_no_slope() -> None:
    """Protects the end of a fast parting: force and slopes are zero at the clamp and beyond."""
    for law, v_n in (
        (VOLUMETRIC, 1.0 / 0.565),
        (KELVIN_VOIGT, 5e4 * 0.125 / 80.0),
        (HUNT_CROSSLEY, 3.0),
    ):
        for parting in (v_n * (1.0 + 1e-12), 2.0 * v_n):
            assert normal_force(law, ROWS[law], 0.125, VOLUME, parting) == (0.0, 0.0, 0.0, 0.0)
        assert normal_force(law, ROWS[law], 0.125, VOLUME, v_n * (1.0 - 1e-9))[0] > 0.0
