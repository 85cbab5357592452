"""Detection of endless messages by the receiver.

libzmq delivers a message when its last part has arrived, and stores all parts until then, without limit. On
Linux the receiver can detect this: while no complete message waits, bytes that keep arriving belong to an
unfinished one. Elsewhere, and for endpoints other than tcp://, it is not detected.
"""

from __future__ import annotations

from contextlib import suppress

from streams.access.wire import WATCHES, n_received, n_unread, open_wire, port_of, shut
from streams.clock import is_over, now_ns
from streams.codec import MAX_PAYLOAD

MOST_UNFINISHED = MAX_PAYLOAD + (64 << 10)
"""More than any message of the protocol has before it is whole [bytes]."""
DELIVERY_NS = 20_000_000
"""Time for which bytes beyond that must have waited: libzmq's own thread may be stopped between reading the
end of a message and delivering it [ns]."""
HEARTBEAT_RATE = 1024
"""Heartbeats are no messages, and come while nothing is sent; more than they need [bytes/s]."""


class Unfinished:
    """Count of the bytes that a client socket's connection has received since its last complete message.

    Attributes
    ----------
    grows : whether bytes of an unfinished message came between the last two calls of `cut`
    """

    def __init__(self, address: str) -> None:
        self._port = port_of(address) if WATCHES else None
        self._fd: int | None = None
        self._heard = True
        self._mark = self._n = 0
        self._mark_ns = 0
        # the count that is more than a message can have, and when it was seen
        self._beyond = 0
        self._beyond_ns: int | None = None
        self._read_on = False  # whether libzmq has read on since then
        self.grows = False

    def connected(self, fd: int) -> None:
        """Record a new connection under this file descriptor."""
        self._fd, self._heard, self._beyond_ns = fd, False, None
        self._mark = self._n = 0
        self._mark_ns = now_ns()

    def gone(self) -> None:
        """Record that the connection is closed."""
        self._fd = None

    def heard(self) -> None:
        """Record that a complete message has come."""
        self._heard = True

    def _heartbeats(self) -> float:
        """Return how many of the bytes that came since the last complete message may be heartbeats of libzmq;
        0 where the clock was set back.
        """
        return 1e-9 * max(0, now_ns() - self._mark_ns) * HEARTBEAT_RATE

    def cut(self) -> bool:
        """Close the connection if it carries an endless message; return whether it did.

        Call it when there was nothing to read. A message counts as endless if more bytes have come since the
        last complete message than a message may have, and if none is complete after libzmq has read on, as it
        delivers what it read before, or DELIVERY_NS later.
        """
        self.grows = False
        if self._fd is None or self._port is None:
            return False
        wire = None
        with suppress(OSError):  # no more files may be opened
            wire = open_wire(self._fd, peer_port=self._port)
        if wire is None:
            return False
        n_before, self._n = self._n, n_received(wire) - n_unread(wire)
        self.grows = not self._heard and self._n > n_before
        if self._heard:
            self._heard, self._beyond_ns = False, None
            self._mark, self._mark_ns = self._n, now_ns()
        elif self._beyond_ns is not None:
            if self._read_on or is_over(self._beyond_ns, DELIVERY_NS, now_ns()):
                shut(wire)
                self.gone()
                return True
            self._read_on = self._n > self._beyond
        elif self._n - self._mark > MOST_UNFINISHED + self._heartbeats():
            self._beyond, self._beyond_ns, self._read_on = self._n, now_ns(), False
        wire.close()
        return False
