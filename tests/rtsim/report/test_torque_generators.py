"""Fits of torque generators in words: the table of strengths of both sides."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest
from msgspec.structs import replace

from rtsim.methods.generators.strength_bounds import StrengthBounds
from rtsim.methods.generators.torque_generator_fit import FittedGenerator
from rtsim.models.generator_sets import generators_of
from rtsim.report.torque_generators import bounds_table, doubts


def test_sides_of_a_muscle_group_share_a_row():
    """Protects table B.4: right and left side by side; of one leg, and of what nobody measured, a dash."""
    knees = [one for one in generators_of("planar") if one.joint.coordinate.startswith("knee_flexion")]
    bounds = [
        StrengthBounds(FittedGenerator(one), 10.0 + k, 50.0 if one.joint.coordinate.endswith("_r") else nan)
        for k, one in enumerate(knees)
    ]
    head, extension, flexion = bounds_table(bounds).splitlines()
    assert " ".join(head.split()) == "N m tau_o* r tau_o* l least r least l greatest r greatest l"
    assert extension.split() == ["knee_extension", "285.6", "285.6", "10.0", "12.0", "50.0", "-"]
    assert flexion.split() == ["knee_flexion", "98.8", "98.8", "11.0", "13.0", "50.0", "-"]
    right = bounds_table(bounds[:2]).splitlines()[1]
    assert right.split() == ["knee_extension", "285.6", "-", "10.0", "-", "50.0", "-"]


@pytest.mark.parametrize(
    "names",
    [
        ("Hip_R", "Hip_L"),
        ("hip_right_flexion", "hip_left_flexion"),
        ("r_hip", "L_HIP"),
        ("HipRight", "HipLeft"),
    ],
)
def test_sides_are_told_by_names_of_other_sets(names):
    """Protects table B.4 of sets that name their joints otherwise, as the authors' do."""
    (line,) = bounds_table([hip(names[0], 10.0), hip(names[1], 20.0)]).splitlines()[1:]
    assert line.split()[3:5] == ["10.0", "20.0"]


def test_joints_without_a_side_are_under_neither():
    """Protects readers of a set whose names tell no side: no number of neither is under right or left."""
    head, *lines = bounds_table([hip("HipFront", 10.0), hip("HipBack", 20.0)]).splitlines()
    assert head.split() == ["N", "m", "tau_o*", "least", "greatest"]
    assert [line.split()[0] for line in lines] == ["HipFront_extensor", "HipBack_extensor"]
    assert [line.split()[2] for line in lines] == ["10.0", "20.0"]
    head, first, second = bounds_table([hip("hip_l", 10.0), hip("trunk", 20.0)]).splitlines()
    assert " ".join(head.split()).startswith("N m tau_o* r tau_o* l tau_o* least r least l least")
    assert first.split()[4:7] == ["-", "10.0", "-"]
    assert second.split()[4:7] == ["-", "-", "20.0"]


def hip(coordinate: str, least: float) -> StrengthBounds:
    """Bounds of a hip's extensor under another name."""
    one = next(one for one in generators_of("planar") if one.muscle == "hip_extension")
    joint = replace(one.joint, coordinate=coordinate)
    return StrengthBounds(
        FittedGenerator(one._replace(name=f"{coordinate}_extensor", joint=joint)), least, 50.0
    )


def test_growth_is_told_from_what_the_set_says():
    """Protects refits: a generator that was six times as strong before has not become it, one that is now six
    times as strong as it was has."""
    one = next(one for one in generators_of("planar") if one.muscle == "ankle_dorsiflexion")

    def told(before: float, after: float) -> list[str]:
        placed = one._replace(fit=(1.0, 1.0, 0.0, 0.0, before))
        return doubts([FittedGenerator(placed, x=np.array([1.1, 1.0, 0.0, 0.0, after]))])

    assert told(6.0, 6.0) == []
    assert told(6.0, 6.5) == []
    assert "has become 6 times as strong" in told(1.0, 6.0)[0]
    assert "has become 6 times as strong" in told(2.0, 12.0)[0]
    assert told(200.0, 200.0) == []
    assert "has become 1.25 times as strong" in told(200.0, 250.0)[0]
