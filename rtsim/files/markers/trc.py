"""TRC (Motion Analysis) marker files, including the deviations from the format that occur in practice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rtsim.errors import ConfigError
from rtsim.files.markers.ground import to_ground
from rtsim.files.markers.timing import settle_times, without_repeated_rows
from rtsim.files.markers.trial import MarkerTrial, RawTrial, count_of, name_some, samples_seen, unique_names
from rtsim.files.output import write_text
from rtsim.files.tables.grid import parse_rows, read_lines, table_lines, with_tabs

HEADER_DEPTH = 30  # lines within which the DataRate and Frame# lines must come
ORIGIN_MM = 1e-6  # what stands for 0 when a marker really is at the origin: 0, 0, 0 would read as missing


class _TrcHeader(NamedTuple):
    rate: float  # [Hz], 0 when not given
    units: str
    n_frame: int | None
    n_marker: int | None


def read_trc(
    path: str | Path, *, up: str | None = None, units: str | None = None, person: str = ""
) -> MarkerTrial:
    """Read the trial of a TRC file in the ground frame; `up` and `units` override the file, `person` selects
    one of several.

    Empty, NaN and 0, 0, 0 markers are missing; columns without any data are kept as NaN markers. Deviations
    from the header are listed in the notes. ConfigError names file, line and remedy if the file cannot be
    read.
    """
    return to_ground(_read_raw(Path(path)), up=up, units=units, person=person)


def write_trc(path: str | Path, trial: MarkerTrial) -> None:
    """Write a trial as TRC; ConfigError if TRC cannot hold its names, it has no frames, or the file cannot be
    written.
    """
    path = Path(path)
    write_text(path, trc_text(trial, path.name, str(path)))


def trc_text(trial: MarkerTrial, name: str, where: str) -> str:
    """Return a trial as TRC text: millimetres, Y up, six decimals, empty cells for missing markers.

    name : name of the file, for its header

    ConfigError naming `where` for a trial without frames and for names that a TRC file cannot hold.
    """
    n_frame, n_marker = trial.positions.shape[:2]
    bad = [name for name in trial.names if not name.strip() or re.search(r"[\t\r\n]", name)]
    if bad:
        raise ConfigError(
            f"a TRC file cannot hold the marker name {bad[0]!r}, because it is empty, or contains a tab or a "
            "line break",
            where=where,
        )
    if n_frame == 0 or n_marker == 0:
        raise ConfigError("a trial without frames or markers cannot be written as TRC", where=where)
    rate = f"{trial.rate:.10g}"
    head = [
        f"PathFileType\t4\t(X/Y/Z)\t{name}",
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames",
        f"{rate}\t{rate}\t{n_frame}\t{n_marker}\tmm\t{rate}\t1\t{n_frame}",
        "Frame#\tTime\t" + "\t\t\t".join(trial.names) + "\t\t",
        "\t\t" + "\t".join(f"X{i}\tY{i}\tZ{i}" for i in range(1, n_marker + 1)),
        "",
    ]
    millimetres = 1e3 * trial.positions
    at_origin = (np.abs(millimetres) < 0.5 * ORIGIN_MM).all(axis=2)
    millimetres[at_origin, 0] = ORIGIN_MM
    form = "%.6f"
    rows = [
        f"{index + 1}\t{time:.8f}\t" + "\t".join([form % value if value == value else "NaN" for value in row])
        for index, (time, row) in enumerate(
            zip(trial.times.tolist(), millimetres.reshape(n_frame, -1).tolist(), strict=True)
        )
    ]
    return "\n".join([*head, *rows, ""])


def _read_raw(path: Path) -> RawTrial:
    lines = read_lines(path, "TRC")
    first = _find(lines, "datarate", 0)
    lines, told = with_tabs(lines, first, str(path)) if first is not None else (lines, [])
    header, after = _read_header(lines, path)
    written, n_on_axes, start = _read_names(lines, after, path)
    n_column = 2 + 3 * len(written)
    if n_on_axes not in (0, len(written)):
        _check_width(lines, start, len(written), n_on_axes, path)
    rows, notes = table_lines(lines, start, n_column, header.n_frame or 0)
    if not rows:
        raise ConfigError(
            "the file has no frames below the header", where=str(path), remedy="export the TRC file again"
        )
    notes += _tell_counts(header, len(written), n_on_axes, len(rows))
    data, said = parse_rows(rows, n_column, str(path), lambda column: _column(column, written), step=3)
    notes += said
    kept, said = without_repeated_rows(data[:, 1:])
    data, notes = data[kept], [*notes, *said]
    times, rate, said = settle_times(data[:, 1].copy(), header.rate, str(path))
    positions = data[:, 2:].reshape(len(data), len(written), 3)
    names, renamed = unique_names(written, samples_seen(positions))
    notes += [*told, *said, *renamed]
    empty = [name for index, name in enumerate(names) if np.isnan(positions[:, index]).all()]
    if empty:
        notes.append(f"{count_of(len(empty), 'marker')} without any data were left out: {name_some(empty)}")
    return RawTrial(
        names=names,
        times=times,
        positions=positions,
        rate=rate,
        source=str(path),
        units=header.units,
        notes=tuple(notes),
    )


def _check_width(lines: Sequence[str], start: int, n_marker: int, n_on_axes: int, path: Path) -> None:
    """Raise ConfigError if a TRC file names another number of markers than its rows have, because values
    would be assigned to wrong markers.

    lines, start : lines of the file, and index of the first row of data
    n_marker, n_on_axes : number of marker names, and of markers in the line X1 Y1 Z1 X2 ... below them
    """
    rows = lines[start:]
    if n_on_axes > n_marker:
        wrong = max((len(row.split()) for row in rows), default=0) > 2 + 3 * n_marker
    else:
        wrong = max((row.count("\t") for row in rows), default=0) <= 2 + 3 * n_on_axes
    if wrong:
        raise ConfigError(
            f"{n_marker} marker names are given for the columns of {n_on_axes} markers, so it is "
            "unclear which columns belong to which marker",
            where=str(path),
            remedy="give each marker one name, above its X column",
        )


def _tell_counts(header: _TrcHeader, n_marker: int, n_on_axes: int, n_frame: int) -> list[str]:
    """Return notes on counts in the header that differ from the content of the file.

    n_marker, n_on_axes : number of marker names, and of markers in the line X1 Y1 Z1 X2 ... below them
    n_frame : number of rows of data
    """
    notes = []
    if header.n_marker is not None and header.n_marker != n_marker:
        notes.append(
            f"the header states {header.n_marker} markers, but {n_marker} are named; the named "
            "markers were read"
        )
    if n_on_axes not in (0, n_marker):
        notes.append(
            f"the line of coordinates has {n_on_axes} markers, but the line of names {n_marker}; the "
            "names were used"
        )
    if header.n_frame is not None and header.n_frame != n_frame:
        notes.append(
            f"the header states {header.n_frame} frames, but the file contains {n_frame}; these were read"
        )
    return notes


def _read_header(lines: Sequence[str], path: Path) -> tuple[_TrcHeader, int]:
    """Read the header block of a TRC file, whose line of keys begins with DataRate; return it and the index
    of the line after it.

    Values are matched to keys with any separators. If their numbers differ because a value was left out, the
    rate is the first number and the unit the only word.
    """
    row = _find(lines, "datarate", 0)
    if row is None:
        raise ConfigError(
            "the header has no DataRate line, so this is not a TRC file",
            where=str(path),
            remedy="export the markers as TRC or C3D",
        )
    keys = [key.lower() for key in lines[row].split()]
    row += 1
    while row < len(lines) and not lines[row].strip():
        row += 1
    values = lines[row].split() if row < len(lines) else []
    words = [value for value in values if not _is_number(value)]
    numbers = [value for value in values if _is_number(value)]
    if len(values) == len(keys):
        known = dict(zip(keys, values, strict=True))
    else:
        known = dict(zip([key for key in keys if key != "units"], numbers, strict=False))
        known["units"] = words[0] if words else ""
    rate = float(known.get("datarate", "0")) if _is_number(known.get("datarate", "")) else 0.0
    header = _TrcHeader(rate, known.get("units", ""), _whole(known, "numframes"), _whole(known, "nummarkers"))
    return header, row + 1


def _read_names(lines: Sequence[str], after: int, path: Path) -> tuple[list[str], int, int]:
    """Return marker names, number of markers in the line X1 Y1 Z1 X2 ... below them (0: no such line), and
    index of the first data line; after : index of the line after the header block
    """
    row = _find(lines, "frame", after)
    if row is None:
        raise ConfigError(
            "there is no line that begins with Frame# and names the markers",
            where=f"{path}, line {after + 1}",
            remedy="export the TRC file again",
        )
    line = lines[row]
    cells = [cell.strip() for cell in (line.split("\t") if "\t" in line else line.split())]
    filled = [index for index, cell in enumerate(cells) if cell]
    slots = cells[filled[1] + 1 :] if len(filled) > 1 else []
    names = [cell for cell in slots if cell]
    if not names:
        raise ConfigError("there are no marker names after Frame# and Time", where=f"{path}, line {row + 1}")
    start = row + 1
    while start < len(lines) and not lines[start].strip():
        start += 1
    axes = lines[start].split() if start < len(lines) else []
    if not (axes and all(re.fullmatch(r"[XYZxyz]\d*", cell) for cell in axes)):
        return names, 0, start
    n_axis = -(-len(axes) // 3)
    if len(names) == 3 * n_axis and (once := named_once(names)):
        return once, n_axis, start + 1
    places = [index for index, cell in enumerate(slots) if cell]
    if len(names) < n_axis and all(place % 3 == 0 and place < 3 * n_axis for place in places):
        # Names stand over every third column, and some columns have none.
        names = [
            slots[3 * k] if 3 * k < len(slots) and slots[3 * k] else f"unnamed_{k + 1}" for k in range(n_axis)
        ]
    return names, n_axis, start + 1


def named_once(names: Sequence[str]) -> list[str]:
    """Return each marker name once, for a header that repeats it above its X, Y and Z columns, alike or
    with X, Y and Z appended; [] for any other header.
    """
    triples = [tuple(names[k : k + 3]) for k in range(0, len(names), 3)]
    if all(len({*triple}) == 1 for triple in triples):
        return [triple[0] for triple in triples]
    bare = [
        [
            re.sub(rf"[\W_]*{axis}$", "", name, flags=re.IGNORECASE)
            for axis, name in zip("XYZ", triple, strict=True)
        ]
        for triple in triples
    ]
    cut = all(name not in short for triple, short in zip(triples, bare, strict=True) for name in triple)
    return [b[0] for b in bare] if cut and all(b[0] and len({*b}) == 1 for b in bare) else []


def _find(lines: Sequence[str], word: str, start: int) -> int | None:
    """Return the index of the first line from `start` whose first cell begins with `word`, in any case."""
    for index in range(start, min(len(lines), start + HEADER_DEPTH)):
        if lines[index].strip().lower().startswith(word):
            return index
    return None


def _column(column: int, names: Sequence[str]) -> str:
    """Return the name of a data column for an error message."""
    return (
        ("Frame#", "Time")[column] if column < 2 else f"{names[(column - 2) // 3]} {'XYZ'[(column - 2) % 3]}"
    )


def _whole(known: dict[str, str], key: str) -> int | None:
    text = known.get(key, "")
    return int(float(text)) if _is_number(text) else None


def _is_number(text: str) -> bool:
    try:
        return np.isfinite(float(text)).item()
    except ValueError:
        return False
