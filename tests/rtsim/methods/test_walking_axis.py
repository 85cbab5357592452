"""The direction of walking: an axis of the laboratory, kept while a person turns a corner."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rtsim.methods.walking_axis import WalkingAxis


def facing(degrees: float) -> np.ndarray:
    """A heading, tilted as a pelvis is."""
    angle = math.radians(degrees)
    return np.array([math.cos(angle), 0.3, math.sin(angle)])


@pytest.mark.parametrize(
    ("degrees", "axis"),
    [(10.0, (1, 0)), (-40.0, (1, 0)), (95.0, (0, 1)), (170.0, (-1, 0)), (-100.0, (0, -1))],
)
def test_nearest_axis_or_its_opposite(degrees: float, axis: tuple[int, int]) -> None:
    """Protects the choice, right-handed axes with Y up, and that nothing is known before."""
    found = WalkingAxis()
    found.look(0.0, np.full(3, math.nan))
    found.look(0.1, np.zeros(3))
    assert np.isnan(found.axes).all()
    found.look(0.2, facing(degrees))
    assert (found.axes[0, 0], found.axes[2, 0]) == axis
    np.testing.assert_array_equal(found.axes[:, 2], [0.0, 1.0, 0.0])
    assert np.linalg.det(found.axes) == pytest.approx(1.0)


def test_corners_and_staggers_keep_it_and_going_back_does_not() -> None:
    """Protects trials with a turn, which keep the axis of their beginning, and walks to and fro."""
    found, times = WalkingAxis(), iter(np.arange(0.0, 100.0, 0.1).tolist())
    for degrees in [*[0.0] * 5, *[95.0] * 20, *[150.0] * 3, *[100.0] * 5, *[math.nan] * 3]:
        found.look(next(times), facing(degrees))
        assert found.axes[0, 0] == 1.0
    for _ in range(8):
        found.look(next(times), facing(175.0))
    assert found.axes[0, 0] == -1.0
    found.begin()
    assert np.isnan(found.axes).all()
