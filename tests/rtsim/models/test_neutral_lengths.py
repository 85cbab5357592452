"""Neutral lengths of ligaments: where the axes of the bodies coincide, and where that is not known."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.config.models.function_schema import FunctionSpec, PiecewiseLinear, Spline
from rtsim.errors import ConfigError
from rtsim.models.packing.functions import function_of, is_constant

from .small_models import built

ACL = """
[[bodies]]
name = "thigh"
joint = "free"
[[bodies]]
name = "shank"
parent = "thigh"
{joint}
in_parent = {{ offset_mm = [0.0, -400.0, 0.0] }}
in_child = {{ offset_mm = [0.0, {child}, 0.0] }}
[[ligaments]]
name = "ACL"
a = {{ segment = "thigh", offset_mm = [-6.8, -407.5, 9.2] }}
b = {{ segment = "shank", offset_mm = [12.8, {end}, -0.9] }}
length = {{ target_mm = 40.53, mean_mm = 40.62{more} }}
"""
WEIGHED = "[methods.weighed]\nsoft = { ACL = 1e3 }\n"
HINGED = 'joint = "hinge"\naxis = "w"'
DRAWN = """joint = "custom"
motion = [
  {{ rotates = "w", linear = [1.0, {turn}] }},
  {{ translates = "v", polynomial = [0.002, 0.01] }},
]"""


@pytest.mark.parametrize("child", [0.0, 30.0])
def test_neutral_lengths_are_those_of_coinciding_axes(child):
    """Protects lengthening and eq. 1: the example of docs/models.md, whose shank hangs 400 mm below."""
    model = built(ACL.format(joint=HINGED, child=child, end=child - 26.1, more=""))
    assert 1e3 * model.lengths.neutral[0] == pytest.approx(np.linalg.norm([-19.6, 18.6, 10.1]), abs=1e-9)


def test_neutral_lengths_across_functions_are_those_at_zero():
    """Protects custom knees, whose origins part by functions of the angle: by 2 mm where it is zero."""
    model = built(ACL.format(joint=DRAWN.format(turn=0.0), child=0.0, end=-26.1, more=""))
    assert 1e3 * model.lengths.neutral[0] == pytest.approx(np.linalg.norm([-19.6, 16.6, 10.1]), abs=1e-9)


def test_a_neutral_length_that_no_joint_tells_is_asked_for():
    """Protects from a guess: a knee that at zero coordinates is bent and drawn apart needs neutral_mm."""
    text = {"joint": DRAWN.format(turn=0.3), "child": 0.0, "end": -26.1}
    with pytest.raises(ConfigError, match=r"ligaments\.ACL\.length: the neutral length of ACL is not known"):
        built(ACL.format(more="", **text) + WEIGHED)
    model = built(ACL.format(more=", neutral_mm = 30.0", **text))
    assert model.lengths.neutral[0] == pytest.approx(0.03)


TURNED = ACL.replace("400.0, 0.0] }}", "400.0, 0.0], turned_deg = [0, 0, {turn}] }}", 1)
MOVED = """joint = "custom"
motion = [{first}, {second}]
coordinates = [{{ name = "knee" }}]"""
SHIFT, TURN = '{{ translates = "v", of = "knee", {0} }}', '{ rotates = "w", linear = [1.0, 0.0] }'


def turned_knee(turn: float, function: str, shift_first: bool = True, more: str = "") -> str:
    """A custom knee whose frames are turned against each other, and which a function draws apart."""
    shift = SHIFT.format(function).replace("{{", "{").replace("}}", "}")
    first, second = (shift, TURN) if shift_first else (TURN, shift)
    joint = MOVED.format(first=first, second=second)
    return TURNED.format(joint=joint, child=0.0, end=-26.1, more=more, turn=turn)


@pytest.mark.parametrize(
    "function", ["polynomial = [0.0, 0.01]", "linear = [0.01, 0.0]", "sine = [0.01, 1, 0, 0]"]
)
@pytest.mark.parametrize("shift_first", [True, False])
def test_a_function_that_is_zero_at_zero_tells_no_neutral_length(function, shift_first):
    """Protects from a wrong d(0): the axes of a turned knee coincide at -30 degrees, drawn apart."""
    with pytest.raises(ConfigError, match=r"ligaments\.ACL\.length: the neutral length of ACL is not known"):
        built(turned_knee(30.0, function, shift_first) + WEIGHED)


def test_a_constant_before_all_rotations_tells_the_neutral_length():
    """Protects turned knees from a question: what does not depend on their angle is known in every pose."""
    found = 1e3 * built(turned_knee(5.0, "constant = 0.002")).lengths.neutral[0]
    along = 2.0 * np.array([-np.sin(np.radians(5.0)), np.cos(np.radians(5.0)), 0.0])
    assert found == pytest.approx(np.linalg.norm(np.array([-19.6, 18.6, 10.1]) - along), abs=1e-9)
    with pytest.raises(ConfigError, match="the neutral length of ACL is not known"):
        built(turned_knee(5.0, "constant = 0.002", shift_first=False) + WEIGHED)
    assert 1e3 * built(turned_knee(5.0, "constant = 0.0", False)).lengths.neutral[0] == pytest.approx(
        np.linalg.norm([-19.6, 18.6, 10.1]), abs=1e-9
    )


def test_a_neutral_length_that_nothing_needs_is_not_asked_for():
    """Protects ligaments that keep a length of their own: d(0) enters no result; polynomials need it."""
    held = '[methods.m]\nhard = ["ACL"]\n'
    model = built(turned_knee(30.0, "linear = [0.01, 0.0]") + held)
    assert np.isnan(model.lengths.neutral).all()
    assert not len(model.reported.ligaments)
    for more, method in ((", polynomial = [0.001]", held), ("", WEIGHED)):
        with pytest.raises(ConfigError, match="the neutral length of ACL is not known"):
            built(turned_knee(30.0, "linear = [0.01, 0.0]", more=more) + method)


def test_functions_that_are_constant_are_known():
    """Protects constants written as another kind of function, and no function that only begins so."""
    points = {"at": (0.0, 1.0, 2.0)}
    constant = (
        FunctionSpec(constant=0.1), FunctionSpec(linear=(0.0, 0.1)), FunctionSpec(polynomial=(0.1, 0.0)),
        FunctionSpec(sine=(0.0, 1.0, 0.0, 0.1)), FunctionSpec(spline=Spline(value=(0.1, 0.1, 0.1), **points)),
    )  # fmt: skip
    moving = (
        FunctionSpec(linear=(0.1, 0.0)), FunctionSpec(polynomial=(0.0, 0.0, 0.1)),
        FunctionSpec(sine=(0.1, 1.0, 0.0, 0.0)), FunctionSpec(spline=Spline(value=(0.0, 0.0, 0.1), **points)),
        FunctionSpec(lines=PiecewiseLinear(value=(0.0, 0.0, 0.1), **points)),
    )  # fmt: skip
    assert [is_constant(function_of(one)) for one in constant] == [True] * len(constant)
    assert [is_constant(function_of(one)) for one in moving] == [False] * len(moving)
