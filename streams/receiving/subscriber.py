"""Receiving of a stream: a thread takes messages off the socket as they come and keeps the newest."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from time import thread_time_ns

import zmq

from streams.access.security import Security
from streams.clock import now_ns
from streams.closing import Closing
from streams.codec import TOPICS
from streams.errors import StreamError
from streams.link import ClientLink
from streams.messages import STREAM_NAMES, Session, StreamName, Telemetry
from streams.receiving.intake import Intake
from streams.receiving.ring import ReceivedFrame, Ring
from streams.sockets import HIGH_WATER, ZmqContext, client_socket, receive_rest

IDLE_MS = 20
"""Longest wait of the thread for a message before it looks at anything else [ms]."""


class Subscriber(Closing):
    """Receiver of the newest frames of one stream, with a thread of its own.

    Parameters
    ----------
    address : where the sender is bound, e.g. "tcp://127.0.0.1:5560"; it need not be there yet
    topics : the message types wanted, e.g. ("markers",) or ("result", "telemetry"), with exactly one of
        "markers", "forces", "result"; "session" and "end" are always received
    backlog : unread frames that are kept, in order, at most 64 MiB of them; 1 means strictly the newest
    queue : number of messages that may wait here for this thread; further ones wait at the sender
    security : the keys of this client, when the sender demands them

    Only one thread may call `wait`. Raises StreamError for a bad address, topic, backlog or key.
    """

    def __init__(
        self,
        address: str,
        topics: Iterable[str | bytes],
        backlog: int = 8,
        security: Security | None = None,
        queue: int = HIGH_WATER,
    ) -> None:
        stream, prefixes = _wanted(topics)
        if backlog < 1:
            raise StreamError(f"the backlog is {backlog}; give 1 frame or more")
        self.address = address
        self._ring = Ring(backlog)
        self._intake = Intake(stream, self._ring, now_ns, thread_time_ns)
        self._fault: Exception | None = None
        self._context: ZmqContext = zmq.Context()
        self._socket = client_socket(self._context, zmq.SUB, address, security, prefixes)
        self._socket.rcvhwm = queue
        self._link = ClientLink(self._socket, address)
        self._thread = threading.Thread(target=self._run, name=f"subscriber {address}", daemon=True)
        self._thread.start()

    @property
    def session(self) -> Session | None:
        """The descriptor of the frame that `wait` returned last; if it returned None, the newest
        descriptor; None before there is any. So frame and descriptor always belong together.
        """
        return self._ring.session

    @property
    def counters(self) -> dict[str, int]:
        """Numbers of frames received, lost and refused, by reason; kept over sessions."""
        return self._intake.counters

    @property
    def events(self) -> deque[str]:
        """Messages about faults of the reception, newest last; take them with popleft."""
        return self._intake.events.sentences

    @property
    def telemetry(self) -> deque[Telemetry]:
        """The last telemetry messages, newest last, when that topic is wanted; take them with popleft."""
        return self._intake.telemetry

    @property
    def ended(self) -> bool:
        """Whether the sender has ended the session and every frame of it was read."""
        return self._intake.ended and self._ring.n_unread == 0

    @property
    def strangers_ns(self) -> int:
        """Processor time spent on anything but frames of the leading session [ns], the session whose frames
        have come for the longest time without a pause.
        """
        return self._intake.strangers.spent_ns

    def keep(self) -> None:
        """Keep the frame that `wait` returned last valid and unchanged for as long as it is referenced."""
        self._ring.keep()

    def wait(self, timeout_s: float) -> ReceivedFrame | None:
        """Return the oldest unread frame, waiting for it up to `timeout_s`; it is valid until the next call.

        Returns None after the timeout, after `close`, and once when the stream ends. Raises StreamError if
        the receiving thread has failed.
        """
        frame = self._ring.pop(timeout_s)
        if frame is None and self._fault is not None:
            raise StreamError(f"receiving from {self.address} has failed: {self._fault}") from self._fault
        return frame

    def close(self) -> None:
        """Stop receiving. A waiting reader returns at once."""
        if not self._context.closed:
            self._context.term()  # wakes the thread out of its recv, and waits until it has closed its socket
            self._thread.join()

    def _run(self) -> None:
        self._socket.rcvtimeo = IDLE_MS
        try:
            while True:
                self._receive()
        except zmq.ContextTerminated:
            pass
        except Exception as fault:
            self._fault = fault  # raised again by wait, in the reader's thread
        finally:
            self._intake.events.close()
            self._ring.close()
            self._link.close()
            self._socket.close(0)

    def _receive(self) -> None:
        events = self._intake.events
        try:
            first = self._socket.recv(copy=False)
        except zmq.Again:
            sentence = self._link.check(over=self._intake.ended)
            if sentence is not None:
                events.say(sentence)
            self._socket.rcvtimeo = self._link.wait_ms(IDLE_MS)
            self._intake.look_again(now_ns())
            events.flush(now_ns())
            return
        t_arrived = now_ns()
        parts = receive_rest(self._socket, first, cut=self._link.cut)
        self._link.heard(parts)
        if (sentence := self._link.of_cuts()) is not None:
            events.say(sentence)
        try:
            self._intake.accept(parts, t_arrived)
        except Exception as fault:  # nothing that a stranger sends may end the receiving
            self._intake.refuse(fault, t_arrived)
        events.flush(t_arrived)


def _wanted(topics: Iterable[str | bytes]) -> tuple[StreamName, list[bytes]]:
    """Return the one stream among the topics ("markers", "forces" or "result"), and all topics to subscribe
    to."""
    wanted = {topic.encode() if isinstance(topic, str) else topic for topic in topics}
    streams = [name for name in STREAM_NAMES if name.encode() in wanted]
    strangers = wanted.difference(TOPICS)
    if strangers or len(streams) != 1:
        raise StreamError(
            f"the topics are {sorted(wanted)}; give message types, one of them of {', '.join(STREAM_NAMES)}"
        )
    return streams[0], sorted(wanted | {b"session", b"end"})
