"""What a user says of a person's lengths and angles, in files and as numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.cli.commands.check import check_config
from rtsim.cli.terminal.measure_options import BothLegs, given_measures, measures_given
from rtsim.config.runs.measures_schema import PersonMeasures
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.calibration.person_measures import (
    AskedMeasures,
    all_measures,
    near_measures,
    with_measures,
    with_measures_of_both,
)

VSK = """<KinematicModel><Parameters>
<StaticParameter NAME="LeftKneeWidth" VALUE="100" QUANTITY="length"/>
<StaticParameter NAME="RightAnkleWidth" VALUE="0" QUANTITY="length"/>
</Parameters></KinematicModel>"""


def test_a_file_and_numbers(tmp_path: Path) -> None:
    """Protects the order: numbers come before those of the file, right before left, mm and degrees to SI."""
    path = tmp_path / "anna.toml"
    path.write_text("knee_width_mm = 99\ntibial_torsion_deg = [-18, 0]\nhip = 'hara2016'\n")
    told, stored = all_measures(
        AskedMeasures(str(path), PersonMeasures(knee_width_mm=(104.0, 102.0), inter_asis_mm=240.0))
    )
    assert told.hip == "hara2016"
    assert stored["RKneeWidth"] == pytest.approx(0.104)
    assert stored["LKneeWidth"] == pytest.approx(0.102)
    assert stored["InterAsisDistance"] == pytest.approx(0.24)
    assert stored["RTibialTorsion"] == pytest.approx(np.radians(-18.0))


def test_check_knows_such_a_file(tmp_path: Path) -> None:
    """Protects `rtsim check`: a file of measures is one, and a width in metres is told."""
    path = tmp_path / "anna.toml"
    path.write_text("ankle_width_mm = 70\n")
    assert check_config(path) == ["file of measured body dimensions of a person"]
    path.write_text("ankle_width_mm = 0.07\n")
    with pytest.raises(ConfigError, match="metres, but millimetres are expected"):
        check_config(path)


def test_a_file_of_vicon(tmp_path: Path) -> None:
    """Protects .vsk files: what was not measured, 0 there, is left to the trial."""
    (tmp_path / "Anna.vsk").write_text(VSK)
    _, stored = all_measures(AskedMeasures(str(tmp_path / "Anna.vsk"), PersonMeasures()))
    assert stored == {"LKneeWidth": pytest.approx(0.1)}
    (tmp_path / "static.c3d").write_bytes(b"")
    assert (
        near_measures(str(tmp_path / "static.c3d")) == " (files of measures in the trial's folder: Anna.vsk)"
    )


def test_measures_go_before_those_of_the_trial() -> None:
    """Protects the note where a number differs from the stored one, and only there."""
    trial = MarkerTrial(
        (), np.zeros(0), np.zeros((0, 0, 3)), 100.0, "a.c3d", subject={"RKneeWidth": 0.1, "Height": 1.7}
    )
    same = with_measures(trial, {"RKneeWidth": 0.1, "LKneeWidth": 0.11})
    assert same.notes == ()
    assert same.subject == {"RKneeWidth": 0.1, "LKneeWidth": 0.11, "Height": 1.7}
    assert "RKneeWidth" in with_measures(trial, {"RKneeWidth": 0.12}).notes[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("knee_width_mm = 0.1", "metres, but millimetres are expected"),
        ("knee_width = 100", "knee_width"),
        ("knee_width_mm = [100]", "knee_width_mm"),
        ("tibial_torsion_deg = 200", "tibial torsion"),
        ("marker_standoff_mm = 60", "allowed: 0, or 1 to 50"),
        ("marker_standoff_mm = 0.009", "metres, where millimetres are expected"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, said: str) -> None:
    """Protects the sentences on numbers in another unit, keys that are none, and one number of two."""
    path = tmp_path / "anna.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said):
        all_measures(AskedMeasures(str(path), PersonMeasures()))


def test_a_standoff_of_nothing_comes_before_that_of_the_file(tmp_path: Path) -> None:
    """Protects --marker-standoff 0, as of markers without a base plate, from the value of the file."""
    path = tmp_path / "anna.toml"
    path.write_text("marker_standoff_mm = 9.5")
    usual = PersonMeasures()
    assert all_measures(AskedMeasures(str(path), usual))[0].marker_standoff_mm == 9.5
    given = measures_given({"marker_standoff_mm": 0.0}, usual)
    assert all_measures(AskedMeasures(str(path), given))[0].marker_standoff_mm == 0.0
    assert given_measures("", given) == ["--marker-standoff"]


def test_options_that_are_given_are_known() -> None:
    """Protects who gives measures in vain: each option is named as it was given."""
    given = measures_given(
        {"knee_width_mm": (104.0, 102.5), "hip": "davis1991", "marker_standoff_mm": 9.0}, PersonMeasures()
    )
    assert given_measures("anna.vsk", given) == ["--measures", "--knee-width", "--marker-standoff", "--hip"]
    assert BothLegs().convert("104.0,102.5", None, None) == given.knee_width_mm
    assert BothLegs().convert("104", None, None) == (104.0, 104.0)
    assert given_measures("", PersonMeasures()) == []


def test_the_static_trial_has_what_the_movement_stores_alone() -> None:
    """Protects measures that were typed in after the static trial: what it lacks, or has as 0, is the
    movement's, what it has is its own, and what is given comes before both."""
    walk = trial_with(RKneeWidth=0.1, LKneeWidth=0.11, RLegLength=0.8, InterAsisDistance=0.24)
    static = trial_with(RKneeWidth=0.0, LKneeWidth=0.12, RAnkleWidth=0.0)
    moving, still = with_measures_of_both(walk, static, {"RLegLength": 0.9})
    assert still is not None
    assert still.subject == {
        "RKneeWidth": 0.1, "LKneeWidth": 0.12, "RLegLength": 0.9, "InterAsisDistance": 0.24,
        "RAnkleWidth": 0.0,
    }  # fmt: skip
    assert moving.subject == {**walk.subject, "RLegLength": 0.9}
    assert with_measures_of_both(walk, None, {}) == (walk, None)


def trial_with(**stored: float) -> MarkerTrial:
    """A trial without markers that stores measures."""
    return MarkerTrial((), np.zeros(0), np.zeros((0, 0, 3)), 100.0, "walk.c3d", subject=stored)
