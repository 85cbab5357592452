"""Publishing of a stream: a bound socket that sends the stream's descriptor to every new subscriber."""

from __future__ import annotations

from collections import Counter, deque
from itertools import count, islice
from typing import TYPE_CHECKING

import zmq

from streams.access.askers import key_of
from streams.access.guard import SendingLimit
from streams.access.security import Security
from streams.access.wire import inode_of
from streams.clock import is_over, now_ns
from streams.closing import Closing
from streams.codec import TOPICS, encode
from streams.messages import AnyMessage, End, Forces, Markers, Result, Session, StreamName
from streams.sockets import BoundSocket

if TYPE_CHECKING:
    from streams.access.crowd import AcceptedConnection

ANNOUNCE_NS = 1_000_000_000
"""Interval at which the descriptor is repeated [ns]."""
UPSTREAM = SendingLimit(part=1024, burst=8192, rate=256, unfinished=12 << 10, buffer=1)
"""Limit of what a subscriber may send: a handshake, a few subscriptions, and a heartbeat now and then."""
MOST_TOPICS = 32
LONGEST_TOPIC = 64
"""Subscriptions of one connection at the same time, and the bytes of each."""
# as whole numbers: to look an enumeration's member up takes microseconds
MORE, DONTWAIT, SRCFD = int(zmq.SNDMORE), int(zmq.DONTWAIT), int(zmq.SRCFD)
PREFIXES = frozenset(topic[:n] for topic in TOPICS for n in range(len(topic) + 1))
"""What a subscription to a published topic may be."""
MOST_EARLY = 1024
"""Connections that are not known yet whose subscriptions are kept for the next calls of `service`."""
EARLY_AT_ONCE = 32
"""Of them, those that one call looks at again, in turns."""
EARLY_NS = 10_000_000_000
"""Longest time for which they are kept [ns]; the guard knows a connection within milliseconds, on a machine
that is busy otherwise within seconds."""
SHARE = 0.05
"""Part of the time since its last call that `service` may spend on subscriptions."""
LEAST_AT_ONCE = 16
"""Subscriptions and cancellations that a call of `service` handles in any case."""
CROWD = 1024
"""If so many of them came without a pause, new connections are refused until all are handled: 64 subscribers
with 16 topics each."""


class _Open:
    """An open session: its descriptor, the encoded descriptor, and the number of frames sent."""

    __slots__ = ("n_sent", "parts", "session")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.parts = encode(session)
        self.n_sent = 0


class _Early:
    """What a connection that the guard does not know yet has said: whether it wants each published topic, the
    key of its newest word, when the first one came, and when before that no word waited [ns]."""

    __slots__ = ("came_ns", "drained_ns", "key", "wanted")

    def __init__(self, came_ns: int, drained_ns: int) -> None:
        self.key, self.came_ns, self.drained_ns = "", came_ns, drained_ns
        self.wanted: dict[bytes, bool] = {}


