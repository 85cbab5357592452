"""The belt of a treadmill: its speed from feet that stand on it, and none over ground."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.stages.loads.belt import Belt

DT, LOW = 0.01, 0.1


def feet(right: float, left: float, lift: float = 0.0) -> np.ndarray:
    """(2, 2, 3) - heel and toes of both feet, the right heel at `right`, the left one raised [m]."""
    lines = [[[right, 0.05, 0.1], [right + 0.25, 0.03, 0.1]], [[left, 0.05, -0.1], [left + 0.25, 0.03, -0.1]]]
    lines[1][0][1] += lift
    return np.array(lines)


def shown(speed: float, other: float, bears: tuple[bool, bool], n: int = 20, lift: float = 0.0) -> Belt:
    """A belt after n frames in which the feet move at two speeds [m/s]."""
    belt = Belt()
    for k in range(1, n):
        now, former = (feet(DT * speed * i, DT * other * i, lift * i) for i in (k, k - 1))
        belt.take(now, former, DT, np.array(bears), LOW)
    return belt


@pytest.mark.parametrize("bears", [(True, False), (False, False)])
def test_a_foot_that_stands_on_the_belt_shows_its_speed(bears: tuple[bool, bool]) -> None:
    """Protects feet beside the one plate of a treadmill: the floor under them moves."""
    belt = shown(-1.2, 2.0, bears)
    assert belt.moves
    np.testing.assert_allclose(belt.velocity, [-1.2, 0.0, 0.0], atol=1e-9)
    belt.forget()
    assert not belt.moves


@pytest.mark.parametrize(
    ("speed", "other", "n", "lift"),
    [(0.0, 3.0, 20, 0.0), (-0.2, 3.0, 20, 0.0), (-1.2, 3.0, 6, 0.0), (0.0, -1.2, 20, 0.02)],
)
def test_feet_over_ground_show_no_belt(speed: float, other: float, n: int, lift: float) -> None:
    """Protects walks over ground: feet at rest, that slip, for an instant, or that swing."""
    assert not shown(speed, other, (True, False), n, lift).moves
