"""Time columns of files, which may be rounded, irregular or missing, and the true times behind them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial, count_of

MAX_DECIMALS = 6  # files that print more decimals than this are taken at their word
TOLD = 1e-5  # [s] a change of a time smaller than this is not worth a sentence
TO_S = "the times were converted to seconds"
SMALLER = {1e-3: "milliseconds", 1e-6: "microseconds"}
SELDOM = 0.5  # a step that seconds hardly have [s]: 2000 Hz in milliseconds
LONGER = 300.0
"""Ratio of the durations of forces and markers above which the forces have another unit of time."""
ON_GRID = 0.2  # of a frame by which a time may miss its place on the grid
SAME_RATE = 0.01  # relative difference up to which a header rate and a measured rate are the same
MOST = 0.7  # part of the steps that tell the rate of a column with gaps
IRREGULAR = 0.05  # relative difference up to which the header rate still describes an irregular column


@np.errstate(
    over="ignore", invalid="ignore", divide="ignore"
)  # such rates and times are refused by check_clock
def settle_times(
    times: NDArray[np.float64], declared_rate: float, where: str
) -> tuple[NDArray[np.float64], float, list[str]]:
    """Return times (n,) [s], rate [Hz] and notes from a time column (n,) and the rate of the header (0:
    none).

    A column that is evenly spaced within its rounding is replaced by exactly even times. A column that is
    missing or does not increase is rebuilt from the header's rate. ConfigError naming `where` if neither
    times nor a rate exist.
    """
    n = times.shape[0]
    if n == 0:
        raise ConfigError(
            "the file has no rows below the header", where=where, remedy="export the file again"
        )
    if not np.isfinite(times).all() or (n > 1 and np.diff(times).min() <= 0.0):
        return _rebuild(times, declared_rate, where)
    if n == 1:
        if declared_rate > 0.0:
            return times, declared_rate, []
        raise ConfigError(
            "the file has one frame only, and the header gives no frame rate",
            where=where,
            remedy="write DataRate",
        )
    times, told = _in_seconds(times, declared_rate)
    settled, rate, notes = _settle_increasing(times, declared_rate)
    return settled, rate, [*told, *notes]


def without_repeated_rows(table: NDArray[np.float64]) -> tuple[NDArray[np.bool_], list[str]]:
    """Return which rows (n,) of a table to keep, and notes: rows that repeat the row before, with its time,
    are left out, if the times of the others increase.

    table : (n, n_column), the times first; NaN = empty
    """
    kept = np.ones(len(table), bool)
    alike = (table[1:] == table[:-1]) | (np.isnan(table[1:]) & np.isnan(table[:-1]))
    kept[1:] = ~(alike.all(axis=1) & np.isfinite(table[1:, 0]))
    n_left_out = int((~kept).sum())
    if not n_left_out or not (np.diff(table[kept, 0]) > 0.0).all():
        return np.ones(len(table), bool), []
    return kept, [f"{count_of(n_left_out, 'row')} with the time and values of the row before left out"]


def _in_seconds(times: NDArray[np.float64], rate: float) -> tuple[NDArray[np.float64], list[str]]:
    """Convert times to seconds, with notes, if their steps are those of the header's rate in milli- or
    microseconds, or are slower than any recording of markers or plates while the header says otherwise.
    """
    typical = float(np.median(np.diff(times)))
    known = any(abs(factor * rate - 1.0) <= SAME_RATE for factor in (1.0, *SMALLER))
    if rate > 0.0 and not known and (np.diff(times) == 1.0).all():
        first = min(times[0], 1.0)  # frames are counted from 0 or from 1
        return (times - first) / rate, [
            f"the times increase by 1 from row to row, so they were read as frame numbers at {rate:g} Hz, "
            "the rate of the header"
        ]
    if rate > 0.0 and (mixed := _some_in_milliseconds(times, rate)) is not None:
        n = int((mixed != times).sum())
        return mixed, [
            f"{n} of {len(times)} times are in milliseconds, as the header's rate of {rate:g} Hz "
            f"shows; {TO_S}"
        ]
    for factor, unit in SMALLER.items():
        if rate > 0.0 and abs(rate * factor * typical - 1.0) <= SAME_RATE:
            return factor * times, [
                f"the time column is in {unit}, as the header's rate of {rate:g} Hz shows; {TO_S}"
            ]
    if typical < SELDOM:
        return times, []
    steps = f"the times increase by {typical:g} from row to row"
    for factor, unit in SMALLER.items():
        if rate > 0.0 and abs(rate * typical - 1.0) > SAME_RATE and factor * typical < SELDOM:
            return factor * times, [
                f"{steps}, which is too slow for times in seconds; the times were read as {unit}, and {TO_S}"
            ]
    return times, [
        f"{steps}, which was read as seconds; if the times are in milliseconds, divide them by 1000"
    ]


def seconds_by_markers(
    times: NDArray[np.float64], markers: MarkerTrial | None
) -> tuple[NDArray[np.float64], list[str]]:
    """Return the times in seconds, and notes. Times are taken as milli- or microseconds if their steps are
    longer than force plates use, or if they last a thousand times longer than those of the markers."""
    step = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    longer = 1.0
    if step > 0.0 and markers is not None and len(markers.times) > 1:
        longer = float((times[-1] - times[0]) / (markers.times[-1] - markers.times[0]))
    for factor, unit in SMALLER.items():
        if 0.3 < factor * longer < 3.0 or (longer < LONGER and factor * step < SELDOM <= step):
            return factor * times, [
                f"the times increase by {step:g} a row: read as {unit} and converted to seconds"
            ]
    return times, []


def _some_in_milliseconds(times: NDArray[np.float64], rate: float) -> NDArray[np.float64] | None:
    """Convert a time column with times in seconds and times in milliseconds, all on the grid of a rate, to
    seconds; None if it is no such mixture.
    """
    steps = np.arange(len(times)) / rate
    for first in (float(times[0]), 1e-3 * float(times[0])):
        plain, slow = (np.abs(x - first - steps) <= ON_GRID / rate for x in (times, 1e-3 * times))
        if (plain | slow).all() and not plain.all() and not slow.all():
            return np.where(plain, times, 1e-3 * times)
    return None


def _settle_increasing(
    times: NDArray[np.float64], declared_rate: float
) -> tuple[NDArray[np.float64], float, list[str]]:
    """Return times [s], rate [Hz] and notes from a column of at least two increasing times: exactly even
    times if the column is evenly spaced within its rounding.

    declared_rate : rate of the header [Hz], 0 = none
    """
    n = times.shape[0]
    measured = (n - 1) / float(times[-1] - times[0])
    tolerance = _rounding(times)
    for rate in (declared_rate, measured):
        if rate > 0.0:
            grid = _grid(times, rate, tolerance)
            if grid is not None:
                return _as_grid(times, grid, rate, declared_rate)
    return _irregular(times, declared_rate)


def _rebuild(
    times: NDArray[np.float64], rate: float, where: str
) -> tuple[NDArray[np.float64], float, list[str]]:
    if rate <= 0.0:
        raise ConfigError(
            "the times do not increase and the header gives no frame rate",
            where=where,
            remedy="write the frame rate (DataRate) or repair the time column",
        )
    start = float(times[0]) if np.isfinite(times[0]) else 0.0
    fault = "the time column has gaps or does not increase; the times were computed from"
    measured = _rate_of_most(times)
    same = (
        [abs(factor * rate / measured - 1.0) <= IRREGULAR for factor in (1.0, *SMALLER)]
        if measured
        else [True]
    )
    if any(same):
        return start + np.arange(times.shape[0]) / rate, rate, [f"{fault} the frame rate {rate:g} Hz"]
    told = f"{fault} the rate of most rows, {measured:.6g} Hz, not from the header's rate, {rate:g} Hz"
    return start + np.arange(times.shape[0]) / measured, measured, [told]


def _rate_of_most(times: NDArray[np.float64]) -> float:
    """Return the rate at which most of the times (n,) increase evenly [Hz]; 0 if there is none."""
    steps = np.diff(times)
    rising = steps[steps > 0.0]  # NaN is not
    if rising.size < MOST * steps.size:
        return 0.0
    typical = float(np.median(rising))
    even = np.abs(rising - typical) <= IRREGULAR * typical
    return 1.0 / typical if even.sum() >= MOST * steps.size else 0.0


def _rounding(times: NDArray[np.float64]) -> float:
    """Return the largest rounding error of a time column [s], about half of 10^-d with d the number of
    decimals of its times.
    """
    decimals = 0
    while decimals < MAX_DECIMALS and np.abs(times - np.round(times, decimals)).max() > 1e-9:
        decimals += 1
    return 0.55 * 10.0**-decimals


def _grid(times: NDArray[np.float64], rate: float, tolerance: float) -> NDArray[np.float64] | None:
    """Return evenly spaced times (n,) at `rate` that differ from `times` by no more than `tolerance`, the
    rounding; None if there are none.
    """
    if tolerance > 0.5 / rate:
        tolerance = 1e-9  # rounding as coarse as the frames proves nothing
    steps = np.arange(times.shape[0]) / rate
    offset = times - steps
    for start in (float(times[0]), 0.5 * float(offset.min() + offset.max())):
        if np.abs(offset - start).max() <= tolerance:
            return start + steps
    return None


def _as_grid(
    times: NDArray[np.float64], grid: NDArray[np.float64], rate: float, declared_rate: float
) -> tuple[NDArray[np.float64], float, list[str]]:
    notes = []
    if declared_rate <= 0.0:
        notes.append(f"the header gives no frame rate: {rate:.6g} Hz was measured from the time column")
    elif abs(rate - declared_rate) > SAME_RATE * declared_rate:
        notes.append(
            f"the header states {declared_rate:g} Hz, but the time column increases at {rate:.6g} Hz; "
            "the times of the column were used"
        )
    change = float(np.abs(times - grid).max())
    if change > TOLD:
        notes.append(
            f"rounded times were replaced by regular times at {rate:.6g} Hz (by up to {1e3 * change:.2g} ms)"
        )
    return grid, rate, notes


def _irregular(
    times: NDArray[np.float64], declared_rate: float
) -> tuple[NDArray[np.float64], float, list[str]]:
    steps = np.diff(times)
    typical = 1.0 / float(np.median(steps))
    agrees = declared_rate > 0.0 and abs(typical - declared_rate) <= IRREGULAR * declared_rate
    note = (
        f"the time column is irregular (steps from {1e3 * steps.min():.4g} to {1e3 * steps.max():.4g} "
        "ms); the times were used unchanged"
    )
    if not agrees:
        said = f"{declared_rate:g} Hz" if declared_rate > 0.0 else "no rate"
        note += f"; the header states {said}, so the median step was used as frame rate ({typical:.6g} Hz)"
    return times, declared_rate if agrees else typical, [note]
