"""Comparison of two recordings, or two tables: which sessions, frames and values differ."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.comparison.differences import QuantityDifferences, StatusDifferences
from rtsim.files.markers.trial import name_some, unique_names
from rtsim.files.recording import RecordedFrames, read_sessions
from rtsim.files.tables.storage import STORAGE_SUFFIXES, read_storage
from streams.errors import StreamError
from streams.messages import FieldSpec, Session, Status
from streams.recording.opening import open_regular

FloatArray = NDArray[np.float64]
SUFFIXES = (".mcap", *STORAGE_SUFFIXES, ".csv")
PART_OF_STEP = 0.1
"""Frames of two runs are compared if their times differ by up to this fraction of a frame's interval."""
SHOWN = 60
"""Largest number of characters of a descriptor's value that is shown."""


class RunDifferences:
    """Differences between two runs.

    Attributes
    ----------
    n_session, n_frame : numbers of compared pairs of sessions, and of frames
    unpaired : notes on sessions, frames and quantities that only one of the runs has
    settings : notes on entries that differ between the descriptors of the two runs, such as options; such
        entries alone do not count as a difference between the runs
    quantities : (stream, name of a quantity) -> differences of its values
    status : differences of the status of results
    notes : sentences on parts of a file that could not be read
    """

    def __init__(self) -> None:
        self.n_session = self.n_frame = 0
        self.unpaired: list[str] = []
        self.settings: list[str] = []
        self.notes: list[str] = []
        self.quantities: dict[tuple[str, str], QuantityDifferences] = {}
        self.status = StatusDifferences()

    def is_equal(self, relative: float, absolute: Mapping[str, float]) -> bool:
        """Return whether both runs have the same frames, statuses and quantities, with values that are equal
        within tolerances.

        relative : tolerance as a fraction of the largest magnitude of a quantity in the first run
        absolute : name of a quantity -> tolerance in its unit, which is used if it is the larger one
        """
        near = (
            found.within(relative, absolute.get(name, 0.0)) for (_, name), found in self.quantities.items()
        )
        exact = not relative and not absolute
        same = not exact or not any(found.n_differ for found in self.quantities.values())
        return not self.unpaired and not self.status.n_differ and same and all(near)


class _Frames(NamedTuple):
    """The frames of one session of a recording, or the rows of a table.

    angles : column of a table -> unit in which it is stated if it is an angle, as its header says; {} = each
        column has one unit
    """

    title: str
    specs: Sequence[FieldSpec]
    numbers: Sequence[int]
    times: FloatArray
    status: Sequence[int]
    fields: Mapping[str, FloatArray]
    meta: Mapping[str, Any]
    angles: Mapping[str, str] = MappingProxyType({})


def compared(one: Path, other: Path) -> RunDifferences:
    """Compare two recordings or two tables and return their differences; ConfigError if they cannot be read
    or compared.
    """
    suffixes = [path.suffix.lower() for path in (one, other)]
    for path, suffix in zip((one, other), suffixes, strict=True):
        if suffix not in SUFFIXES:
            raise ConfigError(
                f"files with the suffix {suffix or '(none)'} cannot be compared",
                where=str(path),
                allowed=", ".join(SUFFIXES),
            )
    if (suffixes[0] == ".mcap") != (suffixes[1] == ".mcap"):
        raise ConfigError(
            f"a recording cannot be compared with a table: {one} and {other}", where="diff",
            remedy="make a table of the recording with `rtsim export`, in the same format",
        )  # fmt: skip
    found = RunDifferences()
    if suffixes[0] != ".mcap":
        _compare(found, "table", 1, _table(one, found), _table(other, found))
        return found
    streams = [_streams(path, found) for path in (one, other)]
    for stream in dict.fromkeys([*streams[0], *streams[1]]):
        mine, theirs = (of.get(stream, []) for of in streams)
        if len(mine) != len(theirs):
            found.unpaired.append(
                f"{one} contains {len(mine)} sessions of {stream}, but {other} contains {len(theirs)}"
            )
        for k, (first, second) in enumerate(zip(mine, theirs, strict=False), 1):
            _compare(found, stream, k, first, second)
    if not found.n_frame and not found.unpaired:
        raise ConfigError(
            "in both files every frame repeats the frame before", where=f"{one} and {other}",
            remedy="give recordings of runs in which frames were solved",
        )  # fmt: skip
    return found


def _streams(path: Path, found: RunDifferences) -> dict[str, list[_Frames]]:
    """Return the sessions of a recording that have frames, by stream."""
    sessions, notes = read_sessions(path)
    found.notes += notes
    if not sessions:
        raise ConfigError("the recording contains no frames", where=str(path), remedy="give another")
    streams: dict[str, list[_Frames]] = {}
    for frames in sessions:
        streams.setdefault(frames.session.stream, []).append(_of_session(frames))
    return streams


def _of_session(frames: RecordedFrames) -> _Frames:
    """Return the frames of a session without those that repeat an old result (flag stale), whose number
    depends on the clock.
    """
    kept = (frames.status & int(Status.STALE)) == 0
    session: Session = frames.session
    return _Frames(
        title=session.session,
        specs=session.fields,
        numbers=frames.numbers[kept].tolist(),
        times=frames.times[kept],
        status=(frames.status[kept] & ~int(Status.LATE)).tolist(),
        fields={name: rows[kept] for name, rows in frames.fields.items()},
        meta={"rate": session.rate, **session.meta},
    )


