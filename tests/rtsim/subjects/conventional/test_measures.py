"""Measures of a person: what is stored, what is missing, what nobody has."""

from __future__ import annotations

import pytest

from rtsim.errors import ConfigError
from rtsim.subjects.conventional.measures import (
    RANGES,
    ConventionalMeasures,
    SideMeasures,
    check_measures,
    needed,
    stored_measures,
)  # fmt: skip

STORED = {
    "LLegLength": 0.83, "RLegLength": 0.84, "LKneeWidth": 0.1, "RKneeWidth": 0.0, "InterAsisDistance": 0.204,
    "MarkerDiameter": 0.01, "LThighRotation": 0.0, "RThighRotation": 0.2, "LStaticPlantFlex": 0.19,
    "LStaticRotOff": 0.0, "RStaticPlantFlex": 0.0, "RStaticRotOff": 0.0, "LTibialTorsion": -0.25,
}  # fmt: skip


def test_stored_names_and_what_zero_means() -> None:
    """Protects the names of PROCESSING: a length of 0 is unknown, a rotation of 0 is none, two foot offsets
    of exactly 0 are those of a trial without a static one."""
    found = stored_measures(STORED)
    assert found.left == SideMeasures(
        leg_length=0.83, knee_width=0.1, thigh_rotation=0.0, tibial_torsion=-0.25,
        static_plant_flexion=0.19, static_rotation=0.0,
    )  # fmt: skip
    assert found.right == SideMeasures(leg_length=0.84, thigh_rotation=0.2)
    assert (found.inter_asis, found.marker_radius) == (0.204, 0.005)
    assert found.mean_leg_length == pytest.approx(0.835)
    assert stored_measures({}) == ConventionalMeasures()
    assert ConventionalMeasures().marker_radius == 0.007
    assert ConventionalMeasures().mean_leg_length is None


def test_every_measure_has_a_range() -> None:
    """Protects against a new measure that nobody checks."""
    assert {*SideMeasures._fields, *ConventionalMeasures._fields} - {"left", "right"} == set(RANGES)


@pytest.mark.parametrize(
    ("measures", "said"),
    [
        (ConventionalMeasures(left=SideMeasures(knee_width=1e-4)), r"left knee width of 0\.1 mm.*metres"),
        (ConventionalMeasures(right=SideMeasures(leg_length=8.3)), r"right leg length of 8300 mm is impos"),
        (ConventionalMeasures(right=SideMeasures(thigh_rotation=12.0)), r"right thigh rotation of 12 rad"),
        (ConventionalMeasures(inter_asis=float("nan")), r"the distance between both ASIS of nan mm"),
        (
            ConventionalMeasures(right=SideMeasures(asis_trochanter=6.0)),
            r"right distance from the ASIS to the trochanter of 6000 mm",
        ),
        (ConventionalMeasures(marker_diameter=0.14), r"marker diameter of 140 mm"),
        (ConventionalMeasures(left=SideMeasures(knee_width=0.08, ankle_width=0.11)), r"left ankle is 110 mm"),
    ],
)  # fmt: skip
def test_numbers_of_no_person(measures: ConventionalMeasures, said: str) -> None:
    """Protects the sentence: which, how much, what is allowed, and that it may be the unit."""
    with pytest.raises(ConfigError, match=rf"f\.c3d.*{said}|{said}"):
        check_measures(measures, "f.c3d")


def test_missing_is_said_with_where_it_stands() -> None:
    """Protects the sentence on a width that is needed and unknown."""
    with pytest.raises(
        ConfigError,
        match=r"right knee width is needed, but the trial stores no RKneeWidth.*epicondyles.*--knee-width",
    ):
        needed(stored_measures(STORED), "right", "knee_width", "f.c3d")
    assert needed(stored_measures(STORED), "left", "knee_width", "f.c3d") == 0.1
