"""Gait norms from files of other programs: .gcd (Vicon Polygon), and csv with mean and deviation by
percent.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.norms.norm_set import LARGEST_DEG, N_POINT, NormCurve
from rtsim.files.norms.variables import NAMES, VARIABLES
from rtsim.files.tables.grid import DECIMAL_COMMA, read_lines

FloatArray = NDArray[np.float64]
GCD, CSV = ".gcd", ".csv"
LEAST_POINTS = 11
SWINGING, LEAST_SPAN_DEG = ("hip_flexion", "knee_flexion"), 5.0
"""Angles whose mean changes by tens of degrees in every walk, and the smallest change with which they are
taken to be in degrees.
"""
MEANS, DEVIATIONS = ("mean", "average"), ("deviation", "sd", "std")
UNIT = re.compile(r"(?P<name>[^\[(]*)[\[(](?P<unit>[^\])]*)[\])]")
"""Title of a column with its unit in brackets."""
DEGREES = ("deg", "degree", "degrees", "°", "º", "deg.", "grad")
"""Units of degrees as programs, and keyboards of other languages, write them."""
DIGITS = re.compile(r"\d+")
"""A cell that is behind the last column where a comma was meant as a decimal point."""
COLUMNS = "the columns variable, percent, mean, and deviation (or sd) for the standard deviation"


class ForeignNorms(NamedTuple):
    """Norms of gait angles from a file of another program.

    curves : name of a variable -> its norm
    notes : sentences on variables that were left out
    """

    curves: Mapping[str, NormCurve]
    notes: tuple[str, ...]


def read_foreign(path: Path) -> ForeignNorms:
    """Read norms from a .gcd or csv file at 101 points; ConfigError for other files, and if nothing is
    usable.
    """
    suffix = path.suffix.lower()
    if suffix not in (GCD, CSV):
        raise ConfigError(f"{path.name} has no known suffix", where=str(path), allowed=f"{GCD}, {CSV}")
    columns, left_out = (_gcd if suffix == GCD else _csv)(path)
    curves = {name: _resampled(name, *rows, str(path)) for name, rows in columns.items()}
    if not curves:
        raise ConfigError(
            "the file contains no joint angle that a report uses; it contains "
            f"{', '.join(left_out[:6]) or 'no named columns'}", where=str(path),
            allowed=", ".join(NAMES) if suffix == CSV else ", ".join(v.gcd for v in VARIABLES),
        )  # fmt: skip
    for name in SWINGING:
        if name in curves and (span := float(np.ptp(curves[name].mean))) < LEAST_SPAN_DEG:
            raise ConfigError(
                f"{name}: the mean changes by only {span:.2g} degrees over the gait cycle, as if the "
                "person stood still or the angle were in radians",
                where=str(path),
                allowed=f"angles in degrees whose mean changes by {LEAST_SPAN_DEG} degrees or more over "
                "the cycle",
            )
    missing = [name for name in NAMES if name not in curves]
    notes = (
        [f"left out, because a report does not use these variables: {', '.join(left_out)}"]
        if left_out
        else []
    )
    notes += [f"missing in the file: {', '.join(missing)}"] if missing else []
    return ForeignNorms(curves, tuple(notes))


Columns = dict[str, tuple[list[float], list[float], list[float]]]


def _gcd(path: Path) -> tuple[Columns, list[str]]:
    """Read a .gcd file, in which the title of each curve follows a `!`. Return for each curve percent of the
    gait cycle, means and deviations, and the titles that are not used.
    """
    names = {variable.gcd.lower(): variable.name for variable in VARIABLES}
    found: dict[str, list[tuple[float, ...]]] = {}
    others, now = [], ""
    comma, pointed = "", False
    for number, line in enumerate(read_lines(path, "gcd"), 1):
        text = line.strip()
        if text.startswith("!"):
            title = text[1:].strip()
            now = names.get(title.lower(), "")
            if not now:
                others.append(title)
            elif now in found:
                raise ConfigError(f"{title} occurs twice in the file", where=f"{path}, line {number}")
            else:
                found[now] = []
        elif now and text and text[0] not in "#$":
            found[now].append(_numbers(text, f"{path}, line {number}"))
            pointed |= "." in text
            comma = comma or (f"{path}, line {number}" if DECIMAL_COMMA.search(text) else "")
    if comma and not pointed:
        raise ConfigError(
            "a comma between digits is a decimal comma or separates two numbers, which this file does not "
            "tell", where=comma, allowed="decimal points, and blanks or tabs between numbers",
        )  # fmt: skip
    columns: Columns = {}
    for name, rows in found.items():
        if any(len(row) != 2 for row in rows) or not rows:
            raise ConfigError(
                f"{name}: each row must have two numbers, mean and standard deviation", where=str(path),
                remedy="give a file of norms, not the file of a patient",
            )  # fmt: skip
        at = np.linspace(0.0, 100.0, len(rows)).tolist()
        columns[name] = (at, [row[0] for row in rows], [row[1] for row in rows])
    return columns, others


def _numbers(text: str, where: str) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in text.replace(",", " ").split())
    except ValueError:
        raise ConfigError(f"{text[:40]!r} is not a row of numbers", where=where) from None


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"{text[:40]!r} is not a number", where=where) from None


def _csv(path: Path) -> tuple[Columns, list[str]]:
    """Read a csv file with one row for each variable and percent of the gait cycle. Return for each variable
    percent, means and deviations, and the variables that are not used.
    """
    lines = [line for line in read_lines(path, "csv") if line.strip() and not line.startswith("#")]
    if not lines:
        raise ConfigError("the file contains only comments", where=str(path), allowed=COLUMNS)
    mark = ";" if lines[0].count(";") > lines[0].count(",") else ","
    rows = list(csv.reader(lines, delimiter=mark))
    titles = [_title(cell) for cell in rows[0]]
    head = [title for title, _ in titles]
    places = [_place(head, names) for names in (("variable",), ("percent",), MEANS, DEVIATIONS)]
    if min(places) < 0:
        raise ConfigError(
            f"the header contains {', '.join(head[:8])}", where=f"{path}, line 1", allowed=COLUMNS
        )
    for title, unit in (titles[k] for k in places[2:]):
        if unit not in ("", *DEGREES):
            raise ConfigError(
                f"the column {title} is in [{unit[:40]}]", where=f"{path}, line 1",
                allowed=", ".join(f"[{one}]" for one in DEGREES) + ", or no unit",
            )  # fmt: skip
    columns: Columns = {}
    others: list[str] = []
    for number, row in enumerate(rows[1:], 2):
        if len(row) <= max(places):
            raise ConfigError(f"{len(row)} cells", where=f"{path}, row {number}", allowed=COLUMNS)
        if any(DIGITS.fullmatch(cell.strip()) for cell in row[len(head) :]):
            raise ConfigError(
                f"the row has more cells than the header ({len(row)} instead of {len(head)})",
                where=f"{path}, row {number}",
                remedy="use decimal points, or semicolons between the cells",
            )
        name = row[places[0]].strip()
        if name not in NAMES:
            others += [name] if name not in others else []
            continue
        cells = [row[k].strip() for k in places[1:]]
        if not all(cells):
            raise ConfigError("a cell of the table is empty", where=f"{path}, row {number}", allowed=COLUMNS)
        point = "." if mark == ";" else ","  # of 5,5 between semicolons
        numbers = [_number(cell.replace(",", point), f"{path}, row {number}") for cell in cells]
        for column, x in zip(columns.setdefault(name, ([], [], [])), numbers, strict=True):
            column.append(x)
    return columns, others


def _title(cell: str) -> tuple[str, str]:
    """Return the title of a column, and its unit if there is one in brackets, in small letters."""
    text = cell.strip().lower()
    match = UNIT.fullmatch(text)
    return (match["name"].strip(), match["unit"].strip()) if match else (text, "")


def _place(head: Sequence[str], names: Sequence[str]) -> int:
    return next((head.index(name) for name in names if name in head), -1)


def _resampled(
    name: str, percent: list[float], mean: list[float], deviation: list[float], where: str
) -> NormCurve:
    """Interpolate mean and deviation of an angle linearly at 101 points; ConfigError if they do not cover the
    whole cycle.

    percent : percent of the gait cycle of each value
    """
    at = np.array(percent)
    if (
        len(at) < LEAST_POINTS
        or not (np.diff(at) > 0.0).all()
        or abs(at[0]) > 1e-6
        or abs(at[-1] - 100.0) > 1e-6
    ):
        raise ConfigError(
            f"{name}: there are {len(at)} points from {percent[0]:g} to {percent[-1]:g} %", where=where,
            allowed=f"at least {LEAST_POINTS}, rising from 0 to 100 %",
        )  # fmt: skip
    numbers = [*mean, *deviation]
    if not all(math.isfinite(x) and abs(x) <= LARGEST_DEG for x in numbers) or min(deviation) < 0.0:
        raise ConfigError(
            f"{name}: a number is missing or beyond {LARGEST_DEG:g} degrees, or a standard deviation "
            "is negative",
            where=where,
        )
    points = np.linspace(0.0, 100.0, N_POINT)
    return NormCurve(np.interp(points, at, mean), np.interp(points, at, deviation))
