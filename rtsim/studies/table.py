"""The table of a study: a row for each finished case, as csv, npz and, with an extra, Parquet.

It depends only on the rows, in the order of the cases, so that it is the same whichever worker solved which
case.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rtsim.files.output import cell_of, write_bytes
from rtsim.studies.plan import StudyPlan
from rtsim.studies.solving import SolvedCase
from rtsim.studies.store import StudyStore, write_arrays

CSV, NPZ, PARQUET, CURVES = "table.csv", "table.npz", "table.parquet", "curves.npz"

Columns = dict[str, np.ndarray]


def columns_of(plan: StudyPlan, rows: Mapping[int, SolvedCase]) -> tuple[Columns, dict[str, str]]:
    """Return the columns of a study's table, (n_row,) each by name, and the units of those that have one;
    rows : finished cases by number
    """
    numbers = sorted(rows)
    columns: Columns = {"case": np.array(numbers, np.int64)}
    for k, parameter in enumerate(plan.spec.parameters):
        columns[parameter.name] = plain_array([plan.cases[number][k] for number in numbers])
    found = np.array([rows[number].numbers for number in numbers]).reshape(
        len(numbers), len(plan.spec.results)
    )
    for k, result in enumerate(plan.spec.results):
        columns[result.name] = found[:, k].astype(np.float64)
    columns |= {
        "frames": np.array([rows[number].frames for number in numbers], np.int64),
        "unusable": np.array([rows[number].unusable for number in numbers], np.int64),
        "status": np.array([rows[number].status for number in numbers], dtype=np.str_),
        "reason": np.array([rows[number].reason for number in numbers], dtype=np.str_),
        "seed": np.array([plan.seed(number) for number in numbers], np.int64),
        "versions": np.array([rows[number].versions for number in numbers], dtype=np.str_),
        "plan": np.array([plan.digest] * len(numbers), dtype=np.str_),
    }
    units = next((rows[number].units for number in numbers if rows[number].units), ())
    return columns, {one.name: unit for one, unit in zip(plan.spec.results, units, strict=False) if unit}


def plain_array(values: list[Any]) -> np.ndarray:
    """Return values as numbers if all are numbers, else as texts."""
    if all(isinstance(value, bool) for value in values):
        return np.array(values)
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return np.array(values, np.float64)
    return np.array([str(value) for value in values], dtype=np.str_)


def write_table(store: StudyStore) -> list[Path]:
    """Write the table of all existing rows; repeat it if more rows arrived meanwhile, for example from other
    shards.
    """
    while True:
        before = store.parts()
        rows = store.rows()
        columns, units = columns_of(store.plan, rows)
        paths = [store.folder / CSV, store.folder / NPZ]
        write_bytes(paths[0], csv_text(columns, units).encode())
        write_arrays(paths[1], columns | {f"unit_{name}": np.array(unit) for name, unit in units.items()})
        paths += write_parquet(store.folder / PARQUET, columns, units)
        if store.plan.spec.curves is not None:
            paths.append(store.folder / CURVES)
            write_curves(paths[-1], store.plan, rows)
        if store.parts() == before:
            return paths


def csv_text(columns: Columns, units: Mapping[str, str]) -> str:
    """Return the table as csv; numbers in full precision, an empty cell for a missing one."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([cell_of(f"{name} [{units[name]}]" if name in units else name) for name in columns])
    for row in zip(*(column.tolist() for column in columns.values()), strict=True):
        writer.writerow([_in_csv(x) for x in row])
    return text.getvalue()


def _in_csv(cell: Any) -> Any:
    if isinstance(cell, str):
        return cell_of(cell)
    return "" if isinstance(cell, float) and math.isnan(cell) else cell


def write_parquet(path: Path, columns: Columns, units: Mapping[str, str]) -> list[Path]:
    """Write the table as Parquet, if pyarrow is installed; units are metadata of the fields."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return []
    fields = [
        pyarrow.field(
            name,
            pyarrow.string() if column.dtype.kind == "U" else pyarrow.from_numpy_dtype(column.dtype),
            metadata={"unit": units[name]} if name in units else None,
        )
        for name, column in columns.items()
    ]
    arrays = [
        pyarrow.array(column.tolist(), type=one.type)
        for column, one in zip(columns.values(), fields, strict=True)
    ]
    sink = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(fields)), sink)
    write_bytes(path, sink.getvalue())
    return [path]


def write_curves(path: Path, plan: StudyPlan, rows: Mapping[int, SolvedCase]) -> None:
    """Write the curves of all cases: case numbers (n,), fraction of the time (n_point,), and each column (n,
    n_point).
    """
    kept = plan.spec.curves
    assert kept is not None
    numbers = sorted(rows)
    curves = np.array([rows[number].curves for number in numbers], np.float64)
    arrays = {"case": np.array(numbers, np.int64), "part_of_time": np.linspace(0.0, 1.0, kept.points)}
    curves = curves.reshape(len(numbers), len(kept.columns), kept.points)
    write_arrays(path, arrays | {name: curves[:, k] for k, name in enumerate(kept.columns)})
