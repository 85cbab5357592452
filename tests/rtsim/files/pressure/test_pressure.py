"""Pressure files: frames in pascals and metres, and one sentence for what cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rtsim.cli.main import main
from rtsim.errors import ConfigError
from rtsim.files.formats import PRESSURE, suffixes
from rtsim.files.pressure.pressure import read_pressure, told

EDIT = st.tuples(
    st.floats(0.0, 1.0),
    st.integers(0, 30),
    st.sampled_from(["", "\t", "\n", ",", "x", "-1", "1e999", "nan", "B"]),
)
ASF = """DATA_TYPE MOVIE
ROWS 2
COLS 3
ROW_SPACING 5 mm
COL_SPACING 1 cm
SECONDS_PER_FRAME 0.02
SATURATION_PRESSURE 30 KPa
START_FRAME 1
END_FRAME 2
UNITS KPa
ASCII_DATA @@

Frame 1
B,10,0
0,0,20

Frame 2
B,30,0
0,0,0
@@
"""
LST = """
\t\t\t\tPage 1
\tFile: a.dat \tMatrix: 64x95
\tSensor area: 0.25 cm2\tTime/picture:10.0 ms
\tSensor size: 0.500x0.500 cm
\tPict-No.: 1  Force[N]=sum*sensor_area in row/column

\t3\t4\tForce
7\t40.00\t0.00\t1.00
8\t0.00\t80.00\t2.00
Force\t1.00\t2.00\t3.00
\f
\tPict-No.: 2  Force[N]=sum*sensor_area in row/column

\t4\t5\tForce
8\t0.00\t120.00\t3.00
Force\t0.00\t3.00\t3.00
"""
APD = """[General]
UnitDistance=mm
UnitPressure=N/cm2

[Technical]
StartSensX=11
StartSensY=3
SensCountX=2
SensCountY=3
LDistX=8
LDistY=10

[Data]
-1\t0.5\t1.0
2.5\t-1\t-1
"""
TEXTS = {".asf": ASF, ".lst": LST, ".apd": APD}


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write a text to a file of this suffix."""

    def write(text: str, suffix: str) -> Path:
        path = tmp_path / f"pressure{suffix}"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_tekscan(put):
    """Protects units, times, cells that are not there, and the sensor's limit of an F-Scan movie."""
    trial = read_pressure(put(ASF, ".asf"))
    assert trial.times.tolist() == [0.0, 0.02]
    assert trial.rate == 50.0
    assert trial.cell.tolist() == pytest.approx([0.005, 0.01])
    assert np.array_equal(
        trial.pressure, [[[np.nan, 1e4, 0], [0, 0, 2e4]], [[np.nan, 3e4, 0], [0, 0, 0]]], equal_nan=True
    )
    assert trial.force.tolist() == pytest.approx([1.5, 1.5])
    assert trial.centre[1].tolist() == pytest.approx([0.0, 0.01])
    assert trial.notes == ("1 cell at the limit of the sensor, so the true pressure is higher than measured",)


def test_every_second_frame_has_its_time(put):
    """Protects contact times: frames of which every second one was exported are twice as far apart."""
    sparse = {
        ".asf": ASF.replace("END_FRAME 2", "END_FRAME 3").replace("Frame 2", "Frame 3"),
        ".lst": LST.replace("Pict-No.: 2", "Pict-No.: 3"),
    }
    for suffix, step in ((".asf", 0.04), (".lst", 0.02)):
        trial = read_pressure(put(sparse[suffix], suffix))
        assert trial.times.tolist() == pytest.approx([0.0, step])
        assert sum("increase by 2" in note for note in trial.notes) == 1
        assert not any("header states" in note for note in trial.notes)


def test_emed_shows_parts_of_one_platform(put):
    """Protects that pictures of different parts lie on one grid, at the platform's numbers."""
    trial = read_pressure(put(LST, ".lst"))
    assert trial.pressure.tolist() == [[[4e4, 0, 0], [0, 8e4, 0]], [[0, 0, 0], [0, 0, 12e4]]]
    assert trial.origin.tolist() == pytest.approx([0.03, 0.01])
    assert trial.rate == 100.0
    assert trial.force.tolist() == pytest.approx([3.0, 3.0])


def test_emed_in_another_unit_is_told(put):
    """Protects that forces of the file that are not the sum of its pressures are told."""
    trial = read_pressure(
        put(LST.replace("120.00", "12.000").replace("80.00", "8.0").replace("40.00", "4"), ".lst")
    )
    assert any("force of 0.6 N" in note and "6 N" in note for note in trial.notes)


def test_zebris_is_a_picture_of_peaks(put):
    """Protects that a footprint is no frame of a movie, and where its first cell lies."""
    trial = read_pressure(put(APD, ".apd"))
    assert trial.peak
    assert trial.cell.tolist() == pytest.approx([0.008, 0.010])
    assert trial.origin.tolist() == pytest.approx([0.08, 0.02])
    assert np.array_equal(trial.pressure, [[[np.nan, 5e3, 1e4], [25e3, np.nan, np.nan]]], equal_nan=True)
    assert "image of peak" in told(trial)[0]


