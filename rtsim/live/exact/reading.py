"""The journal of a run, read back from a recording: the request, and all entries in their order.

A recording may be truncated, damaged or written by another program, so each entry is checked before it is
used. If a run cannot be replayed, an error gives the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from rtsim.errors import ConfigError
from rtsim.files.recovery import opened
from rtsim.live.exact.journal import FORMAT, LOST
from rtsim.live.exact.run_files import KEPT_MOST, MOST_FILES, FilePart
from rtsim.live.processes.requests import EstimatorRequest, estimator_request
from streams.codec import decode
from streams.errors import DecodeError, StreamError
from streams.messages import Command, Count, Device, Journal, Output, Result, Session, SessionId
from streams.recording.recorded import RecordedMessages

NO_JOURNAL = "the recording contains no log of a run, so the run cannot be computed again exactly"


Finite = Annotated[float, msgspec.Meta(ge=-1e300, le=1e300)]


class OfTurn(msgspec.Struct):
    """Values of a journal entry of kind `session`, a new session of markers or forces, or `turn`, the session
    of markers with whose frames force samples are paired from there on: the number by which the journal
    refers to that session.
    """

    number: Count


class OfFrame(OfTurn, kw_only=True):
    """Values of a journal entry for a frame, or for a message of forces, that the loop received.

    number : number of its session in the journal
    seq : number of the frame in that session
    t_capture, t_arrived, ... : its time stamps [ns]
    time : time in the trial [s]
    leads : whether its session was the leading one, whose frames have come for the longest time without a
        pause
    n_awaited : number of results of background threads that were used so far
    late : whether its result came after the time limit

    Entries of older journals have fewer values.
    """

    seq: Count
    t_capture: Count
    t_arrived: Count
    t_received: Count
    time: Finite
    leads: bool
    n_awaited: Count = 0
    t_taken: Count = 0
    late: bool = False
    t_solved: Count = 0
    t_published: Count = 0


class OfResults(msgspec.Struct):
    """Values of a journal entry for the beginning of a session of results: its id, and the clock at its start
    [ns].
    """

    session: SessionId
    t_start: Count


class OfFile(msgspec.Struct):
    """Values of a journal entry that contains a part of a file: checksum and size of the whole file, number
    of this part, and number of parts.
    """

    sha256: str
    n_byte: Count
    part: Count
    n_part: Count


class OfRepeat(msgspec.Struct):
    """Values of a journal entry for a result that was published again, as no frame came: when [ns]."""

    t_published: Count


VALUES: dict[str, type[msgspec.Struct]] = {
    "file": OfFile, "session": OfTurn, "turn": OfTurn, "frame": OfFrame, "forces": OfFrame,
    "results": OfResults, "repeat": OfRepeat,
}  # fmt: skip
"""Name of an entry -> class of its values. An entry is checked against it when it is read, and not again
later."""


class RecordedSession(NamedTuple):
    """A session of results that the journal reports: its id, and the clock at its start [ns]."""

    session: str
    t_start: int


class RecordedRun(NamedTuple):
    """A run as described by its journal.

    path : path of the recording
    request : options of the run
    build : facts on which the results depend, such as versions and processor, as they were in the run
    files : parts of the files that were read, in order
    session : id of the journal
    results : sessions of results, in the order in which they began
    n_entry : number of entries before the first that is missing or damaged
    n_frame, n_command, n_session : numbers of frames, commands and sessions of markers and forces
    n_skipped : number of frames that the loop did not receive
    cut : reason why the journal is incomplete; "" if it is complete
    notes : further notes
    """

    path: Path
    request: EstimatorRequest
    build: dict[str, str]
    files: tuple[FilePart, ...]
    session: str
    results: tuple[RecordedSession, ...]
    n_entry: int
    n_frame: int
    n_command: int
    n_session: int
    n_skipped: int
    cut: str
    notes: tuple[str, ...]


def decoded_messages(messages: RecordedMessages) -> Iterator[tuple[Any, bytes]]:
    """Yield the messages of a recording (MCAP file) that can be decoded, with their bytes; ConfigError if
    chunks of the file are compressed.
    """
    try:
        for _, topic, payload in messages:
            try:
                yield decode([topic, payload]), payload
            except DecodeError:
                continue
    except (OSError, StreamError) as error:
        raise ConfigError(f"the recording cannot be read ({error})", where=str(messages.path)) from None


class _Reading:
    """The first pass over a recording; it counts the messages and collects the request, the build and the
    sessions of the run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.session, self.n_entry, self.cut = "", 0, ""
        self.files: list[FilePart] = []
        self.results: list[RecordedSession] = []
        self.n = {"frame": 0, "command": 0, "session": 0}
        self.n_skipped, self.n_byte, self.is_over = 0, 0, False
        self.others: set[str] = set()
        self.kinds: set[type] = set()
        self._last: dict[int, int] = {}
        self.first: Journal | None = None

    def take(self, message: Any) -> None:
        self.kinds.add(type(message))
        if not isinstance(message, Journal):
            return
        if not self.session:
            self.session = message.session
        if message.session != self.session:
            self.others.add(message.session)
        elif not self.cut:
            self._take_entry(message)

    def _take_entry(self, entry: Journal) -> None:
        if entry.seq != self.n_entry:
            n = entry.seq - self.n_entry
            self.cut = f"{n} entries of the run log are missing after entry {self.n_entry - 1}"
            if self.n_entry == 0:
                self.cut = (
                    "the beginning of the run log is missing, because the recorder started after the run"
                )
            return
        if entry.entry == LOST:
            self.cut = f"entry {entry.seq} of the run log was too large to be kept"
            return
        self.n_entry += 1
        try:
            self._count(entry)
        except (KeyError, TypeError, ValueError, msgspec.MsgspecError):
            self.n_entry -= 1
            self.cut = f"entry {entry.seq} of the run log ({entry.entry[:16]}) cannot be read"

    def _count(self, entry: Journal) -> None:
        values = entry.values
        if entry.entry in VALUES:
            msgspec.convert(values, VALUES[entry.entry])
        if entry.seq == 0:
            self.first = entry
        elif entry.entry == "file" and len(self.files) < MOST_FILES + 2 * KEPT_MOST // (1 << 19):
            self.n_byte += len(entry.data["content"])
            if self.n_byte <= KEPT_MOST:
                self.files.append(_part_of(entry))
        elif entry.entry == "results":
            self.results.append(RecordedSession(str(values["session"]), int(values["t_start"])))
        elif entry.entry == "end":
            self.is_over = True
        if entry.entry in self.n:
            self.n[entry.entry] += 1
        if entry.entry == "frame":
            number, seq = int(values["number"]), int(values["seq"])
            self.n_skipped += max(0, seq - self._last.get(number, seq - 1) - 1)
            self._last[number] = seq


