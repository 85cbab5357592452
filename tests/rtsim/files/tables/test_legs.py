"""Which names are the same on both legs."""

from __future__ import annotations

import pytest

from rtsim.files.tables.legs import groups_of, sides_of


@pytest.mark.parametrize(
    ("right", "left", "name"),
    [
        ("hip_flexion_r", "hip_flexion_l", "hip_flexion"),
        ("hip_flexion_R", "hip_flexion_L", "hip_flexion"),
        ("knee_right", "knee_left", "knee"),
        ("r_knee", "l_knee", "knee"),
        ("Right.Knee", "Left.Knee", "Knee"),
        ("right", "left", ""),
        ("RTibAnt", "LTibAnt", "TibAnt"),
    ],
)
def test_names_of_both_legs_are_one_quantity(right: str, left: str, name: str) -> None:
    """Protects figures of models of any author: what differs by its side alone stands in one cell."""
    (group,) = groups_of((left, right))
    assert group.name == name
    assert group.of == {"right": right, "left": left}


def test_a_letter_alone_is_no_side() -> None:
    """Protects `_l` that is short for lateral: a side is told by the name of the other one."""
    assert [group.of for group in groups_of(("MCL", "gastrocnemius_l"))] == [
        {"": "MCL"},
        {"": "gastrocnemius_l"},
    ]


def test_a_whole_word_says_the_side_of_a_channel_of_one_leg() -> None:
    """Protects an electromyogram of one leg from being drawn over the strides of both."""
    assert sides_of(("Left soleus", "soleus_right", "RTibAnt", "rectus")) == ("left", "right", "", "")


def test_names_of_one_leg_are_of_its_side() -> None:
    """Protects figures of a leg that was solved alone; the trunk beside it is of neither."""
    assert sides_of(("hip_flexion", "trunk_flexion", "toe"), "left") == ("left", "", "left")
    assert sides_of(("hip_flexion_r", "lumbar", "hip_flexion_l")) == ("right", "", "left")
