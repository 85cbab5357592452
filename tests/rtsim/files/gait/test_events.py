"""Gait events that C3D files tell."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from rtsim.files.c3d_bytes.processor import for_processor
from rtsim.files.gait.events import FILE, OFF, STRIKE, GaitEvent, event_of, of_groups, read_events, settled
from tests.rtsim.files.conftest import c3d_bytes

SHARED = Path(__file__).resolve().parents[4].parent / "shared" / "data" / "gait_mcgill"


def file_with(
    folder: Path, event: dict[str, object], header: bytes = b"", first: int = 100, code: int = 84
) -> Path:
    """A file of 2 s from frame `first` on at 100 Hz; header : from the count of its events on."""
    points = np.full((200, 3, 3), 500.0)
    points[..., 2] = [950.0, 480.0, 50.0]
    point = {"UNITS": ["mm"], "RATE": 100.0, "USED": 3, "SCALE": -0.1, "FRAMES": 200, "Y_SCREEN": ["+Z"],
             "LABELS": ["RASI", "RKNE", "RHEE"]}  # fmt: skip
    subjects = {"USED": 2, "NAMES": ["Anna", "Bob"]}
    data = bytearray(
        c3d_bytes(points, None, 100.0, first, {"POINT": point, "EVENT": event, "SUBJECTS": subjects}, "<")
    )
    data[300 : 300 + len(header)] = header
    path = folder / "a.c3d"
    path.write_bytes(for_processor(bytes(data), code, "a"))
    return path


def event_group(times: list[tuple[float, float]], **more: object) -> dict[str, object]:
    """The group EVENT."""
    return {"USED": len(times), "TIMES": np.array(times).T, **more}


def test_events_have_side_kind_and_time(tmp_path: Path) -> None:
    """Protects minutes and seconds from the first sample of the capture on, contexts and labels."""
    group = event_group(
        [(0.0, 1.5), (0.0, 1.25), (0.0, 2.0)],
        CONTEXTS=["Left", "Right", "General"], LABELS=["Foot Off", "Foot Strike", "Event"],
    )  # fmt: skip
    told = read_events(file_with(tmp_path, group))
    assert [(e.side, e.kind, e.label, e.by) for e in told.events] == [
        ("right", STRIKE, "Foot Strike", FILE), ("left", OFF, "Foot Off", FILE), ("", "", "Event", FILE),
    ]  # fmt: skip
    np.testing.assert_allclose([e.time for e in told.events], [1.25, 1.5, 2.0], rtol=1e-6)
    assert told.notes == ()


@pytest.mark.parametrize(
    ("label", "context", "side", "kind"),
    [
        ("RHS", "", "right", STRIKE),
        ("LTO", "", "left", OFF),
        ("Left Foot Strike", "", "left", STRIKE),
        ("right_toe_off", "", "right", OFF),
        ("Heel Strike", "R", "right", STRIKE),
        ("Foot Contact", "left", "left", STRIKE),
        ("LFC", "General", "left", STRIKE),
        ("Start", "Left", "left", ""),
        ("Lift", "", "", ""),
        ("Restart", "", "", ""),
    ],
)
def test_labels_in_many_spellings(label: str, context: str, side: str, kind: str) -> None:
    """Protects what other programs call these events, and words that merely begin as a side does."""
    event = event_of(1.0, label, context)
    assert (event.side, event.kind) == (side, kind)


@pytest.mark.parametrize("code", [84, 85, 86])
def test_events_of_the_header(tmp_path: Path, code: int) -> None:
    """Protects the events of older files, of every processor; those of the parameters are not doubled."""
    header = struct.pack("<HH18f", 3, 0, 1.25, 1.75, *[0.0] * 16) + bytes(20) + b"RHS LTO     "
    group = event_group([(0.0, 1.25)], CONTEXTS=["Right"], LABELS=["Foot Strike"])
    told = read_events(file_with(tmp_path, group, header, code=code)).events
    assert [(e.time, e.side, e.kind) for e in told] == [(1.25, "right", STRIKE), (1.75, "left", OFF)]


@pytest.mark.parametrize("time", [1.25, 65.005, 1.20])
def test_an_event_is_not_doubled_by_the_header(tmp_path: Path, time: float) -> None:
    """Protects strides: the header rounds otherwise, and keeps events as they were before they were moved."""
    minutes, seconds = divmod(time, 60.0)
    header = struct.pack("<HH18f", 1, 0, 1.25 if time == 1.20 else time, *[0.0] * 17) + bytes(20) + b"RHS "
    group = event_group([(minutes, seconds)], CONTEXTS=["Right"], LABELS=["Foot Strike"])
    told = read_events(file_with(tmp_path, group, header))
    assert [(round(e.time, 3), e.label) for e in told.events] == [(time, "Foot Strike")]
    assert any("in the header left out" in note for note in told.notes) == (time == 1.20)


def test_the_header_gives_nobody_the_events_of_another(tmp_path: Path) -> None:
    """Protects one person's strides: the header has the events of all, and names nobody."""
    header = struct.pack("<HH18f", 2, 0, 1.2, 1.4, *[0.0] * 16) + bytes(20) + b"LHS LHS "
    group = event_group(
        [(0.0, 1.2), (0.0, 1.4)], CONTEXTS=["Left"] * 2, LABELS=["Foot Strike"] * 2, SUBJECTS=["Anna", "Bob"]
    )
    told = read_events(file_with(tmp_path, group, header), "Anna")
    assert [round(e.time, 3) for e in told.events] == [1.2]
    assert len(told.notes) == 1


