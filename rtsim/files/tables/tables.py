"""Results as tables: columns of a file, and their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import count_of, unique_names
from rtsim.files.recording import FloatArray, Results
from rtsim.files.tables.sound import Sound, flags_by_joint
from rtsim.files.tables.storage import Table
from rtsim.units import in_files
from streams.messages import FieldSpec

STATUS = "status"
KINETIC = ("joint_moments", "coordinate_moments", "coordinate_forces", "joint_powers")
N_UNIT = 10
"""Number of columns whose units are in one line of a header."""


def chosen(results: Results, frames: str) -> tuple[Results, tuple[str, ...]]:
    """Return the results on the selected frames, and notes on omitted ones.

    frames : marked (all, with a column of their status), all (without it), or ok: frames without flags, and
        flagged frames with NaN for the values that the flags affect; without a status of joints, only frames
        without flags
    """
    if frames != "ok" or not (results.status != 0).any():
        return results, ()
    told, kept, sound = [], results.status == 0, Sound(results)
    if sound.by_joint:
        results, kept = sound.blanked()
        partly = int((kept & sound.flagged).sum())
        if partly:
            joints = ", ".join(f"{name} in {n}" for name, n in flags_by_joint(results).items())
            told.append(
                f"{count_of(partly, 'frame')} of {len(kept)} flagged for some joints; the values of these "
                f"joints are left blank (flagged frames of each joint: {joints})"
            )
    if not kept.all():
        told.append(
            f"{count_of(int((~kept).sum()), 'frame')} of {len(kept)} left out, because these "
            "frames are flagged"
        )
    fields = {name: values[kept] for name, values in results.fields.items()}
    few = results._replace(times=results.times[kept], status=results.status[kept], fields=fields)
    return few, tuple(told)


def marks(results: Results, frames: str) -> list[FloatArray]:
    """Return a list with the status bits of the frames as a column, or an empty list if `frames` is not
    "marked", so that the table does not have this column.
    """
    return [results.status.astype(np.float64)[:, None]] if frames == "marked" else []


def csv_table(results: Results, frames: str = "marked", specs: Sequence[FieldSpec] | None = None) -> Table:
    """Return a table of all fields, or of those in `specs`, with units in the names of its columns: first the
    time, then the status bits if `frames` is "marked".
    """
    specs = results.session.fields if specs is None else specs
    columns, units, data = columns_of(results, specs, in_full=True)
    names = [f"{column} [{unit}]" for column, unit in zip(columns, units, strict=True)]
    mark = marks(results, frames)
    first = ("time [s]", *(["status [bits]"] if mark else []))
    return Table((*first, *names), np.column_stack([results.times, *mark, *data]), True, "results")


def table_of(results: Results, specs: Sequence[FieldSpec], name: str, frames: str) -> Table:
    """Return a table of some fields over time as in a storage file, with the status bits in its last column
    if `frames` is "marked".
    """
    columns, _, data = columns_of(results, specs)
    if mark := marks(results, frames):
        columns, data = (*columns, STATUS), [*data, *mark]
    return Table(
        ("time", *columns), np.column_stack([results.times, *data]), True, name, in_radians=kept_of(specs)
    )


def unit_lines(specs: Sequence[FieldSpec], results: Results, frames: str) -> tuple[str, ...]:
    """Return header lines with the units of all columns.

    The lines are kept short, as OpenSim's table reader (4.6) crashes at a header line of tens of thousands
    of characters.
    """
    columns, units, _ = columns_of(results, specs)
    pairs = [("time", "s"), *zip(columns, units, strict=True)]
    pairs += [(STATUS, "bits")] if marks(results, frames) else []
    said = [f"{column} [{unit}]" for column, unit in pairs]
    return tuple(f"units: {', '.join(said[k : k + N_UNIT])}" for k in range(0, len(said), N_UNIT))


def picked(results: Results, wanted: Callable[[FieldSpec], bool], where: str) -> list[FieldSpec]:
    """Return the fields that a table has columns for: those for which `wanted` is true; ConfigError naming
    `where` if there are none.
    """
    specs = [spec for spec in results.session.fields if wanted(spec)]
    if specs:
        return specs
    if wanted is is_kinetic:
        raise ConfigError(
            "the table contains no joint moments and powers", where=where,
            remedy="moments and powers need force plates and the person's mass: --forces, --mass",
        )  # fmt: skip
    raise ConfigError("the recording contains no joint angles or displacements", where=where)


def columns_of(
    results: Results, specs: Sequence[FieldSpec], in_full: bool = False
) -> tuple[tuple[str, ...], list[str], list[FloatArray]]:
    """Return names and units of the columns of some fields, and their values, (n, k) for each field.

    A column is called field.label or field.label.part. Unless `in_full` is set, the columns of a motion are
    called by their labels alone, as in OpenSim's files, and its coordinates of OpenSim's type Coupled stay in
    radians.
    """
    columns: list[str] = []
    units: list[str] = []
    data = []
    for spec in specs:
        if not has_columns(spec):
            continue
        values, unit = in_files(results.fields[spec.name], spec.unit)
        labels, own = labels_of(spec), [unit] * values.shape[1]
        if is_motion(spec) and not in_full and spec.as_is:
            kept = [k for k, label in enumerate(labels) if label in spec.as_is]
            values[:, kept] = results.fields[spec.name][:, kept]
            own = [spec.unit if k in kept else unit for k in range(len(own))]
        units += own
        for label in labels:
            if is_motion(spec) and not in_full:
                name = (label or spec.name) if label not in columns else f"{spec.name}_{label}"
            else:
                name = f"{spec.name}.{label}" if label else spec.name
            columns += [f"{name}.{part}" for part in spec.parts] if spec.parts else [name]
        data.append(values)
    unique, _ = unique_names(columns)
    return unique, units, data


def kept_of(specs: Sequence[FieldSpec]) -> tuple[str, ...]:
    """Return the labels of the angles that stay in radians in a table in degrees, because OpenSim does not
    convert coordinates of its motion type Coupled.
    """
    return tuple(label for spec in specs if is_motion(spec) for label in spec.as_is)


def has_columns(spec: FieldSpec) -> bool:
    """Return whether a field can be part of tables: it has at most one axis, or a second axis whose parts
    have names.
    """
    return len(spec.shape) <= 1 or bool(spec.parts)


def is_motion(spec: FieldSpec) -> bool:
    """Return whether a field is a motion in the sense of OpenSim's files: angles, and displacements of
    joints.
    """
    if len(spec.shape) > 1 or spec.role != "value":
        return False
    return spec.unit == "rad" or (spec.unit == "m" and spec.name.endswith("displacements"))


def is_kinetic(spec: FieldSpec) -> bool:
    """Return whether a field contains kinetics: net moments, forces along coordinates, or powers."""
    return spec.role == "value" and spec.name in KINETIC


def labels_of(spec: FieldSpec) -> list[str]:
    """Return a label for each entry of a field: from the descriptor, else its number from 1; [] for a
    single value without a label.
    """
    if spec.labels:
        return list(spec.labels)
    n = spec.shape[0] if spec.shape else 1
    return [""] if n == 1 else [str(index + 1) for index in range(n)]


def units_of(spec: FieldSpec) -> tuple[str, ...]:
    """Return the unit of each entry of the first axis of a field, or of its single value."""
    return tuple(spec.units) or (spec.unit,) * (spec.shape[0] if spec.shape else 1)
