"""Our own recordings (MCAP): the marker trial and the results that were on the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.ground import to_ground
from rtsim.files.trial import MarkerTrial, RawTrial
from streams.codec import FieldLayout, decode
from streams.errors import DecodeError, StreamError
from streams.messages import FieldSpec, Markers, Result, Session
from streams.recorder import read_messages

Frame = Markers | Result
FloatArray = NDArray[np.float64]


class Results(NamedTuple):
    """What an estimator published during a recording.

    session : the descriptor: names, shapes, units and labels of the fields, method and model in `meta`
    fields : field name -> (n, ...) float64 array, units as in the descriptor (SI); NaN = missing
    times : (n,) time in the trial [s]
    status : (n,) int64 status bits of streams.messages.Status
    notes : plain sentences on what was cut, lost or left out
    """

    session: Session
    fields: dict[str, FloatArray]
    times: FloatArray
    status: NDArray[np.int64]
    notes: tuple[str, ...] = ()


class _Content(NamedTuple):
    """Descriptors and frames of a recording by session id, in the order of their first appearance."""

    sessions: dict[str, Session]
    frames: dict[str, list[Frame]]
    notes: list[str]


def read_recorded_markers(
    path: str | Path, *, up: str | None = None, units: str | None = None
) -> MarkerTrial:
    """The marker stream of a recording in the ground frame; the measured markers of the results without one.

    A recording that was cut off is read as far as it goes. ConfigError when it holds no markers.
    """
    path = Path(path)
    content = _load(path)
    for stream, field in (("markers", "positions"), ("result", "markers_measured")):
        session, notes = _longest(content, stream, field)
        if session is not None:
            raw = _raw_trial(session, content, field, path, notes)
            return to_ground(raw, up=up, units=units)
    raise ConfigError(
        "the recording holds no markers", where=str(path), remedy="record the marker stream too"
    )


def read_model_markers(path: str | Path) -> MarkerTrial:
    """The markers of the fitted model (field markers_model) in a recording; ConfigError without any."""
    path = Path(path)
    content = _load(path)
    session, notes = _longest(content, "result", "markers_model")
    if session is None:
        raise ConfigError(
            "the recording holds no markers of a model",
            where=str(path),
            remedy="record the results of an estimator",
        )
    return to_ground(_raw_trial(session, content, "markers_model", path, notes))


def read_results(path: str | Path) -> Results:
    """The results in a recording: those of its longest session when there are several.

    A recording that was cut off is read as far as it goes. ConfigError when it holds no results.
    """
    path = Path(path)
    content = _load(path)
    session, notes = _longest(content, "result")
    if session is None:
        raise ConfigError(
            "the recording holds no results", where=str(path), remedy="record the result stream"
        )
    frames, fields, said = _stack(session, content.frames[session.session], path)
    times, told = _times(frames)
    status = np.array([frame.status if isinstance(frame, Result) else 0 for frame in frames], dtype=np.int64)
    return Results(session, fields, times, status, (*content.notes, *notes, *said, *told))


def _load(path: Path) -> _Content:
    content = _Content({}, {}, [])
    n_bad = 0
    try:
        recorded = read_messages(path)
        for _, topic, payload in recorded:
            try:
                message = decode([topic, payload])
            except DecodeError:
                n_bad += 1
                continue
            if isinstance(message, Session):
                content.sessions[message.session] = message
            elif isinstance(message, (Markers, Result)):
                content.frames.setdefault(message.session, []).append(message)
    except FileNotFoundError:
        raise ConfigError("no such file", where=str(path), remedy="check the path") from None
    except (OSError, StreamError) as error:
        raise ConfigError(f"the recording cannot be read ({error})", where=str(path)) from None
    if recorded.note:
        content.notes.append(recorded.note)
    if n_bad:
        content.notes.append(f"messages that could not be decoded, left out: {n_bad}")
    orphans = sum(len(frames) for key, frames in content.frames.items() if key not in content.sessions)
    if orphans:
        content.notes.append(f"frames without a descriptor, left out: {orphans}")
    return content


def _longest(content: _Content, stream: str, field: str | None = None) -> tuple[Session | None, list[str]]:
    """The session of a stream (with that field) that has the most frames; a sentence if there are others."""
    found = [
        session
        for key, session in content.sessions.items()
        if session.stream == stream
        and content.frames.get(key)
        and (field is None or any(spec.name == field for spec in session.fields))
    ]
    if not found:
        return None, []
    best = max(found, key=lambda session: len(content.frames[session.session]))
    if len(found) == 1:
        return best, []
    return best, [
        f"the recording holds {len(found)} sessions of {stream}: the longest was read "
        f"({len(content.frames[best.session])} frames)"
    ]


def _stack(
    session: Session, frames: Sequence[Frame], path: Path
) -> tuple[list[Frame], dict[str, FloatArray], list[str]]:
    """Frames in order of seq without repetitions and misfits, their fields (n, ...), and sentences."""
    layout = FieldLayout(session)
    unique = {frame.seq: frame for frame in frames}
    good: list[Frame] = []
    rows = np.empty((len(unique), layout.n_value))
    for seq in sorted(unique):
        if layout.unpack_into(unique[seq].data, layout.views(rows[len(good)])) is None:
            good.append(unique[seq])
    if not good:
        raise ConfigError("no frame of the recording fits its descriptor", where=str(path))
    notes = []
    if len(good) < len(unique):
        notes.append(f"frames that do not fit the descriptor, left out: {len(unique) - len(good)}")
    lost = good[-1].seq - good[0].seq + 1 - len(good)
    if lost:
        notes.append(f"frames that are not in the recording (gaps in seq): {lost}")
    return good, _split(rows[: len(good)], layout.specs), notes


def _split(rows: FloatArray, specs: Mapping[str, FieldSpec]) -> dict[str, FloatArray]:
    """The columns of each field, reshaped to (n, ...)."""
    fields = {}
    start = 0
    for name, spec in specs.items():
        shape = tuple(spec.shape)
        stop = start + int(np.prod(shape, dtype=np.int64))
        fields[name] = np.ascontiguousarray(rows[:, start:stop]).reshape(rows.shape[0], *shape)
        start = stop
    return fields


def _times(frames: Sequence[Frame]) -> tuple[FloatArray, list[str]]:
    """Time in the trial (n,) [s]; the source's clock from the first frame on where the trial was looped."""
    times = np.array([frame.time for frame in frames])
    if times.shape[0] < 2 or np.diff(times).min() > 0.0:
        return times, []
    clock = np.array([frame.t_capture for frame in frames], dtype=np.int64)
    return 1e-9 * (clock - clock[0]), [
        "the trial was played more than once: times are those of the source's clock"
    ]


def _raw_trial(session: Session, content: _Content, field: str, path: Path, notes: Sequence[str]) -> RawTrial:
    frames, fields, said = _stack(session, content.frames[session.session], path)
    spec = next(spec for spec in session.fields if spec.name == field)
    if len(spec.shape) != 2 or spec.shape[1] != 3 or len(spec.labels) != spec.shape[0]:
        raise ConfigError(
            f"the field {field} has shape {list(spec.shape)} and {len(spec.labels)} labels",
            where=str(path),
            allowed="[n_marker, 3] with one label per marker",
        )
    times, told = _times(frames)
    rate = session.rate
    if rate <= 0.0 and times.shape[0] > 1:
        rate = 1.0 / float(np.median(np.diff(times)))
        told = [*told, f"the descriptor gives no rate: {rate:.6g} Hz was taken from the median step"]
    up = session.meta.get("up", "")
    return RawTrial(
        names=tuple(spec.labels),
        times=times,
        positions=fields[field],
        rate=rate,
        source=str(path),
        units=spec.unit,
        up=up if isinstance(up, str) else "",
        up_key="the descriptor's meta up",
        notes=(*content.notes, *notes, *said, *told),
    )