def read_run(path: Path) -> RecordedRun:
    """Read the run in a recording from its journal; ConfigError if there is none that can be replayed."""
    messages, reading = opened(path), _Reading(path)
    for message, _ in decoded_messages(messages):
        reading.take(message)
    if reading.first is None:
        raise ConfigError(reading.cut or NO_JOURNAL, where=str(path), remedy=remedy_for(reading.kinds))
    first = reading.first
    if first.entry != "run" or first.values.get("format") != FORMAT:
        raise ConfigError(
            f"the run log has the format {first.values.get('format')}", where=str(path), allowed=str(FORMAT),
            remedy="replay the run with the version of rtsim that recorded it",
        )  # fmt: skip
    try:
        request = estimator_request(first.data["request"])
        build = msgspec.convert(first.values["build"], dict[str, str])
    except (KeyError, ConfigError, msgspec.ValidationError) as fault:
        raise ConfigError(
            f"this version does not understand the options of the run ({fault})", where=str(path),
            remedy="replay the run with the version of rtsim that recorded it",
        ) from None  # fmt: skip
    cut = reading.cut
    if not cut and not reading.is_over:
        cut = "the end of the run log is missing"
    notes = [messages.note] if messages.note else []
    if reading.others:
        notes.append(f"{path} contains {len(reading.others) + 1} runs; the first is replayed")
    return RecordedRun(
        path=path, request=request, build=build, files=tuple(reading.files), session=reading.session,
        results=tuple(reading.results), n_entry=reading.n_entry, n_frame=reading.n["frame"],
        n_command=reading.n["command"], n_session=reading.n["session"], n_skipped=reading.n_skipped,
        cut=cut, notes=tuple(notes),
    )  # fmt: skip


