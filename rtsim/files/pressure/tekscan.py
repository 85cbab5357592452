"""Pressure files of Tekscan (.asf): a header of keys, then frames of comma-separated cells, B = no cell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import count_of
from rtsim.files.pressure.pressure_trial import (
    FloatArray,
    PressureTrial,
    check_cells,
    frame_step,
    metres_per_cell_unit,
    pascals_per_unit,
    pressure_trial,
)
from rtsim.files.tables.grid import read_lines

KEY = re.compile(r"([A-Z_]+)\s+(.*)")
FRAME = re.compile(r"Frame\s+(\d+)", re.IGNORECASE)
NUMBER = re.compile(r"\s*(\d+\.?\d*(?:[eE][+-]?\d+)?)\s*(.*)")
MOST_HEADER = 200
REMEDY = "export the movie as ASCII again"


@np.errstate(over="ignore", invalid="ignore")  # impossible pressures are refused by pressure_trial
def read_tekscan(path: str | Path) -> PressureTrial:
    """Read the frames of an .asf file; rows and columns are as in the file.

    Frames are equally spaced in time. An incomplete last frame is left out, with a note.
    """
    path = Path(path)
    lines = read_lines(path, "Tekscan")
    start = next((k for k, line in enumerate(lines[:MOST_HEADER]) if line.startswith("ASCII_DATA")), None)
    if start is None:
        raise ConfigError("the header has no ASCII_DATA line, so this is not a Tekscan ASCII file",
                          where=str(path), remedy=REMEDY)  # fmt: skip
    head = {m[1]: m[2].strip() for line in lines[:start] if (m := KEY.match(line))}
    n_row, n_column = int(_number(head, "ROWS", path)[0]), int(_number(head, "COLS", path)[0])
    check_cells(1, n_row, n_column, str(path))
    cell = [_length(head, key, path) for key in ("ROW_SPACING", "COL_SPACING")]
    step, _ = _number(head, "SECONDS_PER_FRAME", path)
    if step <= 0.0:
        raise ConfigError("SECONDS_PER_FRAME is 0", where=str(path), remedy=REMEDY)
    scale = pascals_per_unit(head.get("UNITS", ""), f"{path}: UNITS")
    frames, numbers, notes = _frames(lines, start + 1, n_row, n_column, path)
    apart, told = frame_step(numbers, str(path))
    notes += told
    if "END_FRAME" in head and "START_FRAME" in head:
        n_said = int(_number(head, "END_FRAME", path)[0] - _number(head, "START_FRAME", path)[0]) + 1
        if n_said != apart * (len(frames) - 1) + 1:
            notes.append(
                f"the header states {n_said} frames, but the file contains {len(frames)}; these were read"
            )
    pressure = scale * frames
    if "SATURATION_PRESSURE" in head:
        most, unit = _number(head, "SATURATION_PRESSURE", path)
        full = pressure >= most * pascals_per_unit(unit, f"{path}: SATURATION_PRESSURE")
        if full.any():
            notes.append(
                f"{count_of(int(full.sum()), 'cell')} at the limit of the sensor, so the true "
                "pressure is higher than measured"
            )
    return pressure_trial(str(path), 1.0 / (apart * step), cell, pressure, (0.0, 0.0), notes)


def _frames(
    lines: Sequence[str], start: int, n_row: int, n_column: int, path: Path
) -> tuple[FloatArray, list[int], list[str]]:
    """Return frames (n, n_row, n_column) in the unit of the file, NaN = no cell, the number that the file
    gives each of them, and notes.
    """
    headings = [(k, m) for k in range(start, len(lines)) if (m := FRAME.match(lines[k]))]
    begins = [k for k, _ in headings]
    check_cells(max(1, len(begins)), n_row, n_column, str(path))
    ends = [*begins[1:], len(lines)][: len(begins)]
    frames, notes = [], []
    for number, (first, last) in enumerate(zip(begins, ends, strict=True)):
        rows = [k for k in range(first + 1, last) if lines[k].strip() and not lines[k].startswith("@@")]
        if number == len(begins) - 1 and len(rows) < n_row:
            notes.append(f"the last frame (line {first + 1}) is incomplete and was left out")
            break
        if len(rows) != n_row:
            raise ConfigError(
                f"{lines[first].strip()} has {len(rows)} rows of pressure",
                where=f"{path}, line {first + 1}",
                allowed=f"{n_row}",
                remedy=REMEDY,
            )
        frames.append([_cells(lines[k], n_column, f"{path}, line {k + 1}") for k in rows])
    numbers = [int(m[1][:9]) for _, m in headings[: len(frames)]]
    return np.array(frames, float).reshape(len(frames), n_row, n_column), numbers, notes


def _cells(line: str, n_column: int, where: str) -> list[float]:
    cells = [cell.strip() for cell in line.rstrip().rstrip(",").split(",")]
    if len(cells) != n_column:
        raise ConfigError(f"{len(cells)} cells in a row", where=where, allowed=f"{n_column}", remedy=REMEDY)
    values = []
    for cell in cells:
        try:
            values.append(np.nan if cell == "B" else float(cell))
        except ValueError:
            said = f"{cell[:40]!r} is not a pressure"
            raise ConfigError(said, where=where, allowed="numbers, B", remedy=REMEDY) from None
    return values


def _number(head: Mapping[str, str], key: str, path: Path) -> tuple[float, str]:
    """Return the number that a key of the header has, and the text after the number."""
    found = NUMBER.match(head.get(key, ""))
    if found is None:
        raise ConfigError(f"the header lacks a number after {key}", where=str(path), remedy=REMEDY)
    return min(float(found[1]), 1e9), found[2]


def _length(head: Mapping[str, str], key: str, path: Path) -> float:
    value, unit = _number(head, key, path)
    return value * metres_per_cell_unit(unit.strip(), f"{path}: {key}")
