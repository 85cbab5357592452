"""A recording in the formats other programs read: TRC, OpenSim storage, CSV."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rtsim.errors import ConfigError
from rtsim.files.output import write_text
from rtsim.files.recording import Results, read_model_markers, read_recorded_markers, read_results
from rtsim.files.storage import STORAGE_SUFFIXES, csv_parts, fullest_part, known_part, storage_parts
from rtsim.files.tables import chosen, csv_table, motion_table, storage_table
from rtsim.files.trc import trc_text
from streams.account import bounded, plain

EXPORT_SUFFIXES = (".trc", *STORAGE_SUFFIXES, ".csv")
PICTURES = (".png", ".svg", ".pdf")
"""Suffixes of what `rtsim.monitor` draws of a recording."""
DESCRIBED = ("model", "method", "subject", "side", "source", "markers", "forces")
"""Entries of a descriptor that stand in the header of storage files, before the notes."""
LONGEST = 256
"""So much of each [characters]."""


def export(
    recording_path: str | Path,
    out_path: str | Path,
    *,
    suffix: str = "",
    model_markers: bool = False,
    up: str | None = None,
    units: str | None = None,
    frames: str = "marked",
) -> tuple[str, ...]:
    """Write a file with what a recording holds, by `exported`; returns the notes.

    suffix : names the format, else the suffix of `out_path` does

    ConfigError as `exported` and `write_text`. A file that is there already is replaced.
    """
    out = Path(out_path)
    text, notes = exported(
        recording_path, suffix or out.suffix, str(out),
        model_markers=model_markers, up=up, units=units, frames=frames,
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
) -> tuple[Iterable[str], tuple[str, ...]]:
    """What a recording holds as the text of a file called `out`, in parts, and the notes.

    .trc : the measured markers, or those of the fitted model with `model_markers`
    .mot : joint angles in degrees and displacements in m, columns named by the labels of the descriptor
    .sto : these and all else that has columns, as "field.label" or "field.label.part"
    .csv : the same, each with its unit in brackets, after the status bits

    up, units : of the markers, where the descriptor is wrong
    frames : of tables: marked (all, with a column `status`), all (without it), or ok

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
            allowed=", ".join((*EXPORT_SUFFIXES, *PICTURES)),
        )
    results = read_results(recording_path)
    text, notes = table_parts(results, suffix, out, name, str(recording_path), frames)
    return text, (*results.notes, *notes)


def table_parts(
    results: Results, suffix: str, out: str, name: str, where: str, frames: str = "marked"
) -> tuple[Iterable[str], tuple[str, ...]]:
    """Results as the text of a .mot, .sto or .csv file called `out`, in parts, and what is left out of it.

    where : they come from, for errors; frames : which of them, by `tables.chosen`
    """
    results, left_out = chosen(results, frames)
    if not len(results.times):
        raise ConfigError("no frame is ok", where=where, remedy="take all of them, marked: --frames marked")
    if suffix == ".csv":
        return csv_parts(csv_table(results, frames), out), left_out
    lines = described(results)
    if suffix == ".mot":
        table = motion_table(results, name, where, frames)
    else:
        table, units = storage_table(results, name, frames)
        lines = (*lines, *units)
    if frames == "ok":
        table, gone = fullest_part(table)
        left_out = (*left_out, *gone)
    return storage_parts(table, out, name, (*lines, *left_out)), (*left_out, *known_part(table)[1])


def described(results: Results) -> tuple[str, ...]:
    """Lines of a header that say of whom and of what results are, where from, and what was noticed."""
    meta = results.session.meta
    lines = [f"{key}: {plain(str(meta[key]), LONGEST)}" for key in DESCRIBED if meta.get(key)]
    bias = meta.get("bias_deg")
    if isinstance(bias, dict):
        lines += [
            f"bias_deg: {plain(str(name), LONGEST)} {plain(str(x), LONGEST)}" for name, x in bias.items()
        ]
    return (*lines, *(f"note: {note}" for note in bounded(meta.get("notes"))))
