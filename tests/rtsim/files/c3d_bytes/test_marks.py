"""Gait events and spatio-temporal values in a C3D file with results."""

from __future__ import annotations

import struct
from pathlib import Path

import ezc3d
import numpy as np
import pytest

from rtsim.files.c3d_bytes.marks import put_analysis
from rtsim.files.c3d_bytes.source import open_source
from rtsim.files.gait.events import FILE, MARKERS, OFF, GaitEvent, read_events
from tests.rtsim.files.c3d_bytes.results import (
    VALUES,
    source_file,
    written,
)


def test_all_events_of_the_copy_have_one_clock(tmp_path: Path) -> None:
    """Protects the strikes of a cut file, whose own events count from its first frame: they are moved."""
    group = {
        "USED": 2, "TIMES": np.array([[0.0, 0.0], [0.02, 0.1]]), "CONTEXTS": ["Right", "Right"],
        "LABELS": ["Foot Strike", "Foot Off"],
    }  # fmt: skip
    source = source_file(tmp_path, more={"EVENT": group})
    found = GaitEvent(0.55, "left", OFF, "", MARKERS)
    out, _, notes = written(tmp_path, source, [found])
    times = [round(event.time, 3) for event in read_events(out).events]
    assert times == [0.52, 0.55, 0.6]
    assert [round(event.time, 3) for event in read_events(source).events] == [0.52, 0.6]
    assert any("0.500 s were added" in note for note in notes)


def test_events_of_a_cut_files_header_have_that_clock_too(tmp_path: Path) -> None:
    """Protects strikes that only the header has, from the file's first frame on: they stand in EVENT then."""
    source = source_file(tmp_path)
    data = bytearray(source.read_bytes())
    struct.pack_into("<f", data, 304, 0.05)
    source.write_bytes(bytes(data))
    assert [round(event.time, 3) for event in read_events(source).events] == [0.55]
    out, _, _ = written(tmp_path, source, [GaitEvent(0.58, "left", OFF, "", MARKERS)])
    assert [(round(e.time, 3), e.side) for e in read_events(out).events] == [(0.55, "right"), (0.58, "left")]


def test_events_of_the_file_stay_and_others_follow(tmp_path: Path) -> None:
    """Protects the events that somebody set in a file."""
    event = {"USED": 1, "CONTEXTS": ["Left"], "LABELS": ["Foot Strike"], "TIMES": np.array([[0.0], [0.51]]),
             "DESCRIPTIONS": ["by hand"], "ICON_IDS": (1,)}  # fmt: skip
    source = source_file(tmp_path, more={"EVENT": event, "SUBJECTS": {"NAMES": ["Anna"], "USED": 1}})
    out, _, _ = written(tmp_path, source)
    new = ezc3d.c3d(str(out))["parameters"]["EVENT"]
    assert new["USED"]["value"].tolist() == [4]
    assert new["LABELS"]["value"] == ["Foot Strike", "Foot Strike", "Foot Off", "Jump"]
    assert new["DESCRIPTIONS"]["value"][:2] == ["by hand", "found by rtsim from plates"]
    assert new["SUBJECTS"]["value"] == ["", "Anna", "Anna", "Anna"]
    np.testing.assert_allclose(new["TIMES"]["value"][1], [0.51, 0.52, 1.25, 0.53], rtol=1e-6)
    assert [e.by for e in read_events(out).events] == [FILE] * 5


def test_values_that_are_there_are_not_doubled(tmp_path: Path) -> None:
    """Protects the spatio-temporal values of another program."""
    analysis = {"USED": 1, "NAMES": ["Cadence"], "CONTEXTS": ["Left"], "UNITS": ["steps/min"],
                "VALUES": np.array([99.0])}  # fmt: skip
    out, _, notes = written(tmp_path, source_file(tmp_path, more={"ANALYSIS": analysis}))
    new = ezc3d.c3d(str(out))["parameters"]["ANALYSIS"]
    assert new["NAMES"]["value"] == ["Cadence", "Step Length"]
    np.testing.assert_allclose(new["VALUES"]["value"], [99.0, 0.61], rtol=1e-6)
    assert any("not added, because" in note for note in notes)


@pytest.mark.parametrize(
    ("persons", "whose", "expected"),
    [
        (["Anna", "Bo"], "Bo", 3),
        (["Anna", "Bo"], "ANNA", 2),
        (["Anna", "Bo"], "Anna", 2),
        (["Anna", "Bo"], "", 2),
        (["Anna"], "Bo", 2),
    ],
)
def test_values_of_another_person_are_not_in_the_way(
    tmp_path: Path, persons: list[str], whose: str, expected: int
) -> None:
    """Protects the second person of a file: its values are added beside those of the first."""
    analysis = {"USED": 1, "NAMES": ["Cadence"], "CONTEXTS": ["Left"], "UNITS": ["steps/min"],
                "SUBJECTS": [whose], "VALUES": np.array([99.0])}  # fmt: skip
    subjects = {"NAMES": persons, "USED": len(persons)}
    section = open_source(source_file(tmp_path, more={"ANALYSIS": analysis, "SUBJECTS": subjects})).section
    notes = put_analysis(section, VALUES, "Anna")
    assert section.number("ANALYSIS", "USED") == expected
    assert section.texts("ANALYSIS", "SUBJECTS") == [whose, *["Anna"] * (expected - 1)]
    assert bool(notes) == (expected == 2)
