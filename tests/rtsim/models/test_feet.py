"""The feet of models that bring their own markers: which are found, and what is said where there are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.config.load import check_record, parse_toml
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.models.feet import PlacedFeet, find_feet, in_words, side_of_name, sides_of
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.neutral import neutral_places

from . import legs
from .small_models import built

HELD = legs.PELVIS.replace(
    'joint = "planar"\naxes = [[1, 0, 0], [0, 1, 0]]', 'joint = "hinge"\naxis = [0, 0, 1]'
)
HELD = HELD.replace('{ name = "forward" }, { name = "up", neutral_mm = 950.0 }, ', "")

BONE = """
[[bodies]]
name = "{name}"
parent = "{parent}"
joint = "hinge"
axis = "w"
in_parent = {{ offset_mm = [0.0, {y}, {z}] }}
"""


def limb(*z: float) -> str:
    """A free bone, and below it a shank, an ankle and a foot, whose joints are at z in the bones above."""
    names = ("top", "shank", "ankle", "foot")
    bones = (
        BONE.format(name=names[k + 1], parent=names[k], y=y, z=z[k]) for k, y in enumerate((-400, -400, -10))
    )
    soles = ([-50.0, -60.0, 0.0], [150.0, -60.0, 0.0])
    markers = (legs.MARKER.format(name=f"sole{x[0]}", segment="foot", offset=x) for x in soles)
    return "\n".join(('[[bodies]]\nname = "top"\njoint = "free"', *bones, *markers))


def test_feet_are_the_low_ends_of_limbs(tmp_path: Path) -> None:
    """Protects models with names of their own: feet by form, their line from the heel as far as the toes."""
    model = build(legs.load(tmp_path))
    feet = find_feet(model)
    assert [foot.side for foot in feet] == [0, 1]
    assert [[model.names.bodies[b] for b in foot.bodies] for foot in feet] == [["sole_r"], ["sole_l"]]
    assert [foot.heel.name for foot in feet] == ["sole_r.0", "sole_l.0"]
    lines = PlacedFeet(feet).at(*neutral_places(model))
    length = np.linalg.norm((lines[:, 1] - lines[:, 0])[:, [0, 2]], axis=1)
    np.testing.assert_allclose(length, 1.3 * np.hypot(0.2, 0.03), rtol=0.02)  # metatarsals at 3/4 of a foot
    assert (lines[:, 1, 0] > lines[:, 0, 0] + 0.2).all()
    assert lines[0, 0, 2] > 0.0 > lines[1, 0, 2]
    told = in_words(model, feet)
    assert "right sole_r, heel at sole_r.0" in told
    assert told.endswith("plates act on sole_r, sole_l")


def test_feet_of_published_models(shared: Path) -> None:
    """Protects OpenSim's skeletons, with markers and without, in a pose of swing too: plates press calcn."""
    for name in ("gait10dof18musc_subject01", "gait2392_millard2012muscle", "leg6dof9musc"):
        model = build(load_model(str(shared / "data/osim_models" / f"{name}.osim")))
        sides = ("r",) if name.startswith("leg") else ("r", "l")
        feet = find_feet(model)
        assert [model.names.bodies[foot.bodies[0]] for foot in feet] == [f"calcn_{side}" for side in sides]
        for foot in feet:
            assert {model.names.bodies[b][:-2] for b in foot.bodies} == {"talus", "calcn", "toes"}
            assert 0.2 < np.linalg.norm(points(model, foot)) < 0.32


def points(model, foot):
    """From heel to toes in the neutral pose."""
    heel, toes = PlacedFeet([foot]).at(*neutral_places(model))[foot.side]
    return toes - heel


def test_bodies_can_be_named(tmp_path: Path) -> None:
    """Protects whoever knows better: a body is pressed as said, sides by names; strangers are told."""
    model = build(legs.load(tmp_path))
    feet = find_feet(model, ("lower_l", "sole_r"))
    assert [[model.names.bodies[b] for b in foot.bodies] for foot in feet] == [
        ["sole_r"],
        ["lower_l", "sole_l"],
    ]
    with pytest.raises(ConfigError, match=r"no body 'heel'.*hips, upper_r"):
        find_feet(model, ("heel",))
    with pytest.raises(ConfigError, match=r"3 feet.*allowed: two"):
        find_feet(model, ("sole_r", "sole_l", "hips"))


def test_the_foot_that_is_not_named_is_found(tmp_path: Path) -> None:
    """Protects laboratories with one plate: what the other foot bears is unknown, not zero."""
    model = build(legs.load(tmp_path))
    for named, pressed in (("sole_r", ["sole_r", "sole_l"]), ("lower_l", ["sole_r", "lower_l"])):
        feet = find_feet(model, (named,))
        assert [model.names.bodies[foot.bodies[0]] for foot in feet] == pressed
        assert PlacedFeet(feet).known == (True, True)


