"""The rate of a stream that does not state it, from stamps that its sender makes when it sends."""

from __future__ import annotations

import numpy as np
import pytest

from streams.capture.lsl.connection import RATE_S
from streams.capture.lsl.rate import measured_rate, rate_of_measured


@pytest.mark.parametrize("late_ms", [0.0, 2.0, 4.0])
@pytest.mark.parametrize("rate", [60.0, 100.0, 120.0, 128.0, 200.0])
def test_stamps_that_are_late_by_chance_leave_the_rate(rate: float, late_ms: float):
    """Protects filters and devices beside the markers: at usual rates each connection finds the same one."""
    random = np.random.default_rng(5)
    n = int(RATE_S * rate)
    for _ in range(200):
        late_ns = random.exponential(1e6 * late_ms, n)
        stamps = np.maximum.accumulate(7e15 + 1e9 * np.arange(n) / rate + late_ns)
        assert rate_of_measured(measured_rate(stamps.astype(np.int64).tolist())) == rate


def test_too_few_or_equal_stamps_show_no_rate():
    """Protects against senders that give all their samples one stamp, or stamps that go back."""
    assert measured_rate(list(range(0, 9_000_000, 1_000_000))) == 0.0
    assert measured_rate([5] * 100) == 0.0
    assert measured_rate(list(range(100, 0, -1))) == 0.0
