"""TRC files: every quirk of the field, round trips, and errors that name file, line and remedy."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.markers.markers import MarkerTrial, read_markers
from rtsim.files.markers.trc import read_trc
from rtsim.files.tables.storage import read_storage

TWO_NAMES = "DataRate\tUnits\n100\tmm\nFrame#\tTime\tA\t\t\tB\n"


def note_with(trial: MarkerTrial, part: str) -> str:
    """The one note that contains `part`."""
    found = [note for note in trial.notes if part in note]
    assert len(found) == 1, trial.notes
    return found[0]


def test_clean_file_is_read_in_metres(trc_text, write):
    """Names, times, rate and millimetres of a plain file arrive as they are meant."""
    trial = read_markers(write("a.trc", trc_text()))
    assert trial.names == ("RASI", "RKNE", "RHEE")
    assert trial.rate == 100.0
    np.testing.assert_allclose(trial.times, [0.0, 0.01, 0.02, 0.03])
    np.testing.assert_allclose(trial.positions[2, 0], [0.021, 0.952, -0.020])
    assert trial.positions.flags.c_contiguous
    assert trial.positions.dtype == np.float64
    assert trial.source.endswith("a.trc")
    assert trial.subject == {}


@pytest.mark.parametrize("blank", ["", "\n", "\t\t\t\n", " \n\n", "\t\t\t\t\t\t\t\t\t\t\t\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_blank_line_and_line_ends(trc_text, write, blank, end):
    """A missing, empty or tab-filled line below the header and all line ends read the same."""
    trial = read_trc(write("a.trc", trc_text(blank=blank, end=end)))
    assert trial.positions.shape == (4, 3, 3)
    assert np.isfinite(trial.positions).all()


@pytest.mark.parametrize(
    "values",
    [
        "100\t100\t4\t3\tmm\t100\t1\t4",
        "100\t\t100\t\t4\t\t3\t\tmm\t\t100\t\t1\t\t4\t",
        "  100.0 \t  100.0 \t    4 \t     3 \tmm \t  100.0 \t      1 \t    4",
        "100 100 4 3 mm 100 1 4",
        "100\t100\t4\t3\tmm",
        "100\t100\t4\t3\tmillimeters\t100\t1\t4",
        "1.0e2\t100\t4\t3\tMM\t100\t1\t4",
        "100\t100\t4\t3\tmm\tfast",
        "\n \n100\t100\t4\t3\tmm\t100\t1\t4",
    ],
)
def test_header_values_with_any_separator(trc_text, write, values):
    """Rate, units and counts are found behind doubled tabs, blanks and missing trailing values."""
    trial = read_trc(write("a.trc", trc_text(values=values)))
    assert trial.rate == 100.0
    np.testing.assert_allclose(trial.positions[0, 0, 1], 0.95)
    assert not any("header states" in note for note in trial.notes)


def test_missing_values_in_every_spelling(trc_text, write):
    """Blanks, NaN in any case and padding, and words for nothing are NaN in the whole marker."""
    cells = ["", " ", "NaN", "nan", "Nan", "NAN", "       NaN", "-nan", "N/A", "1.#QNAN", "--"]
    rows = [f"{i + 1}\t{i / 100}\t1\t950\t2\t{c}\t{c}\t{c}\t1\t30\t2" for i, c in enumerate(cells)]
    trial = read_trc(write("a.trc", trc_text(rows=rows, n_frame=len(cells))))
    assert np.isnan(trial.positions[:, 1]).all()
    assert np.isfinite(trial.positions[:, [0, 2]]).all()
    assert "RKNE" in note_with(trial, "without any data")


def test_missing_at_the_end_of_the_row(trc_text, write):
    """Trailing blanks, with or without their tabs, are gaps of the last markers."""
    rows = [
        "1\t0.00\t1\t950\t2\t1\t500\t2\t\t\t",
        "2\t0.01\t1\t950\t2\t1\t500\t2",
        "3\t0.02\t1\t950\t2\t1\t500\t2\t1\t30\t2",
        "4\t0.03\t\t\t\t\t\t\t\t\t ",
    ]
    trial = read_trc(write("a.trc", trc_text(rows=rows)))
    assert np.isnan(trial.positions[..., 0]).sum(axis=0).tolist() == [1, 1, 3]
    assert note_with(trial, "rows that end early: 1")


def test_zero_and_partial_and_infinite_markers_are_missing(trc_text, write):
    """A marker at exactly 0, 0, 0, with a lost coordinate or at infinity is a gap, and the notes say so."""
    rows = [
        "1\t0.00\t0\t0\t0\t1\t500\t2\t1\t30\t2",
        "2\t0.01\t0.000\t950\t0\t1\t\t2\t1\t30\t2",
        "3\t0.02\t1\t950\t2\t1\t500\t2\tinf\t30\t2",
        "4\t0.03\t0\t0.0\t-0\t1\t500\t2\t1\t30\t2",
    ]
    trial = read_trc(write("a.trc", trc_text(rows=rows)))
    gaps = np.isnan(trial.positions).all(axis=2)
    assert gaps.tolist() == [
        [True, False, False],
        [False, True, False],
        [False, False, True],
        [True, False, False],
    ]
    assert note_with(trial, "0, 0, 0").startswith("2 marker samples")
    assert note_with(trial, "one or two coordinates")
    assert note_with(trial, "infinite")


def test_exponents(trc_text, write):
    """Numbers with exponents in either case are numbers."""
    rows = [f"{i + 1}\t{i}.0E-02\t1e0\t9.5E+02\t2\t1\t5.00e+002\t2\t1\t3.0E+01\t2" for i in range(4)]
    trial = read_trc(write("a.trc", trc_text(rows=rows)))
    np.testing.assert_allclose(trial.positions[0, :, 1], [0.95, 0.5, 0.03])
    np.testing.assert_allclose(trial.times[3], 0.03)


def test_doubled_tabs_in_names_and_rows(trc_text, write):
    """Names two tabs apart, a stray tab after Time and rows of doubled tabs still meet their numbers."""
    name_line = "Frame#\tTime\t\tRASI\t\tRKNE\t\tRHEE"
    axis_line = "\t\t\tX1\tY1\tZ1\tX2\tY2\tZ2\tX3\tY3\tZ3"
    plain = "1\t0.00\t1\t950\t2\t1\t500\t2\t1\t30\t2\t"
    doubled = "2\t\t0.01\t\t1\t\t950\t\t2\t\t1\t\t500\t\t2\t\t1\t\t30\t\t2"
    leading = "\t3\t0.02\t1\t950\t2\t1\t500\t2\t1\t30\t2"
    trial = read_trc(
        write(
            "a.trc",
            trc_text(rows=[plain, doubled, leading], n_frame=3, name_line=name_line, axis_line=axis_line),
        )
    )
    assert trial.names == ("RASI", "RKNE", "RHEE")
    np.testing.assert_allclose(trial.positions[:, :, 1], [[0.95, 0.5, 0.03]] * 3)


def test_blanks_instead_of_tabs(trc_text, write):
    """A file whose tabs an editor turned into blanks is read."""
    text = trc_text().replace("\t", "   ")
    trial = read_trc(write("a.trc", text))
    assert trial.names == ("RASI", "RKNE", "RHEE")
    assert trial.positions.shape == (4, 3, 3)


def test_wrong_counts_are_told(trc_text, write):
    """Frames and markers are counted in the file; a header that says otherwise is told, not believed."""
    trial = read_trc(write("a.trc", trc_text(values="100\t100\t99\t7\tmm\t100\t1\t99")))
    assert trial.positions.shape == (4, 3, 3)
    assert "99 frames" in note_with(trial, "frames, but the file contains 4")
    assert "7 markers" in note_with(trial, "3 are named")


def test_trailing_columns_are_left_out(trc_text, write):
    """Columns beyond the named markers are left out and counted."""
    rows = [f"{i + 1}\t{i / 100}\t1\t950\t2\t1\t500\t2\t1\t30\t2\t7\t8\t9" for i in range(4)]
    trial = read_trc(write("a.trc", trc_text(rows=rows)))
    assert np.isfinite(trial.positions).all()
    assert "up to 3 more" in note_with(trial, "more cells")


def test_markers_without_a_name(trc_text, write):
    """A column group without a name is kept under a made-up one, so that its neighbours stay in place."""
    trial = read_trc(write("a.trc", trc_text(name_line="Frame#\tTime\tRASI\t\t\t\t\t\tRHEE\t\t")))
    assert trial.names == ("RASI", "unnamed_2", "RHEE")
    np.testing.assert_allclose(trial.positions[0, 2, 1], 0.03)


def test_without_coordinate_line(trc_text, write):
    """The X1 Y1 Z1 line may be absent."""
    text = trc_text(blank="").replace("\t\tX1\tY1\tZ1\tX2\tY2\tZ2\tX3\tY3\tZ3\n", "")
    trial = read_trc(write("a.trc", text))
    assert trial.positions.shape == (4, 3, 3)
    assert not any("line of coordinates" in note for note in trial.notes)


def test_blank_lines_between_names_and_coordinates(trc_text, write):
    """Lines without anything in the header are no lines."""
    axis_line = "\n \n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\tX3\tY3\tZ3"
    trial = read_trc(write("a.trc", trc_text(axis_line=axis_line)))
    np.testing.assert_allclose(trial.positions[0, :, 1], [0.95, 0.5, 0.03])


@pytest.mark.parametrize(
    "name_line", ["Frame#\tTime\tRASI\t\tRHEE", "Frame#\tTime\tRASI\t\t\t\t\t\t\t\t\tRHEE"]
)
def test_names_that_stand_over_no_column(trc_text, write, name_line):
    """Protects marker names: with fewer names than columns, and not above them, numbers are nobody's."""
    with pytest.raises(
        ConfigError, match=r"2 marker names are given for the columns of 3 markers, .* above its X"
    ):
        read_trc(write("a.trc", trc_text(name_line=name_line)))


