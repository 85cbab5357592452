"""The exchange with a device over one connection: outputs (torque commands) to it, and its measurements
back.

The model binds a ROUTER socket, the device connects a DEALER socket. Messages that cannot be delivered at
once are dropped, because a command that has waited is outdated. Receiving never waits and returns the newest
message. Messages that are not used are counted and reported; they raise no exception.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

import zmq

from streams.access.askers import Askers, is_foreign, key_of
from streams.access.crowd import AcceptedConnection
from streams.access.guard import SendingLimit
from streams.access.security import Security
from streams.account import plain
from streams.addresses import is_here
from streams.clock import is_over, now_ns
from streams.closing import Closing
from streams.codec import decode, encode
from streams.errors import DecodeError, ManyPartsError, StreamError
from streams.link import ClientLink
from streams.messages import Device, Output
from streams.receiving.checks import EventLog, OrderCheck
from streams.sockets import BoundSocket, ZmqContext, client_socket, hasten, receive_few, receive_rest

DEVICES = SendingLimit(part=4096, burst=256 << 10, rate=2 << 20, unfinished=24 << 10, buffer=64 << 10)
"""Limit of what a device may send: 4000 messages of some 250 bytes a second are half of it."""
QUEUE = 16
"""Outputs that wait for a device that does not read; further ones are dropped."""
MOST_AT_ONCE = 64
"""Largest number of messages that one `receive` decodes: the newest of the device; others at most as many."""
MOST_WAITING = 2000
"""Messages of the device that one look takes from the socket: more than may wait there."""
LARGEST_OUTPUT = 4096
"""An output is some 250 bytes; a larger one is refused [bytes]."""
LOOK_MS = 50
"""Interval at which the device's end checks its connection [ms]."""
PARTS = 4
"""A message has an identity and two parts; one part more is read to detect longer messages."""
SILENT_NS = 250_000_000
"""Time without a message after which another device may take the place of the one before [ns]."""
DONTWAIT = int(zmq.DONTWAIT)

Kind = TypeVar("Kind", Output, Device)


class ExchangeIntake(Generic[Kind]):
    """Checker of the messages of one kind in the exchange with a device; it uses no sockets.

    Attributes
    ----------
    counters : numbers of received and of unused messages, by the names in docs/protocol.md
    """

    def __init__(self, kind: type[Kind]) -> None:
        self.counters: dict[str, int] = dict.fromkeys(
            ("received", "lost", "duplicate", "out_of_order", "oversize", "malformed", "bad_version"), 0
        )
        self.events = EventLog()
        self._kind: type[Kind] = kind
        self._order = OrderCheck()
        self._session = ""

    def accept(self, parts: Sequence[bytes], t_arrived: int) -> Kind | None:
        """Return the decoded message. Return None if it must not be used, for example because it is malformed
        or a duplicate; such a message is counted and reported.
        """
        try:
            message = decode(parts)
        except DecodeError as fault:
            reason = fault.reason if fault.reason in ("oversize", "bad_version") else "malformed"
            self._refuse(reason, str(fault), t_arrived)
            return None
        if not isinstance(message, self._kind):
            self._refuse("malformed", f"a message of the unexpected type {message.type}", t_arrived)
            return None
        if misfit := self._misfit(message, parts, t_arrived):
            self._refuse("malformed", misfit, t_arrived)
            return None
        if message.session != self._session:
            self._session, self._order = message.session, OrderCheck()
        verdict = self._order.judge(message.seq)
        if verdict != "in_order":
            self._refuse(verdict, f"the last was message {message.seq}", t_arrived)
            return None
        self.counters["lost"] += self._order.n_lost
        self.counters["received"] += 1
        return message

    def refuse(self, why: str, t_arrived: int) -> None:
        """Count and report a message that could not be read."""
        self._refuse("malformed", why, t_arrived)

    def begin(self) -> None:
        """Prepare for another sender, whose message numbers begin at 0 again."""
        self._session, self._order = "", OrderCheck()

    def _misfit(self, message: Kind, parts: Sequence[bytes], t_arrived: int) -> str:
        """Return a reason not to use a message that was decoded, as text; empty if there is none."""
        return ""

    def _refuse(self, kind: str, detail: str, t_arrived: int) -> None:
        self.counters[kind] += 1
        self.events.note(kind, 1, plain(detail), t_arrived)


class OutputIntake(ExchangeIntake[Output]):
    """Checker of the outputs that a device receives.

    n_joint : number of joints of the device
    one_clock : whether model and device are on one machine, with stamps of one clock
    """

    def __init__(self, n_joint: int = 1, one_clock: bool = True) -> None:
        super().__init__(Output)
        self._n_joint, self._one_clock = n_joint, one_clock

    def _misfit(self, message: Output, parts: Sequence[bytes], t_arrived: int) -> str:
        if len(parts[1]) > LARGEST_OUTPUT:
            return f"an output of {len(parts[1])} bytes; at most {LARGEST_OUTPUT} are allowed"
        if len(message.torque) != self._n_joint:
            return f"an output for {len(message.torque)} joints, but the device has {self._n_joint}"
        if self._one_clock and message.t_sent > t_arrived:
            return "an output whose time stamp is in the future, so that it would never expire"
        return ""


