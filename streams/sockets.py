"""Sockets with the options of the protocol; faulty addresses raise clear errors."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import zmq

from streams.access.admission import Admission
from streams.access.allow_list import ListedKeys
from streams.access.guard import Guard, SendingLimit
from streams.access.security import ZAP_DOMAIN, Security, check_bind, secure_client, secure_server
from streams.access.wire import WATCHES, allow_enough_files
from streams.addresses import check_address
from streams.errors import AddressInUseError, ManyPartsError, StreamError

if TYPE_CHECKING:
    from zmq.auth.thread import ThreadAuthenticator

MARKERS_ADDRESS = "tcp://127.0.0.1:5560"
RESULTS_ADDRESS = "tcp://127.0.0.1:5561"
CONTROL_ADDRESS = "tcp://127.0.0.1:5562"
DEVICE_ADDRESS = "tcp://127.0.0.1:5563"

HIGH_WATER = 1000
"""Messages queued for each peer by the sender; what does not fit is dropped and shows as a gap in seq."""
LINGER_MS = 1000
"""Longest wait of closing for the last messages to leave [ms]."""
HEARTBEAT_MS = 1000
HEARTBEAT_TIMEOUT_MS = 3000
"""A client that answers no heartbeat for this long counts as gone [ms]."""
KEEPALIVE_S = 3
"""Silence after which the other machine is probed; after the same time without an answer it is gone [s]."""
RECEIVE_HIGH_WATER = 256
"""Messages that wait with a client until it reads them; further ones wait with the sender."""
CONNECT_MS = 1000
"""How long an attempt to connect may take: where others crowd an endpoint, the system itself would rest for
up to a minute between its attempts [ms]."""
HARD_LIMIT = 2 << 20
"""A larger part closes the connection before it fills memory [bytes]; below, it is counted and dropped."""
HANDSHAKE_MS = 1000
"""A connection that is not ready for messages by then, or was not let in, is closed [ms]."""
URGENCY = 50
"""Priority of libzmq's threads, the same as that of the loop: neither interrupts the other."""
MOST_PARTS = 64
"""A message of more parts is an attack on memory; those of the protocol have two."""
MANY_PARTS = f"sent a message of more than {MOST_PARTS} parts"
BUFFER = 1 << 20
"""Bytes that the system keeps for a client until libzmq reads them."""
NOTHING = SendingLimit(part=1, burst=0, rate=0, unfinished=0, buffer=1)
"""Limit at a socket to which nobody should connect."""
# as a whole number: to look an enumeration's member up takes microseconds
SRCFD = int(zmq.SRCFD)

ZmqContext = zmq.Context[zmq.Socket[bytes]]
ZmqSocket = zmq.Socket[bytes]


class BoundSocket:
    """A bound socket to which others connect, with its context and, if keys are required, its authenticator.

    allowance : limit of what each connection may send
    urgent : whether its thread runs at real-time priority (`hasten`)

    `guard` closes connections that send more than allowed; it is None where that cannot be measured. `listed`
    are the keys that may connect, None if none are required. Raises StreamError if the address is not
    allowed, malformed or in use.
    """

    def __init__(
        self,
        kind: int,
        address: str,
        security: Security | None,
        allowance: SendingLimit,
        urgent: bool = False,
    ) -> None:
        check_bind(address, security)
        self.context: ZmqContext = zmq.Context()
        if urgent:
            hasten(self.context)
        self.socket: ZmqSocket = self.context.socket(kind)
        self._authenticator: ThreadAuthenticator | None = None
        _set_options(self.socket, address, allowance.part)
        self.socket.rcvbuf = allowance.buffer
        self.guard: Guard | None = None
        self.listed: ListedKeys | None = None
        try:
            if security is not None:
                self._authenticator, self.listed = secure_server(self.context, self.socket, security)
            if WATCHES and address.startswith("tcp://"):
                self._set_guard(allowance)
            with _closed_to_others(address):
                self.socket.bind(address)
        except zmq.ZMQError as fault:
            self.close(linger_ms=0)
            raise _bind_error(address, fault) from fault
        except StreamError:
            self.close(linger_ms=0)
            raise
        self.address = bytes(self.socket.getsockopt(zmq.LAST_ENDPOINT)).rstrip(b"\0").decode()

    @property
    def events(self) -> deque[str]:
        """Messages about the connections that the guard closed, newest last; take them with popleft."""
        return self.guard.sentences if self.guard is not None else deque()

    def heard(self, part: zmq.Frame) -> None:
        """Tell the guard that the owner of the socket has read a message; part : its first part, which knows
        its connection.

        The owner calls it for each message, whether it is of any use or not, or the guard takes what the
        sender has sent for one message that does not end.
        """
        if self.guard is not None:
            with suppress(zmq.ZMQError):  # libzmq's own message, of no connection
                self.guard.heard.add(int(part.get(SRCFD)))

    def cut(self, part: zmq.Frame, reason: str = MANY_PARTS) -> None:
        """Have the connection closed over which a message came, for what it sends.

        part : a part of the message; reason : what it did, as in "HOST:PORT, which sent ..."
        """
        connection = None
        if self.guard is not None:
            with suppress(zmq.ZMQError):  # as of a transport without descriptors
                connection = self.guard.connection(int(part.get(SRCFD)))
        if connection is not None:
            connection.floods, connection.guilty = True, connection.guilty or reason

    def drained(self) -> None:
        """Tell the guard that the owner of the socket has found no message waiting."""
        if self.guard is not None:
            self.guard.n_drained += 1

    def _set_guard(self, allowance: SendingLimit) -> None:
        allow_enough_files()
        # A pipe that is full while its peer hangs up makes libzmq abort the process at the next heartbeat
        # (out_event asserts that there was no error). The guard bounds what comes, so none need be full.
        self.socket.rcvhwm = 0
        admission = None
        if self.listed is None:
            self.socket.zap_domain = ZAP_DOMAIN.encode()
            admission = Admission(self.context)
        self.socket.heartbeat_ivl = HEARTBEAT_MS
        self.socket.heartbeat_timeout = HEARTBEAT_TIMEOUT_MS
        self.guard = Guard(self.socket, allowance, admission, self.listed)

    def close(self, linger_ms: int = LINGER_MS) -> None:
        """Close the socket, waiting up to `linger_ms` for queued messages to leave. The owning thread calls
        this."""
        if self.guard is not None:
            self.guard.close()
        self.socket.close(linger_ms)
        if self._authenticator is not None:
            self._authenticator.stop()
        self.context.term()