def test_a_leg_alone_has_one_foot(shared: Path) -> None:
    """Protects models of one leg: beside the foot that is named there is no other."""
    one = build(load_model(str(shared / "data/osim_models/leg6dof9musc.osim")))
    assert [one.names.bodies[foot.bodies[0]] for foot in find_feet(one, ("calcn_r",))] == ["calcn_r"]


@pytest.mark.parametrize(
    ("named", "words"),
    [
        (("sole_r", "sole_r"), "sole_r is named twice"),
        (("sole_r", "lower_r"), "lower_r and sole_r belong to the same leg"),
        (("hips",), "hips carries the rest of the model"),
    ],
)
def test_bodies_that_are_no_two_feet_are_refused(tmp_path: Path, named: tuple[str, ...], words: str) -> None:
    """Protects from a left foot that is the right one, and from a foot that reaches up to the head."""
    with pytest.raises(ConfigError, match=f"--feet.*: {words}.*; allowed: "):
        find_feet(build(legs.load(tmp_path)), named)


def test_a_model_that_ground_holds_has_no_feet(tmp_path: Path, shared: Path) -> None:
    """Protects from forces on hands: an arm is refused, and so is a leg on a stand, with what to do."""
    held = build(legs.load(tmp_path, head=HELD))
    arm = build(load_model(str(shared / "data/osim_models/arm26.osim")))
    for model in (held, arm):
        with pytest.raises(ConfigError, match=r"no foot for force plates.*--feet"):
            find_feet(model)
    assert len(find_feet(held, ("sole_r",))) == 1


def test_names_state_sides() -> None:
    """Protects feet and devices from the other leg: names of several customs, and words without a side."""
    said = {
        "right": ("foot_r", "R_Foot", "foot.right", "RightFoot", "rightFoot", "FootRight", "toe2Right"),
        "left": ("foot_l", "L_Foot", "left", "LeftFoot", "leftFoot", "FootLeft", "LeftFoot_1"),
        "": ("foot", "Leftover", "upright", "bright_foot", "calcn", "LeftRight", "foot_l_of_r"),
    }
    assert {name: side_of_name(name) for names in said.values() for name in names} == {
        name: side for side, names in said.items() for name in names
    }


@pytest.mark.parametrize(
    ("names", "lateral", "sides"),
    [
        (["LeftFoot"], [0.1], [1]),
        (["foot"], [-0.1], [1]),
        (["foot"], [0.1], [0]),
        (["foot"], [0.0], [0]),
        (["LeftFoot", "RightFoot"], [0.0, 0.0], [1, 0]),
        (["one", "other_r"], [0.0, 0.0], [1, 0]),
        (["one", "other"], [-0.1, 0.1], [1, 0]),
        (["one_r", "other_r"], [-0.1, 0.1], [1, 0]),
    ],
)
def test_sides_are_those_of_names_then_of_places(
    names: list[str], lateral: list[float], sides: list[int]
) -> None:
    """Protects plates and gait phases from the wrong leg."""
    assert sides_of(names, lateral) == sides


@pytest.mark.parametrize(
    ("z", "side"), [((-4.0, -4.0, 0.0), 0), ((4.0, -60.0, 0.0), 0), ((-90.0, 0.0, 0.0), 1)]
)
def test_a_leg_without_a_pelvis_has_no_place_beside_one(z: tuple[float, ...], side: int) -> None:
    """Protects a leg that is modelled from the thigh down: its knee and ankle are not the midline, so an only
    foot whose name states no side counts as right, unless it hangs beside a pelvis."""
    feet = find_feet(built(limb(*z)))
    assert [foot.side for foot in feet] == [side]


def test_toes_on_a_foot_have_no_place_beside_a_pelvis() -> None:
    """Protects the shipped right foot: its toes' joint is on the inner side, which is no left leg."""
    text = Path("configs/models/foot.toml").read_text(encoding="utf-8")
    places = {"foot": ([0.0, 0.0, 0.0], [160.0, 20.0, 20.0]), "toes": ([60.0, 0.0, 20.0], [40.0, 0.0, 60.0])}
    markers = (
        legs.MARKER.format(name=f"{body}{k}", segment=body, offset=x)
        for body, own in places.items()
        for k, x in enumerate(own)
    )
    model = build(check_record(parse_toml("\n".join((text, *markers)), "mine.toml"), ModelSpec, "mine.toml"))
    assert [foot.side for foot in find_feet(model, ("toes",))] == [0]


def test_sides_that_nothing_tells_are_asked_for() -> None:
    """Protects from a guess: two feet in one plane whose names state no side."""
    with pytest.raises(ConfigError, match=r"foot_a, foot_b tell which foot is the right one.*_r and _l"):
        sides_of(["foot_a", "foot_b"], [0.0, 0.0])
