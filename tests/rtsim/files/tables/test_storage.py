"""Storage files: headers with free text, gaps, round trips, CSV."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rtsim.errors import ConfigError
from rtsim.files.tables.storage import Table, csv_parts, known_part, read_storage, storage_parts

FREE_TEXT = """Coordinates
version=1
nRows=2
nColumns=3
{degrees}

Units are S.I. units (second, meters, Newtons, ...)
If the header above contains a line with 'inDegrees', rotational values are in degrees (yes).

{end}
time\tknee_angle\tpelvis_tx
0\t0.5\t1
0.01\t0.6\t1.1
"""


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [("inDegrees=no", False), ("inDegrees=yes", True), ("InDegrees = YES", True), ("indegrees=No", False)],
)
@pytest.mark.parametrize("end", ["endheader", "EndHeader", "endheader\t\t"])
def test_header_with_free_text(write, degrees, expected, end):
    """Sentences that mention inDegrees are no entry; the entry counts in any case."""
    table = read_storage(write("a.mot", FREE_TEXT.format(degrees=degrees, end=end)))
    assert table.in_degrees is expected
    assert table.columns == ("time", "knee_angle", "pelvis_tx")
    assert table.name == "Coordinates"
    assert table.notes == ()
    np.testing.assert_array_equal(table.data, [[0.0, 0.5, 1.0], [0.01, 0.6, 1.1]])
    np.testing.assert_array_equal(table.column("knee_angle"), [0.5, 0.6])
    with pytest.raises(ConfigError, match="knee_angle, pelvis_tx"):
        table.column("hip")


def test_undeclared_degrees_are_told(write):
    """A file of a version that does not say inDegrees is read as radians, with a note."""
    table = read_storage(write("a.sto", FREE_TEXT.format(degrees="", end="endheader")))
    assert table.in_degrees is False
    assert any("inDegrees" in note for note in table.notes)


SIMM = "name walk.mot\ndatacolumns 2\ndatarows 1\notherdata 1\nrange 0 1\n{}endheader\ntime q\n0 10\n"


@pytest.mark.parametrize(
    ("name", "entries", "expected"),
    [
        ("a.mot", "", True),
        ("a.mot", "version=0\n", True),
        ("a.mot", "version=1\n", False),
        ("a.mot", "version 1\n", False),
        ("a.mot", "inDegrees=no\n", False),
        ("a.sto", "", False),
    ],
)
def test_a_motion_file_without_a_version_is_in_degrees(write, name, entries, expected):
    """Protects from angles 57 times too large: motion files of SIMM state no unit and mean degrees."""
    table = read_storage(write(name, SIMM.format(entries)))
    assert table.in_degrees is expected
    told = {True: "neither a version nor inDegrees; rotations were read as degrees", False: "as radians"}
    assert any(told[expected] in note for note in table.notes) is ("inDegrees" not in entries)


def test_tabs_after_the_header_and_padded_cells(write):
    """Header lines padded with tabs (spreadsheets) and cells padded with blanks (printf) are read."""
    text = (
        "forces.mot\t\t\nversion=3\t\t\nnRows 2\t\t\nnColumns  3\t\t\ninDegrees=no\t\t\nendheader\t\t\n"
        "            time\t  ground_force_vx\tground_force_vy  \t\n"
        "      0.00000000\t      1.0\t      2.0\t\n      0.00050000\t\t  nan\n"
    )
    table = read_storage(write("a.mot", text))
    assert table.columns == ("time", "ground_force_vx", "ground_force_vy")
    np.testing.assert_array_equal(table.data, [[0.0, 1.0, 2.0], [0.0005, np.nan, np.nan]])
    assert table.name == "forces.mot"


def test_simm_header_and_blank_separators(write):
    """The older header (datacolumns, datarows) and columns separated by blanks are read."""
    text = "name walk.mot\ndatacolumns 2\ndatarows 3\nrange 0 1\nendheader\n\ntime q\n0 1\n0.5  2\n1   3\n"
    table = read_storage(write("a.mot", text))
    assert table.name == "walk.mot"
    assert table.data.shape == (3, 2)


def test_counts_and_repeated_labels_are_told(write):
    """Rows are counted in the file, repeated labels are suffixed."""
    text = "t\nnRows=9\ninDegrees=no\nendheader\ntime\tq\tq\n0\t1\t2\n"
    table = read_storage(write("a.sto", text))
    assert table.columns == ("time", "q", "q_2")
    assert any("9 rows" in note for note in table.notes)
    assert any("q_2" in note for note in table.notes)


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("a.mot", "time\tq\n0\t1\n", "endheader"),
        ("a.mot", "t\nendheader\n", "no column labels"),
        ("a.mot", "t\ninDegrees=maybe\nendheader\ntime\tq\n0\t1\n", "yes, no"),
        ("a.mot", "t\ninDegrees=no\nendheader\ntime\tq\n0\tone\n", "line 5"),
        ("a.txt", "t\nendheader\ntime\tq\n", ".mot, .sto"),
    ],
)
def test_broken_files_are_named(write, name, text, what):
    """What is no storage file is refused with its path and the line."""
    path = write(name, text)
    with pytest.raises(ConfigError) as caught:
        read_storage(path)
    assert name in str(caught.value)
    assert what in str(caught.value)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=hnp.arrays(
        np.float64,
        st.tuples(st.integers(0, 6), st.integers(2, 5)),
        elements=st.one_of(st.just(np.nan), st.floats(-1e9, 1e9, allow_subnormal=False)),
    ),
    in_degrees=st.booleans(),
    suffix=st.sampled_from([".mot", ".sto"]),
)
def test_round_trip(tmp_path: Path, data, in_degrees, suffix):
    """What storage_parts says, read_storage returns to twelve digits, what is not known left out."""
    columns = ("row", *(f"coordinate {k}" for k in range(1, data.shape[1])))
    path = tmp_path / f"round{suffix}"
    table = Table(columns, data, in_degrees, "results")
    path.write_text("".join(storage_parts(table, "", "")), encoding="utf-8")
    back, known = read_storage(path), known_part(table)[0]
    assert (back.columns, back.in_degrees, back.name, back.notes) == (
        known.columns,
        in_degrees,
        "results",
        (),
    )
    assert back.data.shape == known.data.shape
    np.testing.assert_allclose(back.data, known.data, rtol=1e-11, atol=0.0)


def test_both_readers_of_opensim_take_a_table_with_gaps_whole(tmp_path: Path, monkeypatch):
    """Protects from a file that OpenSim's Storage ends at the first NaN, without a word."""
    monkeypatch.chdir(tmp_path)  # where it leaves its log
    osim = pytest.importorskip("opensim")
    data = np.column_stack([np.arange(20) / 100.0, np.arange(20.0), np.arange(20.0), np.ones(20)])
    data[7, 1] = data[:9, 3] = np.nan
    path = tmp_path / "gaps.sto"
    path.write_text("".join(storage_parts(Table(("time", "a", "b", "seldom"), data, False, "t"), "", "")))
    assert "columns left out because they have gaps, which OpenSim cannot read: seldom" in path.read_text()
    column = osim.ArrayDouble()
    osim.Storage(str(path)).getDataColumn("b", column)
    expected = np.delete(np.arange(20.0), 7)
    np.testing.assert_array_equal([column.get(k) for k in range(column.getSize())], expected)
    table = osim.TimeSeriesTable(str(path))
    np.testing.assert_array_equal(table.getDependentColumn("b").to_numpy(), expected)
    assert list(table.getColumnLabels()) == ["a", "b"]