@contextmanager
def _closed_to_others(address: str) -> Iterator[None]:
    """Within the block, create the file of an ipc:// address so that only its user and root can connect."""
    if not address.startswith("ipc://") or os.name != "posix":
        yield
        return
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)


def hasten(context: ZmqContext) -> None:
    """Run libzmq's own thread, which transfers the bytes, at real-time priority. Call it before there is a
    socket, and only if the system permits that to this process: libzmq aborts otherwise.
    """
    context.set(zmq.THREAD_SCHED_POLICY, os.SCHED_FIFO)
    context.set(zmq.THREAD_PRIORITY, URGENCY)


def check_free(address: str, security: Security | None = None) -> None:
    """Raise StreamError if the address cannot be bound at the moment, as a check before slow work."""
    if not address.startswith("ipc://"):  # binding one takes it away from whoever holds it
        BoundSocket(zmq.PAIR, address, security, NOTHING).close(0)


def client_socket(
    context: ZmqContext, kind: int, address: str, security: Security | None, topics: Iterable[bytes] = ()
) -> ZmqSocket:
    """Return a client socket, subscribed to `topics`, for `connect`. Raises StreamError when the keys cannot
    be used. kind : type of the ZeroMQ socket, such as zmq.SUB
    """
    socket = context.socket(kind)
    _set_options(socket, address, HARD_LIMIT)
    socket.rcvhwm, socket.rcvbuf = RECEIVE_HIGH_WATER, BUFFER
    socket.linger = 0  # what a client still has to say is of no use once it leaves
    socket.connect_timeout = CONNECT_MS
    try:
        if security is not None:
            secure_client(socket, security)
    except StreamError:
        socket.close()
        raise
    for topic in topics:
        socket.subscribe(topic)
    return socket


def connect(socket: ZmqSocket, address: str) -> None:
    """Connect a socket; the other side need not be there yet.

    A malformed address closes the socket and raises StreamError.
    """
    try:
        check_address(address)
        socket.connect(address)
    except StreamError:
        socket.close()
        raise
    except zmq.ZMQError as fault:
        socket.close()
        raise StreamError(
            f"no connection to {address!r} is possible ({fault.strerror}); give for example {MARKERS_ADDRESS}"
        ) from fault


def receive_rest(
    socket: ZmqSocket, first: zmq.Frame, n_most: int = 3, cut: Callable[[zmq.Frame], object] | None = None
) -> list[bytes]:
    """Receive all remaining parts of a message whose first part was received, and return all parts.

    Parts beyond `n_most` are dropped, so that endless messages do not fill memory. If `n_most` is one more
    than the number of parts allowed, the caller can recognise a message with too many parts.

    cut : function that closes the connection of the given first part; it is called beyond MOST_PARTS parts,
        because libzmq would store many more while these are read one by one
    """
    parts, part, n = [first.bytes], first, 1
    while part.more:  # the socket's own `rcvmore` would be looked up by name, ten times as slow
        part = socket.recv(copy=False)
        n += 1
        if len(parts) < n_most:
            parts.append(part.bytes)
        elif n == MOST_PARTS + 1 and cut is not None:
            cut(first)
    return parts


def receive_few(socket: ZmqSocket, first: zmq.Frame, n_most: int = 4) -> list[bytes]:
    """Receive all remaining parts of a message whose first part was received, and return all parts.

    For sockets with the option `immediate`: libzmq ends the process if such a connection is closed while a
    message is read that has so many parts that libzmq looks after its connections in between. Raises
    ManyPartsError for more than `n_most` parts; the socket must then be closed without further reading.
    """
    parts, part = [first.bytes], first
    while part.more:
        if len(parts) == n_most:
            raise ManyPartsError(f"a message has more than {n_most} parts")
        part = socket.recv(copy=False)
        parts.append(part.bytes)
    return parts


def _set_options(socket: ZmqSocket, address: str, limit: int) -> None:
    socket.linger = LINGER_MS
    socket.sndhwm = socket.rcvhwm = HIGH_WATER
    socket.maxmsgsize = limit
    socket.tcp_keepalive, socket.tcp_keepalive_idle = 1, KEEPALIVE_S
    socket.tcp_keepalive_intvl, socket.tcp_keepalive_cnt = 1, KEEPALIVE_S
    socket.handshake_ivl = HANDSHAKE_MS
    socket.ipv6 = "[" in address


def _bind_error(address: str, fault: zmq.ZMQError) -> StreamError:
    if fault.errno == zmq.EADDRINUSE:
        return AddressInUseError(f"{address} is in use; stop the program that uses it or choose another port")
    return StreamError(f"{address} cannot be bound ({fault.strerror}); give for example {MARKERS_ADDRESS}")
