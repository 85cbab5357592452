"""A recording in the formats other programs read: TRC, OpenSim storage, CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rtsim.errors import ConfigError
from rtsim.files.output import write_text
from rtsim.files.recording import FloatArray, Results, read_model_markers, read_recorded_markers, read_results
from rtsim.files.storage import STORAGE_SUFFIXES, Table, csv_text, storage_text
from rtsim.files.trc import trc_text
from streams.messages import FieldSpec

EXPORT_SUFFIXES = (".trc", *STORAGE_SUFFIXES, ".csv")


def export(
    recording_path: str | Path,
    out_path: str | Path,
    *,
    suffix: str = "",
    model_markers: bool = False,
    up: str | None = None,
    units: str | None = None,
) -> tuple[str, ...]:
    """Write a file with what a recording holds, by `exported`; returns the notes.

    suffix : names the format, else the suffix of `out_path` does

    ConfigError as `exported` and `write_text`. A file that is there already is replaced.
    """
    out = Path(out_path)
    text, notes = exported(
        recording_path, suffix or out.suffix, str(out), model_markers=model_markers, up=up, units=units
    )
    write_text(out, text)
    return notes


def exported(
    recording_path: str | Path,
    suffix: str,
    out: str,
    *,
    model_markers: bool = False,
    up: str | None = None,
    units: str | None = None,
) -> tuple[str, tuple[str, ...]]:
    """What a recording holds as the text of a file called `out`, and the notes.

    .trc : the measured markers, or those of the fitted model with `model_markers`
    .mot, .sto : joint angles in degrees and displacements in m, columns named by the labels of the descriptor
    .csv : every scalar of the descriptor as "field.label [unit]", angles in degrees, moment arms as
        "moment_arms.muscle.angle [m]", and the status bits

    up, units : of the markers, where the descriptor is wrong

    ConfigError for another suffix and for a recording that does not hold what the format needs.
    """
    suffix, name = suffix.lower(), Path(out).stem
    if suffix == ".trc":
        read = read_model_markers if model_markers else read_recorded_markers
        trial = read(recording_path, up=up, units=units)
        return trc_text(trial, Path(out).name, out), trial.notes
    if suffix not in EXPORT_SUFFIXES:
        raise ConfigError(
            f"cannot export to {suffix or '(no suffix)'!r}", where=out, allowed=", ".join(EXPORT_SUFFIXES)
        )
    results = read_results(recording_path)
    if suffix == ".csv":
        return csv_text(csv_table(results), out), results.notes
    return storage_text(motion_table(results, name, str(recording_path)), out, name), results.notes


def motion_table(results: Results, name: str, where: str) -> Table:
    """Joint angles [deg] and displacements [m] over time; ConfigError naming `where` when there are none."""
    columns, data = ["time"], [results.times]
    for spec in results.session.fields:
        if not _is_scalar(spec) or not (spec.unit == "rad" or _is_displacement(spec)):
            continue
        values, _ = _at_the_face(results.fields[spec.name], spec.unit)
        for index, label in enumerate(_labels(spec)):
            label = label or spec.name
            columns.append(label if label not in columns else f"{spec.name}_{label}")
            data.append(values[:, index])
    if len(columns) == 1:
        raise ConfigError("the recording holds no joint angles or displacements", where=where)
    return Table(tuple(columns), np.column_stack(data), True, name)


def csv_table(results: Results) -> Table:
    """Every field of one axis or none, and the moment arms, one column per entry with its unit, after time
    and status."""
    columns, data = ["time [s]", "status [bits]"], [results.times, results.status.astype(np.float64)]
    angles = next((_labels(spec) for spec in results.session.fields if spec.name == "joint_angles"), [])
    for spec in results.session.fields:
        if _is_scalar(spec):
            labels = _labels(spec)
        elif spec.name == "moment_arms" and tuple(spec.shape[1:]) == (len(angles),):
            labels = [f"{muscle}.{angle}" for muscle in _labels(spec) for angle in angles]
        else:
            continue
        values, unit = _at_the_face(results.fields[spec.name], spec.unit)
        for index, label in enumerate(labels):
            columns.append(f"{spec.name}.{label} [{unit}]" if label else f"{spec.name} [{unit}]")
            data.append(values[:, index])
    return Table(tuple(columns), np.column_stack(data), True, "results")


def _is_scalar(spec: FieldSpec) -> bool:
    return len(spec.shape) <= 1


def _is_displacement(spec: FieldSpec) -> bool:
    return spec.unit == "m" and spec.name.endswith("displacements")


def _at_the_face(values: FloatArray, unit: str) -> tuple[FloatArray, str]:
    """Values as (n, k) in the unit people read: degrees for angles, the descriptor's unit otherwise."""
    columns = values.reshape(values.shape[0], -1)
    with np.errstate(over="ignore"):  # what a stranger's numbers become is written as it is
        return (np.degrees(columns), "deg") if unit == "rad" else (columns, unit)


def _labels(spec: FieldSpec) -> list[str]:
    """One label per entry: the descriptor's, else numbers from 1; none for a single value without a label."""
    if spec.labels:
        return list(spec.labels)
    n = spec.shape[0] if spec.shape else 1
    return [""] if n == 1 else [str(index + 1) for index in range(n)]
