"""Results as they are published against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.dynamics.kinetics import ALONG_AXES, IN_DISTAL, new_kinetics
from kernels.solver.published_values import (
    FrameValues,
    new_published_loads,
    new_published_values,
    publish_loads,
    show,
)
from kernels.uncertainty.kinetic_errors import new_kinetic_deviations


@pytest.mark.parametrize("stated", [True, False])
def test_shown_is_found_in_other_numbers(stated: bool) -> None:
    """Protects signs, NaN and masks of what is published, with and without deviations."""
    rng = np.random.default_rng(0)
    n = 6 if stated else 0
    found = FrameValues(
        rng.normal(size=6), rng.choice([-1.0, 1.0], 6), rng.random(n), rng.choice([0.0, 1.0], n),
        rng.integers(-1, 4, 5), rng.integers(0, 4, 5),
    )  # fmt: skip
    unknown = np.array([False, True, False, False, True, False])
    shown = new_published_values(found)
    show(found, unknown, shown)
    assert np.array_equal(shown.angle, np.where(unknown, np.nan, found.sign * found.angle), equal_nan=True)
    hidden = unknown[:n]
    assert np.array_equal(shown.deviation, np.where(hidden, np.nan, found.deviation), equal_nan=True)
    assert np.array_equal(shown.uncertain, np.where(hidden, 1.0, found.uncertain))
    assert shown.swap_with.tolist() == found.swap_with.tolist()
    assert shown.fault.tolist() == found.fault.tolist()


@pytest.mark.parametrize("seen", [True, False])
def test_shown_loads_are_found_in_other_numbers(seen: bool) -> None:
    """Protects signs and NaN of moments, forces, rates, powers, the residual and of all their deviations."""
    rng = np.random.default_rng(1)
    found, deviations = new_kinetics(3), new_kinetic_deviations(3, 5)
    for array in (*found, *deviations):
        array[...] = rng.normal(size=array.shape)
    found.moment[2] = np.nan  # as where the force on a foot is not known
    unknown = np.repeat([False, not seen, False], 3)
    lateral, side = rng.choice([-1.0, 1.0], (3, 3)), rng.choice([-1.0, 1.0], (2, 3))
    rate, power, shown = found.angle_rate.copy(), found.power.copy(), new_published_loads(3)
    publish_loads(found, deviations, unknown, lateral, side, 700.0, shown)
    lost = unknown[::3, None]
    moment = np.where(lost, np.nan, found.moment[:, ALONG_AXES])
    force = np.where(lost, np.nan, lateral * found.force[:, IN_DISTAL])
    residual = side * found.residual_share if seen else np.full((2, 3), np.nan)
    expected = (
        (moment.ravel(), shown.moment), (force, shown.force), (residual, shown.residual),
        (beside(moment, deviations.moment[:, ALONG_AXES]).ravel(), shown.of_moment),
        (beside(force, deviations.force[:, IN_DISTAL]), shown.of_force),
        (np.where(lost, np.nan, rate), found.angle_rate), (np.where(lost, np.nan, power), found.power),
        (beside(found.angle_rate, deviations.angle_rate).ravel(), shown.of_rate),
        (beside(found.power, deviations.power), shown.of_power),
        (beside(residual, deviations.residual / 700.0), shown.of_residual),
    )  # fmt: skip
    for wanted, got in expected:
        np.testing.assert_allclose(got, wanted, rtol=1e-14)


def beside(value: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """A deviation, NaN where its value is."""
    return np.where(np.isnan(value), np.nan, deviation)
