"""Cutting off who sends more than a bound socket can have a use for.

libzmq keeps subscriptions, and the parts of a message that has not ended, without any limit and out of our
sight. What a peer has sent is known to the operating system, though: on Linux a thread of its own looks at
the bytes that each connection has received, and shuts down the one beyond its allowance. Elsewhere, and for
endpoints other than tcp://, there is no such count, and nothing is watched.
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from typing import NamedTuple

import zmq

from streams.admission import Admission
from streams.clock import now_ns
from streams.wire import EVENT_FORMAT, n_received, open_wire, port_of, shut

LOOK_MS, BUSY_LOOK_MS = 25, 2
"""How often connections are looked at, while there are any, and while they send something [ms]."""
MOST_CONNECTIONS = 64
"""Connections to one socket at the same time; further ones are shut down at once."""
SAY_NS = 1_000_000_000
"""Sentences come at most once in this time [ns]."""


class Allowance(NamedTuple):
    """What one connection to a bound socket may send.

    part : largest part of a message [bytes]; a larger one closes the connection
    burst, rate : how much may come at once [bytes], and in the long run [bytes/s]
    buffer : what the system holds until it is looked at [bytes]; on one machine the least it grants lets
        about 7 MB/s through, so that little comes between two looks
    """

    part: int
    burst: int
    rate: int
    buffer: int


class Connection:
    """An accepted connection: a second handle of its socket, and what it may still send [bytes].

    `guilty` is why it is to be cut off; whoever finds a reason writes it there. `topics` is for the owner.
    """

    def __init__(self, wire: socket.socket, left: float) -> None:
        self.wire, self.left = wire, left
        self.since_ns = self._seen_ns = now_ns()
        self.guilty = ""
        self.topics: set[bytes] = set()
        self._n_seen = 0

    def look(self, allowance: Allowance) -> bool:
        """Find it guilty when it is beyond its allowance; whether it has sent anything."""
        now, n = now_ns(), n_received(self.wire)
        self.left += 1e-9 * (now - self._seen_ns) * allowance.rate
        self.left = min(self.left, allowance.burst) - (n - self._n_seen)
        busy = n > self._n_seen
        self._seen_ns, self._n_seen = now, n
        if self.left < 0.0:
            self.guilty = self.guilty or f"sent {n} bytes where a few hundred do"
        return busy


class Guard:
    """Watches the connections of a socket that is about to be bound.

    Attributes
    ----------
    n_cut : how many connections were shut down
    sentences : what was done, newest last, at most one a second; take them with popleft
    """

    def __init__(self, socket: zmq.Socket[bytes], allowance: Allowance, admission: Admission | None) -> None:
        self.n_cut = 0
        self.sentences: deque[str] = deque(maxlen=16)
        self._socket, self._allowance, self._admission = socket, allowance, admission
        self._connections: dict[int, Connection] = {}
        self._address = ""
        self._last, self._n_said, self._say_due_ns = "", 0, 0
        self._monitor = socket.get_monitor_socket(
            zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED | zmq.EVENT_MONITOR_STOPPED
        )
        self._thread = threading.Thread(target=self._run, name="guard", daemon=True)
        self._thread.start()

    def connection(self, fd: int) -> Connection | None:
        """The connection that libzmq knows by this file descriptor."""
        return self._connections.get(fd)

    def close(self) -> None:
        """Watch no longer; call it before the socket is closed."""
        self._socket.disable_monitor()  # the thread is told by a last event
        self._thread.join()

    def _run(self) -> None:
        try:
            self._watch()
        except zmq.ContextTerminated:
            pass
        finally:
            for connection in self._connections.values():
                connection.wire.close()
            self._connections = {}
            if self._admission is not None:
                self._admission.close()
            self._monitor.close(0)

    def _watch(self) -> None:
        poller = zmq.Poller()
        poller.register(self._monitor, zmq.POLLIN)
        if self._admission is not None:
            poller.register(self._admission.socket, zmq.POLLIN)
        look_ms, looked_ns = LOOK_MS, now_ns()
        while True:
            idle = not self._connections and self.n_cut == self._n_said
            ready = dict(poller.poll(None if idle else look_ms))
            if self._monitor in ready:
                facts, endpoint = self._monitor.recv_multipart()
                event, fd = EVENT_FORMAT.unpack(facts)
                if event == zmq.EVENT_MONITOR_STOPPED:
                    return
                self._follow(event, fd, endpoint.decode())
                look_ms = BUSY_LOOK_MS
            if self._admission is not None and self._admission.socket in ready:
                self._admission.answer(len(self._connections) > MOST_CONNECTIONS)
            if now_ns() - looked_ns >= 1_000_000 * look_ms:
                look_ms = BUSY_LOOK_MS if self._look() else LOOK_MS
                looked_ns = now_ns()

    def _follow(self, event: int, fd: int, endpoint: str) -> None:
        """Keep account of who is connected."""
        former = self._connections.pop(fd, None)
        if former is not None:
            former.wire.close()
        if event != zmq.EVENT_ACCEPTED:
            return
        # By now it may be closed, and its number be that of another file.
        self._address = endpoint
        wire = open_wire(fd, local_port=port_of(endpoint))
        if wire is None:
            return
        self._connections[fd] = Connection(wire, self._allowance.burst)
        if len(self._connections) > MOST_CONNECTIONS:
            self._connections[fd].guilty = f"was one more than {MOST_CONNECTIONS} at the same time"

    def _cut(self, fd: int) -> None:
        connection = self._connections.pop(fd)
        self._last = f"{shut(connection.wire)}, which {connection.guilty}"
        self.n_cut += 1
        if self._admission is not None:
            self._admission.pause()

    def _look(self) -> bool:
        """Look at every connection; whether any has sent something."""
        busy = False
        for fd, connection in list(self._connections.items()):
            busy |= connection.look(self._allowance)
            if connection.guilty:
                self._cut(fd)
        if self.n_cut > self._n_said and now_ns() >= self._say_due_ns:
            n, self._n_said = self.n_cut - self._n_said, self.n_cut
            self._say_due_ns = now_ns() + SAY_NS
            what = "1 connection" if n == 1 else f"{n} connections"
            self.sentences.append(f"Cut off {what} to {self._address}; the last was {self._last}.")
        return busy
