"""Tables of columns over time: OpenSim storage files (.sto, .mot) and CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.markers.timing import SELDOM
from rtsim.files.markers.trial import count_of, name_some, unique_names
from rtsim.files.output import cell_of
from rtsim.files.tables.grid import parse_rows, read_lines, table_lines, with_tabs

STORAGE_SUFFIXES = (".mot", ".sto")
OF_SIMM = ".mot"
FEWEST = 3
"""Smallest number of rows from whose time steps the unit of time is inferred."""
MOST_UNKNOWN = 0.25
"""Largest fraction of rows without a value; a column with more is left out, instead of these rows."""
N_PART = 1000
MAX_HEADER = 500  # lines within which endheader must come
# A header entry, not a sentence that mentions the word: OpenSim explains inDegrees in free text.
IN_RADIANS = "inRadians="
VERSION = re.compile(r"version(?:\s*=\s*|\s+)(\d+)")  # OpenSim knows this entry in small letters only
IN_DEGREES = re.compile(r"indegrees\s*=\s*(\w+)", re.IGNORECASE)
N_ROW = re.compile(r"(?:nrows|datarows)(?:\s*=\s*|\s+)(\d{1,18})(?!\d)", re.IGNORECASE)


class Table(NamedTuple):
    """Named columns of numbers, one row per time.

    columns : k unique labels; the first is "time" [s] in storage files
    data : (n, k) float64; NaN = missing
    in_degrees : whether rotations are in degrees (else radians)
    states_unit : whether the file says so; otherwise it is assumed
    in_radians : columns in radians although `in_degrees` is set; OpenSim's own files do not name such columns
    name : name of the table inside the file
    notes : sentences on irregularities and assumptions
    source : the file it came from, "" = none
    unknown_units : columns whose unit, as their header states it, is not known, each with this unit
    """

    columns: tuple[str, ...]
    data: NDArray[np.float64]
    in_degrees: bool
    name: str
    notes: tuple[str, ...] = ()
    in_radians: tuple[str, ...] = ()
    source: str = ""
    states_unit: bool = True
    unknown_units: tuple[tuple[str, str], ...] = ()

    def column(self, label: str) -> NDArray[np.float64]:
        """Return the column (n,) with a label, or with the path of a coordinate's value in an OpenSim
        model (`/jointset/knee_r/knee_angle_r/value`).

        ConfigError lists the available labels; it is raised as well for a column whose unit is not known.
        """
        where = self.source or self.name
        by_path = [name for name in self.columns if name.endswith(f"/{label}/value")]
        found = label if label in self.columns else by_path[0] if len(by_path) == 1 else ""
        if not found:
            raise ConfigError(f"no column {label!r}", where=where, allowed=", ".join(self.columns))
        if (unit := dict(self.unknown_units).get(found)) is not None:
            raise ConfigError(
                f"the unit of the column {found}, [{unit}], is not known", where=where,
                allowed="deg, rad, m, cm or mm, each also with /s or /s^2; s, ms; N m, N mm, kN m",
                remedy="convert the column to one of these units, or remove it",
            )  # fmt: skip
        values: NDArray[np.float64] = self.data[:, self.columns.index(found)]
        return values


def read_storage(path: str | Path) -> Table:
    """Read the table of a .mot or .sto file, with any free text in its header.

    Empty cells and NaN are missing. ConfigError names file, line and remedy if it cannot be read.
    """
    path = Path(path)
    _check_suffix(path)
    lines = read_lines(path, "storage")
    end = next((i for i, line in enumerate(lines[:MAX_HEADER]) if line.strip().lower() == "endheader"), None)
    if end is None:
        raise ConfigError(
            "there is no endheader line, so this is not a storage file",
            where=str(path),
            remedy="export it again",
        )
    header = [line.strip() for line in lines[:end]]
    start = end + 1
    while start < len(lines) and not lines[start].strip():
        start += 1
    if start == len(lines):
        raise ConfigError(
            "there are no column labels after endheader", where=str(path), remedy="export the file again"
        )
    lines, told = with_tabs(lines, start, str(path))
    line = lines[start]
    labels = [cell.strip() for cell in line.split("\t")] if "\t" in line else line.split()
    columns, notes = unique_names([label for label in labels if label])
    notes += told

    rows, said = table_lines(lines, start + 1, len(columns))
    notes += said
    data, said = parse_rows(rows, len(columns), str(path), lambda column: columns[column])
    notes += said
    announced = next((int(match[1]) for text in header if (match := N_ROW.match(text))), None)
    if announced is not None and announced != len(rows):
        notes.append(
            f"the header states {announced} rows, but the file contains {len(rows)} rows; these were read"
        )
    in_degrees, states_unit, said = _in_degrees(header, path)
    notes += [*said, *slow_times(columns, data)]
    kept = next((text.removeprefix(IN_RADIANS) for text in header if text.startswith(IN_RADIANS)), "")
    name = _name(header, path)
    return Table(
        columns=columns,
        data=data,
        in_degrees=in_degrees,
        name=name,
        notes=tuple(notes),
        in_radians=tuple(kept.split()),
        source=str(path),
        states_unit=states_unit,
    )


def known_part(table: Table) -> tuple[Table, list[str]]:
    """Return the part of a table without NaN, and notes on the columns and rows that are left out.

    OpenSim's Storage stops reading at a NaN, and its TimeSeriesTable accepts no empty cell. So columns with
    NaN in more than a quarter of the rows are left out, then the rows that still contain NaN. No value is
    invented.
    """
    unknown = np.isnan(table.data)
    if not unknown.any():
        return table, []
    told = []
    out = unknown.mean(axis=0) > MOST_UNKNOWN
    out[0] = False  # the time
    if out.any():
        names = [name for name, gone in zip(table.columns, out, strict=True) if gone]
        told.append(f"columns left out because they have gaps, which OpenSim cannot read: {name_some(names)}")
    columns = tuple(name for name, gone in zip(table.columns, out, strict=True) if not gone)
    few, said = known_rows(table._replace(columns=columns, data=table.data[:, ~out]))
    return few, [*told, *said]


def known_rows(table: Table) -> tuple[Table, list[str]]:
    """Return the rows of a table without NaN, and a note on the omitted rows if there are any."""
    rows: NDArray[np.bool_] = np.asarray(np.isnan(table.data).any(axis=1))
    if not rows.any():
        return table, []
    told = f"{count_of(int(rows.sum()), 'row')} of {len(rows)} left out, because a value is unknown"
    return table._replace(data=table.data[~rows]), [told]


def fullest_part(table: Table, beside: Sequence[str] = ()) -> tuple[Table, list[str]]:
    """Remove the columns with the most gaps, so that the remaining complete rows hold the most values;
    return the table and a note.

    So a joint with occasional gaps does not remove rows that are complete in all other columns.

    beside : columns whose values do not count, such as the time
    """
    unknown = np.isnan(table.data)
    order = np.argsort(-unknown.sum(axis=0), kind="stable")
    kept, most = order, -1
    counts = np.array([name not in beside for name in table.columns])
    for k in range(int(unknown.any(axis=0).sum()) + 1):
        n_value = int((~unknown[:, order[k:]].any(axis=1)).sum()) * int(counts[order[k:]].sum())
        if n_value > most:
            kept, most = order[k:], n_value
    if len(kept) == len(order):
        return table, []
    kept = np.sort(kept)
    names = [name for k, name in enumerate(table.columns) if k not in kept]
    columns = tuple(table.columns[k] for k in kept)
    told = (
        "columns left out because they have gaps in rows in which all other columns have values: "
        f"{name_some(names)}"
    )
    return table._replace(columns=columns, data=table.data[:, kept]), [told]


def storage_parts(table: Table, where: str, name: str, lines: Sequence[str] = ()) -> Iterator[str]:
    """Yield a table in OpenSim's storage format, in parts of some rows: twelve significant digits, without
    missing values (`known_part`), which the header states.

    name : name for a table that has none
    lines : free text of the header

    ConfigError naming `where` for labels with tabs or line ends.
    """
    _check_shape(where, table)
    table, told = known_part(table)
    head = [
        table.name or name,
        "version=1",
        f"nRows={table.data.shape[0]}",
        f"nColumns={table.data.shape[1]}",
        f"inDegrees={'yes' if table.in_degrees else 'no'}",
        *([f"{IN_RADIANS}{' '.join(table.in_radians)}"] if table.in_radians else []),
        *lines,
        *told,
        "endheader",
        "\t".join(table.columns),
    ]
    return chain(["\n".join([*head, ""])], _rows(table.data, "\t"))


def csv_parts(table: Table, where: str) -> Iterator[str]:
    """Yield a table as comma-separated values with one header row, in parts of several rows; a missing
    value is an empty cell.
    """
    _check_shape(where, table)
    head = StringIO(newline="")
    csv.writer(head, lineterminator="\n").writerow(map(cell_of, table.columns))
    return chain([head.getvalue()], _rows(table.data, ","))


def _rows(data: NDArray[np.float64], between: str) -> Iterator[str]:
    """Yield the lines of a table in parts of 1000 rows, because half an hour of data as one text would take
    gigabytes;
    between : separator of the columns
    """
    for start in range(0, len(data), N_PART):
        part = data[start : start + N_PART].tolist()
        lines = (between.join(f"{x:.12g}" if x == x else "" for x in row) for row in part)
        yield "\n".join([*lines, ""])


def _check_suffix(path: Path) -> None:
    if path.suffix.lower() not in STORAGE_SUFFIXES:
        raise ConfigError(
            f"{path.suffix or '(no suffix)'!r} is not a suffix of storage files",
            where=str(path),
            allowed=", ".join(STORAGE_SUFFIXES),
        )


def _check_shape(where: str, table: Table) -> None:
    bad = [label for label in table.columns if not label.strip() or re.search(r"[\t\r\n]", label)]
    if bad:
        raise ConfigError(f"{bad[0]!r} cannot be a column label", where=where)
    if table.data.ndim != 2 or table.data.shape[1] != len(table.columns):
        raise ConfigError(
            f"{len(table.columns)} labels do not fit data of shape {table.data.shape}", where=where
        )


def _in_degrees(header: Sequence[str], path: Path) -> tuple[bool, bool, list[str]]:
    """Return whether rotations are in degrees, whether the header says so, and a note if it does not.

    A motion file (.mot) without a version is one of SIMM: in degrees, as OpenSim reads it.
    """
    for text in header:
        match = IN_DEGREES.match(text)
        if match:
            answer = match[1].lower()
            if answer in ("yes", "true", "1"):
                return True, True, []
            if answer in ("no", "false", "0"):
                return False, True, []
            raise ConfigError(f"inDegrees={match[1]!r} in the header", where=str(path), allowed="yes, no")
    versions = [int(match[1]) for text in header if (match := VERSION.match(text))]
    if path.suffix.lower() == OF_SIMM and not any(versions):
        told = "the header states neither a version nor inDegrees; rotations were read as degrees, as in SIMM"
        return True, False, [told]
    return False, False, ["the header does not state inDegrees; rotations were read as radians"]


def slow_times(columns: Sequence[str], data: NDArray[np.float64]) -> list[str]:
    """Return a note if the interval of the times is implausibly long for times in seconds."""
    if columns[0].lower() != "time" or len(data) < FEWEST:
        return []
    step = float(np.median(np.diff(data[:, 0])))
    if not step >= SELDOM:
        return []
    return [
        f"the times increase by {step:g} from row to row and were read as seconds; if the times are "
        "in milliseconds, divide them by 1000"
    ]


def _name(header: Sequence[str], path: Path) -> str:
    """Return the name of the table: the first header line, unless that line is already an entry."""
    if header and header[0] and "=" not in header[0]:
        return header[0].removeprefix("name ").strip()
    return path.stem
