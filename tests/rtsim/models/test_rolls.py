"""Rolling in model files: how it is packed, what is refused, and who cannot hold it."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.roles import check_fits_markers, roles_of
from rtsim.simulation.load import load_simulator
from tests.rtsim.models.small_models import built, read

BODIES = """
[[bodies]]
name = "plank"
joint = "slider"
axis = "u"
[[bodies]]
name = "ball"
joint = "free"
"""
ROLL = """
[[rolls]]
name = "ball_on_plank"
a = { segment = "ball", offset_mm = [1.0, 2.0, 3.0] }
b = { segment = "plank", offset_mm = [0.0, 10.0, 0.0] }
normal = [1.0, 1.0, 0.0]
radius_mm = 50.0
"""


def test_a_ball_on_a_plank_is_packed():
    """Protects units, bodies and directions: metres, a unit normal, and two directions square to it."""
    rolls = built(BODIES + ROLL).rolls
    assert (rolls.body_a.tolist(), rolls.body_b.tolist()) == ([1], [0])
    np.testing.assert_allclose(rolls.centre, [[1e-3, 2e-3, 3e-3]])
    np.testing.assert_allclose(rolls.point, [[0.0, 0.01, 0.0]])
    np.testing.assert_allclose(rolls.radius, [0.05])
    np.testing.assert_array_equal(rolls.axis, np.zeros((1, 3)))
    np.testing.assert_allclose(rolls.plane[0, 0], np.array([1.0, 1.0, 0.0]) / np.sqrt(2.0))
    np.testing.assert_allclose(rolls.plane[0] @ rolls.plane[0].T, np.eye(3), atol=1e-15)


def test_a_model_without_rolls_costs_nothing():
    """Protects the compile time and the crossing into kernels of all other models: None, no empty arrays."""
    pin = load_model("pin")
    assert build(pin).rolls is None
    assert build(pin).constraints(roles_of(pin)).rolls is None


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("radius", "axis = [0.0, 0.0, 0.0]\nradius", "axis of ball_on_plank has no direction"),
        ("[1.0, 1.0, 0.0]", "[0.0, 0.0, 0.0]", "normal of ball_on_plank has no direction"),
        ('segment = "plank"', 'segment = "ball"', "rolls on a plane of the same segment"),
        ('segment = "plank"', 'segment = "moon"', "rolls.ball_on_plank.b.segment"),
        ('segment = "ball"', 'segment = "ground"', "rolls.ball_on_plank.a.segment"),
        ("50.0", "-50.0", "radius_mm"),
    ],
)
def test_what_cannot_roll_is_told(old, new, told):
    """Protects the writer of a model: the key, and what is wrong with it."""
    with pytest.raises(ConfigError, match=told):
        read(BODIES + ROLL.replace(old, new, 1))


def test_who_cannot_hold_it_says_so():
    """Protects from silent slipping: forward simulation and marker methods refuse it by name."""
    with pytest.raises(ConfigError, match=r"rolls\.ground_contact"):
        load_simulator("wheel")
    spec = load_model("wheel")
    with pytest.raises(ConfigError, match="ground_contact"):
        check_fits_markers(spec)