def test_four_markers_of_which_one_has_no_name(trc_text, write):
    """The number of columns is the number of coordinates, three to a marker."""
    names, heights = ("RASI", "", "RKNE", "RHEE"), (950.0, 700.0, 500.0, 30.0)
    trial = read_trc(write("a.trc", trc_text(names=names, heights=heights)))
    assert trial.names == ("RASI", "unnamed_2", "RKNE", "RHEE")
    np.testing.assert_allclose(trial.positions[0, :, 1], [0.95, 0.7, 0.5, 0.03])


def test_a_last_row_that_lacks_one_number_was_cut(trc_text, write):
    """A row without its end is left out even where only the last cell is missing."""
    whole = trc_text(n_frame=4)
    trial = read_trc(write("a.trc", whole[: whole.rindex("\t")]))
    assert trial.positions.shape == (3, 3, 3)
    assert note_with(trial, "cut off in the middle")


def test_a_last_row_without_surplus_columns_is_whole(trc_text, write):
    """Columns that belong to no marker may be missing in the last row, which has all that is named."""
    more = trc_text(n_frame=3).replace("\t-20.000\n", "\t-20.000\t7\t8\t9\n")
    trial = read_trc(write("a.trc", more + trc_text(n_frame=4).splitlines()[-1]))
    assert trial.positions.shape == (4, 3, 3)
    assert not any("cut off" in note for note in trial.notes)