@pytest.mark.parametrize(("person", "n_event"), [("anna", 1), ("Clara", 2), ("", 2)])
def test_persons_of_events_suffice(person: str, n_event: int) -> None:
    """Protects one person's events in files without the group SUBJECTS; an unknown person keeps all."""
    group = {"TIMES": [0.0, 1.2, 0.0, 1.4], "LABELS": ["Foot Strike"] * 2, "SUBJECTS": ["Anna", "Bob"]}
    own, others, _ = of_groups({"EVENT": group}, person)
    assert (len(own), len(others)) == (n_event, 2 - n_event)


def test_of_several_persons_one(tmp_path: Path) -> None:
    """Protects one person's events from another's; who is not asked for keeps all."""
    group = event_group(
        [(0.0, 1.2), (0.0, 1.4)], CONTEXTS=["Left"] * 2, LABELS=["Foot Strike"] * 2, SUBJECTS=["Anna", "Bob"]
    )
    path = file_with(tmp_path, group)
    told = read_events(path, "anna")
    assert [e.subject for e in told.events] == ["Anna"]
    assert any("Bob" in note for note in told.notes)
    assert len(read_events(path).events) == 2


def test_what_is_odd_is_told(tmp_path: Path) -> None:
    """Protects from counts that lie, times that are none, and lists that are too short."""
    group = event_group([(0.0, 1.2), (0.0, np.nan), (0.0, 9.0)], CONTEXTS=["Left"], LABELS=[])
    told = read_events(file_with(tmp_path, {**group, "USED": 9}))
    assert [(round(e.time, 3), e.side) for e in told.events] == [(1.2, "left"), (9.0, "")]
    assert len(told.notes) == 3
    assert read_events(file_with(tmp_path, {"USED": 4})).events == ()
    assert read_events(file_with(tmp_path, {"USED": -1, "TIMES": 3.0})).events == ()


def test_times_from_the_first_frame_of_a_cut_file_are_moved() -> None:
    """Protects cut files of programs that count from their first frame; not where that is in doubt."""
    events = [GaitEvent(t, "left", STRIKE, "", FILE) for t in (0.5, 1.0)]
    told = settled(events, (2.0, 4.0))
    assert [e.time for e in told.events] == [2.5, 3.0]
    assert "counted from that frame" in told.notes[0]
    assert told.shift == 2.0
    kept = settled(events, (0.8, 2.8))
    assert [e.time for e in kept.events] == [0.5, 1.0]


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the recordings beside the project")
def test_events_of_a_recording_agree_with_its_plates() -> None:
    """Protects the clock of events against that of the force plates, in a file whose first frame is not 1."""
    from rtsim.files.forces.c3d_plates import read_c3d_forces

    told = read_events(SHARED / "HC002D_straight.c3d").events
    forces = read_c3d_forces(SHARED / "HC002D_straight.c3d")
    strikes = [e.time for e in told if e.kind == STRIKE]
    for k in range(2):
        loaded = np.flatnonzero(forces.force[:, k, 1] > 20.0)
        assert min(abs(t - forces.times[loaded[0]]) for t in strikes) < 0.02


@pytest.mark.parametrize("used", [np.nan, np.inf])
def test_a_number_of_events_that_is_none_is_left_out(tmp_path: Path, used: float) -> None:
    """Protects from a traceback: a real parameter of a stranger's file may be no number."""
    group = event_group([(0.0, 0.5)], LABELS=["Foot Strike"], CONTEXTS=["Right"], SUBJECTS=["Anna"])
    told = read_events(file_with(tmp_path, {**group, "USED": used}))
    assert [event.kind for event in told.events] == [STRIKE]
