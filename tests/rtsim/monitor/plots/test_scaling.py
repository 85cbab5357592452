"""Axis ranges that hold the data and keep still."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtsim.monitor.plots.scaling import held_range, nice_step, roomy_step

numbers = st.floats(-1e4, 1e4)
rows = st.lists(numbers, min_size=1, max_size=30).map(np.array)


@given(st.floats(1e-6, 1e6), st.integers(1, 12))
def test_steps_are_round_and_fit(extent: float, n_part: int) -> None:
    """Protects readable ticks: 1, 2 or 5 times a power of ten, as often as asked but not crowded."""
    step = nice_step(extent, n_part)
    mantissa = step / 10.0 ** np.floor(np.log10(step * (1 + 1e-9)))
    assert np.isclose([1.0, 2.0, 5.0], mantissa).any()
    assert n_part * (1 - 1e-6) <= extent / step < 2.5 * n_part * (1 + 1e-6)


@given(st.lists(rows, min_size=1, max_size=8), st.floats(0.1, 100.0))
def test_range_holds_the_data_and_keeps_still(batches: list[np.ndarray], extent_least: float) -> None:
    """Protects the curves from leaving the axis, and the axis from wobbling under the same data."""
    current = None
    for batch in batches:
        current = held_range(current, batch, extent_least)
        assert current is not None
        assert current[0] <= batch.min()
        assert batch.max() <= current[1]
        assert current[1] - current[0] >= extent_least
        assert held_range(current, batch, extent_least) == current


def test_range_shrinks_after_an_outlier() -> None:
    """Protects the resolution: one wild sample does not flatten the curves for ever."""
    wide = held_range(None, np.array([0.0, 1000.0]), 1.0)
    narrow = held_range(wide, np.array([0.0, 10.0]), 1.0)
    assert wide is not None
    assert narrow is not None
    assert narrow[1] < 20.0 < wide[1]


def test_unknown_data_change_nothing() -> None:
    """Protects the axis in a gap: without a finite value the range stays."""
    assert held_range((0.0, 1.0), np.array([np.nan]), 1.0) == (0.0, 1.0)
    assert held_range(None, np.array([np.nan]), 1.0) is None


def test_magnitudes_start_at_zero() -> None:
    """Protects the judgement of a residual: its axis shows how far from zero it is."""
    shown = held_range(None, np.array([4.0, 5.0]), 1.0, from_zero=True)
    assert shown is not None
    assert shown[0] == 0.0
    assert shown[1] >= 5.0


@pytest.mark.parametrize("extent", [0.7, 7.0, 18.0, 49.0, 1.0e4])
@pytest.mark.parametrize("size", [30.0, 45.0, 90.0, 400.0])
def test_numbers_have_room(extent: float, size: float) -> None:
    """Protects numbers beside short axes: none lies on the next, and one step at least is there."""
    step = roomy_step(extent, max(1, min(4, int(size / 17))), size, 12.0)
    assert step * size / extent >= 12.0
    assert step <= extent
    if size >= 90.0:
        assert extent / step >= 2.0
