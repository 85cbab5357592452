"""Reads recordings that rtsim made (MCAP): the marker trial and the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.gait.events import GaitEvent
from rtsim.files.gait.marks import marks_of
from rtsim.files.markers.ground import to_ground
from rtsim.files.markers.trial import MarkerTrial, RawTrial, samples_seen, unique_names
from rtsim.files.recorded_times import continued_samples, is_increasing, placed_marks, trial_times
from streams.codec import FieldLayout, decode
from streams.errors import DecodeError, StreamError
from streams.messages import Command, FieldSpec, Forces, Markers, Result, Session, Status, time_rate
from streams.recording.recorded import read_messages

Frame = Markers | Forces | Result
FloatArray = NDArray[np.float64]

LONGEST_STEP_S = 1e6


class RecordedForces(NamedTuple):
    """The messages of a forces stream in a recording.

    session : the descriptor
    fields : sample_times (n, n_sample), which continue to increase where the trial was played again, force
        and moment (n, n_plate, n_sample, 3), as sent
    source, notes : the file, and sentences on lost or omitted parts
    """

    session: Session
    fields: dict[str, FloatArray]
    source: str
    notes: tuple[str, ...]


class Results(NamedTuple):
    """Published results of an estimator in a recording.

    session : the descriptor: names, shapes, units and labels of the fields, method and model in `meta`
    fields : field name -> (n, ...) float64 array, units as in the descriptor (SI); NaN = missing
    times : (n,) time in the trial [s]; where the trial was played again it continues to increase
    status : (n,) int64 status bits of streams.messages.Status
    notes : sentences on truncated, lost or omitted parts
    marks : events that a user marked during the run, on the clock of `times`, in the order of time
    """

    session: Session
    fields: dict[str, FloatArray]
    times: FloatArray
    status: NDArray[np.int64]
    notes: tuple[str, ...] = ()
    marks: tuple[GaitEvent, ...] = ()


class _Course(NamedTuple):
    """The descriptor of a stream, the message that lists its fields, and the frames that follow it in a
    recording."""

    session: Session
    frames: list[Frame]


class _Content(NamedTuple):
    """The descriptors and frames of a recording, in the order in which the descriptors first appear, and its
    commands, each with the number (seq) of the newest frame of its session, -1 before the first."""

    courses: list[_Course]
    notes: list[str]
    commands: list[tuple[Command, int]]


class _Sorting:
    """Assigns frames to descriptors: each frame to the newest one with its session id, or to the first if
    none came before it.

    A session id is not unique: a sender may use one again for another content, and then each content has its
    own entry.
    """

    def __init__(self) -> None:
        self.courses: list[_Course] = []
        self._now: dict[str, _Course] = {}
        self._of: dict[bytes, _Course] = {}
        self._waiting: dict[str, list[Frame]] = {}

    def take(self, message: Session | Frame, payload: bytes) -> None:
        """Add the next message of the recording; payload : its bytes."""
        if isinstance(message, Session):
            self._begin(message, payload)
        elif message.session in self._now:
            self._now[message.session].frames.append(message)
        else:
            self._waiting.setdefault(message.session, []).append(message)

    def newest(self, session: str) -> int:
        """Return the number (seq) of the last frame of a session that has come so far; -1 = none has."""
        now = self._now.get(session)
        return now.frames[-1].seq if now is not None and now.frames else -1

    @property
    def n_orphan(self) -> int:
        """Number of frames that cannot be read, as no descriptor in the recording lists their fields."""
        return sum(map(len, self._waiting.values()))

    def _begin(self, session: Session, payload: bytes) -> None:
        now = self._now.get(session.session)
        if now is not None and now.session == session:
            return
        if payload not in self._of:
            self._of[payload] = _Course(session, self._waiting.pop(session.session, []))
            self.courses.append(self._of[payload])
        self._now[session.session] = self._of[payload]


def read_recorded_markers(
    path: str | Path, *, up: str | None = None, units: str | None = None, person: str = ""
) -> MarkerTrial:
    """Read the marker stream of a recording in the ground frame, or, if it has none, the measured markers in
    its results.

    A truncated recording is read up to its end. ConfigError when it contains no markers.
    """
    path = Path(path)
    content = _load(path)
    for stream, field in (("markers", "positions"), ("result", "markers_measured")):
        course, notes = _longest(content, stream, field)
        if course is not None:
            raw = _raw_trial(course, field, path, (*content.notes, *notes))
            return to_ground(raw, up=up, units=units, person=person)
    raise ConfigError(
        "the recording contains no markers", where=str(path), remedy="record the marker stream as well"
    )


def read_model_markers(path: str | Path, *, up: str | None = None, units: str | None = None) -> MarkerTrial:
    """Read the markers of the fitted model (field markers_model) from a recording; ConfigError if there are
    none.
    """
    path = Path(path)
    content = _load(path)
    course, notes = _longest(content, "result", "markers_model")
    if course is None:
        raise ConfigError(
            "the recording contains no positions of model markers",
            where=str(path),
            remedy="record the results of an estimator as well",
        )
    raw = _raw_trial(course, "markers_model", path, (*content.notes, *notes))
    return to_ground(raw, up=up, units=units)


def read_force_messages(path: str | Path) -> RecordedForces:
    """Read the complete messages of the forces stream of a recording; ConfigError if there are none."""
    path = Path(path)
    content = _load(path)
    course, notes = _longest(content, "forces")
    if course is None:
        raise ConfigError(
            "the recording contains no forces", where=str(path), remedy="record the stream of forces as well"
        )
    frames, fields, said = _stack(course.session, course.frames, path)
    if "sample_times" in fields:
        fields["sample_times"], told = continued_samples(fields["sample_times"], frames, course.session)
        said += told
    return RecordedForces(course.session, fields, str(path), (*content.notes, *notes, *said))


def read_results(path: str | Path) -> Results:
    """Read the results in a recording; if it has several sessions, those of the longest one.

    A truncated recording is read up to its end. ConfigError when it contains no results.
    """
    path = Path(path)
    content = _load(path)
    course, notes = _longest(content, "result")
    if course is None:
        raise ConfigError(
            "the recording contains no results", where=str(path), remedy="record the stream of results"
        )
    frames, fields, said = _stack(course.session, course.frames, path)
    found = trial_times(frames, course.session)
    numbers = np.array([frame.seq for frame in frames], np.int64)
    marks, left_out = placed_marks(marks_of(content.commands, course.session.session), found, numbers)
    status = np.array([frame.status if isinstance(frame, Result) else 0 for frame in frames], dtype=np.int64)
    return Results(
        session=course.session,
        fields=fields,
        times=found.times,
        status=status,
        notes=(*content.notes, *notes, *said, *found.notes, *left_out),
        marks=marks,
    )


class RecordedFrames(NamedTuple):
    """The frames of one session of any stream.

    session : the descriptor
    numbers, times : (n,) numbers and times [s] of the frames
    status : (n,) status bits, 0 if a stream has none
    fields : field name -> (n, ...)
    """

    session: Session
    numbers: NDArray[np.int64]
    times: FloatArray
    status: NDArray[np.int64]
    fields: dict[str, FloatArray]


def read_sessions(path: str | Path) -> tuple[list[RecordedFrames], list[str]]:
    """Read all sessions of a recording that have frames, in order; return sessions and notes on omissions."""
    path = Path(path)
    content = _load(path)
    found, notes = [], list(content.notes)
    for course in content.courses:
        if not course.frames:
            continue
        frames, fields, told = _stack(course.session, course.frames, path)
        notes += told
        found.append(
            RecordedFrames(
                session=course.session,
                numbers=np.array([frame.seq for frame in frames], np.int64),
                times=np.array([frame.time for frame in frames]),
                status=np.array([getattr(frame, "status", 0) for frame in frames], np.int64),
                fields=fields,
            )
        )
    return found, notes


def _load(path: Path) -> _Content:
    sorting, notes = _Sorting(), []
    commands: list[tuple[Command, int]] = []
    n_bad = 0
    try:
        recorded = read_messages(path)
        for _, topic, payload in recorded:
            try:
                message = decode([topic, payload])
            except DecodeError:
                n_bad += 1
                continue
            if isinstance(message, (Session, Markers, Forces, Result)):
                sorting.take(message, payload)
            elif isinstance(message, Command):
                commands.append((message, sorting.newest(message.session)))
    except FileNotFoundError:
        raise ConfigError("no such file", where=str(path), remedy="check the path") from None
    except (OSError, StreamError) as error:
        raise ConfigError(f"the recording cannot be read ({error})", where=str(path)) from None
    if recorded.note:
        notes.append(recorded.note)
    if n_bad:
        notes.append(f"number of messages left out because they could not be decoded: {n_bad}")
    if sorting.n_orphan:
        notes.append(f"number of frames left out, because no stream descriptor came: {sorting.n_orphan}")
    return _Content(sorting.courses, notes, commands)


def _longest(content: _Content, stream: str, field: str | None = None) -> tuple[_Course | None, list[str]]:
    """Return the session of a stream (with that field) that has the most frames, and a note if there are
    others.
    """
    found = [
        course
        for course in content.courses
        if course.session.stream == stream
        and course.frames
        and (field is None or any(spec.name == field for spec in course.session.fields))
    ]
    if not found:
        return None, []
    best = max(found, key=lambda course: len(course.frames))
    if len(found) == 1:
        return best, []
    return best, [
        f"the recording contains {len(found)} sessions of {stream}; the longest session was read "
        f"({len(best.frames)} frames)"
    ]


def _stack(
    session: Session, frames: Sequence[Frame], path: Path
) -> tuple[list[Frame], dict[str, FloatArray], list[str]]:
    """Return frames in the order of seq, without repetitions and invalid ones, their fields (n, ...), and
    notes for the user.

    A result that an estimator published again because no frame came (flag stale) is a repetition, too.
    """
    layout = FieldLayout(session)
    unique = {frame.seq: frame for frame in frames}
    # Only these carry what was announced: a few bytes of descriptor can ask for more memory than there is.
    fitting = [unique[seq] for seq in sorted(unique) if layout.misfit(unique[seq].data) is None]
    good = [frame for k, frame in enumerate(fitting) if not (k and _repeats(frame, fitting[k - 1]))]
    if not good:
        raise ConfigError("no frame of the recording fits the stream descriptor", where=str(path))
    rows = np.empty((len(good), layout.n_value))
    for frame, row in zip(good, rows, strict=True):
        layout.unpack_into(frame.data, layout.views(row))
    notes = []
    if len(good) < len(fitting):
        notes.append(
            "number of results left out because they repeat the last one while no frame "
            f"arrived: {len(fitting) - len(good)}"
        )
    if len(fitting) < len(unique):
        notes.append(f"number of frames that do not fit the stream descriptor: {len(unique) - len(fitting)}")
    lost = fitting[-1].seq - fitting[0].seq + 1 - len(fitting)
    if lost:
        notes.append(f"number of frames missing in the recording (gaps in seq): {lost}")
    return good, _split(rows, layout.specs), notes


def _repeats(frame: Frame, before: Frame) -> bool:
    """Return whether a frame has the flag stale and repeats the previous frame."""
    return (
        isinstance(frame, Result)
        and bool(frame.status & Status.STALE)
        and (frame.time, frame.t_capture) == (before.time, before.t_capture)
    )


def _split(rows: FloatArray, specs: Mapping[str, FieldSpec]) -> dict[str, FloatArray]:
    """Split rows of numbers (n, n_number) into fields of the names and shapes in specs, (n, ...) each."""
    fields = {}
    start = 0
    for name, spec in specs.items():
        shape = tuple(spec.shape)
        stop = start + int(np.prod(shape, dtype=np.int64))
        fields[name] = np.ascontiguousarray(rows[:, start:stop]).reshape(rows.shape[0], *shape)
        start = stop
    return fields


def _raw_trial(course: _Course, field: str, path: Path, notes: Sequence[str]) -> RawTrial:
    session = course.session
    frames, fields, said = _stack(session, course.frames, path)
    spec = next(spec for spec in session.fields if spec.name == field)
    if len(spec.shape) != 2 or spec.shape[1] != 3 or len(spec.labels) != spec.shape[0]:
        raise ConfigError(
            f"the field {field} has shape {list(spec.shape)} and {len(spec.labels)} labels",
            where=str(path),
            allowed="[n_marker, 3] with one label per marker",
        )
    rate = time_rate(session)
    found = trial_times(frames, session)
    times, told = found.times, found.notes
    if rate <= 0.0 and times.shape[0] > 1:
        with np.errstate(over="ignore"):  # what a stranger's clock may tell is refused below
            step = float(np.median(np.diff(times)))
        if not (is_increasing(times) and 0.0 < step < LONGEST_STEP_S):
            raise ConfigError(
                "neither the descriptor nor the times give a rate: the median step of the times is "
                f"{step:.6g} s",
                where=str(path),
                remedy="record the stream again from a source that states its times",
            )
        rate = 1.0 / step
        told = (
            *told,
            f"the descriptor gives no rate: {rate:.6g} Hz was computed from the median step of the times",
        )
    up = session.meta.get("up", "")
    names, renamed = unique_names(spec.labels, samples_seen(fields[field]))
    return RawTrial(
        names=names,
        times=times,
        positions=fields[field],
        rate=rate,
        source=str(path),
        units=spec.unit,
        up=up if isinstance(up, str) else "",
        up_key="the descriptor's meta up",
        notes=(*notes, *said, *told, *renamed),
    )
