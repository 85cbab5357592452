"""Converts a recording to a file for Foxglove: MCAP with messages in JSON, each with its schema."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

import msgspec
from mcap.writer import Writer

from rtsim.bridges.foxglove_messages import FoxgloveFrames, FoxgloveMessage, log_message
from rtsim.bridges.foxglove_schemas import INFO, Schema
from rtsim.errors import ConfigError
from rtsim.files.output import whole
from streams.codec import FieldLayout, decode
from streams.errors import DecodeError, StreamError
from streams.messages import Result, Session, Status, Telemetry
from streams.receiving.ring import ReceivedFrame
from streams.recording.recorded import read_messages

LATEST_NS = 2**63 - 1
"""Latest time of a message [ns]."""
STRAY_NS = 1_000_000_000
"""The clock of frames is not used if its offset from the recorder's clock changes by more [ns]."""
UNDATED = (
    "the recording states no date of its beginning, so its times count from the start of its machine's clock "
    "and stand in the year 1970 in Foxglove"
)


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
    n_bad = n_frame = 0
    try:
        results = _ResultFrames(*clocks_of(recording))
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
    if not results.offset_ns:
        notes.append(UNDATED)
    if n_bad:
        notes.append(f"messages that could not be decoded, left out: {n_bad}")
    if results.n_left:
        notes.append(f"frames left out because they fit no descriptor: {results.n_left}")


class _ResultFrames:
    """Results of a recording as frames, with times that follow the source's clock.

    since_ns : for each session the least time from capture by the source's clock to receipt by the recorder's
        clock [ns], as returned by `clocks_of`

    Attributes
    ----------
    offset_ns : Unix time minus the time of the recorder's clock [ns], 0 = not known
    n_left : number of frames that match no descriptor
    """

    def __init__(self, offset_ns: int, since_ns: Mapping[str, int]) -> None:
        self.offset_ns, self.n_left = offset_ns, 0
        self._since_ns = since_ns
        self._session: Session | None = None
        self._frame: ReceivedFrame | None = None
        self._layout: FieldLayout | None = None

    def begin(self, session: Session) -> None:
        """Begin a session from its descriptor; a repetition of the same descriptor has no effect."""
        if self._session is not None and self._session.session == session.session:
            return
        self._session, self._layout, self._frame = session, None, None
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
        return frame, self.offset_ns + self._captured_ns(message, t_ns)

    def _captured_ns(self, message: Result, t_ns: int) -> int:
        """Return when a frame was captured, by the recorder's clock [ns]; t_ns : when it was received

        Where the source has the clock of the recorder, this is its own stamp. The stamps of another clock are
        placed so that the quickest frame of the session was received at once. A stale frame, which repeats an
        earlier one, has the time of its receipt.
        """
        if message.status & Status.STALE:
            return t_ns
        if 0 <= t_ns - message.t_capture < STRAY_NS:
            return message.t_capture
        captured_ns = self._since_ns.get(message.session, 0) + message.t_capture
        return captured_ns if abs(captured_ns - t_ns) <= STRAY_NS else t_ns


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


def clocks_of(recording: Path) -> tuple[int, dict[str, int]]:
    """Read a recording once for its clocks: return the Unix time minus the time of the recorder's clock at
    its beginning [ns], 0 if it states none; and for each session of results the least time from capture, by
    the source's clock, to receipt, by the recorder's clock [ns].
    """
    recorded, since_ns = read_messages(recording), dict[str, int]()
    for t_ns, topic, payload in recorded:
        if topic != b"result":
            continue
        with contextlib.suppress(DecodeError):  # counted where the frames are read
            message = decode([topic, payload])
            if isinstance(message, Result) and not message.status & Status.STALE:
                passed_ns = t_ns - message.t_capture
                since_ns[message.session] = min(passed_ns, since_ns.get(message.session, passed_ns))
    told = recorded.metadata.get("recording", {})
    try:
        began = datetime.fromisoformat(told["started"])
        return round(1e9 * began.timestamp()) - int(told["started_log_time"]), since_ns
    except (KeyError, ValueError, OverflowError):  # of another program, or made anonymous
        return 0, since_ns
