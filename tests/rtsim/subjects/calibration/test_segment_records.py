"""Shanks that are turned about their long axis, by the joints at both their ends."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rtsim.subjects.calibration.calibration import subject_for
from rtsim.subjects.calibration.segment_records import turned_shanks
from rtsim.subjects.subject import SubjectSegment
from tests.rtsim.subjects.calibration.test_misplaced import standing

SAID = "check the shanks"


def legs(knees: tuple[float, float], ankles: tuple[float, float]) -> dict[str, SubjectSegment]:
    """Both legs of a person whose knees and ankles, right and left, are turned so in standing [deg]."""
    segments = dict(subject_for(standing(), side="both").segments)
    turns = {"shank_r": knees[0], "shank_l": knees[1], "foot_r": ankles[0], "foot_l": ankles[1]}
    for name, turn in turns.items():
        segments[name] = msgspec.structs.replace(segments[name], in_parent_deg=(0.0, 0.0, turn))
    return segments


@pytest.mark.parametrize(
    ("knees", "ankles", "by"),
    [
        ((-45.0, 15.0), (20.0, 5.0), 25),  # the right one, by 30 and 25 degrees
        ((-15.0, 40.0), (-8.0, -25.0), 25),  # the left one, by 25 and 33
    ],
)
def test_a_shank_that_is_turned_at_both_ends_is_told(knees, ankles, by) -> None:
    """Protects rotations of knee and ankle from a wand beside its place in both trials."""
    (said,) = turned_shanks(legs(knees, ankles))
    assert said.startswith(SAID)
    assert f"by {by} degrees or more" in said


@pytest.mark.parametrize(
    ("knees", "ankles"),
    [
        ((-30.0, 30.0), (-20.0, 20.0)),  # alike on both sides
        ((-40.0, 10.0), (-5.0, 5.0)),  # a twisted tibia
        ((-10.0, 10.0), (-35.0, 0.0)),  # a foot that is turned out
        ((-45.0, 15.0), (-30.0, 5.0)),  # both the same way: the leg below the knee
        ((-25.0, 10.0), (10.0, 5.0)),  # within what sound recordings have
    ],
)
def test_what_legs_have_is_not_told(knees, ankles) -> None:
    """Protects persons whose tibiae or feet are turned, or whose legs are hardly alike."""
    assert turned_shanks(legs(knees, ankles)) == []


@pytest.mark.parametrize("side", ["R", "L"])
def test_a_wand_that_is_off_in_the_static_trial_is_told(side: str) -> None:
    """Protects the way from markers to the sentence: a marker of the frontal plane 60 mm behind it."""
    assert not [note for note in subject_for(standing(), side="both").notes if SAID in note]
    found = subject_for(standing(**{f"{side}.HF": np.array([-0.06, 0.0, 0.0])}), side="both")
    assert len([note for note in found.notes if SAID in note]) == 1


def test_one_leg_has_no_other_to_be_held_to() -> None:
    """Protects calibrations of one leg, whose twist of the tibia nobody knows."""
    assert turned_shanks(subject_for(standing(), side="right").segments) == []