class DevicePort(Closing):
    """The model's end of the exchange: binds an address and accepts one device at a time; for use by one
    thread.

    Parameters
    ----------
    address : where to bind; port 0 takes a free one
    security : keys and allow-list; needed for any address that the network can reach
    urgent : handle its messages at real-time priority, where the system permits it (`sockets.hasten`)

    Attributes
    ----------
    taken : messages accepted by the last `receive`, oldest first, each with its time of arrival [ns]
    n_other : number of messages from other devices while one was connected
    n_skipped : number of the device's messages that were not decoded, as too many newer ones had come
    n_other_user : number of messages of devices of other users of this machine, which are refused if there
        are no keys and the system reports users
    keeps : whether torque is commanded; as long as it is, no other device may replace this one, even if this
      one is silent
    decode_ns : duration of reading the last message [ns]
    encoded_ns : when the last output was encoded [ns]

    Raises StreamError when the address is not allowed, malformed or in use, or a key cannot be read.
    """

    def __init__(self, address: str, security: Security | None = None, urgent: bool = False) -> None:
        self._bound = BoundSocket(zmq.ROUTER, address, security, DEVICES, urgent)
        self._socket = self._bound.socket
        self._socket.sndhwm = QUEUE
        self._intake: ExchangeIntake[Device] = ExchangeIntake(Device)
        self._identity = b""
        self._heard_ns = 0
        self.taken: list[tuple[Device, int]] = []
        self.n_other = self.n_other_user = self.n_skipped = self.decode_ns = self.encoded_ns = 0
        self.keeps = False
        self._askers = Askers(self._bound.guard, self._bound.listed)
        self._judges = self._askers.tells and security is None
        self._connection: AcceptedConnection | None = None
        self._chosen = False  # whether the identity is one that a device chooses, which another could, too
        self._drained_ns = 0
        self._closed = False

    @property
    def address(self) -> str:
        """The address to connect to; if it was bound to port 0, with the port that the system chose."""
        return self._bound.address

    @property
    def counters(self) -> dict[str, int]:
        """Numbers of messages from the device, by how they were used or why they were not."""
        others = {"other_device": self.n_other, "other_user": self.n_other_user}
        return {**self._intake.counters, **others, "skipped": self.n_skipped}

    def sentences(self) -> list[str]:
        """Return messages about faults of the device's messages since the last call."""
        self._intake.events.flush(now_ns())
        told: list[str] = []
        for events in (self._intake.events.sentences, self._bound.events):
            told += _drained(events)
        return told

    def receive(self) -> bool:
        """Read all messages that have come into `taken`; return whether any of them was usable.

        All messages of the device are removed from the socket, and the newest 64 at most are decoded. Only
        the last of them is current; `n_skipped` counts those that were not decoded.
        """
        self.taken.clear()
        came: deque[tuple[list[bytes], int]] = deque(maxlen=MOST_AT_ONCE)
        n_own = n_other = 0
        while n_own < MOST_WAITING and n_other < MOST_AT_ONCE:
            try:
                first = self._socket.recv(DONTWAIT, copy=False)
            except zmq.Again:
                self._drained_ns = now_ns()
                self._bound.drained()
                break
            parts = receive_rest(self._socket, first, PARTS, self._bound.cut)
            t_arrived = now_ns()
            self._bound.heard(first)
            if not self._belongs(first, parts[0], t_arrived):
                n_other += 1
                if n_other == MOST_AT_ONCE:  # in a tick, where a second device sends a few
                    self._bound.cut(first, f"sent {MOST_AT_ONCE} messages at once beside the device in use")
                continue
            n_own += 1
            came.append((parts[1:], t_arrived))
        self.n_skipped += n_own - len(came)
        for rest, t_arrived in came:
            message = self._intake.accept(rest, t_arrived)
            self.decode_ns = now_ns() - t_arrived
            if message is not None:
                self._heard_ns = t_arrived
                self.taken.append((message, t_arrived))
        return bool(self.taken)

    def poll(self, timeout_ms: int) -> bool:
        """Wait for a message, at most this long [ms]; return whether one came."""
        return bool(self._socket.poll(timeout_ms))

    def send(self, output: Output) -> None:
        """Send an output now; it is lost if no device is connected."""
        topic, payload = encode(output)
        self.encoded_ns = now_ns()
        try:
            self._socket.send_multipart([self._identity, topic, payload], DONTWAIT)
        except zmq.ZMQError:
            return  # its queue is full: the device does not read, and what it has grows old

    def close(self) -> None:
        """Close the port, after waiting up to a second for the last output to be sent."""
        if not self._closed:
            self._closed = True
            self._bound.close()

    def _belongs(self, first: zmq.Frame, identity: bytes, t_arrived: int) -> bool:
        """Return whether a message belongs to the connected device, which is the last sender before a
        silence.

        first : first part of the message, which knows its connection
        identity : identity that the sender's socket has
        t_arrived : time of arrival [ns]
        """
        if identity == self._identity and not (self._chosen and self._is_another(first)):
            return True
        if self._identity and (self.keeps or t_arrived - self._heard_ns < SILENT_NS):
            self.n_other += 1
            self._intake.events.note("other_device", 1, "messages of a second device have come", t_arrived)
            return False
        connection = self._askers.connection(first, self._drained_ns)
        if self._judges and connection is None:
            return False  # whose it is will be known when it speaks again
        if self._judges and connection is not None and is_foreign(connection):
            self.n_other_user += 1
            self._intake.events.note("other_user", 1, "no keys are in use", t_arrived)
            return False
        if self._connection is not None:
            self._connection.kept = False
        if connection is not None:
            connection.kept, connection.key = True, key_of(first)
        self._connection, self._identity = connection, identity
        self._chosen = self._judges and identity[:1] != b"\0"  # such are given out by libzmq, each once
        self._intake.begin()
        return True

    def _is_another(self, first: zmq.Frame) -> bool:
        """Return whether a message came by another connection than the device's."""
        guard = self._bound.guard
        return guard is not None and guard.connection(int(first.get(zmq.SRCFD))) is not self._connection