def test_repeated_names_are_suffixed(trc_text, write):
    """Two markers of one name are kept apart by a suffix that takes no other marker's name."""
    names = ("RTOE", "RTOE", "RTOE_2")
    trial = read_trc(write("a.trc", trc_text(names=names)))
    assert trial.names == ("RTOE", "RTOE_3", "RTOE_2")
    assert "RTOE_3" in note_with(trial, "more than once")


def test_of_a_name_twice_the_one_with_data_keeps_it(trc_text, write):
    """Protects a marker from an empty column, or one of zeros, of the same name before it."""
    names = ("RTOE", "RKNE", "RTOE")
    rows = [
        f"{i + 1}\t{i / 100:.2f}\t{cell}\t1\t500\t2\t1\t30\t2" for i, cell in enumerate(("\t\t", "0\t0\t0"))
    ]
    trial = read_trc(write("a.trc", trc_text(names=names, rows=rows, n_frame=2)))
    assert trial.names == ("RTOE_2", "RKNE", "RTOE")
    assert np.isfinite(trial.positions[:, 2]).all()
    assert "which has no data, was renamed RTOE_2" in note_with(trial, "more than once")


def test_frame_numbers_and_times_from_elsewhere(trc_text, write):
    """A cut trial keeps its own time and needs no frame 1."""
    rows = [f"{i + 201}\t{2 + i / 100:.2f}\t1\t950\t2\t1\t500\t2\t1\t30\t2" for i in range(4)]
    trial = read_trc(write("a.trc", trc_text(rows=rows)))
    np.testing.assert_allclose(trial.times, [2.0, 2.01, 2.02, 2.03])


