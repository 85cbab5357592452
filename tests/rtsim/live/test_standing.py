"""Unit and axis of a stream that tells neither: by the person who stands there, or the usual ones."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.live.standing import LOOK_NS, PATIENCE_NS, judge_standing
from streams.capture.records import CaptureDescription, CaptureFrame

NAMES = ("LASI", "RASI", "LPSI", "RPSI", "LANK", "RANK", "LTOE", "RTOE", "LHEE", "RHEE")
UNTOLD = CaptureDescription(NAMES, "", "", 100.0)


def person(axis: int, sign: float, metres: float) -> np.ndarray:
    """Return (10, 3) - a person who stands along an axis, in a unit of so many metres."""
    rows = np.zeros((10, 3))
    rows[:, axis], rows[:4, axis] = 0.08 * sign, 0.95 * sign
    rows[:, (axis + 1) % 3] = np.linspace(0.0, 0.3, 10)
    return rows / metres


def frames_of(positions: np.ndarray, seconds: float) -> list[CaptureFrame]:
    return [CaptureFrame(positions, round(1e9 * t), None) for t in np.linspace(0.0, seconds, 20)]


@pytest.mark.parametrize(("unit", "metres"), [("m", 1.0), ("cm", 0.01), ("mm", 0.001)])
@pytest.mark.parametrize(("axis", "sign"), [(0, 1.0), (1, 1.0), (2, 1.0), (1, -1.0), (2, -1.0)])
def test_a_standing_person_shows_unit_and_axis(unit, metres, axis, sign):
    """Protects streams that say neither: each unit and each axis is found, and both are told."""
    judged = judge_standing(UNTOLD, frames_of(person(axis, sign, metres), 0.5), "+Y")
    assert judged.description == UNTOLD._replace(unit=unit, up=("+" if sign > 0.0 else "-") + "XYZ"[axis])
    assert len(judged.notes) == 2


def test_what_the_system_tells_is_kept():
    """Protects what is known: only what is not told is judged."""
    told = UNTOLD._replace(unit="m")
    judged = judge_standing(told, frames_of(person(2, 1.0, 1.0), 0.5), "+Y")
    assert judged.description == told._replace(up="+Z")
    assert len(judged.notes) == 1


def test_nobody_is_waited_for_and_then_the_usual_axis_is_taken():
    """Protects an empty room: the usual axis after a second, said to be that."""
    nobody = np.full((10, 3), np.nan)
    assert judge_standing(UNTOLD, frames_of(person(2, 1.0, 1.0), 0.5e-9 * LOOK_NS), "+Y") is None
    told = UNTOLD._replace(unit="mm")
    assert judge_standing(told, frames_of(nobody, 0.9e-9 * PATIENCE_NS), "+Y") is None
    judged = judge_standing(told, frames_of(nobody, 1.1e-9 * PATIENCE_NS), "+Y")
    assert judged.description.up == "+Y"
    assert any("as is usual" in note for note in judged.notes)


def test_the_unit_waits_for_somebody_who_is_seen():
    """Protects a stream that begins before the person comes: an empty room has no unit of length."""
    nobody = np.full((10, 3), np.nan)
    assert judge_standing(UNTOLD, frames_of(nobody, 100e-9 * PATIENCE_NS), "+Y") is None
    head = person(2, 1.0, 0.001)
    head[4:] = np.nan
    assert judge_standing(UNTOLD, frames_of(head, 0.9e-9 * PATIENCE_NS), "+Y") is None
    head[2:] = np.nan  # two markers have no size of a person
    assert judge_standing(UNTOLD, frames_of(head, 2e-9 * PATIENCE_NS), "+Y") is None


@pytest.mark.parametrize(
    ("metres", "unit", "words"), [(1.0, "m", "judged"), (0.001, "mm", "may be in cm, too")]
)
def test_a_few_markers_are_not_a_person(metres: float, unit: str, words: str):
    """Protects head and jaw from ten times their size: 280 are millimetres there, and this is told."""
    jaw = UNTOLD._replace(names=("HEAD1", "HEAD2", "HEAD3", "JAW1", "JAW2", "JAW3"), up="+Y")
    places = np.array([[0.0, 0.28, 0.0], [0.1, 0.25, 0.05], [0.1, 0.25, -0.05], [0.1, 0.02, 0.0]])
    places = np.concatenate([places, [[0.08, 0.0, 0.03], [0.08, 0.0, -0.03]]]) / metres
    judged = judge_standing(jaw, frames_of(places, 0.5), "+Y")
    assert judged.description.unit == unit
    assert words in judged.notes[0]


@pytest.mark.parametrize(("metres", "unit"), [(1.0, "m"), (0.01, "cm"), (0.001, "mm")])
@pytest.mark.parametrize("first", ["", "M"])
def test_many_markers_with_names_that_tell_no_body_are_a_person(metres: float, unit: str, first: str):
    """Protects whole persons whose markers are numbered from being a tenth as tall: 175 are cm there."""
    numbered = UNTOLD._replace(names=tuple(f"{first}{k}" for k in range(35)), up="+Y")
    places = np.column_stack([np.linspace(0.0, 0.4, 35), np.linspace(0.0, 1.75, 35), np.zeros(35)]) / metres
    judged = judge_standing(numbered, frames_of(places, 0.5), "+Y")
    assert judged.description.unit == unit
    assert ("may be in mm, too" in judged.notes[0]) == (unit == "cm")


@pytest.mark.parametrize(("metres", "unit"), [(0.01, "cm"), (0.001, "mm")])
def test_pelvis_and_trunk_show_the_unit_without_the_feet(metres: float, unit: str):
    """Protects persons whose feet are hidden: no pelvis and trunk together are 6 cm tall."""
    names = ("LASI", "RASI", "LPSI", "RPSI", "CLAV", "C7", "LTOE", "RTOE")
    places = np.array([[0.0, 1.0, 0.1], [0.0, 1.0, -0.1], [-0.2, 1.0, 0.05], [-0.2, 1.0, -0.05]])
    hidden = np.full((2, 3), np.nan)
    places = np.concatenate([places, [[0.0, 1.45, 0.0], [-0.1, 1.5, 0.0]], hidden]) / metres
    judged = judge_standing(UNTOLD._replace(names=names), frames_of(places, 1.1e-9 * PATIENCE_NS), "+Y")
    assert judged.description.unit == unit


def test_markers_without_names_show_the_unit():
    """Protects streams whose markers are to be labelled: their size is that of the person, too."""
    unnamed = [frame._replace(positions=np.empty((0, 3)), unnamed=person(1, 1.0, 0.001))
               for frame in frames_of(person(1, 1.0, 0.001), 0.5)]  # fmt: skip
    judged = judge_standing(UNTOLD._replace(names=(), up="+Y"), unnamed, "+Y")
    assert judged.description.unit == "mm"


def test_names_that_tell_no_body_leave_the_usual_axis():
    """Protects streams of numbered markers: no axis is made up from them."""
    numbered = UNTOLD._replace(names=tuple(f"M{k}" for k in range(10)))
    judged = judge_standing(numbered, frames_of(person(2, 1.0, 0.001), 1.1e-9 * PATIENCE_NS), "+Y")
    assert (judged.description.unit, judged.description.up) == ("mm", "+Y")


def test_nobody_is_waited_for_whose_names_tell_nothing():
    """Protects a list of numbered markers that changes: its new session begins without a second's wait."""
    numbered = UNTOLD._replace(names=tuple(f"M{k}" for k in range(10)))
    judged = judge_standing(numbered, frames_of(person(2, 1.0, 0.001), 1.1e-9 * LOOK_NS), "+Y")
    assert (judged.description.unit, judged.description.up) == ("mm", "+Y")
    nobody = frames_of(np.full((10, 3), np.nan), 1.1e-9 * LOOK_NS)
    assert judge_standing(numbered._replace(unit="m"), nobody, "+Z").description.up == "+Z"
    assert judge_standing(numbered, nobody, "+Z") is None
