"""TRC files as some programs write them: names over every column, and large numbers for occluded markers."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.files.markers.trc import named_once, read_trc


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
    assert not any("occurs more than once" in note or "coordinate line" in note for note in trial.notes)


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
