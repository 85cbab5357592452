"""Writes a recording in the formats of other programs: TRC, OpenSim storage, CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from msgspec import structs

from rtsim.errors import ConfigError
from rtsim.files.markers.trc import trc_text
from rtsim.files.output import write_text
from rtsim.files.recording import Results, read_model_markers, read_recorded_markers, read_results
from rtsim.files.tables.legs import SIDES, sides_of
from rtsim.files.tables.storage import (
    MOST_UNKNOWN,
    STORAGE_SUFFIXES,
    Table,
    csv_parts,
    fullest_part,
    known_part,
    known_rows,
    storage_parts,
)
from rtsim.files.tables.tables import (
    KINETIC,
    STATUS,
    chosen,
    csv_table,
    is_kinetic,
    is_motion,
    picked,
    table_of,
    unit_lines,
)
from streams.account import bounded, plain
from streams.messages import FieldSpec

EXPORT_SUFFIXES = (".trc", *STORAGE_SUFFIXES, ".csv")
PICTURES = (".png", ".svg", ".pdf")
FOXGLOVE = ".foxglove.mcap"
"""Suffixes of pictures, and of recordings for Foxglove, which `rtsim.monitor` writes."""
DESCRIBED = ("model", "method", "subject", "side", "source", "markers", "forces")
"""Entries of a descriptor that are written into the header of storage files, before the notes."""
LONGEST = 256
"""Largest number of characters of each entry of the header."""


def export(
    recording_path: str | Path,
    out_path: str | Path,
    *,
    suffix: str = "",
    model_markers: bool = False,
    up: str | None = None,
    units: str | None = None,
    frames: str = "marked",
    columns: str = "all",
) -> tuple[str, ...]:
    """Write a file with the content of a recording, in the format of another program; return notes on what is
    left out.

    suffix : names the format, by default the suffix of `out_path`
    model_markers : for .trc files: write the markers of the fitted model, not the measured ones
    up, units : axis that points up, and unit of length, of the markers, where the recording states them
        wrongly
    frames : frames that tables have: marked (all, with a column `status`), all (without it), or ok (reliable
        ones)
    columns : columns of tables: all, motion, or kinetics (moments and powers)

    ConfigError for an unsupported suffix, missing content, or a file that cannot be written. An existing file
    is replaced.
    """
    out = Path(out_path)
    text, notes = exported(
        recording_path, suffix or out.suffix, str(out),
        model_markers=model_markers, up=up, units=units, frames=frames, columns=columns,
    )  # fmt: skip
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
    frames: str = "marked",
    columns: str = "all",
) -> tuple[Iterable[str], tuple[str, ...]]:
    """Return the content of a recording as the text of a file named `out`, in parts, and the notes.

    The suffix selects the content:
        .trc : the measured markers, or those of the fitted model with `model_markers`
        .mot : joint angles in degrees and displacements in m, in columns named by the descriptor's labels,
            and moments and powers of the joints, as "field.label"
        .sto : the same and all other fields with columns, as "field.label" or "field.label.part"
        .csv : as .sto, with the unit of each column in brackets, after the status bits

    up, units : axis that points up, and unit of length, of the markers, where the descriptor states them
        wrongly
    frames : frames that tables have: marked (all, with a column `status`), all (without it), or ok
        (without the values and frames that a flag marks as unreliable)
    columns : columns of tables: all, motion, or kinetics (moments and powers, of one leg alone with -right or
        -left)

    ConfigError for another suffix and for a recording that does not hold what the format needs.
    """
    suffix, name = suffix.lower(), Path(out).stem
    if suffix == ".trc":
        read = read_model_markers if model_markers else read_recorded_markers
        trial = read(recording_path, up=up, units=units)
        return [trc_text(trial, Path(out).name, out)], trial.notes
    if suffix not in EXPORT_SUFFIXES:
        raise ConfigError(
            f"cannot export to {suffix or '(no suffix)'!r}",
            where=out,
            allowed=", ".join((*EXPORT_SUFFIXES, ".c3d", FOXGLOVE, *PICTURES)),
        )
    results = read_results(recording_path)
    text, notes = table_parts(results, suffix, out, name, str(recording_path), frames, columns)
    return text, (*results.notes, *notes)


def table_parts(
    results: Results, suffix: str, out: str, name: str, where: str, frames: str = "marked",
    columns: str = "all",
) -> tuple[Iterable[str], tuple[str, ...]]:  # fmt: skip
    """Return results as the text of a .mot, .sto or .csv file named `out`, in parts, and notes on what is
    left out.

    name : name of the table inside the file
    where : source of the results, for errors
    frames : frames that the table has: marked (all, with a column `status`), all (without it), or ok
        (without the values and frames that a flag marks as unreliable)
    columns : all (of a .mot file motion, moments and powers), motion, or kinetics (moments and powers, of one
        leg alone with -right or -left)
    """
    results, left_out = chosen(results, frames)
    if not len(results.times):
        raise ConfigError(
            "no frame has the status ok",
            where=where,
            remedy="write all frames with their status: --frames marked",
        )
    every, kinetic = results.session.fields, columns.startswith("kinetics")
    specs: Sequence[FieldSpec]
    if columns != "all":
        specs = picked(results, is_kinetic if kinetic else is_motion, where)
    elif suffix == ".mot":
        picked(results, is_motion, where)
        specs = [spec for spec in every if is_motion(spec) or is_kinetic(spec)]
    else:
        specs = list(every)
    if kinetic:
        results, specs = of_leg(results, specs, columns.partition("-")[2], where)
    if suffix == ".csv":
        return csv_parts(csv_table(results, frames, specs), out), left_out
    table, lines = table_of(results, specs, name, frames), described(results)
    if suffix != ".mot" or any(map(is_kinetic, specs)):
        lines = (*lines, *unit_lines(specs, results, frames))
    if frames == "ok" or kinetic:
        table, gone = fullest_part(table, ("time", STATUS) if kinetic else ())
        if gone and kinetic and "-" not in columns:
            gone = [
                *gone,
                "a table of only one leg would have values in more rows; give --columns "
                "kinetics-right or kinetics-left",
            ]
        left_out = (*left_out, *gone)
    if kinetic:  # known while somebody stands on plates: however few rows that are
        kept, told = known_rows(table)
        table = kept
    else:
        every_column = table
        table = without_holes(table) if suffix == ".mot" else table
        kept, told = known_part(table)
        told = [*told, *of_kinetics(every_column, kept)] if columns == "all" else told
    return storage_parts(table, out, name, (*lines, *left_out)), (*left_out, *told)


def of_leg(
    results: Results, specs: Sequence[FieldSpec], side: str, where: str
) -> tuple[Results, Sequence[FieldSpec]]:
    """Reduce some fields of results to the labels of one leg; return the results and these fields. side : ""
    = both legs

    ConfigError naming `where` if no field has a label of this leg.
    """
    if not side:
        return results, specs
    own = str(results.session.meta.get("side") or "")
    fields, few = dict(results.fields), []
    for spec in specs:
        at = [k for k, one in enumerate(sides_of(spec.labels, own if own in SIDES else "")) if one == side]
        if at:
            labels = tuple(spec.labels[k] for k in at)
            shape, units = (len(at), *spec.shape[1:]), tuple(spec.units[k] for k in at) if spec.units else ()
            few.append(structs.replace(spec, labels=labels, shape=shape, units=units, joints=()))
            fields[spec.name] = results.fields[spec.name][:, at]
    if not few:
        raise ConfigError(f"there are no moments and powers of the {side} leg", where=where)
    return results._replace(fields=fields), few


def without_holes(table: Table) -> Table:
    """Return the table of motion, moments and powers as it is, or without moments and powers if these are
    missing in the middle of the trial. Otherwise the rows there would be left out, and a reader of the file
    would interpolate the motion over them.
    """
    names = tuple(f"{field}." for field in KINETIC)
    unknown = np.isnan(table.data)
    usual = unknown.mean(axis=0) <= MOST_UNKNOWN
    kinetic = np.array([name.startswith(names) for name in table.columns])
    moves = ~unknown[:, usual & ~kinetic].any(axis=1)
    known = np.flatnonzero(~unknown[moves][:, usual & kinetic].any(axis=1))
    if not kinetic.any() or (len(known) and len(known) == known[-1] - known[0] + 1):
        return table
    columns = tuple(name for name, drop in zip(table.columns, kinetic, strict=True) if not drop)
    return table._replace(columns=columns, data=table.data[:, ~kinetic])


def of_kinetics(table: Table, kept: Table) -> list[str]:
    """Return a note for the user on values that a table lacks because of gaps, with the option that writes
    them: moments and powers whose columns are left out, or the motion in rows without moments and powers.

    table, kept : the complete table, and the part of it without gaps that is written
    """
    names = tuple(f"{field}." for field in KINETIC)
    if any(name.startswith(names) and name not in kept.columns for name in table.columns):
        return ["--columns kinetics writes only moments and powers, in the frames in which they are known"]
    others = [
        k for k, name in enumerate(table.columns) if name in kept.columns and not name.startswith(names)
    ]
    n_lacking = int(np.isfinite(table.data[:, others]).all(axis=1).sum()) - len(kept.data)
    if n_lacking > 0:
        return [f"{n_lacking} of these rows lack only moments and powers: --columns motion writes these rows"]
    return []


def described(results: Results) -> tuple[str, ...]:
    """Return header lines on the person, content and origin of results, and their notes."""
    meta = results.session.meta
    lines = [f"{key}: {plain(str(meta[key]), LONGEST)}" for key in DESCRIBED if meta.get(key)]
    lines += event_lines(meta.get("gait_events"))
    lines += event_lines([(e.time, e.side, e.label, e.by) for e in results.marks])
    bias = meta.get("bias_deg")
    if isinstance(bias, dict):
        lines += [
            f"bias_deg: {plain(str(name), LONGEST)} {plain(str(x), LONGEST)}" for name, x in bias.items()
        ]
    return (*lines, *(f"note: {note}" for note in bounded(meta.get("notes"))))


def event_lines(rows: object) -> list[str]:
    """Return header lines for the gait events of a run; rows : (time [s], side, kind, source) of each event,
    as in the descriptor
    """
    lines = []
    for row in rows if isinstance(rows, (list, tuple)) else ():
        if isinstance(row, (list, tuple)) and len(row) == 4 and isinstance(row[0], (int, float)):
            side, kind, by = (plain(str(word), LONGEST) for word in row[1:])
            lines.append(f"event: {row[0]:.3f} s {' '.join(filter(None, (side, kind)))} ({by})")
    return lines