def test_header_is_the_one_opensim_reads():
    """Entries, their order and the tab-separated label line are what OpenSim expects."""
    table = Table(("time", "q"), np.array([[0.0, 1.5]]), True, "")
    assert "".join(storage_parts(table, "a.mot", "walk")).splitlines() == [
        "walk", "version=1", "nRows=1", "nColumns=2", "inDegrees=yes", "endheader", "time\tq", "0\t1.5"
    ]  # fmt: skip


def test_csv():
    """Labels with commas are quoted, gaps are empty cells."""
    table = Table(("time [s]", 'a "b", c'), np.array([[0.1, np.nan], [0.2, -1.5]]), False, "")
    rows = csv.reader("".join(csv_parts(table, "a.csv")).splitlines())
    assert list(rows) == [["time [s]", 'a "b", c'], ["0.1", ""], ["0.2", "-1.5"]]


def test_nonsense_is_refused():
    """Labels with tabs, and data that do not fit."""
    table = Table(("time", "q"), np.zeros((2, 2)), False, "")
    with pytest.raises(ConfigError, match="column label"):
        storage_parts(table._replace(columns=("time", "a\tb")), "a.mot", "a")
    with pytest.raises(ConfigError, match="do not fit"):
        csv_parts(table._replace(columns=("time",)), "a.csv")


