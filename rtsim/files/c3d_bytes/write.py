"""Write results into a C3D file: all of the source, and points, units, events and values behind it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rtsim.errors import ConfigError
from rtsim.files.c3d_bytes.append import NewPoint, widened_file
from rtsim.files.c3d_bytes.marks import AnalysisValue, put_analysis, put_events, put_units, subject_of
from rtsim.files.c3d_bytes.model_outputs import outputs_of
from rtsim.files.c3d_bytes.source import SUFFIX, C3dSource
from rtsim.files.gait.events import GaitEvent
from rtsim.files.markers.c3d import whole_content
from rtsim.files.output import whole
from rtsim.files.recording import Results

CLOSE = 1e-6
"""Points are written with 24 bits: they are found again within this part."""


def check_source(source: str | Path, out: Path, option: str) -> None:
    """ConfigError where results of a source cannot be appended to it, or would take its place."""
    path = Path(source)
    if path.suffix.lower() != SUFFIX:
        raise ConfigError(
            f"results are written into a C3D file behind all that the recording has, and {source} is none",
            where=f"{option} {out}", allowed=".mot, .sto, .csv or .mcap for it",
        )  # fmt: skip
    if not path.is_file():
        raise ConfigError(
            f"the recording {source}, to which the results are appended, is not there",
            where=f"{option} {out}", remedy="name it where it is",
        )  # fmt: skip
    if out.exists() and os.path.samefile(path, out):
        raise ConfigError(
            "this is the recording itself, which is never written over", where=f"{option} {out}",
            remedy=f"give another name, as {path.stem}.rtsim.c3d",
        )  # fmt: skip


def write_c3d(
    out: Path, results: Results, source: C3dSource, events: Sequence[GaitEvent] = (),
    values: Sequence[AnalysisValue] = (),
) -> tuple[str, ...]:  # fmt: skip
    """Write a new file with all of the source and the results of a run over it; sentences.

    events : those that the file does not have yet; values : spatio-temporal ones

    The file is read back before it takes its name: ConfigError, and no file, where it does not say what was
    written. ConfigError, too, where a C3D file has no room.
    """
    outputs = outputs_of(results, source)
    section = source.section
    asked = str(results.session.meta.get("person") or "")
    person = subject_of(section, source.prefix_of(asked).rstrip(":") or asked)
    put_units(section, {**outputs.units, "MODELED_MARKER_UNITS": _length_unit(source)})
    notes = [*source.notes, *outputs.notes, *put_events(section, events, person)]
    notes += put_analysis(section, values, person)
    if source.layout.is_integer:
        notes.append(
            "its points were integers of 16 bits, too coarse for angles and moments: it has real numbers now"
        )
    data = widened_file(source.data, section, source.layout, source.n_frame, outputs.points)
    with whole(out) as part:
        part.write_bytes(data)
        _check_written(part, out, source, outputs.points)
    return tuple(notes)


def _length_unit(source: C3dSource) -> str:
    """POINT:UNITS, which modelled markers share."""
    return next(iter(source.section.texts("POINT", "UNITS")), "") or "mm"


def _check_written(part: Path, out: Path, source: C3dSource, points: Sequence[NewPoint]) -> None:
    """ConfigError where the reader does not find in the file what was to be written."""
    try:
        content, _ = whole_content(part)
    except ConfigError as error:
        raise ConfigError(f"it could not be read back ({error.what})", where=str(out)) from None
    n_old = source.content.points.shape[1]
    new = np.stack([point.values for point in points], axis=1)
    expected = np.concatenate([source.content.points, new], axis=1)
    same = content.points.shape == expected.shape and content.first == source.first
    if same:
        gone = np.isnan(expected).any(axis=2)
        off = np.abs(content.points - expected)
        same = bool((np.isnan(content.points).any(axis=2) == gone).all()) and bool(
            (off[~gone] <= CLOSE * np.abs(expected[~gone]) + 1e-30).all()
        )
    if not same:
        raise ConfigError(
            f"the {n_old} points of the source and {len(points)} new ones were not found again",
            where=str(out), remedy="write the results as .mot, .csv or .mcap",
        )  # fmt: skip