def _table(path: Path, found: RunDifferences) -> _Frames:
    """Read the rows of a table; its first column is the time."""
    angles: dict[str, str] = {}
    if path.suffix.lower() == ".csv":
        columns, data, notes = _read_csv(path)
    else:
        table = read_storage(path)
        columns, data, notes = table.columns, table.data, table.notes
        kept = table.in_radians if table.in_degrees else table.columns
        angles = {name: "radians" if name in kept else "degrees" for name in columns[1:]}
    found.notes += [f"{path}: {note}" for note in notes]
    specs = tuple(FieldSpec(name, (), "") for name in columns[1:])
    fields = {name: data[:, k] for k, name in enumerate(columns[1:], 1)}
    n = len(data)
    return _Frames(
        title=str(path),
        specs=specs,
        numbers=range(n),
        times=data[:, 0],
        status=[0] * n,
        fields=fields,
        meta={},
        angles=angles,
    )


def _read_csv(path: Path) -> tuple[tuple[str, ...], FloatArray, Sequence[str]]:
    """Return the names of the columns, which are made unique, the numbers, and notes on renamed columns."""
    try:
        open_regular(path).close()  # which waits for nobody, as a pipe would
        with path.open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        data = np.array([[float(cell) if cell else np.nan for cell in row] for row in rows])
        if data.ndim != 2 or data.shape[1] != len(head):
            raise ValueError("the rows of the table differ in length, or the table has no rows")
    except (OSError, ValueError, csv.Error, StreamError) as fault:
        raise ConfigError(f"the table cannot be read ({fault})", where=str(path)) from None
    columns, notes = unique_names(head)
    return columns, data, notes


def _compare(found: RunDifferences, stream: str, number: int, one: _Frames, other: _Frames) -> None:
    """Compare two sessions that belong together and add the differences of their frames and values to
    `found`.

    stream, number : name of the stream, and number of the session in it, for notes
    one, other : frames of the session in the first and in the second run
    """
    found.n_session += 1
    first, second = _paired(one.times, other.times)
    found.n_frame += len(first)
    lacking = len(one.times) - len(first), len(other.times) - len(second)
    if any(lacking):
        found.unpaired.append(
            f"session {number} of {stream}: {lacking[0]} of {len(one.times)} frames are only in the "
            f"first file, {lacking[1]} of {len(other.times)} only in the second"
        )
    found.settings += _settings(f"session {number} of {stream}", one.meta, other.meta)
    numbers, times = [one.numbers[k] for k in first], one.times[first]
    statuses = [one.status[k] for k in first], [other.status[k] for k in second]
    found.status.add(number, numbers, times.tolist(), *statuses)
    theirs = {spec.name: spec for spec in other.specs}
    for name in [spec.name for spec in one.specs if spec.name not in theirs]:
        found.unpaired.append(f"session {number} of {stream}: the quantity {name} is only in the first file")
    mine = {spec.name for spec in one.specs}
    for name in [name for name in theirs if name not in mine]:
        found.unpaired.append(f"session {number} of {stream}: the quantity {name} is only in the second file")
    for spec in one.specs:
        if spec.name not in theirs:
            continue
        if entries_of(spec) != entries_of(theirs[spec.name]):
            found.unpaired.append(
                f"session {number} of {stream}: the quantity {spec.name} has other entries or another "
                "unit in the second file"
            )
            continue
        quantity = found.quantities.setdefault((stream, spec.name), QuantityDifferences(spec))
        rows = one.fields[spec.name][first], other.fields[spec.name][second]
        quantity.add(number, spec, numbers, times.tolist(), *rows)
    found.unpaired += _other_angles(f"session {number} of {stream}", one.angles, other.angles)


def _other_angles(where: str, one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Return sentences on columns which, if they are angles, are in another unit in the second file.

    A storage file states one unit for all its angles, and not which columns are angles.
    """
    columns: dict[str, list[str]] = {}
    for name in one:
        if name in other and one[name] != other[name]:
            columns.setdefault(one[name], []).append(name)
    found = []
    for unit, names in columns.items():
        they = "it is an angle, it is" if len(names) == 1 else "they are angles, they are"
        found.append(
            f"{where}: {name_some(names)}: if {they} in {unit} in the first file and in {other[names[0]]} in "
            "the second"
        )
    return found


def entries_of(spec: FieldSpec) -> tuple:
    """Return the properties of a quantity that must be the same in two runs for its values to be compared,
    such as its unit and labels.
    """
    return tuple(spec.shape), spec.unit, tuple(spec.labels), tuple(spec.parts)


def _paired(one: FloatArray, other: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair the frames of two runs by their times, or by their order if times do not increase; return the
    indices of both.
    """
    if not len(one) or not len(other):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if not all((np.diff(times) > 0.0).all() for times in (one, other)):
        n = np.arange(min(len(one), len(other)))
        return n, n
    steps = np.diff(one)
    slack = PART_OF_STEP * float(np.median(steps)) if len(steps) else 0.0
    after = np.clip(np.searchsorted(other, one), 0, len(other) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(np.abs(other[before] - one) < np.abs(other[after] - one), before, after)
    near = np.abs(other[nearest] - one) <= slack
    first, second = np.flatnonzero(near), nearest[near]
    once = np.concatenate([[True], np.diff(second) > 0]) if len(second) else np.zeros(0, bool)
    return first[once], second[once]


def _settings(where: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the entries in which two descriptors differ, as text."""
    found = []
    for key in {**one, **other}:
        values = [repr(of.get(key, "not there"))[:SHOWN] for of in (one, other)]
        if one.get(key) != other.get(key):
            found.append(f"{where}: `{key}` is {values[0]} in the first file and {values[1]} in the second")
    return found
