"""Pressure files of zebris (.apd): one image of the peaks of a step, -1 = no pressure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from rtsim.errors import ConfigError
from rtsim.files.pressure.pressure_trial import (
    PressureTrial,
    check_cells,
    metres_per_cell_unit,
    pascals_per_unit,
    pressure_trial,
)
from rtsim.files.tables.grid import parse_rows, read_lines

MOST_HEADER = 100
REMEDY = "export the footprint again"


@np.errstate(over="ignore", invalid="ignore")  # impossible pressures are refused by pressure_trial
def read_zebris(path: str | Path) -> PressureTrial:
    """Read the footprint of an .apd file: rows along X of the device, columns along Y, as in the file."""
    path = Path(path)
    lines = read_lines(path, "zebris")
    start = next((k for k, line in enumerate(lines[:MOST_HEADER]) if line.strip() == "[Data]"), None)
    if start is None:
        raise ConfigError("there is no [Data] line below the header, so this is not a zebris footprint",
                          where=str(path), remedy=REMEDY)  # fmt: skip
    head = dict(line.strip().partition("=")[::2] for line in lines[:start] if "=" in line)
    n_row, n_column = int(_number(head, "SensCountX", path)), int(_number(head, "SensCountY", path))
    check_cells(1, n_row, n_column, str(path))
    unit = metres_per_cell_unit(head.get("UnitDistance", ""), f"{path}: UnitDistance")
    scale = pascals_per_unit(head.get("UnitPressure", ""), f"{path}: UnitPressure")
    cell = [unit * _number(head, f"LDist{axis}", path) for axis in "XY"]
    first = [_number(head, f"StartSens{axis}", path) for axis in "XY"]
    rows = [(k + 1, lines[k]) for k in range(start + 1, len(lines)) if lines[k].strip()]
    if len(rows) != n_row:
        raise ConfigError(
            f"the file has {len(rows)} rows of data", where=str(path), allowed=f"{n_row}", remedy=REMEDY
        )
    for number, text in rows:
        if len(text.split()) != n_column:
            raise ConfigError(f"a row has {len(text.split())} cells", where=f"{path}, line {number}",
                              allowed=f"{n_column}", remedy=REMEDY)  # fmt: skip
    data, _ = parse_rows(rows, n_column, str(path), lambda column: f"{column + 1}")
    pressure = scale * np.where(data == -1.0, np.nan, data)[None]
    origin = [edge * (number - 1.0) for edge, number in zip(cell, first, strict=True)]
    notes = ["this is an image of peak pressures, each reached at another time, so their sum is not a force"]
    return pressure_trial(str(path), 0.0, cell, pressure, origin, notes)


def _number(head: Mapping[str, str], key: str, path: Path) -> float:
    """Return the positive number that a key of the header has."""
    try:
        value = float(head[key])
    except (KeyError, ValueError):
        value = 0.0
    if not 0.0 < value < 1e9:
        raise ConfigError(f"the header lacks a positive number {key}", where=str(path), remedy=REMEDY)
    return value
