"""Which models have the same inertia everywhere, so that a step need not find it again."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.dynamics.inertia import Bodies
from kernels.dynamics.system import System
from kernels.joints.kinds import BALL, FREE, HINGE, SLIDER, WELD
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.packing.tree import JointRow, build_tree
from rtsim.simulation.inertia import is_constant

Array = NDArray[np.float64]
DOWN = np.array([0.0, -9.81, 0.0])


@pytest.mark.parametrize(
    ("name", "expected"),
    [("impact", True), ("stick_slip", True), ("knee", False), ("pin", False), ("finger", False)],
)
def test_shipped_models(name: str, expected: bool) -> None:
    """Protects the short cut of sliders and planar bodies, and its absence elsewhere."""
    assert is_constant(build(load_model(name)).system) == expected


def hinges(centre: float, second: int, gravity: Array = DOWN) -> System:
    """Return a body on a hinge so far [m] from its centre of mass, and a second one on it."""
    bodies = Bodies(
        np.array([2.0, 0.5]), np.array([[centre, 0.0, 0.0], [0.0] * 3]), 0.1 * np.ones((2, 1, 1)) * np.eye(3)
    )
    return System(
        build_tree([JointRow(-1, HINGE), JointRow(0, second, np.array([1.0, 0.0, 0.0]))]), bodies, gravity
    )


def test_what_makes_inertia_vary() -> None:
    """Protects each reason by itself: weight that swings, a body that slides outwards, a body in space."""
    assert is_constant(hinges(0.0, WELD))
    assert not is_constant(hinges(0.2, WELD))
    assert is_constant(hinges(0.2, WELD, np.zeros(3)))
    assert not is_constant(hinges(0.0, SLIDER))
    assert not is_constant(hinges(0.0, BALL))
    assert not is_constant(hinges(0.0, FREE))
