"""Detection of endless messages by the receiver.

libzmq delivers a message when its last part has arrived, and stores all parts until then, without limit. On
Linux the receiver can detect this: while no complete message waits, bytes that keep arriving belong to an
unfinished one. Elsewhere, and for endpoints other than tcp://, it is not detected.
"""

from __future__ import annotations

from contextlib import suppress

from streams.access.wire import WATCHES, n_received, n_unread, open_wire, port_of, shut
from streams.clock import now_ns
from streams.codec import MAX_PAYLOAD

MOST_UNFINISHED = MAX_PAYLOAD + (64 << 10)
"""More bytes than a message of the protocol has, with several reads of libzmq beside. libzmq delivers what
one read has completed before it reads again, so a message that ended within these bytes is delivered."""
HEARTBEAT_RATE = 1024
"""Rate of received bytes that is allowed for heartbeats, which are not messages [bytes/s]."""


class Unfinished:
    """Count of the bytes that a client socket's connection has received since its last complete message.

    Attributes
    ----------
    grows : whether bytes of an unfinished message came between the last two calls of `cut`, or wait to be
        read
    doubtful : whether there were too many of them at the last call of `cut`. If there is still nothing to
        read, the message is endless.
    """

    def __init__(self, address: str) -> None:
        self._port = port_of(address) if WATCHES else None
        self._fd: int | None = None
        self._heard = False
        self._mark = self._n = 0
        self._mark_ns = 0
        self.grows = self.doubtful = False

    def connected(self, fd: int) -> None:
        """Record a new connection under this file descriptor.

        Messages that were heard before may have come over it, as libzmq tells of a connection separately.
        """
        self._fd, self.doubtful = fd, False
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

        Call it when there was nothing to read. A message counts as endless if, at a call, more bytes have
        come since the last complete message than a message may have, and none is complete at the next call.
        One call is not enough: messages may be completed between the attempt to read and the call.
        """
        doubtful, self.grows, self.doubtful = self.doubtful, False, False
        if self._fd is None or self._port is None:
            return False
        wire = None
        with suppress(OSError):  # no more files may be opened
            wire = open_wire(self._fd, peer_port=self._port)
        if wire is None:
            return False
        n_come, n_waiting = n_received(wire), n_unread(wire)
        n_before, self._n = self._n, n_come - n_waiting
        if self._heard:
            self._heard = False
            self._mark, self._mark_ns = self._n, now_ns()
        elif doubtful:
            shut(wire)
            self.gone()
            return True
        else:
            self.grows = n_waiting > 0 or self._n > n_before
            self.doubtful = self._n - self._mark > MOST_UNFINISHED + self._heartbeats()
        wire.close()
        return False
