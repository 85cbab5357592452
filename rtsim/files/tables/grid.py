"""Text files and tables of numbers in them: fast for regular rows, tolerant of gaps and unusual
separators.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtsim.config.reading import read_bounded
from rtsim.errors import ConfigError

# Spellings of "no value" besides nan and an empty cell.
MISSING = frozenset(
    {"na", "n/a", "null", "none", "-", "--", "1.#qnan", "-1.#qnan", "1.#ind", "-1.#ind", "-nan(ind)"}
)
MOST_BYTES = 1_000_000_000
MOST_LINES = 10_000_000  # seven hours at 200 Hz, if every line has two ends
LONGEST_LINE = 2_000_000  # [characters] 50 000 markers
SAMPLE = 200  # bytes of the beginning that tell a coding
DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")
ROOM = 1_000_000  # cells of a table that a file of any size may have
Line = tuple[int, str]  # line number from 1, text without its end


def read_lines(path: Path, kind: str) -> list[str]:
    """Read the lines of a text file with any line ends in UTF-8, UTF-16 or Latin-1; ConfigError if it is not
    a text file. kind : name of its format, for the error
    """
    content = _as_bytes_of_utf8(read_bounded(path, MOST_BYTES, "cut the trial into shorter ones"))
    if b"\0" in content:
        raise ConfigError(f"this is a binary file, and {kind} files are text", where=str(path))
    n_line = content.count(b"\n") + content.count(b"\r")
    if n_line > MOST_LINES:
        raise ConfigError(f"{n_line} lines", where=str(path), remedy="cut the trial into shorter ones")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    if not text.strip():
        raise ConfigError("the file is empty", where=str(path), remedy=f"export the {kind} file again")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    long = next((index for index, line in enumerate(lines) if len(line) > LONGEST_LINE), None)
    if long is not None:
        raise ConfigError(
            f"there are {len(lines[long])} characters in one line",
            where=f"{path}, line {long + 1}",
            remedy=f"export the {kind} file again",
        )
    return lines


def _as_bytes_of_utf8(content: bytes) -> bytes:
    """Convert the content from UTF-16 (with a byte order mark, or with every second byte of its beginning 0)
    to UTF-8.
    """
    begin = content[:SAMPLE]
    zeros = [begin[k::2].count(0) > 0.9 * len(begin[k::2]) for k in (0, 1)]
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        coding = "utf-16"
    elif len(begin) >= 4 and zeros[0] != zeros[1]:
        coding = "utf-16-be" if zeros[0] else "utf-16-le"
    else:
        return content
    try:
        text = content.decode(coding, "ignore")  # half a letter at the end is of a file that was cut
    except UnicodeError:
        return content
    return content if any(ord(letter) < ord("\t") for letter in text[:SAMPLE]) else text.encode()


def with_tabs(lines: list[str], row: int, where: str) -> tuple[list[str], list[str]]:
    """Replace semicolons or commas between cells by tabs, if the line at `row` has these instead of tabs;
    return the lines and a note. With semicolons, a comma in a number is the decimal one.

    ConfigError naming `where` for commas both between cells and in numbers, which is ambiguous.
    """
    separator = next((mark for mark in ";," if mark in lines[row]), "")
    line = lines[row]
    if not separator or "\t" in line or line.count(separator) + 1 < len(line.split()):
        return lines, []
    if separator == ",":
        _check_commas(lines[row:], where)
    tabs = [line.replace(separator, "\t") for line in lines]
    if separator == ";":
        tabs = [DECIMAL_COMMA.sub(".", line) for line in tabs]
    return tabs, [f"the cells are separated by {separator!r} instead of tabs"]


def _check_commas(lines: Sequence[str], where: str) -> None:
    """Raise ConfigError if rows of numbers have at least one and a half times as many commas as any text
    line above them.
    """
    numbers = [line.count(",") for line in lines if line.lstrip()[:1] in set("0123456789+-.") and "," in line]
    words = [line.count(",") for line in lines if line.lstrip()[:1].isalpha() or line.startswith(",")]
    if numbers and sorted(numbers)[len(numbers) // 2] > 1.5 * max(words, default=0):
        raise ConfigError(
            "commas are used both between cells and as decimal signs", where=where,
            remedy="export the table with decimal points, or with semicolons or tabs between the cells",
        )  # fmt: skip


def table_lines(
    lines: Sequence[str], start: int, n_column: int, announced: int = 0
) -> tuple[list[Line], list[str]]:
    """Return the non-empty lines from index `start` on, each with its number in the file, from 1, without an
    incomplete last row; and a note on such a row.

    n_column : number of columns of a complete row
    announced : number of rows in the header; 0 = not stated
    """
    rows = [(index + 1, lines[index]) for index in range(start, len(lines)) if lines[index].strip()]
    # Only a last line without a line end can have been cut: then its last number is not to be trusted.
    if (
        len(rows) > 1
        and rows[-1][0] == len(lines)
        and (_n_cell(rows[-1][1]) < min(n_column, _n_cell(rows[-2][1])) or len(rows) < announced)
    ):
        return rows[:-1], [f"the last row (line {rows[-1][0]}) was cut off in the middle and left out"]
    return rows, []


def parse_rows(
    lines: Sequence[Line], n_column: int, where: str, column_name: Callable[[int], str], step: int = 0
) -> tuple[NDArray[np.float64], list[str]]:
    """Return the numbers (n_row, n_column) in `lines`, and notes on irregularities.

    Cells are separated by tabs (an empty cell is NaN) or, where a row has no tab, by blanks. Rows with
    doubled tabs are accepted. In a row with another number of cells the columns cannot be assigned: all
    values but its times are NaN. If every row is like that, ConfigError is raised. A cell that is neither a
    number nor a known spelling of a gap is a ConfigError naming line and column.

    step : number of columns of a marker, which follow two columns for frame and time; empty markers at the
        end of a row may be missing, and unnamed extra columns that all rows have are ignored. 0 = a table
        with one time column, where neither is allowed
    """
    _check_size(lines, n_column, where)
    data = np.full((len(lines), n_column), np.nan)
    usual = _usual_width(lines)
    n_cut = n_short = n_torn = widest = 0
    for index, (number, text) in enumerate(lines):
        cells = text.rstrip().split("\t") if "\t" in text else text.split()
        if len(cells) == n_column:
            try:
                data[index] = list(map(float, cells))
                continue
            except ValueError:
                pass  # gaps or worse: cell by cell below
        row = _trim(cells, n_column)
        n_read = n_column
        if _is_torn(text, len(row), n_column, usual, step):
            n_torn, n_read = n_torn + 1, 2 if step else 1
            widest = max(widest, len(row))
        elif len(row) > n_column:
            n_cut, widest = n_cut + 1, max(widest, len(row))
        elif _n_cell(text) < n_column:
            n_short += 1
        for column, cell in enumerate(row[:n_read]):
            if cell:
                data[index, column] = _number(cell, f"{where}, line {number}", column_name(column))
    if n_torn and n_torn == len(lines):
        raise ConfigError(
            f"{n_column} columns are named, but rows have up to {widest} numbers, so it is unclear "
            "which numbers belong to which column",
            where=where,
            remedy="name each column once, or export the file again",
        )
    notes = []
    if n_torn:
        notes.append(
            f"rows whose number of cells differs from the number of columns: {n_torn} (these rows "
            "were treated as missing, because it is unclear which cells are missing or surplus)"
        )
    if n_cut:
        notes.append(
            f"rows with more cells than the header names: {n_cut} (up to {widest - n_column} more, left out)"
        )
    if n_short:
        notes.append(f"rows that end early: {n_short} (the cells that are absent were treated as missing)")
    return data, notes


def _usual_width(lines: Sequence[Line]) -> int:
    """Return the most frequent number of cells in a row, including an empty cell after a last tab."""
    return Counter(_n_cell(text) for _, text in lines).most_common(1)[0][0] if lines else 0


def _is_torn(text: str, n_filled: int, n_column: int, usual: int, step: int) -> bool:
    """Return whether cells are missing from a row, or surplus, somewhere in its middle.

    text : the row
    n_filled : number of its cells without empty ones at its end
    n_column : number of columns of the table
    usual : number of cells of most rows
    step : number of columns of a marker; 0 = a table without markers
    """
    n_cell = _n_cell(text)
    if n_filled > n_column:
        return n_cell != usual or not step
    if n_cell == usual and n_cell >= n_column:
        return False
    if not step or "\t" not in text:
        return n_filled < n_column
    whole = usual if text.rstrip(" ").endswith("\t") else n_column
    return n_cell < whole and (whole - n_cell) % step != 0


def _check_size(lines: Sequence[Line], n_column: int, where: str) -> None:
    """Raise ConfigError for a header that names more columns than the rows can have, because the gaps would
    fill memory.
    """
    n_cell = len(lines) * n_column
    if n_cell > ROOM + sum(len(text) for _, text in lines):
        raise ConfigError(
            f"the header names {n_column} columns, but most of the {len(lines)} rows have fewer cells",
            where=where,
            remedy="export the file again",
        )


def _n_cell(text: str) -> int:
    return text.count("\t") + 1 if "\t" in text else len(text.split())


def _trim(cells: Sequence[str], n_column: int) -> list[str]:
    """Return the cells of a row without the empty cells that come from stray or doubled tabs."""
    row = [cell.strip() for cell in cells]
    while row and not row[-1]:
        row.pop()
    while len(row) > n_column and not row[0]:
        row.pop(0)
    if len(row) > n_column:
        filled = [cell for cell in row if cell]
        if len(filled) == n_column:
            return filled
    return row


def _number(cell: str, where: str, column: str) -> float:
    try:
        return float(cell)
    except ValueError:
        if cell.lower() in MISSING:
            return float("nan")
    remedy = "write decimal points" if "," in cell else "write a number, or leave the cell empty for a gap"
    raise ConfigError(f"{cell[:40]!r} in column {column} is not a number", where=where, remedy=remedy)
