"""Figures of paper 002: four methods, the torque that they promise, and the line's distance from a pin."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.papers.catalogue import items_of
from rtsim.papers.item import ItemInput
from rtsim.papers.paper_002.methods_compared import EVERY, EXACT, arms_of, compared, distance_from_pin


@pytest.mark.parametrize("number", ["1", "2", "3"])
def test_what_the_paper_states_holds(number: str) -> None:
    """Protects the three figures: every bound is kept, every number without one says why, all is drawn."""
    (item,) = (item for item in items_of("002") if item.number == number)
    result = item.compute(ItemInput())
    assert [row.quantity for row in result.rows if row.is_held is False] == []
    assert all(row.bound or row.reason for row in result.rows)
    assert sum(row.bound is not None for row in result.rows) >= 3
    assert all(len(panel.curves) in (len(EVERY), len(EVERY) - 1) for panel in result.panels)


def test_the_distance_of_a_line_from_a_pin_is_by_hand() -> None:
    """Protects figure 1's row: of the triangle of pin, origin and insertion twice its area by its base."""
    arms = arms_of("pin")
    away = distance_from_pin(arms, "flexor", "lower", np.radians([90.0]), "flexion")
    origin, insertion = np.array([20.0, 250.0]), np.array([40.0, 15.0])  # (15, -40) turned by 90 degrees [mm]
    twice = abs(origin[0] * insertion[1] - origin[1] * insertion[0])
    assert 1e3 * away[0] == pytest.approx(twice / np.linalg.norm(insertion - origin), abs=1e-9)


def test_methods_that_differ_are_told() -> None:
    """Protects the bounds against a comparison of a method with itself."""
    found = compared(arms_of("pin"), "flexion", (0.0, 90.0), 3)
    found.arms["velocity"][1] += 1e-6
    assert found.apart(EXACT) == pytest.approx(1e-6, rel=1e-6)