def test_cut_last_line_is_left_out(trc_text, write):
    """The last row of a file cut in mid-write is not taken for a short row: its last number is a lie."""
    text = trc_text().rstrip("\n")
    trial = read_trc(write("a.trc", text[:-20]))
    assert trial.positions.shape[0] == 3
    assert note_with(trial, "cut off")


def test_latin_names_and_byte_order_mark(trc_text, tmp_path):
    """UTF-8 with a mark and Latin-1 names are read."""
    path = tmp_path / "a.trc"
    path.write_bytes(b"\xef\xbb\xbf" + trc_text(names=("Hüfte", "RKNE", "RHEE")).encode("utf-8"))
    assert read_trc(path).names[0] == "Hüfte"
    path.write_bytes(trc_text(names=("Hüfte", "RKNE", "RHEE")).encode("latin-1"))
    assert read_trc(path).names[0] == "Hüfte"


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("", "", "empty"),
        ("hello\nworld\n", "", "DataRate"),
        ("DataRate\tUnits\n100\tmm\n", "line 3", "Frame#"),
        ("DataRate\tUnits\n100\tmm\nFrame#\tTime\n", "line 3", "no marker names"),
        ("DataRate\tUnits\n", "line", "Frame#"),
        ("DataRate\tUnits\n100\tmm\nFrame#", "line 3", "no marker names"),
        ("DataRate\tUnits\n100\tmm\nFrame#\tTime\tA", "", "no frames"),
        (
            "DataRate\tUnits\n100\tmm\nFrame#\tTime\tA\noops\t0\t1\t2\t3\n",
            "line 4",
            "'oops' in column Frame#",
        ),
        ("DataRate\tUnits\n100\tmm\nFrame#\tTime\tA\n1\toops\t1\t2\t3\n", "line 4", "'oops' in column Time"),
        (f"{TWO_NAMES}1\t0\toops\t2\t3\t4\t5\t6\n", "line 4", "'oops' in column A X"),
        (f"{TWO_NAMES}1\t0\t1\t2\toops\t4\t5\t6\n", "line 4", "'oops' in column A Z"),
        (f"{TWO_NAMES}1\t0\t1\t2\t3\toops\t5\t6\n", "line 4", "'oops' in column B X"),
        (f"{TWO_NAMES}1\t0\t1\t2\t3\t4\t5\toops\n", "line 4", "'oops' in column B Z"),
        ("DataRate\tUnits\n100\tmm\nFrame#\tTime\tA\n\t\tX1\tY1\tZ1\n", "", "no frames"),
        ("DataRate\tUnits\n100\tmm\nFrame#\tTime\tA\n1\t0\t1\toops\t3\n", "line 4", "'oops' in column A Y"),
        ("DataRate\tUnits\n100\tmm\nFrame#\tTime\tA\n1\t0\t1,5\t2\t3\n", "line 4", "decimal points"),
        ("DataRate\tUnits\n100\tparsec\nFrame#\tTime\tA\n1\t0\t1\t2\t3\n", "units", "'parsec'"),
        ("DataRate\tUnits\n\tmm\nFrame#\tTime\tA\n1\t0\t1\t2\t3\n1\t0\t1\t2\t3\n", "", "frame rate"),
    ],
)
def test_broken_files_are_named(write, text, where, what):
    """A file that cannot be read is refused with its path, the line where it applies, and what is wrong."""
    path = write("broken.trc", text)
    with pytest.raises(ConfigError) as caught:
        read_trc(path)
    assert "broken.trc" in str(caught.value)
    assert where in str(caught.value)
    assert what in str(caught.value)


def test_unreadable_paths(tmp_path):
    """A missing file, a folder and a binary file are configuration errors."""
    with pytest.raises(ConfigError, match="no such file"):
        read_trc(tmp_path / "none.trc")
    with pytest.raises(ConfigError, match="is a folder"):
        read_trc(tmp_path)
    (tmp_path / "b.trc").write_bytes(b"\x00\x01" * 100)
    with pytest.raises(ConfigError, match="binary"):
        read_trc(tmp_path / "b.trc")


def test_unknown_suffix(tmp_path):
    """Files of another type are refused with the types that are read."""
    with pytest.raises(ConfigError, match=r"\.trc, \.c3d, \.mcap"):
        read_markers(tmp_path / "a.bvh")