def test_a_coordinate_is_found_by_its_path(tmp_path):
    """Protects states of OpenSim 4 as coordinate files; a column that is not there is told with the file."""
    path = tmp_path / "states.sto"
    labels = "time\t/jointset/knee_r/knee_angle_r/value\t/jointset/knee_r/knee_angle_r/speed"
    path.write_text(f"c:\ninDegrees=no\nendheader\n{labels}\n0\t0.5\t1\n0.1\t0.6\t1\n")
    table = read_storage(path)
    assert table.column("knee_angle_r").tolist() == [0.5, 0.6]
    with pytest.raises(ConfigError, match=r"states\.sto: no column 'ankle'"):
        table.column("ankle")


@pytest.mark.parametrize(
    ("said", "noted"), [("nRows=3", True), ("nRows 3", True), ("nRows=" + "3" * 5000, False)]
)
def test_a_number_of_rows_beyond_all_bounds_is_none(write, said, noted):
    """Protects from a traceback: Python refuses to read a number of more than 4300 digits."""
    table = read_storage(write("a.sto", f"x\n{said}\nendheader\ntime\ta\n0\t1\n0.1\t2\n"))
    assert any("the header states 3 rows" in note for note in table.notes) == noted


STORED = "Coordinates\nnRows=3\nnColumns=4\ninDegrees=yes\nendheader\n{labels}\n{rows}\n"
LABELS = "time\thip\tknee\tankle"
ROWS = ["0\t1\t2\t3", "0.01\t4\t5\t6", "0.02\t7\t8\t9"]


@pytest.mark.parametrize("sep", ["\t", "  "])
@pytest.mark.parametrize("row", ["0.01\t4\t6", "0.01\t4\t5\t5\t6"])
def test_a_row_with_a_cell_too_few_or_too_many_is_missing(write, row, sep):
    """Protects every column: behind a cell that is gone each number is the next column's."""
    rows = "\n".join([ROWS[0], row, ROWS[2]]).replace("\t", sep)
    table = read_storage(write("a.mot", STORED.format(labels=LABELS, rows=rows)))
    np.testing.assert_array_equal(table.data[1], [0.01, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(table.data[[0, 2], 1:], [[1.0, 2.0, 3.0], [7.0, 8.0, 9.0]])
    assert any("from the number of columns: 1 (these rows were treated" in note for note in table.notes)


@pytest.mark.parametrize("labels", ["time\thip\tankle", "time\tpelvis\thip\tknee\tankle"])
def test_labels_that_do_not_fit_the_columns_are_refused(write, labels):
    """Protects every column: with a label too few or too many each number came under its neighbour's name."""
    with pytest.raises(
        ConfigError, match=r"columns are named, but rows have up to 4 numbers, so it is unclear"
    ):
        read_storage(write("a.mot", STORED.format(labels=labels, rows="\n".join(ROWS))))
