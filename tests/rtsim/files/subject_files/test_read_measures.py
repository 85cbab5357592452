"""Measures of a person from .vsk and .mp files."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtsim.errors import ConfigError
from rtsim.files.markers.c3d import read_c3d
from rtsim.files.subject_files.read import read_measures

SHARED = Path(__file__).resolve().parents[4].parent / "shared" / "data" / "gait_pycgm"
VSK = """<?xml version="1.0" encoding="UTF-8"?>
<KinematicModel MODEL="any" VERSION="3.2"><Parameters>
 <StaticParameter NAME="Bodymass" VALUE="70.5" QUANTITY="mass"/>
 <StaticParameter NAME="LeftKneeWidth" VALUE="101.5" PRIOR="120" QUANTITY="length"/>
 <StaticParameter NAME="RightKneeWidth" PRIOR="120" QUANTITY="length"/>
 <StaticParameter NAME="RightTibialTorsion" VALUE="{torsion}" QUANTITY="angle"/>
 <StaticParameter NAME="Own" VALUE="12" QUANTITY="length"/>
 <Parameter NAME="UpperLegLength" VALUE="400"/>
</Parameters></KinematicModel>"""
MP = """{{*VICON BodyLanguage(tm)*}}
{{* $Bodymass = 1 was
    an earlier one *}}
$BodyMass = 70.5
$LKneeWidth = 101.5
LeftLegLength = 905
$LAsisTrochanterDistance = 72
$%LMMA = {{19.6,34.1,68.4}}
$Static = 1
$RTibialTorsion = {torsion}
"""


def written(folder: Path, name: str, text: str | bytes) -> Path:
    """A file with a text."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_vsk_gives_si_values_by_the_names_of_c3d_files(tmp_path: Path) -> None:
    """Protects names, units, and that what has no value in the file is not there."""
    found = read_measures(written(tmp_path, "anna.vsk", VSK.format(torsion="0.25")))
    assert found.values == pytest.approx(
        {"Bodymass": 70.5, "LKneeWidth": 0.1015, "RTibialTorsion": 0.25, "Own": 0.012}
    )
    assert found.units == {"Bodymass": "kg", "LKneeWidth": "m", "RTibialTorsion": "rad", "Own": "m"}
    assert found.notes == ()


def test_an_mp_is_read_without_comments_and_vectors(tmp_path: Path) -> None:
    """Protects the lines that are measures, in three spellings; that others are told."""
    found = read_measures(written(tmp_path, "anna.MP", MP.format(torsion="-0.1")))
    assert found.values == pytest.approx(
        {
            "Bodymass": 70.5,
            "LKneeWidth": 0.1015,
            "LLegLength": 0.905,
            "LAsisTrocanterDistance": 0.072,
            "RTibialTorsion": -0.1,
        }
    )
    assert len(found.notes) == 1
    assert "Static" in found.notes[0]


@pytest.mark.parametrize(("name", "text"), [("a.vsk", VSK), ("a.mp", MP)])
def test_an_angle_in_degrees_is_left_out_and_told(tmp_path: Path, name: str, text: str) -> None:
    """Protects against a torsion of 15 degrees that is taken as 15 radians."""
    found = read_measures(written(tmp_path, name, text.format(torsion="15")))
    assert "RTibialTorsion" not in found.values
    assert any("RTibialTorsion 15" in note and "radians" in note for note in found.notes)


def test_a_measure_that_is_told_twice_is_told(tmp_path: Path) -> None:
    """Protects against two widths of one knee of which one wins in silence."""
    text = "$LKneeWidth = 100\n$LeftKneeWidth = 110\n$Height = 1700 + 1\n"
    found = read_measures(written(tmp_path, "a.mp", text))
    assert found.values == pytest.approx({"LKneeWidth": 0.1})
    assert "a second LKneeWidth" in found.notes[0]
    assert "Height" in found.notes[0]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.vsk", "<Other/>", "not KinematicModel"),
        ("a.vsk", "<KinematicModel/>", "no body measure"),
        ("a.vsk", "<KinematicModel>", "not valid XML"),
        ("a.vsk", '<!DOCTYPE x [<!ENTITY a "b">]><KinematicModel/>', "document type"),
        ("a.vsk", b"\x00\xff\x00", "not valid XML"),
        ("a.mp", "", "no line such as"),
        ("a.mp", b"\x00\x01$LKneeWidth = 3", "no line such as"),
        ("a.mp", "$Static = 1\n", "no body measure"),
        ("a.txt", "$LKneeWidth = 3", ".txt"),
    ],
)
def test_what_is_no_such_file_is_one_sentence(
    tmp_path: Path, name: str, text: str | bytes, said: str
) -> None:
    """Protects the refusal of empty, foreign and broken files."""
    with pytest.raises(ConfigError, match=said):
        read_measures(written(tmp_path, name, text))


def test_a_folder_and_a_missing_file_are_one_sentence(tmp_path: Path) -> None:
    """Protects the errors of the file system."""
    with pytest.raises(ConfigError, match="no such file"):
        read_measures(tmp_path / "none.vsk")
    (tmp_path / "folder.mp").mkdir()
    with pytest.raises(ConfigError):
        read_measures(tmp_path / "folder.mp")


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the recordings beside the project")
def test_the_subject_file_of_a_recording_says_what_its_c3d_says() -> None:
    """Protects names and units against those that Nexus itself wrote into the C3D of the same person."""
    found = read_measures(SHARED / "Test.vsk").values
    stored = read_c3d(SHARED / "Movement_trial.c3d").subject
    shared = found.keys() & stored.keys()
    assert {"LKneeWidth", "RLegLength", "Bodymass", "LStaticPlantFlex", "RStaticRotOff"} <= shared
    assert {name: found[name] for name in shared} == pytest.approx({name: stored[name] for name in shared})


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_lines_of_any_system_are_read(tmp_path: Path, end: str) -> None:
    """Protects files of Windows, whose lines end otherwise."""
    text = end.join(["{* of a", "comment *} $Height = 1700", "$LKneeWidth = 100 ", ""])
    path = tmp_path / "a.mp"
    path.write_bytes(text.encode())
    assert read_measures(path).values == pytest.approx({"LKneeWidth": 0.1, "Height": 1.7})
