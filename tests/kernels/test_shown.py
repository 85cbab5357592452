"""Results as they are published against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.shown import Found, new_shown, show


@pytest.mark.parametrize("stated", [True, False])
def test_shown_is_found_in_other_numbers(stated: bool) -> None:
    """Protects signs, NaN and masks of what is published, with and without deviations."""
    rng = np.random.default_rng(0)
    n = 6 if stated else 0
    found = Found(
        rng.normal(size=6), rng.choice([-1.0, 1.0], 6), rng.random(n), rng.choice([0.0, 1.0], n),
        rng.integers(-1, 4, 5), rng.integers(0, 4, 5),
    )  # fmt: skip
    unknown = np.array([False, True, False, False, True, False])
    shown = new_shown(found)
    show(found, unknown, shown)
    assert np.array_equal(shown.angle, np.where(unknown, np.nan, found.sign * found.angle), equal_nan=True)
    hidden = unknown[:n]
    assert np.array_equal(shown.deviation, np.where(hidden, np.nan, found.deviation), equal_nan=True)
    assert np.array_equal(shown.uncertain, np.where(hidden, 1.0, found.uncertain))
    assert shown.swap_with.tolist() == found.swap_with.tolist()
    assert shown.fault.tolist() == found.fault.tolist()