@pytest.mark.parametrize(("factor", "unit"), [(1e3, "milliseconds"), (1e6, "microseconds")])
def test_times_in_parts_of_seconds(factor, unit, trc_text, write):
    """Protects the rate: steps that are those of the header in another unit are converted, and told."""
    rows = [f"{i + 1}\t{factor * i / 100:.0f}\t1\t950\t2\t1\t500\t2\t1\t30\t2" for i in range(4)]
    trial = read_trc(write("a.trc", trc_text(rows=rows)))
    assert trial.rate == pytest.approx(100.0)
    np.testing.assert_allclose(trial.times, [0.0, 0.01, 0.02, 0.03], atol=1e-12)
    assert unit in note_with(trial, "time column")


def test_times_partly_in_milliseconds(trc_text, write):
    """Protects from a leap of minutes in a column that is in seconds first and in milliseconds later."""
    times = [0.0, 0.01, 0.02, 30.0, 40.0, 50.0]
    rows = [f"{i + 1}\t{t:g}\t1\t950\t2\t1\t500\t2\t1\t30\t2" for i, t in enumerate(times)]
    trial = read_trc(write("a.trc", trc_text(rows=rows)))
    np.testing.assert_allclose(trial.times, 0.01 * np.arange(6), atol=1e-12)
    assert "3 of 6 times are in milliseconds" in note_with(trial, "times are in")


def test_a_text_of_two_bytes_a_letter_that_was_cut_within_one(trc_text, tmp_path):
    """Protects a file whose copying broke off at an odd byte: it is text to its last whole row."""
    path = tmp_path / "a.trc"
    for coding in ("utf-16", "utf-16-le", "utf-16-be"):
        path.write_bytes(trc_text(n_frame=6).encode(coding)[:-21])
        trial = read_trc(path)
        assert len(trial.times) in (5, 6)
        assert np.isfinite(trial.positions[:5]).all()
    path.write_bytes(b"\x00\x01\x02" * 300)
    with pytest.raises(ConfigError, match="binary"):
        read_trc(path)


def test_commas_between_cells_and_in_numbers_are_refused(trc_text, write):
    """Protects from rows of twice as many cells, of which the first ones would be taken for the numbers."""
    text = trc_text().replace(".", ",").replace("\t", ",")
    with pytest.raises(ConfigError, match="commas are used both between cells and as decimal signs; export"):
        read_trc(write("a.trc", text))
    table = "t\nendheader\ntime,knee\n0,00,1,5\n0,01,1,6\n"
    with pytest.raises(ConfigError, match="semicolons or tabs"):
        read_storage(write("a.mot", table))
    pointed = "t\nendheader\ntime,knee\n0.00,1.5\n0.01,1.6\n"
    assert read_storage(write("a.mot", pointed)).data.shape == (2, 2)


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_codings_of_text_editors(coding, trc_text, tmp_path):
    """Protects from calling a text a binary file: editors write Unicode in two bytes."""
    path = tmp_path / "a.trc"
    path.write_bytes(trc_text(names=("RASI", "Kn\u00e9e", "RHEE")).encode(coding))
    trial = read_trc(path)
    assert trial.names == ("RASI", "Kn\u00e9e", "RHEE")
    assert np.isfinite(trial.positions).all()


def test_commas_and_semicolons_between_cells(trc_text, write):
    """Protects files that went through a spreadsheet, decimal commas too."""
    whole = read_trc(write("a.trc", trc_text()))
    for name, text in (
        ("b.trc", trc_text().replace("\t", ",")),
        ("c.trc", trc_text().replace(".", ",").replace("\t", ";")),
    ):
        trial = read_trc(write(name, text))
        assert trial.names == whole.names
        np.testing.assert_array_equal(trial.positions, whole.positions)
        assert note_with(trial, "instead of tabs")


def test_a_last_number_cut_in_its_digits_is_left_out(trc_text, write):
    """A row with all its cells but no end, of a file that lacks rows, is not trusted."""
    whole = trc_text(n_frame=4)
    cut = "\n".join(whole.splitlines()[:-1])[:-2]
    trial = read_trc(write("a.trc", cut))
    assert trial.positions.shape[0] == 2
    assert note_with(trial, "cut off in the middle")
