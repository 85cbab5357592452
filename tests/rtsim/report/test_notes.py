"""The notes of a run in few lines, and nothing that matters lost in them."""

from __future__ import annotations

import pytest

from rtsim.report.notes import calm, missing
from rtsim.subjects.calibration.calibration import subject_for
from tests.rtsim.subjects.conventional.persons import MEASURES, person

ROUTINE = [
    "walk.c3d: unlabelled trajectories left out (2): *1, *2",
    "walk.c3d: lengths were converted to metres (factor 0.001)",
    "walk.c3d: up axis: +Z, as the file states (POINT:Y_SCREEN)",
]


def notes_of(**measures: float) -> list[str]:
    """Those of a made-up person with both legs, as a run tells them."""
    stored = {name: x for name, x in {**MEASURES, **measures}.items() if x}
    walk = person(source="walk.c3d", speed=0.02, measures=stored)
    subject = subject_for(walk, person(measures=stored), side="")
    return [*ROUTINE, *(f"static.c3d: {note}" for note in subject.notes)]


def test_both_legs_and_all_segments_in_one_line() -> None:
    """Protects a user from thirty lines: what holds for both legs is told once, with both numbers."""
    notes = notes_of(RKneeWidth=0.104)
    said = calm(notes)
    assert len(said) <= len(notes) // 2
    assert (
        "static.c3d: right and left leg: no medial epicondyle: knee centre put 59.0 and 57.0 mm from the "
        "lateral marker" in said
    )
    assert any("two markers on thigh (RTHI/LTHI, RKNE/LKNE), shank" in note for note in said)
    assert not any("the shank has two markers" in note for note in said)
    assert said[0] == "walk.c3d: 3 notes on units, axes and data that were left out (--all-notes prints them)"


@pytest.mark.parametrize("measure", ["LKneeWidth", "LLegLength"])
def test_what_is_missing_stands_last(measure: str) -> None:
    """Protects a leg that is not solved, or has no conventional angles, from being overlooked."""
    notes = notes_of(**{measure: 0.0})
    said = calm(notes)
    assert f"no {measure}" in said[-1]
    assert said[-1] == missing(notes)[-1]
    assert set(missing(notes)) <= set(said)


def test_what_both_legs_lack_is_one_line() -> None:
    """Protects the same: a measure that neither leg has is told once."""
    (said,) = missing(notes_of(LLegLength=0.0, RLegLength=0.0))
    assert "the right and left leg length is needed, but the trial stores no RLegLength/LLegLength" in said


def test_nothing_else_is_lost() -> None:
    """Protects sentences on one leg, guesses of units and axes, and what is told of markers by name."""
    odd = [
        "a.c3d: right leg: no medial malleolus: ankle centre put 42 mm from the lateral marker",
        "a.c3d: left leg: the pelvis is askew",
        "a.c3d: up axis: +Y, by the stance of the person",
        "a.c3d: right leg: 3 of 7 frames",
        "a.c3d: right leg: 4 of 7 frames",
        "a.c3d: the labels RTHI and LTHI seem exchanged",
        "b.c3d: left leg: the pelvis is askew",
    ]
    assert calm(odd) == odd
    assert calm([]) == []
