"""Converts a recording to a file for Foxglove: MCAP with messages in JSON, each with its schema."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec
from mcap.reader import make_reader
from mcap.writer import Writer

from rtsim.bridges.foxglove_messages import FoxgloveFrames, FoxgloveMessage, log_message
from rtsim.bridges.foxglove_schemas import INFO, Schema
from rtsim.errors import ConfigError
from rtsim.files.output import whole
from streams.codec import FieldLayout, decode
from streams.errors import DecodeError, StreamError
from streams.messages import Result, Session, Telemetry
from streams.receiving.ring import ReceivedFrame
from streams.recording.recorded import read_messages

LATEST_NS = 2**63 - 1
"""Latest time of a message [ns]."""
STRAY_NS = 1_000_000_000
"""The clock of frames is not used if its offset from the recorder's clock changes by more [ns]."""


def export_foxglove(recording: Path, out: Path) -> list[str]:
    """Write the results of a recording for Foxglove; return notes on what was left out.

    ConfigError for a file that is not a recording or has no results, and if `out` cannot be written. An
    existing file is replaced.
    """
    notes: list[str] = []
    with whole(out) as part:
        written = _Written(part)
        for message in foxglove_messages(recording, notes):
            written.add(message)
        written.close()
    if written.n_left:
        notes.append(f"messages left out because their times are impossible: {written.n_left}")
    return notes


def foxglove_messages(recording: Path, notes: list[str]) -> Iterator[FoxgloveMessage]:
    """Yield the messages of a recording of results in order; notes on what was left out are appended to
    `notes`.
    """
    frames = FoxgloveFrames((), lambda sentence: None)
    results, n_bad, n_frame = _ResultFrames(wall_offset_ns(recording)), 0, 0
    try:
        recorded = read_messages(recording)
        for t_ns, topic, payload in recorded:
            try:
                message = decode([topic, payload])
            except DecodeError:
                n_bad += 1
                continue
            if isinstance(message, Session) and message.stream == "result":
                results.begin(message)
            elif isinstance(message, Result):
                found = results.take(message, t_ns)
                if found is not None:
                    n_frame += 1
                    yield from frames.of(*found)
            elif isinstance(message, Telemetry):
                for sentence in message.text:
                    yield log_message(sentence, INFO, results.offset_ns + t_ns)
    except FileNotFoundError:
        raise ConfigError("no such file", where=str(recording), remedy="check the path") from None
    except (OSError, StreamError) as fault:
        raise ConfigError(f"the recording cannot be read ({fault})", where=str(recording)) from None
    if not n_frame:
        raise ConfigError(
            "the recording contains no results", where=str(recording),
            remedy="give a recording made by `rtsim live --record`, or solve the markers in it with "
                "`rtsim analyse` first",
        )  # fmt: skip
    if recorded.note:
        notes.append(recorded.note)
    if n_bad:
        notes.append(f"messages that could not be decoded, left out: {n_bad}")
    if results.n_left:
        notes.append(f"frames left out because they fit no descriptor: {results.n_left}")


class _ResultFrames:
    """Results of a recording as frames, with times that follow the source's clock.

    Attributes
    ----------
    offset_ns : Unix time minus the time of the recorder's clock [ns], 0 = not known
    n_left : number of frames that match no descriptor
    """

    def __init__(self, offset_ns: int) -> None:
        self.offset_ns, self.n_left = offset_ns, 0
        self._session: Session | None = None
        self._frame: ReceivedFrame | None = None
        self._layout: FieldLayout | None = None
        self._since_ns: int | None = None

    def begin(self, session: Session) -> None:
        """Begin a session from its descriptor; a repetition of the same descriptor has no effect."""
        if self._session is not None and self._session.session == session.session:
            return
        self._session, self._layout, self._frame, self._since_ns = session, None, None, None
        with contextlib.suppress(StreamError):  # one that contradicts itself: its frames fit nothing
            self._layout = FieldLayout(session)

    def take(self, message: Result, t_ns: int) -> tuple[ReceivedFrame, int] | None:
        """Return a result as a frame with its capture time [ns]; None if it matches no descriptor."""
        session, layout = self._session, self._layout
        fits = session is not None and layout is not None and session.session == message.session
        if session is None or layout is None or not fits or layout.misfit(message.data) is not None:
            self.n_left += 1
            return None
        if self._frame is None:  # only now: a few bytes of descriptor can ask for more memory than there is
            self._frame = ReceivedFrame(session, layout)
        frame = self._frame
        layout.unpack_into(message.data, frame.data)
        frame.seq, frame.time, frame.status = message.seq, message.time, message.status
        frame.t_capture = message.t_capture
        if self._since_ns is None:
            self._since_ns = t_ns - message.t_capture
        captured_ns = self._since_ns + message.t_capture
        if abs(captured_ns - t_ns) > STRAY_NS:
            captured_ns = t_ns
        return frame, self.offset_ns + captured_ns


class _Written:
    """An output file whose channels are opened when their topics first occur.

    Attributes
    ----------
    n_left : number of messages left out, as their time is beyond what the format holds
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._writer = Writer(self._file)
        self._writer.start(profile="", library="rtsim")
        self._channels: dict[tuple[str, bytes], int] = {}
        self._encode = msgspec.json.Encoder().encode
        self._schemas: dict[int, tuple[Schema, bytes]] = {}
        self._n = self.n_left = 0

    def add(self, message: FoxgloveMessage) -> None:
        """Write a message; a time that the format cannot hold is counted in `n_left` instead."""
        if message.t_ns > LATEST_NS:
            self.n_left += 1
            return
        same = id(message.schema)
        if same not in self._schemas:  # kept with its bytes, so that no other one gets its place in memory
            self._schemas[same] = message.schema, self._encode(message.schema)
        schema = self._schemas[same][1]
        key = message.topic, schema
        if key not in self._channels:
            number = self._writer.register_schema(message.schema_name, "jsonschema", schema)
            self._channels[key] = self._writer.register_channel(message.topic, "json", number)
        t_ns, payload = max(0, message.t_ns), self._encode(message.payload)
        self._writer.add_message(self._channels[key], t_ns, payload, t_ns, self._n)
        self._n += 1

    def close(self) -> None:
        """Write the index and close the file."""
        self._writer.finish()
        self._file.close()


def wall_offset_ns(recording: Path) -> int:
    """Return the Unix time minus the time of the recorder's clock at the beginning of a recording [ns]; 0 if
    unknown.
    """
    try:
        with recording.open("rb") as file:
            for found in make_reader(file).iter_metadata():
                told = found.metadata
                if found.name == "recording":
                    began = datetime.fromisoformat(told["started"])
                    return round(1e9 * began.timestamp()) - int(told["started_log_time"])
    except Exception:  # a cut or foreign file fails in many ways; what it holds is read and told elsewhere
        return 0
    return 0
