"""Recordings: every message as received, in an MCAP file that survives a crash.

Every message has been passed to the operating system when `write` returns, so that after a crash of the
program at most the message being written is missing (streams/recording/chunked_file). Topics are channels
with message encoding "msgpack"; the log time is the receipt on this machine's monotonic clock [ns].
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import zmq

from streams.access.security import Security
from streams.clock import now_ns
from streams.closing import Closing
from streams.codec import MAX_PAYLOAD, TOPICS
from streams.errors import StreamError
from streams.link import ClientLink
from streams.receiving.reception import Reception
from streams.recording.background_writer import BackgroundWriter
from streams.recording.chunked_file import ChunkedFile, description
from streams.sockets import ZmqSocket, client_socket, receive_rest

IDLE_MS = 20
"""Interval at which recording looks whether it shall stop, while nothing arrives [ms]."""


class Recorder(Closing):
    """Writes messages to a new MCAP file.

    dated : whether its metadata include the date of its beginning, and the clock at that time
    Raises StreamError when the file exists (a recording is never overwritten) or cannot be made.
    """

    def __init__(self, path: Path | str, dated: bool = True) -> None:
        self.path = Path(path)
        try:
            self.file = ChunkedFile(self.path, {"recording": description(dated)})
        except FileExistsError as fault:
            raise StreamError(
                f"{self.path} exists already; choose another name or remove it first"
            ) from fault
        except OSError as fault:
            raise StreamError(
                f"{self.path} cannot be written ({fault.strerror}); choose another place"
            ) from fault
        try:
            self.file.begin()
        except OSError as fault:
            raise self._failure(fault) from fault

    @property
    def n_message(self) -> int:
        """Number of messages in the file."""
        return self.file.n_message

    def write(self, topic: bytes | str, payload: bytes, t_ns: int) -> None:
        """Write one message as received at `t_ns`; it has been passed to the operating system when this
        returns.

        Raises StreamError if writing fails.
        """
        name = topic if isinstance(topic, str) else topic.decode("ascii")
        try:
            self.file.add(name, payload, t_ns)
        except OSError as fault:
            raise self._failure(fault) from fault

    def close(self) -> None:
        """Finish the file with its summary; a file without a message is removed, so that its name is free.

        Raises StreamError if writing fails.
        """
        if self.file.closed:
            return
        try:
            self.file.finish()
        except OSError as fault:
            raise self._failure(fault) from fault
        if self.n_message == 0:
            self.file.remove(self.path)

    def _failure(self, fault: OSError) -> StreamError:
        """Give up the file and return the error. The messages on the disk stay readable; a file without a
        message is removed."""
        self.file.abandon()
        if self.n_message == 0:
            with suppress(OSError):
                self.file.remove(self.path)
            return StreamError(
                f"{self.path} cannot be written ({fault.strerror}); no file was kept; is the disk full?"
            )
        return StreamError(
            f"{self.path} cannot be written any more after {self.n_message} messages "
            f"({fault.strerror}); is the disk full?"
        )


class RecordingSummary(NamedTuple):
    """Result of `record`.

    n_message : messages written
    n_refused : messages left out because they are not of this protocol
    n_lost : number of frames that were sent after the first received one and are not in the file
    trouble : a sentence on the connection if nothing came over it, else ""
    fault : a sentence if not all messages could be written, else ""
    """

    n_message: int
    n_refused: int
    n_lost: int
    trouble: str
    fault: str = ""


def record(
    address: str,
    path: Path | str,
    stop: threading.Event | None = None,
    security: Security | None = None,
    until_end: bool = True,
    say: Callable[[str], None] | None = None,
) -> RecordingSummary:
    """Record everything that is sent at `address`, byte for byte, until `stop` is set or the stream ends.

    until_end : whether the end of the stream ends the recording, too
    say : function called with plain sentences about the connection and about what was not received

    Without any message no file is left. Raises StreamError when the address, a key or the file cannot be
    used.
    """
    stop, say = stop or threading.Event(), say or (lambda sentence: None)
    # the file first: whoever waits for this subscriber may begin once it is there
    recorder = Recorder(path)
    writer = BackgroundWriter(recorder.file, recorder.path, say)
    try:
        with (
            zmq.Context() as context,
            client_socket(context, zmq.SUB, address, security, [b""]) as socket,
        ):
            socket.rcvtimeo = IDLE_MS
            link = ClientLink(socket, address)
            reception = Reception()
            try:
                n_refused = _record_until(writer, reception, socket, link, stop, until_end, say)
                trouble = link.trouble()
            finally:
                link.close()
    finally:
        fault = writer.finish()
    trouble = "" if writer.n_message else trouble
    return RecordingSummary(writer.n_message, n_refused, reception.n_lost, trouble, fault)


def _record_until(
    writer: BackgroundWriter,
    reception: Reception,
    socket: ZmqSocket,
    link: ClientLink,
    stop: threading.Event,
    until_end: bool,
    say: Callable[[str], None],
) -> int:
    """Record messages from a socket until `stop` is set or, with `until_end`, the stream ends; return how
    many messages were left out, as they are not of this protocol.

    writer, reception, link : writer of the file, count of missing frames, and watch of the connection
    say : function called with sentences for the user
    """
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
            socket.rcvtimeo = link.wait_ms(IDLE_MS)
            continue
        t_ns = now_ns()
        parts = receive_rest(socket, first, cut=link.cut)
        link.heard(parts)
        if (told := link.of_cuts()) is not None:
            say(told)
        if len(parts) != 2 or parts[0] not in TOPICS or len(parts[1]) > MAX_PAYLOAD:
            n_refused += 1
            continue
        writer.put(parts[0], parts[1], t_ns)
        reception.take(parts, t_ns)
    return n_refused
