"""Pressure files of novel emed (.lst): one page for each frame, with the platform's rows and columns by
number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rtsim.errors import ConfigError
from rtsim.files.pressure.pressure_trial import (
    PASCALS,
    FloatArray,
    PressureTrial,
    check_cells,
    frame_step,
    pressure_trial,
)
from rtsim.files.tables.grid import read_lines

PICTURE = re.compile(r"\s*Pict-No\.:\s*(\d+)")
STEP = re.compile(r"Time/picture:\s*(\d+(?:\.\d*)?)\s*ms")
SIZE = re.compile(r"Sensor size:\s*(\d+(?:\.\d*)?)x(\d+(?:\.\d*)?)\s*cm")
MATRIX = re.compile(r"Matrix:\s*(\d+)x(\d+)")
MOST_HEADER = 40
REMEDY = "export the pictures as a list again"
FORCE_OFF = 0.02
"""Largest relative difference between the sum of all pressures and the forces that the file states."""


class PlatformPart(NamedTuple):
    """The part of the platform on one page of a file.

    number : number of the page's picture (frame)
    rows, columns : numbers of the platform's rows and columns, from 1
    values : (n_row, n_column) float64 pressures [kPa]
    force : force stated on the page [N], NaN = none
    """

    number: int
    rows: list[int]
    columns: list[int]
    values: FloatArray
    force: float


@np.errstate(over="ignore", invalid="ignore")  # impossible pressures are refused by pressure_trial
def read_emed(path: str | Path) -> PressureTrial:
    """Read the frames of an .lst file, on the smallest part of the platform that contains all frames; cells
    without a value are 0.

    The format has pressure in kPa without stating the unit; a mismatch with the stated forces is reported.
    """
    path = Path(path)
    lines = read_lines(path, "emed")
    head = "\n".join(lines[:MOST_HEADER])
    step, size, matrix = STEP.search(head), SIZE.search(head), MATRIX.search(head)
    if step is None or size is None or matrix is None or float(step[1]) <= 0.0:
        raise ConfigError("the file lacks Matrix, Sensor size and Time/picture, so it is not an emed list",
                          where=str(path), remedy=REMEDY)  # fmt: skip
    pictures, notes = _pictures(lines, (int(matrix[2][:6]), int(matrix[1][:6])), path)
    if not pictures:
        raise ConfigError("the file contains no picture", where=str(path), remedy=REMEDY)
    apart, said_apart = frame_step([picture.number for picture in pictures], str(path))
    notes += said_apart
    rows = sorted({number for picture in pictures for number in picture.rows})
    columns = sorted({number for picture in pictures for number in picture.columns})
    n_row, n_column = rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1
    check_cells(len(pictures), n_row, n_column, str(path))
    pressure = np.zeros((len(pictures), n_row, n_column))
    for frame, picture in zip(pressure, pictures, strict=True):
        frame[np.ix_(np.array(picture.rows) - rows[0], np.array(picture.columns) - columns[0])] = (
            picture.values
        )
    pressure *= PASCALS["kpa"]
    cell = [1e-2 * float(size[2]), 1e-2 * float(size[1])]
    origin = [cell[0] * (rows[0] - 1), cell[1] * (columns[0] - 1)]
    notes.append("pressure was read as kPa, because the format does not state a unit")
    said = np.array([picture.force for picture in pictures])
    known = np.isfinite(said)
    found, stated = pressure[known].sum() * cell[0] * cell[1], said[known].sum()
    if abs(found - stated) > FORCE_OFF * max(stated, 1.0):
        notes.append(
            f"the pressures sum to a force of {found:.4g} N, but the forces in the file to {stated:.4g} N"
        )
    return pressure_trial(str(path), 1e3 / (apart * float(step[1])), cell, pressure, origin, notes)


def _pictures(
    lines: Sequence[str], platform: tuple[int, int], path: Path
) -> tuple[list[PlatformPart], list[str]]:
    """Read all frames; an incomplete last frame is left out, with a note.

    platform : number of rows and columns of the platform
    """
    headings = [(k, int(m[1][:9])) for k, line in enumerate(lines) if (m := PICTURE.match(line))]
    begins = [k for k, _ in headings]
    pictures: list[PlatformPart] = []
    ends_of = [*begins[1:], len(lines)][: len(begins)]
    for (first, number), last in zip(headings, ends_of, strict=True):
        rows = [k for k in range(first + 1, last) if "\t" in lines[k]]
        ends = next((n for n, k in enumerate(rows) if lines[k].startswith("Force")), None)
        if ends is None:
            if last == len(lines):
                return pictures, [f"the last picture (line {first + 1}) is incomplete and was left out"]
            raise ConfigError("a picture (frame) lacks the line Force with its total force",
                              where=f"{path}, line {first + 1}", remedy=REMEDY)  # fmt: skip
        pictures.append(_picture(lines, number, rows[: ends + 1], platform, path))
    return pictures, []


def _picture(
    lines: Sequence[str], number: int, rows: Sequence[int], platform: tuple[int, int], path: Path
) -> PlatformPart:
    """Read the frame with a number: its column numbers, its rows, and its forces.

    rows : indices of the lines of the rows
    platform : number of rows and columns of the platform
    """
    at = rows[0]
    try:
        columns = [int(cell) for cell in lines[at].split("\t")[1:-1]]
        numbers, values = [], []
        for at in rows[1:-1]:
            cells = lines[at].split("\t")
            numbers.append(int(cells[0]))
            values.append([float(cell) for cell in cells[1 : len(columns) + 1]])
        at = rows[-1]
        force = float(lines[at].split("\t")[-1] or "nan")
        table = np.array(values, float).reshape(len(numbers), len(columns))
    except ValueError:
        raise ConfigError("this line is not a row of a picture (frame)", where=f"{path}, line {at + 1}",
                          allowed="number of the row, a pressure for each column, force on the row",
                          remedy=REMEDY) from None  # fmt: skip
    for found, most in ((numbers, platform[0]), (columns, platform[1])):
        if not found or len(set(found)) < len(found) or min(found) < 1 or max(found) > most:
            raise ConfigError("rows or columns are outside the platform, or are given twice",
                              where=f"{path}, line {rows[0] + 1}", allowed=f"1 to {most}",
                              remedy=REMEDY)  # fmt: skip
    return PlatformPart(number, numbers, columns, table, force)
