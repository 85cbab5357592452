"""The torque spline: its four numbers are what they say, and torque has no jump and no kink."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtsim.device.torque_spline import torque

TIMES = st.floats(0.02, 0.5)
PHASES = st.floats(0.0, 1.0, exclude_max=True)


def twin(phase: float, peak_Nm: float, peak_time: float, rise_time: float, fall_time: float) -> float:
    """The same by the cubics' own conditions: values and slopes at both ends, solved as linear equations."""
    offset = (phase - peak_time + 0.5) % 1.0 - 0.5
    for shift in (-1.0, 0.0, 1.0):
        x = offset + shift
        if -rise_time <= x <= fall_time:
            end = -rise_time if x <= 0.0 else fall_time
            powers = np.arange(4.0)
            slope = powers * end ** np.maximum(powers - 1.0, 0.0)
            rows = np.array([0.0**powers, end**powers, [0.0, 1.0, 0.0, 0.0], slope])
            return float(np.linalg.solve(rows, [peak_Nm, 0.0, 0.0, 0.0]) @ x**powers)
    return 0.0


@given(PHASES, st.floats(-30.0, 30.0), PHASES, TIMES, TIMES)
def test_it_is_the_cubics_of_its_conditions(
    phase: float, peak: float, at: float, rise: float, fall: float
) -> None:
    """Protects the formula: pieces with peak and zeros at their ends and level there, over heel strikes."""
    assert torque(phase, peak, at, rise, fall) == pytest.approx(twin(phase, peak, at, rise, fall), abs=1e-9)


@given(st.floats(1.0, 30.0), PHASES, TIMES, TIMES)
def test_its_four_numbers_are_what_they_say(peak: float, at: float, rise: float, fall: float) -> None:
    """Protects peak, times and zero outside; nothing is beyond the peak or of the other sign."""
    assert torque(at, peak, at, rise, fall) == pytest.approx(peak)
    assert torque(at - 0.5 * rise, peak, at, rise, fall) == pytest.approx(0.5 * peak)
    assert torque(at + 0.5 * fall, peak, at, rise, fall) == pytest.approx(0.5 * peak)
    for outside in np.linspace(at + fall + 1e-9, at - rise + 1.0 - 1e-9, 5):
        assert torque(outside, peak, at, rise, fall) == pytest.approx(0.0, abs=1e-9)
    values = [torque(phase, peak, at, rise, fall) for phase in np.linspace(0.0, 1.0, 101)]
    assert min(values) >= 0.0
    assert max(values) <= peak * (1.0 + 1e-12)


@given(PHASES, PHASES, TIMES, TIMES)
def test_it_has_no_jump_and_no_kink(phase: float, at: float, rise: float, fall: float) -> None:
    """Protects C1: slopes on both sides of any phase agree, by differences."""
    step = 1e-6
    before, here, after = (torque(phase + k * step, 1.0, at, rise, fall) for k in (-1, 0, 1))
    steepest, bend = 1.5 / min(rise, fall), 6.0 / min(rise, fall) ** 2
    assert abs(after - here) <= steepest * step * 1.001
    assert abs(after - 2.0 * here + before) <= bend * step**2 * 1.01 + 1e-15


@pytest.mark.parametrize(("rise", "fall"), [(0.0, 0.1), (0.1, 0.0), (0.7, 0.4), (float("nan"), 0.1)])
def test_times_that_cannot_be_are_refused(rise: float, fall: float) -> None:
    """Protects against a division by zero and a peak that runs into itself."""
    with pytest.raises(ValueError, match="whose sum is at most 1"):
        torque(0.3, 1.0, 0.5, rise, fall)
