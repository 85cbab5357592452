"""Writes a C3D file with the whole content of a source file and the results of a run as additional points,
units, events and spatio-temporal values.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rtsim.errors import ConfigError
from rtsim.files.c3d_bytes.append import NewPoint, widened_file
from rtsim.files.c3d_bytes.blocks import edges_of, rotations_of, tell_left_out
from rtsim.files.c3d_bytes.marks import AnalysisValue, put_analysis, put_events, put_units, subject_of
from rtsim.files.c3d_bytes.model_outputs import outputs_of
from rtsim.files.c3d_bytes.source import SUFFIX, C3dSource
from rtsim.files.gait.events import GaitEvent, events_of
from rtsim.files.markers.c3d import whole_content
from rtsim.files.output import whole
from rtsim.files.recording import Results

FEWEST = 3
"""Markers below which results cannot be compared with a file by the distances between them."""
FARTHEST_M = 1e-3
"""Largest median distance between the markers of the results and those of the same recording [m]; it is a
median, as single markers may have been relabelled.
"""
CLOSE = 1e-6
"""Largest relative difference of a point that is read back: points are written with 24 bits."""


def check_source(source: str | Path, out: Path, option: str) -> None:
    """Raise ConfigError if results cannot be appended to a C3D source, or if `out` would replace the source;
    option : command-line option that states `out`, for the error
    """
    path = Path(source)
    if path.suffix.lower() != SUFFIX:
        raise ConfigError(
            f"results are appended to a copy of the C3D recording, and {source} is not a C3D file",
            where=f"{option} {out}", allowed="give a name that ends in .mot, .sto, .csv or .mcap",
        )  # fmt: skip
    if not path.is_file():
        raise ConfigError(
            f"the recording {source}, to which the results are appended, does not exist",
            where=f"{option} {out}", remedy="give the present path of the recording (`export`: with --into)",
        )  # fmt: skip
    if out.exists() and os.path.samefile(path, out):
        raise ConfigError(
            "this is the recording itself, which is never overwritten", where=f"{option} {out}",
            remedy=f"give another name, such as {path.stem}.rtsim.c3d",
        )  # fmt: skip


def write_c3d(
    out: Path, results: Results, source: C3dSource, events: Sequence[GaitEvent] = (),
    values: Sequence[AnalysisValue] = (),
) -> tuple[str, ...]:  # fmt: skip
    """Write a new file with all of the source and the results of a run over it; return notes for the user.

    events : events that the file does not contain yet
    values : spatio-temporal values

    The file is read back before it gets its name: ConfigError, and no file, if the content differs.
    ConfigError also if a C3D file cannot hold the results.
    """
    check_alike(results, source, str(out))
    outputs = outputs_of(results, source)
    section = source.section
    asked = str(results.session.meta.get("person") or "")
    person = subject_of(section, source.prefix_of(asked).rstrip(":") or asked)
    put_units(section, {**outputs.units, "MODELED_MARKER_UNITS": _length_unit(source)})
    edges = edges_of(source.data, section, source.n_frame * source.layout.n_byte)
    told = events_of(source.content, source.data)
    if told.shift:
        events = [*told.of_header, *events]  # on the clock of the others, which the header is not
    notes = [*source.notes, *outputs.notes, *tell_left_out(source.data, section, edges)]
    notes += put_events(section, events, person, told.shift)
    notes += put_analysis(section, values, person)
    if source.layout.is_integer:
        notes.append(
            "the points of the file were 16-bit integers, which are too coarse for angles and "
            "moments; they were converted to real numbers"
        )
    data = widened_file(source.data, section, source.layout, source.n_frame, outputs.points)
    with whole(out) as part:
        part.write_bytes(data)
        _check_written(part, out, source, outputs.points)
    return tuple(notes)


def check_alike(results: Results, source: C3dSource, where: str) -> None:
    """Raise ConfigError, naming `where`, if results do not belong to the C3D file: they are of another
    recording or another time range, judged by comparing their markers with those in the file.
    """
    spec = next((spec for spec in results.session.fields if spec.name == "markers_measured"), None)
    if spec is None:
        return
    pairs = _pairs_of(results, spec.labels, source)
    rows = source.frames_of(results.times)
    own = results.fields["markers_measured"][rows >= 0][:, [k for k, _ in pairs]]
    file = source.scale * source.content.points[rows[rows >= 0]][:, [at for _, at in pairs]]
    off = np.linalg.norm(source.from_ground(own) - file, axis=2)
    off = off[np.isfinite(off)]
    if not off.size or not float(np.median(off)) <= FARTHEST_M:
        raise ConfigError(
            f"the results were not computed from {source.path}: "
            + (f"its markers lie {1e3 * float(np.median(off)):.3g} mm from those of the results" if off.size
               else "this file does not contain the markers of the results at the times of the results"),
            where=where, remedy="name the recording that was solved, and give the same --units and --up "
                "as when it was solved",
        )  # fmt: skip


def is_of_another(results: Results, source: C3dSource) -> bool:
    """Return whether results were computed from another recording than a C3D file, judged by the distances
    between the markers, which depend on no axes, and on the unit by a power of ten; True for a file without
    the names of the markers, False if the results have too few markers to be compared.
    """
    spec = next((spec for spec in results.session.fields if spec.name == "markers_measured"), None)
    pairs = _pairs_of(results, spec.labels, source) if spec is not None else []
    if len(pairs) < FEWEST:
        return spec is not None and len(spec.labels) >= FEWEST
    rows = source.frames_of(results.times)
    own = results.fields["markers_measured"][rows >= 0][:, [k for k, _ in pairs]]
    file = source.scale * source.content.points[rows[rows >= 0]][:, [at for _, at in pairs]]
    sizes = [np.linalg.norm(part - part[:, :1], axis=2)[:, 1:] for part in (own, file)]
    known = np.isfinite(sizes[0]) & np.isfinite(sizes[1])
    if not known.any():
        return True
    mine, others = (size[known] for size in sizes)
    ratio = float(np.median(mine)) / max(float(np.median(others)), 1e-12)
    unit = 10.0 ** round(math.log10(ratio)) if ratio > 0.0 else 1.0  # as read by an option of the run
    return not float(np.median(np.abs(mine - unit * others))) <= FARTHEST_M


def _pairs_of(results: Results, names: Sequence[str], source: C3dSource) -> list[tuple[int, int]]:
    """Return the indices of the markers of the results, and of the same markers in a C3D file; those that the
    file does not have are left out. Labels with and without the person's prefix may stand in one file.

    names : names of the markers of the results
    """
    before = source.prefix_of(str(results.session.meta.get("person") or ""))
    place = {label: k for k, label in reversed(list(enumerate(source.labels)))}
    found = [(k, place.get(before + name, place.get(name))) for k, name in enumerate(names)]
    return [(k, at) for k, at in found if at is not None]


def _length_unit(source: C3dSource) -> str:
    """Return the unit of length in POINT:UNITS, which modelled markers use, too."""
    return next(iter(source.section.texts("POINT", "UNITS")), "") or "mm"


def _check_written(part: Path, out: Path, source: C3dSource, points: Sequence[NewPoint]) -> None:
    """Raise ConfigError if the written file, read back, does not have the frames and points that were to
    be written, or the rotations of segments of the source.
    """
    try:
        content, _ = whole_content(part)
    except ConfigError as error:
        raise ConfigError(f"the new file could not be read again ({error.what})", where=str(out)) from None
    n_old = source.content.points.shape[1]
    new = np.stack([point.values for point in points], axis=1)
    expected = np.concatenate([source.content.points, new], axis=1)
    point = content.parameters["POINT"]
    lists = (point.get(f"LABELS{k if k > 1 else ''}", []) for k in range(1, len(point)))
    labels = [str(label).strip() for part in lists for label in part]
    told = [label.strip() for label in (*source.labels, *(point.label for point in points))]
    same = content.points.shape == expected.shape and content.first == source.first and labels == told
    where = str(source.path)
    same = same and rotations_of(part.read_bytes(), where) == rotations_of(source.data, where)
    if same:
        gone = np.isnan(expected).any(axis=2)
        off = np.abs(content.points - expected)
        same = bool((np.isnan(content.points).any(axis=2) == gone).all()) and bool(
            (off[~gone] <= CLOSE * np.abs(expected[~gone]) + 1e-30).all()
        )
    if not same:
        raise ConfigError(
            f"the new file does not contain the {n_old} points of the source and the {len(points)} "
            "new points",
            where=str(out), remedy="write the results as .mot, .csv or .mcap",
        )  # fmt: skip
