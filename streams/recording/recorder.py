"""Recordings: every message as it came off the wire, in an MCAP file that survives a crash.

The file is written without chunks and flushed after each message, so that after a crash of the program at
most the message being written is missing. Topics are channels with message encoding "msgpack"; the log
time is the receipt on this machine's monotonic clock [ns]. Each channel has the schema of its messages, and a
file that was closed a checksum (CRC-32) of all its messages.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import zmq
from mcap.writer import CompressionType, Writer

from streams.access.security import Security
from streams.clock import now_ns
from streams.closing import Closing
from streams.codec import MAX_PAYLOAD, TOPICS
from streams.errors import StreamError
from streams.link import ClientLink
from streams.messages import SCHEMA_VERSION
from streams.receiving.reception import Reception
from streams.recording.schemas import ENCODING, schema_of
from streams.sockets import ZmqSocket, client_socket, receive_rest

IDLE_MS = 20
"""How often recording looks whether it shall stop, while nothing arrives [ms]."""


class Recorder(Closing):
    """Writes messages to a new MCAP file.

    dated : whether it says on which day it began, and the clock at that time
    Raises StreamError when the file exists (a recording is never overwritten) or cannot be made.
    """

    def __init__(self, path: Path | str, dated: bool = True) -> None:
        self.path, self._dated = Path(path), dated
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
        self._channels: dict[str, int] = {}
        self._writer = Writer(
            self._file, compression=CompressionType.NONE, use_chunking=False, enable_data_crcs=True
        )
        try:
            self._begin()
        except OSError as fault:
            raise self._failure(fault) from fault

    def _begin(self) -> None:
        self._writer.start(library="rtsim")
        began = {
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "started_log_time": str(now_ns()),
        }
        self._writer.add_metadata(
            "recording",
            {
                "schema_version": str(SCHEMA_VERSION),
                "log_time": "monotonic clock of the recording machine, ns",
                **(began if self._dated else {}),
            },
        )
        self._file.flush()

    def write(self, topic: bytes | str, payload: bytes, t_ns: int) -> None:
        """Write one message as received at `t_ns`; it is with the operating system when this returns.

        Raises StreamError when the disk does not take it.
        """
        name = topic if isinstance(topic, str) else topic.decode("ascii")
        try:
            channel = self._channels.get(name)
            if channel is None:
                channel = self._channels[name] = self._register(name)
            self._writer.add_message(
                channel, log_time=t_ns, data=payload, publish_time=t_ns, sequence=self.n_message
            )
            self._file.flush()
        except OSError as fault:
            raise self._failure(fault) from fault
        self.n_message += 1

    def _register(self, topic: str) -> int:
        """The number of a new channel, with the schema of its messages before it."""
        schema = schema_of(topic)
        number = 0 if schema is None else self._writer.register_schema(topic, ENCODING, schema)
        return self._writer.register_channel(topic, message_encoding="msgpack", schema_id=number)

    def close(self) -> None:
        """Finish the file with its summary; a file without a message is removed, so that its name is free.

        Raises StreamError when the disk does not take it.
        """
        if self._file.closed:
            return
        try:
            self._writer.finish()
            self._file.close()
        except OSError as fault:
            raise self._failure(fault) from fault
        if self.n_message == 0:
            self.path.unlink(missing_ok=True)

    def _failure(self, fault: OSError) -> StreamError:
        """Give up the file: what the disk has taken stays readable, one without a message is removed."""
        with suppress(OSError):  # the rest of the buffer finds no place either
            self._file.close()
        if self.n_message == 0:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
            return StreamError(
                f"{self.path} cannot be written ({fault.strerror}); no file was kept; is the disk full?"
            )
        return StreamError(
            f"{self.path} cannot be written on after {self.n_message} messages ({fault.strerror}); "
            "is the disk full?"
        )


class RecordingSummary(NamedTuple):
    """Result of `record`.

    n_message : messages written
    n_refused : messages left out because they are none of this protocol
    n_lost : frames that were sent after the first one received and are not in the file
    trouble : a sentence on the connection where nothing came over it, else ""
    """

    n_message: int
    n_refused: int
    n_lost: int
    trouble: str


def record(
    address: str,
    path: Path | str,
    stop: threading.Event | None = None,
    security: Security | None = None,
    until_end: bool = True,
    say: Callable[[str], None] | None = None,
) -> RecordingSummary:
    """Record everything that is sent at `address`, byte for byte, until `stop` is set or the stream ends.

    `say` is called with plain sentences about the connection and about what was not received. Without any
    message no file is left. Raises StreamError when the address, a key or the file cannot be used.
    """
    stop = stop or threading.Event()
    # the file first: whoever waits for this subscriber may begin once it is there
    with (
        Recorder(path) as recorder,
        zmq.Context() as context,
        client_socket(context, zmq.SUB, address, security, [b""]) as socket,
    ):
        socket.rcvtimeo = IDLE_MS
        link = ClientLink(socket, address)
        reception = Reception()
        try:
            n_refused = _record_until(
                recorder, reception, socket, link, stop, until_end, say or (lambda sentence: None)
            )
            trouble = "" if recorder.n_message else link.trouble()
        finally:
            link.close()
    return RecordingSummary(recorder.n_message, n_refused, reception.n_lost, trouble)


def _record_until(
    recorder: Recorder,
    reception: Reception,
    socket: ZmqSocket,
    link: ClientLink,
    stop: threading.Event,
    until_end: bool,
    say: Callable[[str], None],
) -> int:
    """The loop of `record`; returns how many messages were left out."""
    n_refused = 0
    while not (stop.is_set() or (until_end and reception.over)):
        reception.events.flush(now_ns())
        while reception.events.sentences:
            say(reception.events.sentences.popleft())
        try:
            first = socket.recv(copy=False)
        except zmq.Again:
            sentence = link.check(over=reception.over)
            if sentence is not None:
                say(sentence)
            continue
        t_ns = now_ns()
        parts = receive_rest(socket, first)
        link.heard()
        if len(parts) != 2 or parts[0] not in TOPICS or len(parts[1]) > MAX_PAYLOAD:
            n_refused += 1
            continue
        recorder.write(parts[0], parts[1], t_ns)
        reception.take(parts, t_ns)
    return n_refused