class Publisher(Closing):
    """Publisher of frames to any number of subscribers; for use by one thread. Several streams may be sent at
    the same time, each with its own session.

    Sending never waits. For each subscriber up to 1000 messages are queued; if one is slower than that, it
    alone misses frames (which it sees as gaps in seq).

    Parameters
    ----------
    address : where to bind, e.g. "tcp://127.0.0.1:5560"; port 0 takes a free one
    security : keys and allow-list; needed for any address that the network can reach

    Raises StreamError when the address is not allowed, malformed or in use, or a key cannot be read.
    """

    def __init__(self, address: str, security: Security | None = None) -> None:
        self._bound = BoundSocket(zmq.XPUB, address, security, UPSTREAM)
        self._socket = self._bound.socket
        # Every subscription and cancellation is reported, also when another subscriber has the same one.
        self._socket.setsockopt(zmq.XPUB_VERBOSER, 1)
        self._subscriptions: Counter[bytes] = Counter()
        self._open: dict[StreamName, _Open] = {}
        self._announced_ns = -ANNOUNCE_NS
        self._drained_ns = self._served_ns = now_ns()
        self._cut, self._n_in_a_row = (-1, 0), 0
        self._early: dict[tuple[int, int], _Early] = {}  # by file descriptor and inode
        self._closed = False

    @property
    def address(self) -> str:
        """The address to connect to; if it was bound to port 0, with the port that the system chose."""
        return self._bound.address

    @property
    def n_subscriber(self) -> int:
        """Number of subscribers that receive both the descriptors and the frames of one of the streams (the
        largest number, if there are several streams), as of the last call of `service`.
        """
        wanted = [stream.encode() for stream in self._open] or [b"session"]
        return max(self._n_listening(b"session", topic) for topic in wanted)

    def is_heard(self, topic: str) -> bool:
        """Return whether a subscriber receives the messages of a topic, as of the last `service`."""
        return self._n_listening(topic.encode()) > 0

    @property
    def events(self) -> deque[str]:
        """Sentences for the user, newest last, on subscribers that this publisher disconnected, because they
        sent too much or had to make room for others. Take them with popleft.
        """
        return self._bound.events

    def announce(self, session: Session) -> None:
        """Begin a session: send its descriptor now, every second, and to each new subscriber."""
        self._open[session.stream] = _Open(session)
        self._send_sessions()

    def send(self, message: AnyMessage) -> None:
        """Send a message now. Raises StreamError when it cannot be encoded."""
        topic, payload = encode(message)
        self._socket.send(topic, MORE)  # what send_multipart does but for its checks, in half the time
        self._socket.send(payload)
        if isinstance(message, (Markers, Forces, Result)):
            current = self._open.get(message.type)
            if current is not None:
                current.n_sent += 1

    def service(self) -> None:
        """Answer new subscribers and repeat the descriptor when due. Call it from the loop; never waits.

        It handles a few subscriptions at every call, and further ones for at most a twentieth of the time
        since its last call, so that a flood of subscriptions cannot delay the frames.
        """
        began_ns, joined = now_ns(), False
        over_ns = began_ns + int(SHARE * (began_ns - self._served_ns))
        self._served_ns, self._cut = began_ns, (-1, 0)
        self._judge_early(began_ns)
        for n in count():
            if n >= LEAST_AT_ONCE and now_ns() > over_ns:
                self._n_in_a_row += n
                if self._n_in_a_row > CROWD and self._bound.guard is not None:
                    self._bound.guard.pause()
                break
            try:
                # Under a flood libzmq takes in subscriptions without end here. So it has to be a call that
                # lets other threads run, or the guard could not cut the flood off: `get(EVENTS)` does not.
                message = self._socket.recv(DONTWAIT, copy=False)
            except zmq.Again:
                self._drained_ns, self._n_in_a_row = now_ns(), 0
                self._bound.drained()
                break
            self._bound.heard(message)
            joined |= self._hear(message)
        if self._open and (joined or is_over(self._announced_ns, ANNOUNCE_NS, now_ns())):
            self._send_sessions()

    def wait_for_subscriber(self, timeout_s: float) -> bool:
        """Wait until a subscriber gets the descriptor and the frames; return whether that happened in
        time."""
        due_ns = now_ns() + int(timeout_s * 1e9)
        self.service()
        while self.n_subscriber == 0:
            left_ms = (due_ns - now_ns()) // 1_000_000
            if left_ms <= 0:
                return False
            self._socket.poll(min(left_ms, ANNOUNCE_NS // 1_000_000))
            self.service()
        return True

    def end(self, reason: str) -> None:
        """End every session: send the number of frames and the reason. Does nothing without a session."""
        for current in self._open.values():
            self.send(End(session=current.session.session, seq=current.n_sent, reason=reason))
        self._open.clear()

    def close(self) -> None:
        """Close the socket, after waiting up to a second for queued messages."""
        if not self._closed:
            self._closed = True
            self._bound.close()

    def _send_sessions(self) -> None:
        for current in self._open.values():
            self._socket.send_multipart(current.parts)
        self._announced_ns = now_ns()

    def _hear(self, message: zmq.Frame) -> bool:
        """Handle a subscription or cancellation; return whether a subscriber waits for the descriptor."""
        word, guard = message.bytes, self._bound.guard
        if guard is None:
            return self._count(word)
        try:
            fd = int(message.get(SRCFD))
        except zmq.ZMQError:
            return False  # not a peer's word: libzmq cancels what a connection held that is over
        if fd == self._cut[0] and inode_of(fd) == self._cut[1]:
            return False
        connection = guard.connection(fd)
        if connection is not None:
            self._judge_earlier(connection, fd)
            return self._judge(connection, fd, word, key_of(message), self._drained_ns) and _waits(word)
        if guard.has_ended(fd):
            self._cut = fd, inode_of(fd)
            return False
        return self._note_early((fd, inode_of(fd)), word, key_of(message))

    def _note_early(self, place: tuple[int, int], word: bytes, key: str) -> bool:
        """Keep a word for a published topic of a connection that is not known yet; return whether a
        subscriber waits for the descriptor. place : its file descriptor and inode
        """
        if word[1:] not in PREFIXES:
            return False
        if place not in self._early and len(self._early) >= MOST_EARLY:
            del self._early[next(iter(self._early))]  # the one that was looked at the longest ago
        early = self._early.setdefault(place, _Early(now_ns(), self._drained_ns))
        early.key, early.wanted[word[1:]] = key, word[:1] == b"\x01"
        return _waits(word)

    def _judge_earlier(self, connection: AcceptedConnection, fd: int) -> None:
        """Check what a connection said before it was known, under the file descriptor `fd`."""
        early = self._early.pop((fd, connection.inode), None)
        if early is None:
            return
        for topic, adds in early.wanted.items():
            word = (b"\x01" if adds else b"\x00") + topic
            self._judge(connection, fd, word, early.key, early.drained_ns)

    def _judge_early(self, now: int) -> None:
        """Check the words that came before their connection was known; now : present time [ns]."""
        guard = self._bound.guard
        for fd, inode in list(islice(self._early, EARLY_AT_ONCE)):
            connection = guard.connection(fd) if guard is not None else None
            if connection is not None:
                self._judge_earlier(connection, fd)
            early = self._early.pop((fd, inode), None)
            if early is not None and inode_of(fd) == inode and not is_over(early.came_ns, EARLY_NS, now):
                self._early[fd, inode] = early  # behind the others

    def _judge(self, connection: AcceptedConnection, fd: int, word: bytes, key: str, drained_ns: int) -> bool:
        """Check a subscription of a connection; return whether it changes what the connection is subscribed
        to.

        A connection with too many or too long subscriptions is closed, because libzmq stores all of them. A
        connection that subscribes to a published topic is protected from being closed in a crowd.

        fd : file descriptor of the connection
        word : the subscription: a byte 1, or 0 for a cancellation, and the topic
        key : public key of the client, "" without keys
        drained_ns : last time before the word at which none waited [ns]
        """
        topic, held = word[1:], connection.topics
        adds = word[:1] == b"\x01"
        # What was read before may be of a former connection under this number: nobody is guilty of it.
        if not connection.sent(drained_ns):
            if adds and topic in PREFIXES:
                held.add(topic)
                connection.kept = True
            return adds
        if connection.guilty:
            self._cut = fd, connection.inode  # whatever else it sent is of no use
            return False
        connection.key = key
        if adds == (topic in held):
            return False
        if not adds:
            held.discard(topic)
        elif len(topic) <= LONGEST_TOPIC and len(held) < MOST_TOPICS:
            held.add(topic)
        else:
            connection.guilty = f"subscribed to more than {MOST_TOPICS} topics of {LONGEST_TOPIC} bytes"
        connection.kept = not PREFIXES.isdisjoint(held)
        return True

    def _count(self, word: bytes) -> bool:
        """Count a subscription or cancellation where no guard knows the connections; return whether a
        subscriber waits for the descriptor."""
        topic = word[1:]
        # Only prefixes of real topics are kept, so that nobody can fill the memory with invented ones.
        if word[:1] in (b"\x00", b"\x01") and topic in PREFIXES:
            held = self._subscriptions[topic] + (1 if word[:1] == b"\x01" else -1)
            self._subscriptions[topic] = max(0, held)  # whoever cancels what nobody holds hides nobody later
        return _waits(word)

    def _n_listening(self, *topics: bytes) -> int:
        """Return the number of connections that receive the messages of all these topics."""
        if self._bound.guard is None:
            held = self._subscriptions.items()
            return min(sum(n for one, n in held if topic.startswith(one)) for topic in topics)
        return sum(
            all(any(map(topic.startswith, held)) for topic in topics) for held in self._bound.guard.topics
        )


def _waits(word: bytes) -> bool:
    """Return whether a message of a subscriber (a byte 1, or 0 for a cancellation, and the topic) subscribes
    to the descriptor."""
    return word[:1] == b"\x01" and b"session".startswith(word[1:])
