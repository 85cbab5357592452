"""Recordings: every message as it came off the wire, in an MCAP file that survives a crash.

The file is written without chunks and flushed after each message, so that after a crash of the program at
most the message being written is missing. Topics are channels with message encoding "msgpack"; the log
time is the receipt on this machine's monotonic clock [ns].
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import zmq
from mcap.exceptions import EndOfFile
from mcap.records import Channel, McapRecord
from mcap.records import Message as McapMessage
from mcap.stream_reader import StreamReader
from mcap.writer import CompressionType, Writer

from streams.clock import now_ns
from streams.codec import MAX_PAYLOAD, TOPICS
from streams.errors import StreamError
from streams.link import Link
from streams.messages import SCHEMA_VERSION
from streams.security import Security
from streams.sockets import ZmqSocket, client_socket, receive_rest

MAGIC = b"\x89MCAP0\r\n"
RECORD_LIMIT = 64 << 20
"""No record of a sound recording is larger [bytes]; a larger one means damage."""
IDLE_MS = 100
"""How often recording looks whether it shall stop, while nothing arrives [ms]."""


class Recorder:
    """Writes messages to a new MCAP file.

    Raises StreamError when the file exists (a recording is never overwritten) or cannot be made.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        try:
            self._file = self.path.open("xb")
        except FileExistsError as fault:
            raise StreamError(
                f"{self.path} exists already; choose another name or remove it first"
            ) from fault
        except OSError as fault:
            raise StreamError(
                f"{self.path} cannot be written ({fault.strerror}); choose another place"
            ) from fault
        self.n_message = 0
        self._failed = False
        self._channels: dict[str, int] = {}
        self._writer = Writer(self._file, compression=CompressionType.NONE, use_chunking=False)
        self._writer.start(library="rtsim")
        self._writer.add_metadata(
            "recording",
            {
                "schema_version": str(SCHEMA_VERSION),
                "log_time": "monotonic clock of the recording machine, ns",
                "started": datetime.now(UTC).isoformat(timespec="seconds"),
                "started_log_time": str(now_ns()),
            },
        )
        self._file.flush()

    def write(self, topic: bytes | str, payload: bytes, t_ns: int) -> None:
        """Write one message as received at `t_ns`; it is with the operating system when this returns.

        Raises StreamError when the disk does not take it.
        """
        name = topic if isinstance(topic, str) else topic.decode("ascii")
        channel = self._channels.get(name)
        if channel is None:
            channel = self._writer.register_channel(name, message_encoding="msgpack", schema_id=0)
            self._channels[name] = channel
        try:
            self._writer.add_message(
                channel, log_time=t_ns, data=payload, publish_time=t_ns, sequence=self.n_message
            )
            self._file.flush()
        except OSError as fault:
            raise self._failure(fault) from fault
        self.n_message += 1

    def close(self) -> None:
        """Finish the file with its summary. Raises StreamError when the disk does not take it."""
        if self._failed:
            with suppress(OSError):  # said already; what is on the disk stays readable
                self._file.close()
        elif not self._file.closed:
            try:
                self._writer.finish()
                self._file.close()
            except OSError as fault:
                raise self._failure(fault) from fault

    def _failure(self, fault: OSError) -> StreamError:
        self._failed = True
        return StreamError(
            f"{self.path} cannot be written on after {self.n_message} messages ({fault.strerror}); "
            "is the disk full?"
        )

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Recorded(NamedTuple):
    """What `record` did: messages written; messages left out because they are none of this protocol."""

    n_message: int
    n_refused: int


def record(
    address: str,
    path: Path | str,
    stop: threading.Event | None = None,
    security: Security | None = None,
    until_end: bool = True,
    say: Callable[[str], None] | None = None,
) -> Recorded:
    """Record everything that is sent at `address`, byte for byte, until `stop` is set or the stream ends.

    `say` is called with plain sentences about the connection. Raises StreamError when the address, a key or
    the file cannot be used.
    """
    stop = stop or threading.Event()
    with zmq.Context() as context, client_socket(context, zmq.SUB, address, security, [b""]) as socket:
        socket.rcvtimeo = IDLE_MS
        link = Link(socket, address)
        try:
            with Recorder(path) as recorder:
                n_refused = _record_until(recorder, socket, link, stop, until_end, say)
        finally:
            link.close()
    return Recorded(recorder.n_message, n_refused)


def _record_until(
    recorder: Recorder,
    socket: ZmqSocket,
    link: Link,
    stop: threading.Event,
    until_end: bool,
    say: Callable[[str], None] | None,
) -> int:
    """The loop of `record`; returns how many messages were left out."""
    n_refused = 0
    while not stop.is_set():
        try:
            parts = [socket.recv()]
        except zmq.Again:
            sentence = link.check()
            if sentence is not None and say is not None:
                say(sentence)
            continue
        t_ns = now_ns()
        receive_rest(socket, parts)
        if len(parts) != 2 or parts[0] not in TOPICS or len(parts[1]) > MAX_PAYLOAD:
            n_refused += 1
            continue
        recorder.write(parts[0], parts[1], t_ns)
        if until_end and parts[0] == b"end":
            break
    return n_refused


class RecordedMessages(Iterator[tuple[int, bytes, bytes]]):
    """The messages of a recording as (t_ns, topic, payload), in the order written.

    Attributes
    ----------
    n_read : how many were read so far
    note : when all are read, a sentence if the file's tail is cut, otherwise ""
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.n_read = 0
        self.note = ""
        self._file = _WholeReads(self.path.open("rb", buffering=0))
        if self._file.peek(len(MAGIC))[: len(MAGIC)] != MAGIC:
            self._file.close()
            raise StreamError(f"{self.path} is not a recording; give an .mcap file")
        reader = StreamReader(self._file, record_size_limit=RECORD_LIMIT)
        self._records = iter(reader.records)
        self._topics: dict[int, bytes] = {}

    def __next__(self) -> tuple[int, bytes, bytes]:
        while not self._file.closed:
            record = self._next_record()
            if isinstance(record, Channel):
                self._topics[record.id] = record.topic.encode()
            elif isinstance(record, McapMessage) and record.channel_id in self._topics:
                self.n_read += 1
                return record.log_time, self._topics[record.channel_id], record.data
        raise StopIteration

    def close(self) -> None:
        """Close the file before its end; reading to the end closes it too."""
        self._file.close()

    def _next_record(self) -> McapRecord | None:
        """The next record; None, with the file closed, at its end, which may be a cut."""
        try:
            return next(self._records)
        except StopIteration:  # only after the footer and the closing magic
            pass
        except OSError:
            raise
        except Exception:  # cut or damaged bytes make the reader fail in many ways; each means the same
            self.note = (
                f"{self.path} was not closed properly and its tail is cut: "
                f"{self.n_read} messages were read, anything after them is lost"
            )
        self._file.close()
        return None


def read_messages(path: Path | str) -> RecordedMessages:
    """The messages of a recording, whether it was closed properly or cut by a crash.

    Raises OSError when the file cannot be opened and StreamError when it is no recording.
    """
    return RecordedMessages(path)


class _WholeReads(BufferedReader):
    """A file that never returns less than asked for: half a record is no record."""

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        if size is not None and len(data) < size:
            raise EndOfFile
        return data