def remedy_for(kinds: set[type]) -> str:
    """Return the advice to the user for a recording that has no journal; kinds : the classes of the messages
    in it
    """
    if kinds & {Output, Device}:
        return "run a recorded run with a device again by `rtsim hil CONFIG --again RECORDING`"
    if Result in kinds:
        return (
            "record a run by `rtsim live --record`, which keeps a log; `rtsim analyse` solves the markers of "
            "this recording again, and `rtsim diff` compares two recordings"
        )
    if kinds & {Session}:
        return "play its markers by `rtsim replay`, or solve them by `rtsim analyse`"
    return "give a recording of a run, made by `rtsim live --record`"


def entries_of(run: RecordedRun) -> Iterator[Journal]:
    """Yield the entries of a run's journal that follow its first entry, in order."""
    n = 0
    for message, _ in decoded_messages(opened(run.path)):
        if isinstance(message, Journal) and message.session == run.session:
            if n == run.n_entry:
                return
            n += 1
            if n > 1:
                yield message


def _part_of(entry: Journal) -> FilePart:
    """Return the part of a file in a journal entry."""
    values, data = entry.values, entry.data
    if b"\0" in data["path"] + data["folder"]:
        raise ValueError("no file can have this name")
    return FilePart(
        path=data["path"], folder=data["folder"], content=data["content"], sha256=str(values["sha256"]),
        n_byte=int(values["n_byte"]), part=int(values["part"]), n_part=int(values["n_part"]),
    )  # fmt: skip


class RecordedAnswer(NamedTuple):
    """A message that the recorded run published, decoded and as bytes: the descriptor of a session of
    results, or a result.
    """

    message: Session | Result
    payload: bytes


def answers_of(run: RecordedRun) -> Iterator[RecordedAnswer]:
    """Yield the descriptors of a run's results, each once, and the results, as recorded."""
    ids, known = {result.session for result in run.results}, set()
    for message, payload in decoded_messages(opened(run.path)):
        if isinstance(message, Session) and message.session in ids and message.session not in known:
            known.add(message.session)
            yield RecordedAnswer(message, payload)
        elif isinstance(message, Result) and message.session in ids:
            yield RecordedAnswer(message, payload)


def command_of(entry: Journal) -> Command:
    """Return the command that a journal entry of kind `command` contains; ConfigError if it contains none."""
    return _embedded(entry, b"command", Command)


def session_of(entry: Journal) -> Session:
    """Return the descriptor that a journal entry of kind `session` contains; ConfigError if it contains
    none.
    """
    return _embedded(entry, b"session", Session)


def _embedded(entry: Journal, topic: bytes, kind: type) -> Any:
    try:
        message = decode([topic, entry.data["message"]])
    except (KeyError, DecodeError) as fault:
        raise bad_entry(entry, fault) from None
    assert isinstance(message, kind)
    return message


def bad_entry(entry: Journal, fault: object) -> ConfigError:
    """Return the error for a journal entry that cannot be used."""
    return ConfigError(
        f"entry {entry.seq} of the run log ({entry.entry}) cannot be used ({fault})",
        remedy="take another copy of the recording",
    )
