"""Numbers and curves that are taken of results."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rtsim.config.runs.study_schema import StudyResult
from rtsim.studies.outcome import (
    Column,
    FigureColumns,
    MissingColumnError,
    curve_of,
    first_crossing,
    number_of,
)

TIMES = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
VALUES = np.array([1.0, 3.0, math.nan, -5.0, 2.0])


class OneColumn:
    """An outcome with one column, whatever is asked for."""

    n_frame, n_unusable = 5, 0

    def column(self, name: str) -> Column:
        """The column."""
        return Column(TIMES, VALUES, "deg")


@pytest.mark.parametrize(
    ("asked", "value", "unit"),
    [
        ({"take": "peak"}, -5.0, "deg"),
        ({"take": "largest"}, 3.0, "deg"),
        ({"take": "smallest"}, -5.0, "deg"),
        ({"take": "mean"}, 0.25, "deg"),
        ({"take": "rms"}, math.sqrt(39.0 / 4.0), "deg"),
        ({"take": "range"}, 8.0, "deg"),
        ({"take": "deviation"}, np.std([1.0, 3.0, -5.0, 2.0]), "deg"),
        ({"take": "first"}, 1.0, "deg"),
        ({"take": "last"}, 2.0, "deg"),
        ({"take": "at", "at_s": 0.5}, 2.0, "deg"),
        ({"take": "at", "at_s": 1.5}, math.nan, "deg"),
        ({"take": "at", "at_s": 9.0}, math.nan, "deg"),
        ({"take": "time_to", "threshold": 2.0}, 0.5, "s"),
        ({"take": "time_to", "threshold": 1.0}, 0.0, "s"),
        ({"take": "time_to", "threshold": 99.0}, math.nan, "s"),
        ({"take": "time_of_peak"}, 3.0, "s"),
        ({"take": "largest", "start_s": 3.0}, 2.0, "deg"),
        ({"take": "largest", "start_s": 8.0}, math.nan, "deg"),
    ],
)
def test_a_number_is_what_its_word_says(asked: dict, value: float, unit: str) -> None:
    """Protects tables: each reduction, with frames that have no number, and spans."""
    found, shown = number_of(StudyResult(name="y", column="c", **asked), OneColumn())
    assert found == pytest.approx(value, nan_ok=True)
    assert shown == unit


@pytest.mark.parametrize(("values", "time"), [((800.0, 400.0, 0.0, 0.0), 2.0), ((-3.0, -1.0, 0.0, 0.0), 2.0)])
def test_a_threshold_that_is_reached_and_not_passed_counts(values: tuple[float, ...], time: float) -> None:
    """Protects toe-off: a force that falls to zero and stays there has reached zero."""
    assert first_crossing(np.arange(4.0), np.array(values), 0.0) == time


def test_a_curve_is_at_equal_parts_of_its_time() -> None:
    """Protects bands: curves of cases of other lengths lie beside each other."""
    np.testing.assert_allclose(curve_of(OneColumn(), "c", 9)[:3], [1.0, 2.0, 3.0])


def test_figures_of_a_fit_are_found_by_their_paths() -> None:
    """Protects studies of fits: entries of lists by number, and a sentence for what is not there."""
    told = FigureColumns({"fits": [{"rms": 2.5, "name": "a"}], "none": None})
    assert told.column("fits.0.rms").values[0] == 2.5
    assert math.isnan(told.column("none").values[0])
    for name in ("fits.1.rms", "fits.0.name", "more"):
        with pytest.raises(MissingColumnError):
            told.column(name)
