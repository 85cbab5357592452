"""Closes connections that send more than a bound socket can use.

libzmq stores subscriptions, and parts of unfinished messages, without any limit. The operating system counts
the bytes that each connection has received: on Linux a thread checks these counts and shuts down connections
beyond their limits, and those that must make room for new ones (streams/access/crowd.py). On other systems,
and for endpoints other than tcp://, there is no such count and no check.

An empty part is two bytes for the system and 64 in libzmq, so a rate alone bounds no message that does not
end. Therefore the owner of the socket also reports what it reads (`heard`) and when nothing waits
(`n_drained`): who has sent much of which the owner can read nothing has not ended its message.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import zmq

from streams.access.admission import Admission
from streams.access.allow_list import ListedKeys
from streams.access.crowd import AcceptedConnection, condemn
from streams.access.wire import EVENT_FORMAT, inode_of, open_wire, port_of, shut, turn_away
from streams.clock import is_over, now_ns

LOOK_MS, BUSY_LOOK_MS = 25, 2
"""Intervals at which connections are checked: usually, and while one of them sends something or is new
[ms]."""
REST, LONGEST_REST_MS = 20, 50
"""Pause after a check, in multiples of its duration, and longest pause [ms], so that many connections cost
little computing time."""
MOST_EVENTS = 64
"""Largest numbers of events and of requests to connect that are handled between two checks."""
SAY_NS = 1_000_000_000
"""Least time between two messages to the user [ns]."""


class SendingLimit(NamedTuple):
    """Limits of the amount of data that one connection to a bound socket may send.

    part : largest part of a message [bytes]; a larger one closes the connection
    burst, rate : largest amount at once [bytes], and long-term rate [bytes/s]
    unfinished : largest amount that libzmq may have read without a complete message in it [bytes]. It must be
        more than a message and one read of libzmq (8 KiB) together: libzmq passes on what one read has
        completed before it reads again. In empty parts it takes 32 times as much memory.
    buffer : size of the operating system's receive buffer [bytes]; a small one slows the sender, so that
        little arrives between two checks of the guard (the smallest one still permitted 7 MB/s in a test)
    """

    part: int
    burst: int
    rate: int
    unfinished: int
    buffer: int


class Guard:
    """Watches the connections of a socket that is about to be bound, and shuts down those that exceed its
    limits.

    Parameters
    ----------
    socket, allowance, admission : the socket, its sending limits and its admission
    listed : public keys that may connect; None if no keys are used

    Attributes
    ----------
    n_cut : number of connections that were shut down
    sentences : sentences on what was done, newest last, at most one per second; take them with popleft
    heard : file descriptors by which the owner has read a message since the last look; the owner adds them
    n_drained : how often the owner has found no message waiting; the owner counts
    is_foreign : function that returns whether a connection belongs to another user; such connections are
      closed first
    ended : function that is called in the guard's thread when a connection is known to be closed
    """

    def __init__(
        self,
        socket: zmq.Socket[bytes],
        allowance: SendingLimit,
        admission: Admission | None,
        listed: ListedKeys | None = None,
    ) -> None:
        self.n_cut = 0
        self._listed, self._n_taken = listed, 0 if listed is None else listed.listed.n_taken
        self.sentences: deque[str] = deque(maxlen=16)
        self.heard: set[int] = set()
        self.n_drained = 0
        self._socket, self._allowance, self._admission = socket, allowance, admission
        self.is_foreign: Callable[[AcceptedConnection], bool] = lambda connection: False
        self.ended: Callable[[], object] = lambda: None
        self._connections: dict[int, AcceptedConnection] = {}
        # of the last connection under a descriptor: itself, when it was known to be over, the inode of one
        # that was shut down, and whose it was, as `AcceptedConnection.told`
        self._left: dict[int, AcceptedConnection] = {}
        self._ended_ns: dict[int, int] = {}
        self._shut: dict[int, int] = {}
        self._ended_uid: dict[int, int | None] = {}
        self._address = ""
        self._last, self._n_said, self._said_ns = "", 0, -SAY_NS
        self._monitor = socket.get_monitor_socket(
            zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED | zmq.EVENT_MONITOR_STOPPED
        )
        self._thread = threading.Thread(target=self._run, name="guard", daemon=True)
        self._thread.start()

    def connection(self, fd: int) -> AcceptedConnection | None:
        """Return the connection that libzmq has under this file descriptor at present; None where it is not
        known yet.

        Any thread may call it. A message that was read before may have come from an earlier connection with
        the same descriptor; `AcceptedConnection.sent` tells whether it did.
        """
        found = self._connections.get(fd)
        return found if found is not None and found.inode == inode_of(fd) else None

    def has_ended(self, fd: int) -> bool:
        """Return whether the file descriptor `fd` is closed, or is that of a connection that was shut down;
        False for a connection that is not known yet.
        """
        inode = inode_of(fd)
        return not inode or self._shut.get(fd) == inode

    @property
    def topics(self) -> list[set[bytes]]:
        """Topics to which each present connection has subscribed, as recorded by the socket's owner."""
        return [connection.topics for connection in list(self._connections.values())]

    def pause(self) -> None:
        """Refuse new connections for a while; any thread may call it."""
        if self._admission is not None:
            self._admission.pause()

    def close(self) -> None:
        """Stop checking; call it before the socket is closed."""
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
        look_ms, rest_ms, looked_ns = LOOK_MS, 0, now_ns()
        while True:
            idle = not self._connections and self.n_cut == self._n_said
            ready = dict(poller.poll(None if idle else look_ms))
            if self._monitor in ready:
                if not self._follow_all():
                    return
                look_ms = min(look_ms, max(BUSY_LOOK_MS, rest_ms))
            if self._admission is not None and self._admission.socket in ready:
                self._admission.answer(MOST_EVENTS)
            began_ns = now_ns()
            if is_over(looked_ns, 1_000_000 * look_ms, began_ns):
                busy = self._look()
                looked_ns = now_ns()
                rest_ms = min(LONGEST_REST_MS, REST * (looked_ns - began_ns) // 1_000_000)
                look_ms = max(BUSY_LOOK_MS if busy else LOOK_MS, rest_ms)

    def _follow_all(self) -> bool:
        """Follow the events that wait, MOST_EVENTS at the most; return False when the last one was read."""
        for _ in range(MOST_EVENTS):
            try:
                facts, endpoint = self._monitor.recv_multipart(zmq.DONTWAIT)
            except zmq.Again:
                break
            event, fd = EVENT_FORMAT.unpack(facts)
            if event == zmq.EVENT_MONITOR_STOPPED:
                return False
            self._follow(event, fd, endpoint.decode())
        return True

    def _follow(self, event: int, fd: int, endpoint: str) -> None:
        """Update the list of connections after an event that libzmq's socket monitor reported for a file
        descriptor."""
        former = self._connections.pop(fd, None)
        if former is not None:
            former.wire.close()
            self._left[fd] = former
            self._note_end(fd, former)
        elif event != zmq.EVENT_ACCEPTED:  # it was cut off, and its user noted then
            self._ended_ns[fd] = now_ns()
            self._ended_uid.setdefault(fd, None)
        if former is not None or event != zmq.EVENT_ACCEPTED:
            self.ended()
        if event == zmq.EVENT_ACCEPTED:
            self._address = endpoint
            self._accept(fd, port_of(endpoint))

    def _accept(self, fd: int, port: int | None) -> None:
        """Add the connection that libzmq has accepted under a file descriptor. By now it may be closed, and
        the descriptor be that of another file or of a later connection, whose event is still to come.
        """
        try:
            wire = open_wire(fd, local_port=port)
        except OSError:  # without a second handle nobody would know what it sends
            wire, inode = None, inode_of(fd)
            if turn_away(fd, port):
                self._shut[fd] = inode
                self._last = "accepted when this program could open no more files"
                self.n_cut += 1
                self.pause()
        if wire is None:
            self._ended_ns[fd], self._ended_uid[fd] = now_ns(), None
            return
        former_ns, former_uid = self._ended_ns.get(fd, 0), self._ended_uid.get(fd)
        connection = AcceptedConnection(wire, self._allowance.burst, former_ns, former_uid)
        left = self._left.pop(fd, None)
        if left is not None and left.inode == connection.inode:  # seen under an event of an earlier one
            left.wire, left.former_ns, left.former_uid = wire, former_ns, former_uid
            connection = left
        self._connections[fd] = connection

    def _note_end(self, fd: int, connection: AcceptedConnection) -> None:
        """Record when a connection ended, and whose it was, as its last messages may not have been read
        yet."""
        self._ended_ns[fd], self._ended_uid[fd] = now_ns(), connection.told

    def _cut_guilty(self) -> int:
        """Shut down the connections that are marked as guilty; return how many."""
        guilty = [fd for fd, connection in list(self._connections.items()) if connection.guilty]
        for fd in guilty:
            connection = self._connections.pop(fd)
            self._note_end(fd, connection)
            self._shut[fd] = connection.inode
            self._last = f"{shut(connection.wire, connection.floods)}, which {connection.guilty}"
        self.n_cut += len(guilty)
        return len(guilty)

    def _follow_list(self, listed: ListedKeys) -> None:
        """Mark for closing the connections whose key is no longer in the allow-list, and those that have sent
        no message, so that their key is unknown."""
        listed.listed.refresh()
        told = listed.listed.sentences
        while told:
            self.sentences.append(told.popleft())
        if listed.listed.n_taken == self._n_taken:
            return
        self._n_taken = listed.listed.n_taken
        for connection in list(self._connections.values()):
            if not connection.key:
                connection.guilty = (
                    connection.guilty
                    or "had not identified itself when a key was removed from the allow-list"
                )
            elif connection.key not in listed:
                connection.guilty = connection.guilty or "has a key that was removed from the allow-list"
        self._cut_guilty()  # no pause: it comes back and is refused, others come back and are let in

    def _look(self) -> bool:
        """Check the traffic of every connection; return whether any has sent something or is new."""
        busy, limit = False, self._allowance
        if self._listed is not None:
            self._follow_list(self._listed)
        for fd, connection in list(self._connections.items()):
            # In this order: what the owner read before it drained the socket is in `heard`, and what is taken
            # out of `heard` has been received by the time of the look.
            n_drained, heard = self.n_drained, fd in self.heard
            if heard:
                self.heard.discard(fd)
            busy |= connection.look(limit.burst, limit.rate) or connection.is_new
            connection.look_for_end(limit.unfinished, heard, n_drained)
        if self._cut_guilty():
            self.pause()  # of floods only: who makes room is back at once, and may be
        condemn(self._connections, self.is_foreign)
        self._cut_guilty()
        if self.n_cut > self._n_said and is_over(self._said_ns, SAY_NS, now_ns()):
            n, self._n_said = self.n_cut - self._n_said, self.n_cut
            self._said_ns = now_ns()
            what = "1 connection" if n == 1 else f"{n} connections"
            self.sentences.append(f"Cut off {what} to {self._address}; the last connection was {self._last}.")
        return busy
