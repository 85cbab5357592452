"""Choice of curves: what names and groups choose, in which order, and what is said of unknown ones."""

from __future__ import annotations

import pytest

from rtsim.errors import ConfigError
from rtsim.files.tables.curve_choice import chosen_cells
from streams.messages import Curves, FieldSpec, Session

ANGLES = tuple(
    f"{name}_{side}" for side in "rl" for name in ("hip_flexion", "knee_flexion", "knee_adduction")
)
SESSION = Session(
    session="s", stream="result", t_start=0, rate=100.0, meta={"side": "both"},
    fields=(
        FieldSpec("joint_angles", (6,), "rad", ANGLES, curves=Curves("", "angle")),
        FieldSpec("joint_angles_deviation", (6,), "rad", ANGLES, of="joint_angles", role="deviation"),
        FieldSpec("joint_moments", (6,), "N m", ANGLES, curves=Curves("", "moment")),
        FieldSpec("joint_angle_speeds", (6,), "rad/s", ANGLES),
        FieldSpec("joint_powers", (2, 2), "W", ("knee_r", "knee_l"), ("moment", "force")),
        FieldSpec("segment_rotations", (2, 3, 3), "1", ("thigh_r", "thigh_l")),
        FieldSpec("foot_loads", (2,), "N", ("right", "left"), curves=Curves("Feet", "vertical force")),
        FieldSpec("knee_displacements", (2,), "m", ("lateral_r", "lateral_l"),
                  curves=Curves("Knee displacement", "displacement")),
    ),
)  # fmt: skip


def titles(words: str) -> list[str]:
    """Titles of the cells that words choose."""
    return [cell.title for cell in chosen_cells(SESSION, words)]


CHOICES = {
    "": ["Hip flexion", "Knee flexion", "Knee adduction", "Hip flexion moment", "Knee flexion moment",
         "Knee adduction moment", "Feet: vertical force", "Knee displacement: lateral"],
    "joint_moments": ["Hip flexion moment", "Knee flexion moment", "Knee adduction moment"],
    "moments": ["Hip flexion moment", "Knee flexion moment", "Knee adduction moment"],
    "angles": ["Hip flexion", "Knee flexion", "Knee adduction"],
    "powers": ["Joint powers: knee moment", "Joint powers: knee force"],
    "knee_flexion": ["Knee flexion", "Knee flexion moment"],
    "Knee flexion moment": ["Knee flexion moment"],
    "knee": ["Knee flexion", "Knee adduction", "Knee flexion moment", "Knee adduction moment",
             "Knee displacement: lateral"],
    "feet": ["Feet: vertical force"],
    "knee_displacement": ["Knee displacement: lateral"],
    "joint_angle_speeds": ["Joint angle speeds: hip flexion", "Joint angle speeds: knee flexion",
                           "Joint angle speeds: knee adduction"],
    "powers, knee_adduction_moment": ["Joint powers: knee moment", "Joint powers: knee force",
                                      "Knee adduction moment"],
}  # fmt: skip


@pytest.mark.parametrize("words", CHOICES)
def test_what_words_choose(words: str) -> None:
    """Protects names and groups: fields, kinds, joints, panels and quantities, in the order of the words."""
    assert titles(words) == CHOICES[words]


def test_an_empty_name_is_told() -> None:
    """Protects from a comma too many: which words have it is told."""
    for words in ("moments,,angles", ",", "moments,"):
        with pytest.raises(ConfigError, match=f"a name is missing in '{words}'"):
            chosen_cells(SESSION, words)


def test_all_chooses_every_list_of_numbers() -> None:
    """Protects completeness: all fields with curves to draw, no deviations, no matrices; each once."""
    found = titles("all,moments")
    assert len(found) == len(set(found)) == 3 + 3 + 3 + 2 + 1 + 1


def test_both_sides_share_a_cell_and_one_can_be_chosen() -> None:
    """Protects the comparison of legs: a quantity has one cell; a name with its side draws that side."""
    (cell,) = chosen_cells(SESSION, "knee_adduction_moment")
    assert cell.of == {"right": 2, "left": 5}
    first, other = chosen_cells(SESSION, "knee_adduction_l")
    assert (first.title, first.of) == ("Knee adduction", {"left": 5})
    assert (other.title, other.of) == ("Knee adduction moment", {"left": 5})
    (power,) = chosen_cells(SESSION, "joint_powers")[:1]
    assert power.of == {"right": 0, "left": 2}
    joined = chosen_cells(SESSION, "hip_flexion_l,hip_flexion_r")[0]
    assert joined.of == {"left": 3, "right": 0}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("knee_flexoin", "knee_flexion"), ("moment", "moments"), ("joint_power", "joint_powers"),
        ("xyzzy", "angles, moments, forces, displacements, all"),
        ("joint_angles_deviation", "joint_angles"), ("segment_rotations", "all"),
        ("knee_flexion_m", "knee_flexion"),
    ],
)  # fmt: skip
def test_a_wrong_name_is_refused_with_the_nearest(words: str, offered: str) -> None:
    """Protects from figures without what was asked for: the name is told, and those that come nearest."""
    with pytest.raises(ConfigError, match="not the name of a curve or of a group of curves") as caught:
        chosen_cells(SESSION, words)
    assert offered in str(caught.value.allowed)
    assert caught.value.where == "--curves"