@pytest.mark.parametrize(
    ("suffix", "old", "new", "said"),
    [
        (".asf", "Frame 2", "Frame 1", "the numbers of the frames do not increase evenly"),
        (".lst", "Pict-No.: 2", "Pict-No.: 1", "the numbers of the frames do not increase evenly"),
        (".asf", "UNITS KPa", "UNITS Raw", "pressure in 'Raw' cannot be converted to pascals"),
        (".asf", "ASCII_DATA", "DATA", "this is not a Tekscan ASCII file"),
        (".asf", "B,30,0", "B,30", "2 cells in a row; allowed: 3"),
        (".asf", "B,10,0", "B,ten,0", "'ten' is not a pressure"),
        (".asf", "B,10,0\n", "", "Frame 1 has 1 rows of pressure; allowed: 2"),
        (".asf", "ROWS 2", "ROWS 2000000000", "allowed: at least one frame, row and column"),
        (".asf", "SECONDS_PER_FRAME 0.02", "SECONDS_PER_FRAME 0", "SECONDS_PER_FRAME is 0"),
        (".asf", "5 mm", "5 m", "the cells measure 5000 x 10 mm; allowed: cells of up to 100 mm"),
        (".asf", "B,10,0", "B,-10,0", "a pressure is -10 kPa; allowed: pressures of 0 to 100000 kPa"),
        (".lst", "Matrix: 64x95", "", "it is not an emed list"),
        (".lst", "7\t40.00", "7\tx", "line 9: this line is not a row of a picture"),
        (".lst", "7\t40.00", "8\t40.00", "rows or columns are outside the platform"),
        (".apd", "SensCountX=2", "SensCountX=3", "2 rows of data; allowed: 3"),
        (".apd", "[Data]", "", "this is not a zebris footprint"),
        (".apd", "UnitDistance=mm", "UnitDistance=", "'' is not a unit of length"),
        (".apd", "LDistX=8", "LDistX=-8", "lacks a positive number LDistX"),
        (".apd", "2.5\t-1\t-1", "2.5\t-1", "line 15: a row has 2 cells; allowed: 3"),
    ],
)
def test_what_is_wrong_is_said(put, suffix, old, new, said):
    """Protects one sentence with place and cause for each damaged file."""
    with pytest.raises(ConfigError) as caught:
        read_pressure(put(TEXTS[suffix].replace(old, new), suffix))
    assert said in str(caught.value)


@pytest.mark.parametrize(("suffix", "n_left"), [(".asf", 1), (".lst", 1)])
def test_a_movie_cut_off_keeps_its_whole_frames(put, suffix, n_left):
    """Protects the frames of a file whose writer was stopped, and that it is told."""
    trial = read_pressure(put(TEXTS[suffix].rsplit("\n", 3)[0], suffix))
    assert len(trial.times) == n_left
    assert any("is incomplete and was left out" in note for note in trial.notes)


@pytest.mark.parametrize("suffix", suffixes(PRESSURE))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(EDIT, min_size=1, max_size=5))
def test_damage(put, suffix, edits):
    """Protects that anything cut out or put in is read or refused, never another exception."""
    text = TEXTS[suffix]
    for place, length, piece in edits:
        at = int(place * len(text))
        text = text[:at] + piece + text[at + length :]
    try:
        trial = read_pressure(put(text, suffix))
    except ConfigError:
        return
    assert trial.pressure.shape[0] == len(trial.times)
    assert not (trial.pressure < 0.0).any()


def test_another_suffix(tmp_path):
    """Protects the sentence for a file of another kind."""
    with pytest.raises(ConfigError, match=r"allowed: \.asf, \.lst, \.apd"):
        read_pressure(tmp_path / "a.txt")


def test_check_tells_what_a_file_holds(put, capsys):
    """Protects `rtsim check` of a pressure file."""
    with pytest.raises(SystemExit) as ended:
        main(["check", str(put(ASF, ".asf"))])
    assert ended.value.code == 0
    assert (
        "pressure: 2 frames at 50 Hz, 2 x 3 cells of 5 x 10 mm, largest force 1.5 N"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("name", "shape", "force"),
    [
        ("plantar_pressure/fscan_testL.asf", (205, 60, 21), 924.4),
        ("plantar_pressure/emed_test.lst", (106, 54, 22), 818.6),
        ("gait_bmc/MDwalk2.apd", (1, 32, 15), 1790.7),
    ],
)
def test_real_files(shared, name, shape, force):
    """Protects the readers on real files: their greatest forces are those that their sources state."""
    trial = read_pressure(shared / name)
    assert trial.pressure.shape == shape
    assert trial.force.max() == pytest.approx(force, abs=0.1)