class ModelLink(Closing):
    """The device's end of the exchange: it connects to the model, and reconnects by itself; for use by one
    thread.

    Parameters
    ----------
    urgent : handle its messages at real-time priority, where the system permits it (`sockets.hasten`)
    tunnel : whether the address, although on this machine, leads to a model on another machine with another
      clock

    Attributes
    ----------
    one_clock : whether the model's time stamps are of this machine's clock

    Raises StreamError for a bad address or key.
    """

    def __init__(
        self, address: str, security: Security | None = None, urgent: bool = False, tunnel: bool = False
    ) -> None:
        self.one_clock = is_here(address) and not tunnel
        self._context: ZmqContext = zmq.Context()
        if urgent:
            hasten(self._context)
        self._address, self._security = address, security
        self._intake = OutputIntake(one_clock=self.one_clock)
        self._looked_ns = 0
        try:
            self._connect()
        except StreamError:
            self._context.term()
            raise

    @property
    def counters(self) -> dict[str, int]:
        """Numbers of messages from the model (outputs), by how they were used or why they were not."""
        return self._intake.counters

    def newest(self, timeout_ms: int) -> tuple[Output, int] | None:
        """Return the newest output and the time of its arrival [ns]; None if none arrives within this time
        [ms]."""
        found, timeout_ms = None, self._link.wait_ms(timeout_ms)
        for _ in range(MOST_AT_ONCE if timeout_ms <= 0 or self._socket.poll(timeout_ms) else 0):
            try:
                first = self._socket.recv(DONTWAIT, copy=False)
            except zmq.Again:
                break
            t_arrived = now_ns()
            try:
                parts = receive_few(self._socket, first)
            except ManyPartsError as fault:
                self._intake.refuse(str(fault), t_arrived)
                self._link.close()
                self._socket.close(0)
                self._connect()
                return found
            self._link.heard(parts)
            output = self._intake.accept(parts, t_arrived)
            if output is not None:
                found = (output, t_arrived)
        if found is None and is_over(self._looked_ns, 1_000_000 * self._link.wait_ms(LOOK_MS), now_ns()):
            self._looked_ns = now_ns()
            sentence = self._link.check()
            if sentence is not None:
                self._intake.events.say(sentence)
        return found

    def send(self, device: Device) -> None:
        """Send a measurement; it is dropped where no model is connected."""
        try:
            self._socket.send_multipart(encode(device), DONTWAIT)
        except zmq.Again:
            return

    def _connect(self) -> None:
        self._socket = client_socket(self._context, zmq.DEALER, self._address, self._security)
        self._socket.immediate = True
        self._socket.sndhwm = QUEUE
        self._socket.reconnect_ivl, self._socket.reconnect_ivl_max = 50, 500
        self._link = ClientLink(self._socket, self._address)

    def close(self) -> None:
        """Close the link at once; unread messages are outdated."""
        if not self._context.closed:
            self._link.close()
            self._socket.close(0)
            self._context.term()


def _drained(events: deque[str]) -> list[str]:
    return [events.popleft() for _ in range(len(events))]
