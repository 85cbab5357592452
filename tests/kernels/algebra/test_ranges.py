"""Numbers outside their ranges against plain comparisons."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.algebra.ranges import find_outside


@pytest.mark.parametrize("seed", range(3))
def test_outside_is_beyond_an_end(seed: int) -> None:
    """Protects `implausible`: numbers by index and sign, infinite ends, NaN, and those not looked at."""
    rng = np.random.default_rng(seed)
    raw, index = rng.normal(size=12), rng.permutation(12)[:9]
    raw[index[0]] = np.nan
    sign, low, high = rng.choice([-1.0, 1.0], 9), rng.uniform(-1.0, 0.0, 9), rng.uniform(0.0, 1.0, 9)
    low[1], high[2] = -np.inf, np.inf
    ignored = rng.random(9) < 0.3
    value, outside = np.zeros(9), np.full(9, 5.0)
    n = find_outside(raw, index, sign, low, high, ignored, value, outside)
    expected = ((sign * raw[index] > high) | (sign * raw[index] < low)) & ~ignored
    assert np.array_equal(value, sign * raw[index], equal_nan=True)
    assert np.array_equal(outside, expected)
    assert n == expected.sum()
