"""The gait report as tables for a spreadsheet or a statistics program, one number per row."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from rtsim.errors import ConfigError
from rtsim.files.output import cell_of, write_bytes, write_text
from rtsim.methods.gait.cycles import UNITS
from rtsim.report.clinical.curve_pages import all_trials, joint_sources
from rtsim.report.clinical.quality_notes import notes_of
from rtsim.report.clinical.quality_page import deviation_rows, marker_rows, trial_facts
from rtsim.report.clinical.report import GaitReport
from rtsim.report.clinical.session import ReportCurve, ReportTrial, curve_of
from rtsim.report.clinical.steps_page import score_rows, step_rows
from rtsim.report.clinical.time_curves import angles_of, is_over_time, loads_of, others_of

Cell = str | float | int | None
INSTALL = "pip install XlsxWriter, or in a checkout of rtsim: pip install -e '.[report]'"
SHEET_NAME_MOST = 31
MOST_ROWS, MOST_STRIDES = 1_048_575, 16_383
"""Largest numbers of rows, and of columns of strides, beside the head and the first column of a sheet; more
of them are in further sheets."""


class ReportTable(NamedTuple):
    """The rows of a table and its column heads; name : name of its file and sheet."""

    name: str
    head: tuple[str, ...]
    rows: list[tuple[Cell, ...]]


def curves_of(report: GaitReport) -> dict[str, list[ReportCurve]]:
    """Return all curves over the cycle that the report draws, by the label of the session."""
    more = joint_sources(all_trials(report))
    return {
        s.label: [
            *report.kinematics[s.label], *report.kinetics[s.label], *(curve_of(s, source) for source in more),
        ]
        for s in report.sessions
    }  # fmt: skip


def tables_of(report: GaitReport) -> list[ReportTable]:
    """Return all tables of a report in long format: one number in each row."""
    curves, label = curves_of(report), ("session",)
    trials = [(s.label, trial) for s in report.sessions for trial in s.trials]
    return [
        ReportTable(
            "about", ("name", "value"),
            [
                ("person", report.person), ("date", report.date), ("rtsim", report.version),
                ("convention", report.convention),
                ("norms", report.norms.words if report.norms is not None else ""),
            ],
        ),
        ReportTable(
            "strides", (*label, "trial", "side", "stride", "percent", "variable", "unit", "value", "flagged"),
            [row for name, few in curves.items() for curve in few for row in _strides(name, curve)],
        ),
        ReportTable(
            "over_time", (*label, "trial", "side", "time_s", "variable", "unit", "value", "flagged"),
            [row for name, trial in trials for row in _over_time(name, trial, report.convention)]
            if is_over_time(report) else [],
        ),
        ReportTable(
            "means", (*label, "side", "percent", "variable", "unit", "mean", "deviation", "n_stride"),
            [row for name, few in curves.items() for curve in few for row in _means(name, curve)],
        ),
        ReportTable(
            "steps", (*label, "trial", "side", "stride", "variable", "unit", "value"),
            [
                (s.label, trial, side, stride, name, UNITS[name], value)
                for s in report.sessions for trial, side, stride, name, value in step_rows(s)
            ],
        ),
        ReportTable(
            "events", (*label, "trial", "time_s", "side", "event", "by"),
            [
                (name, trial.name, e.time, e.side, e.kind or e.label, e.by)
                for name, trial in trials for e in (*trial.gait.used, *trial.results.marks)
            ],
        ),
        ReportTable(
            "scores", (*label, "side", "variable", "score_deg", "deviation_deg"), [*score_rows(report)]
        ),
        ReportTable(
            "markers", (*label, "trial", "marker", "rms_mm", "largest_mm", "missing_percent"),
            [(name, *row) for name, trial in trials for row in marker_rows(trial)],
        ),
        ReportTable(
            "deviations", (*label, "trial", "angle", "median_deg", "largest_deg"),
            [(name, trial.name, *row) for name, trial in trials for row in deviation_rows(trial)],
        ),
        ReportTable(
            "quality", (*label, "trial", "name", "value"),
            [
                (name, trial.name, *row) for name, trial in trials
                for row in (*trial_facts(trial), *(("note", note) for note in notes_of(trial)))
            ],
        ),
    ]  # fmt: skip


def _strides(label: str, curve: ReportCurve) -> Iterable[tuple[Cell, ...]]:
    """Yield a table row for every percent of every stride of a curve: session, trial, side, stride, percent
    of the cycle, name, unit, value, and 1 if it is flagged; label : name of the session.
    """
    for side, rows in curve.strides.items():
        trials = curve.trials[side]
        for trial, number, values, sound in zip(
            trials, _numbers(trials), rows, curve.sound[side], strict=True
        ):
            for percent, (value, good) in enumerate(zip(values.tolist(), sound.tolist(), strict=True)):
                yield (
                    label,
                    trial,
                    side,
                    number,
                    percent,
                    curve.name,
                    curve.unit,
                    value,
                    int(not good),
                )


def _numbers(trials: Sequence[str]) -> list[int]:
    """Return for each stride its number within its trial; trials : the trial of each stride"""
    counted: Counter[str] = Counter()
    numbers = []
    for trial in trials:
        counted[trial] += 1
        numbers.append(counted[trial])
    return numbers


def _over_time(label: str, trial: ReportTrial, convention: str) -> Iterable[tuple[Cell, ...]]:
    """Yield a table row for every curve of a trial and every frame: session, trial, side, time, name, unit,
    value, and 1 if it is flagged.

    label : name of the session
    convention : angle convention
    """
    times = trial.results.times.tolist()
    for curve in (*angles_of(trial, convention), *loads_of(trial), *others_of(trial)):
        for side, values in curve.values.items():
            sound = curve.sound[side].tolist()
            for time, value, good in zip(times, values.tolist(), sound, strict=True):
                yield (
                    label,
                    trial.name,
                    side,
                    time,
                    curve.source.name,
                    curve.source.unit,
                    value,
                    int(not good),
                )


def _means(label: str, curve: ReportCurve) -> Iterable[tuple[Cell, ...]]:
    """Yield a table row for each percent of the cycle and side of a curve: session, side, percent, name,
    unit, mean, standard deviation and number of strides; label : name of the session.
    """
    for side in curve.strides:
        mean, deviation = curve.mean(side).tolist(), curve.deviation(side).tolist()
        n_averaged = curve.n_averaged(side)
        n = [n_averaged if math.isfinite(x) else 0 for x in mean]
        for percent in range(len(mean)):
            yield (
                label, side, percent, curve.name, curve.unit, mean[percent], deviation[percent], n[percent],
            )  # fmt: skip


def write_folder(folder: Path, tables: Sequence[ReportTable]) -> list[Path]:
    """Write each table as NAME.csv into a folder; a value that is not known is an empty cell."""
    paths = []
    for table in tables:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([_in_csv(cell) for cell in table.head])
        writer.writerows([[_in_csv(cell) for cell in row] for row in table.rows])
        write_text(folder / f"{table.name}.csv", text.getvalue())
        paths.append(folder / f"{table.name}.csv")
    return paths


def _in_csv(cell: Cell) -> Any:
    if isinstance(cell, float):
        return repr(cell) if math.isfinite(cell) else ""
    return cell_of(cell) if isinstance(cell, str) else "" if cell is None else cell


def require_xlsx() -> None:
    """Raise ConfigError if the library XlsxWriter, which writes spreadsheets, is not installed."""
    try:
        import xlsxwriter  # noqa: F401
    except ImportError:
        raise ConfigError(
            "spreadsheets need XlsxWriter, which is not installed", where="--out", remedy=INSTALL
        ) from None


def write_xlsx(path: Path, tables: Sequence[ReportTable], curves: dict[str, list[ReportCurve]]) -> None:
    """Write an .xlsx file: each table as a sheet, and for each quantity a wide sheet with a column for each
    stride.

    curves : session label -> its curves over the gait cycle, for the wide sheets

    ConfigError if XlsxWriter is missing or the file cannot be written.
    """
    require_xlsx()
    import xlsxwriter

    data = io.BytesIO()  # so that no files of a person's data lie elsewhere meanwhile
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    book = xlsxwriter.Workbook(data, options)
    bold = book.add_format({"bold": True})
    used = {table.name for table in tables}
    for table in tables:
        for first in range(0, max(1, len(table.rows)), MOST_ROWS):
            name = _sheet_name(table.name, used) if first else table.name
            used.add(name)
            _sheet(book.add_worksheet(name), table.head, table.rows[first : first + MOST_ROWS], bold)
    for k, curve in enumerate(next(iter(curves.values()), [])):
        for wide in _wide({label: few[k] for label, few in curves.items()}):
            name = _sheet_name(curve.name, used)
            used.add(name)
            _sheet(book.add_worksheet(name), wide[0], wide[1:], bold)
    book.close()
    write_bytes(path, data.getvalue())


def _sheet(sheet: Any, head: Sequence[Cell], rows: Sequence[Sequence[Cell]], bold: Any) -> None:
    """Write a head and rows of cells into a sheet; ConfigError for a cell that the sheet does not take."""
    sheet.freeze_panes(1, 0)
    sheet.set_column(0, max(0, len(head) - 1), 14)
    for number, row in enumerate(chain((head,), rows)):
        for column, cell in enumerate(row):
            fault = 0
            if isinstance(cell, str):
                fault = sheet.write_string(number, column, cell, *([bold] if number == 0 else []))
            elif cell is not None and math.isfinite(cell):
                fault = sheet.write_number(number, column, cell)
            if fault:
                raise ConfigError(
                    f"row {number + 1}, column {column + 1} of sheet {sheet.name} does not fit into a "
                    "spreadsheet", where="--out", remedy="give a folder, for tables as .csv files",
                )  # fmt: skip


def _sheet_name(name: str, used: set[str]) -> str:
    """Return a name for a sheet of a spreadsheet that is valid and not in `used`."""
    short = "".join("_" if c in "[]:*?/\\'" else c for c in name.rpartition(".")[2])[:SHEET_NAME_MOST]
    taken, n = {other.lower() for other in used}, 1
    found = short or "curve"
    while found.lower() in taken:
        n += 1
        found = f"{short[: SHEET_NAME_MOST - 4]} {n}"
    return found


def _wide(curves: dict[str, ReportCurve]) -> Iterator[list[list[Cell]]]:
    """Yield wide tables of a quantity, one unless a sheet has too few columns for all strides: a column for
    the percentage of the cycle and one for each stride, numbered as in the table `strides`; rows of names and
    units, then 101 rows of values; curves : session label -> the quantity.
    """
    strides: list[tuple[Cell, Cell, list[float]]] = []
    for label, curve in curves.items():
        for side, rows in curve.strides.items():
            for trial, number, row in zip(
                curve.trials[side], _numbers(curve.trials[side]), rows, strict=True
            ):
                strides.append((f"{label} {trial} {side} {number}", curve.unit, row.tolist()))
    for first in range(0, len(strides), MOST_STRIDES):
        names, units, columns = zip(*strides[first : first + MOST_STRIDES], strict=True)
        table: list[list[Cell]] = [[percent, *(one[percent] for one in columns)] for percent in range(101)]
        yield [["percent", *names], ["%", *units], *table]
