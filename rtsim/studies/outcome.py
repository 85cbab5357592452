"""Results of one case of a study, as columns over time, or as numbers printed by a fit; and the reduction of
a column to the number that the study asks for, such as its peak.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.study_schema import StudyResult
from rtsim.errors import ConfigError
from rtsim.files.recording import Results
from rtsim.files.tables.tables import columns_of, has_columns
from streams.messages import UNUSABLE

Array = NDArray[np.float64]
N_NEAREST = 6
EDGE_S = 1e-9
"""Time by which a frame may miss the end of a span by rounding, and still is at it [s]: times count from the
first frame of the recording, which may be at any time."""


class MissingColumnError(ConfigError):
    """Raised if the results of a case do not have a column."""


class Column(NamedTuple):
    """A column over time: times (n,) [s], values (n,), and their unit."""

    times: Array
    values: Array
    unit: str


class CaseOutcome(Protocol):
    """Results of a case; n_frame : number of rows; n_unusable : number of those whose status says that they
    are not to be used
    """

    n_frame: int
    n_unusable: int

    def column(self, name: str) -> Column: ...


class ResultColumns:
    """Results of a run or a simulation, with the column names and units of their csv table.

    began_s : time of the first frame of the recording, from which the times of columns count [s]
    """

    def __init__(self, results: Results, began_s: float = 0.0) -> None:
        self._results, self._times = results, results.times - began_s
        self.n_frame = len(results.times)
        self.n_unusable = int(np.count_nonzero(results.status.astype(np.int64) & int(UNUSABLE)))
        self._columns: dict[str, dict[str, Column]] = {}

    def column(self, name: str) -> Column:
        """Return the column with a name; MissingColumnError, which suggests similar names, if there is
        none.
        """
        field = name.partition(".")[0]
        if field not in self._columns:
            specs = [spec for spec in self._results.session.fields if spec.name == field]
            names, units, data = columns_of(self._results, specs, in_full=True)
            values = list(np.column_stack(data).T) if data else []
            rows = zip(names, units, values, strict=True)
            self._columns[field] = {one: Column(self._times, x, unit) for one, unit, x in rows}
        try:
            return self._columns[field][name]
        except KeyError:
            raise MissingColumnError(
                f"the results have no column {name!r}", where="study: column",
                allowed=", ".join(self._near(name, field)), remedy="correct the name",
            ) from None  # fmt: skip

    def _near(self, name: str, field: str) -> list[str]:
        specs = [spec for spec in self._results.session.fields if has_columns(spec)]
        own = [*self._columns[field]]
        names = own or [*columns_of(self._results, specs, in_full=True)[0]]
        return get_close_matches(name, names, N_NEAREST, 0.4) or own or [spec.name for spec in specs]


class FigureColumns:
    """The numbers that `rtsim fit --json` prints, each as a column of one row with a dotted path as its name,
    such as fits.0.rms.
    """

    n_frame, n_unusable = 1, 0

    def __init__(self, told: Any) -> None:
        self._told = told

    def column(self, name: str) -> Column:
        """Return the number at a dotted path as a column; MissingColumnError if there is none."""
        at = self._told
        for word in name.split("."):
            inside: dict[str, Any] = {}
            if isinstance(at, dict):
                inside = at
            elif isinstance(at, list):
                inside = {str(k): one for k, one in enumerate(at)}
            if word not in inside:
                raise MissingColumnError(
                    f"the JSON of the fit has no number {name!r}: there is no entry {word!r}",
                    where="study: column",
                    allowed=", ".join(inside) or "nothing below it",
                )  # fmt: skip
            at = inside[word]
        if at is not None and not isinstance(at, (int, float)):
            raise MissingColumnError(f"{name!r} is not a number", where="study: column", allowed="a number")
        return Column(np.zeros(1), np.array([math.nan if at is None else float(at)]), "")


def number_of(asked: StudyResult, found: CaseOutcome) -> tuple[float, str]:
    """Reduce a column of a case's results to one number, such as its peak, mean or time of a crossing, and
    return it with its unit. It is NaN if no frame of the time span has a value, or if the event never
    happens.

    asked : column, reduction and time span, as defined in the study; found : results of the case
    """
    times, values, unit = found.column(asked.column)
    if asked.take == "at":
        return at_time(times, values, asked.at_s), unit
    inside = (times >= asked.start_s - EDGE_S) & (times <= (asked.end_s or math.inf) + EDGE_S)
    inside &= np.isfinite(values)
    times, values = times[inside], values[inside]
    unit = "s" if asked.take in ("time_to", "time_of_peak") else unit
    if not len(values):
        return math.nan, unit
    if asked.take == "time_to":
        assert asked.threshold is not None
        return first_crossing(times, values, asked.threshold), unit
    if asked.take == "time_of_peak":
        return float(times[np.abs(values).argmax()]), unit
    return REDUCTIONS[asked.take](values), unit


REDUCTIONS: dict[str, Callable[[Array], float]] = {
    "peak": lambda x: float(x[np.abs(x).argmax()]),
    "largest": lambda x: float(x.max()),
    "smallest": lambda x: float(x.min()),
    "mean": lambda x: float(x.mean()),
    "rms": lambda x: math.sqrt(float((x**2).mean())),
    "range": lambda x: float(x.max() - x.min()),
    "deviation": lambda x: float(x.std()),
    "first": lambda x: float(x[0]),
    "last": lambda x: float(x[-1]),
    "number": lambda x: float(x[0]),
}


def at_time(times: Array, values: Array, at: float) -> float:
    """Return the value of a curve at the time `at` [s], interpolated linearly between two rows; NaN outside
    of the rows, and next to a missing value.
    """
    if not times[0] - EDGE_S <= at <= times[-1] + EDGE_S:
        return math.nan
    return float(np.interp(at, times, values))


def first_crossing(times: Array, values: Array, threshold: float) -> float:
    """Return the time at which a curve first reaches a threshold from either side, interpolated linearly [s];
    NaN = never.
    """
    if values[0] == threshold:
        return float(times[0])
    above = values > threshold if values[0] > threshold else values >= threshold
    crossed = np.flatnonzero(above != above[0])
    if not len(crossed):
        return math.nan
    k = int(crossed[0])
    part = (threshold - values[k - 1]) / (values[k] - values[k - 1])
    return float(times[k - 1] + part * (times[k] - times[k - 1]))


def curve_of(found: CaseOutcome, name: str, points: int) -> Array:
    """Return a column interpolated at `points` evenly spaced times, (points,)."""
    times, values, _ = found.column(name)
    return np.interp(np.linspace(times[0], times[-1], points), times, values)
