"""TRC files as some programs write them: names over every column, and large numbers for occluded markers."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.markers.trc import named_once, read_trc
from tests.rtsim.files.markers.test_trc import note_with


@pytest.mark.parametrize(
    "form", ["{0}\t{0}\t{0}", "{0}_X\t{0}_Y\t{0}_Z", "{0}:x\t{0}:y\t{0}:z", "{0} X\t{0} Y\t{0} Z"]
)
def test_names_over_each_of_three_columns(trc_text, write, form):
    """Protects markers from being taken for three each: the names, their places and no word on counts."""
    names = ("RASI", "RKNE", "RHEE")
    line = "Frame#\tTime\t" + "\t".join(form.format(name) for name in names)
    trial = read_trc(write("a.trc", trc_text(name_line=line)))
    assert trial.names == names
    np.testing.assert_allclose(trial.positions[0, :, 1], [0.95, 0.5, 0.03])
    assert not any("occurs more than once" in note or "line of coordinates" in note for note in trial.notes)


@pytest.mark.parametrize(
    "names",
    [
        ["RASI", "RASI", "RASI", "A", "B", "C"],
        ["RASI_X", "RASI_Y", "LASI_Z", "A_X", "A_Y", "A_Z"],
        ["RASI_X", "RASI_Z", "RASI_Y"],
        ["X", "Y", "Z"],
    ],
)
def test_names_that_are_no_triples_stay(names):
    """Protects names that only look like those of columns."""
    assert named_once(names) == []


def test_one_large_number_three_times_is_a_gap(trc_text, write):
    """Protects from programs that write 9999999 for an occluded marker; a marker of which two coordinates
    alone are equal, and one small number three times, are places."""
    rows = [
        "1\t0.00\t1\t950\t2\t1\t500\t2\t1\t30\t2",
        "2\t0.01\t9999999.0\t9999999.0\t9999999.0\t1\t500\t2\t30\t30\t30",
        "3\t0.02\t700\t950\t700\t-99999\t-99999\t-99999\t1\t30\t2",
    ]
    trial = read_trc(write("a.trc", trc_text(rows=rows, n_frame=3)))
    gaps = np.isnan(trial.positions).all(axis=2)
    assert gaps.tolist() == [[False, False, False], [True, False, False], [False, True, False]]
    told = [note for note in trial.notes if "all three coordinates" in note]
    assert len(told) == 1
    assert told[0].startswith("2 marker samples with 9999, or more nines, as all three coordinates")


def test_more_names_than_columns(trc_text, write):
    """Protects marker names: with a name too many all behind it would have their neighbour's numbers."""
    name_line = "Frame#\tTime\tRASI\t\t\tRTHI\t\t\tRKNE\t\t\tRHEE\t\t"
    with pytest.raises(ConfigError, match="4 marker names are given for the columns of 3 markers"):
        read_trc(write("a.trc", trc_text(name_line=name_line)))


def test_names_of_all_numbers_count(trc_text, write):
    """Protects files whose coordinate line is too long: each number has a name, and the note says so."""
    rows = [f"{i + 1}\t{i / 100}\t1\t950\t2\t1\t30\t2" for i in range(4)]
    trial = read_trc(write("a.trc", trc_text(name_line="Frame#\tTime\tRASI\t\tRHEE", rows=rows)))
    assert trial.names == ("RASI", "RHEE")
    assert "the line of coordinates has 3 markers, but the line of names 2" in note_with(
        trial, "line of coordinates"
    )
    np.testing.assert_allclose(trial.positions[0, :, 1], [0.95, 0.03])


ROW = "{0}\t{1}\t1\t950\t2\t1\t500\t2\t1\t30\t2"
"""Three markers, of which each coordinate is another's if a cell before it is gone."""


@pytest.mark.parametrize("end", ["", "\t"])
@pytest.mark.parametrize("torn", ["2\t0.01\t1\t2\t1\t500\t2\t1\t30\t2", ROW.format(2, 0.01) + "\t7"])
def test_a_row_with_a_cell_too_few_or_too_many_is_missing(trc_text, write, torn, end):
    """Protects positions: behind a cell that is gone each coordinate is the next one's."""
    rows = [ROW.format(k + 1, k / 100) + end for k in range(5)]
    rows[1] = torn + end
    trial = read_trc(write("a.trc", trc_text(rows=rows, n_frame=5)))
    assert np.isnan(trial.positions[1]).all()
    assert np.isfinite(trial.positions[[0, 2, 3, 4]]).all()
    np.testing.assert_allclose(trial.times, np.arange(5) / 100)
    assert "from the number of columns: 1 (these rows were" in note_with(trial, "number of cells differs")


def test_rows_that_are_all_torn_are_refused(trc_text, write):
    """Protects positions: with one cell less in every row nothing says which is whose."""
    rows = [ROW.format(k + 1, k / 100).replace("\t950", "") for k in range(5)]
    with pytest.raises(
        ConfigError, match="11 columns are named, but rows have up to 10 numbers, so it is unclear"
    ):
        read_trc(write("a.trc", trc_text(rows=rows, n_frame=5)))


def test_a_row_between_blanks_that_lacks_a_marker_is_missing(trc_text, write):
    """Protects positions in files without tabs: a marker that is left out moves those behind it."""
    rows = [ROW.format(k + 1, k / 100).replace("\t", "  ") for k in range(5)]
    rows[2] = "3  0.02  1  500  2  1  30  2"
    trial = read_trc(write("a.trc", trc_text(rows=rows, n_frame=5)))
    assert np.isnan(trial.positions[2]).all()
    assert np.isfinite(trial.positions[[0, 1, 3, 4]]).all()
