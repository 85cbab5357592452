"""Time columns: rounding undone, irregularity kept, nonsense rebuilt."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.markers.timing import settle_times, without_repeated_rows


@pytest.mark.parametrize(
    ("rate", "decimals"),
    [(60.0, 2), (60.0, 3), (100.0, 3), (150.0, 3), (150.0, 4), (119.88012, 3), (119.88012, 6)],
)
def test_rounded_column_becomes_the_even_grid(rate, decimals):
    """Times printed with few decimals jitter by the rounding; the grid they were printed from comes back."""
    grid = 1.5 + np.arange(300) / rate
    times, settled, notes = settle_times(np.array([round(t, decimals) for t in grid.tolist()]), rate, "f")
    np.testing.assert_allclose(np.diff(times), 1.0 / rate, atol=1e-12)
    np.testing.assert_allclose(times, grid, atol=0.51 * 10.0**-decimals)
    assert settled == rate
    assert all("regular times" in note for note in notes)


def test_irregular_column_is_kept():
    """A dropped frame stays a gap in time."""
    column = np.array([0.0, 0.01, 0.02, 0.05, 0.06, 0.07])
    times, rate, notes = settle_times(column, 100.0, "f")
    np.testing.assert_array_equal(times, column)
    assert rate == 100.0
    assert "10 to 30 ms" in notes[0]


def test_header_against_column():
    """Where header and time column disagree on the rate, the column wins and the note says so."""
    times, rate, notes = settle_times(np.linspace(0.0, 1.96, 50), 250.0, "f")
    assert rate == pytest.approx(25.0)
    assert "250 Hz" in notes[0]
    times, rate, notes = settle_times(np.array([0.0, 0.04, 0.08, 0.088]), 250.0, "f")
    assert rate == pytest.approx(25.0)
    assert "irregular" in notes[0]
    assert times.shape == (4,)


def test_rate_measured_where_the_header_has_none():
    """No rate in the header: the column gives it."""
    _, rate, notes = settle_times(np.arange(10) / 150.0, 0.0, "f")
    assert rate == pytest.approx(150.0)
    assert "measured" in notes[0]


def test_a_header_that_fits_no_unit_of_the_column():
    """Protects from frames ten seconds apart: in milliseconds they are 100 Hz, whatever the header says;
    where it says the same, or nothing, that is told and kept."""
    column = 10.0 * np.arange(50)
    times, rate, notes = settle_times(column, 1000.0, "f")
    np.testing.assert_allclose(times, 1e-3 * column)
    assert rate == pytest.approx(100.0)
    assert "read as milliseconds" in notes[0]
    for header in (0.1, 0.0):
        times, rate, notes = settle_times(column, header, "f")
        np.testing.assert_allclose(times, column)
        assert "if the times are in milliseconds" in notes[0]
    assert settle_times(0.4 * np.arange(50), 2.5, "f")[2] == []


@pytest.mark.parametrize("column", [[0.0, 0.0, 0.0], [0.2, 0.1, 0.0], [np.nan, 0.01, 0.02]])
def test_nonsense_is_rebuilt_or_refused(column):
    """Times that do not increase are rebuilt from the rate; without one the file is refused."""
    times, rate, notes = settle_times(np.array(column), 100.0, "f")
    np.testing.assert_allclose(np.diff(times), 0.01)
    assert rate == 100.0
    assert "were computed from the frame rate 100 Hz" in notes[0]
    with pytest.raises(ConfigError, match="frame rate"):
        settle_times(np.array(column), 0.0, "f")


def test_a_column_with_gaps_is_rebuilt_by_the_rate_of_most_of_its_rows():
    """Protects speeds where the header has the rate of other data: rows that are there tell the column's."""
    column = 0.01 * np.arange(50)
    column[[7, 20]] = np.nan
    times, rate, notes = settle_times(column, 1000.0, "f")
    np.testing.assert_allclose(times, 0.01 * np.arange(50), atol=1e-12)
    assert rate == pytest.approx(100.0)
    assert "not from the header's rate, 1000 Hz" in notes[0]
    for factor in (1.0, 1e3):
        times, rate, _ = settle_times(factor * column, 100.0, "f")
        np.testing.assert_allclose(times, 0.01 * np.arange(50), atol=1e-12)
    twice = np.repeat(0.01 * np.arange(25), 2)  # frames that share their time say nothing
    assert settle_times(twice, 200.0, "f")[1] == 200.0


def test_single_frame():
    """One frame needs the rate of the header."""
    times, rate, notes = settle_times(np.array([1.0]), 100.0, "f")
    assert (times[0], rate, notes) == (1.0, 100.0, [])
    with pytest.raises(ConfigError, match="DataRate"):
        settle_times(np.array([1.0]), 0.0, "f")


def test_no_rows_is_one_sentence():
    """Protects who gives a file that was cut behind its header: what is wrong, not where Python stopped."""
    for rate in (0.0, 100.0):
        with pytest.raises(ConfigError, match="no rows below the header"):
            settle_times(np.empty(0), rate, "f")


def test_frame_numbers_are_no_milliseconds():
    """Protects speeds of files whose time column counts frames: the header's rate says how long each is."""
    for first in (0.0, 1.0):
        times, rate, notes = settle_times(first + np.arange(50.0), 100.0, "f")
        np.testing.assert_allclose(times, 0.01 * np.arange(50), atol=1e-12)
        assert rate == 100.0
        assert "read as frame numbers at 100 Hz" in notes[0]
    times, rate, _ = settle_times(500.0 + np.arange(50.0), 1000.0, "f")
    assert (times[0], rate) == (0.5, 1000.0)
    assert settle_times(np.arange(50.0), 1.0, "f")[1] == 1.0


def test_rows_that_repeat_the_row_before_are_left_out():
    """Protects the times behind a row that was written twice, and gaps in time elsewhere in the file."""
    time = [0.0, 0.01, 0.02, 0.02, 0.03, 0.04, 0.05, 0.09, 0.10, 0.11]
    table = np.column_stack([time, [1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], [np.nan] * 10])
    kept, notes = without_repeated_rows(table)
    assert kept.tolist() == [True] * 3 + [False] + [True] * 6
    assert notes == ["1 row with the time and values of the row before left out"]
    times, _, said = settle_times(table[kept, 0], 100.0, "f")
    np.testing.assert_allclose(times, table[kept, 0])
    assert "irregular" in said[0]
    other = table.copy()
    other[3, 1] = 3.5  # another frame with the same time
    for whole in (other, table[:0], table[kept]):
        kept, notes = without_repeated_rows(whole)
        assert kept.all()
        assert notes == []
