"""Detection of endless messages by the receiver.

libzmq delivers a message when its last part has arrived, and stores all parts until then, without limit. On
Linux the receiver can detect this: while no complete message waits, bytes that keep arriving belong to an
unfinished one. Elsewhere, and for endpoints other than tcp://, it is not detected.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress

from streams.access.wire import HEARTBEAT_RATE, WATCHES, Traffic, n_unread, open_wire, port_of, shut, traffic
from streams.clock import now_ns
from streams.codec import MAX_PAYLOAD

MOST_UNFINISHED = MAX_PAYLOAD + (64 << 10)
"""More bytes than a message of the protocol has, with several reads of libzmq beside. libzmq delivers what
one read has completed before it reads again, so a message that ended within these bytes is delivered."""
MOST_SEGMENTS = 2500
"""More segments than such a message comes in, which are 2000 of 536 bytes. libzmq keeps its buffer of 8 KiB
for a small part that came alone, so that segments take more memory than bytes [1]."""
HEARTBEAT_SEGMENTS, SAVED_S = 4, 8.0
"""More segments than heartbeats come in [1/s], and for how long what they did not need may be made up for
[s]."""
FRAMING, BESIDE = 256, 64 << 10
"""Bytes of a complete message beside those of its parts, at most; and bytes that may have come with the
messages between two looks: the handshake, and the beginning of the next message."""
FAST = 1024
"""Bytes of growth from which the next look comes soon."""


class Unfinished:
    """Count of the bytes that a client socket's connection has received beyond its complete messages.

    Attributes
    ----------
    grows : whether more than FAST bytes that no message accounts for came between the last two calls of
        `cut`, or wait to be read
    doubtful : whether there were too many bytes or segments at the last call of `cut`. If there is still
        nothing to read, the message is endless.
    blind : whether that call could not look, as no more files may be opened
    """

    def __init__(self, address: str) -> None:
        self._port = port_of(address) if WATCHES else None
        self._fd: int | None = None
        self._heard = False
        self._mark = self._n = self._delivered = 0
        self._segment_mark = self._n_segment = 0
        self._looked_ns, self._saved_s = 0, 0.0
        self.grows = self.doubtful = self.blind = False

    def connected(self, fd: int) -> None:
        """Record a new connection under this file descriptor.

        Messages that were heard before may have come over it, as libzmq tells of a connection separately.
        """
        self._fd, self.doubtful = fd, False
        self._mark = self._n = self._segment_mark = self._n_segment = 0
        self._looked_ns, self._saved_s = now_ns(), SAVED_S

    def gone(self) -> None:
        """Record that the connection is closed."""
        self._fd = None
        self.grows = self.doubtful = self.blind = False

    def heard(self, parts: Sequence[bytes]) -> None:
        """Record that a complete message has come, with these parts of it."""
        self._heard = True
        self._delivered += FRAMING + sum(map(len, parts))

    def close(self, fd: int) -> bool:
        """Close the connection for a message that came over the file descriptor `fd`; return whether it is
        this one.
        """
        wire = self._open() if fd == self._fd else None
        if wire is None:
            return False
        shut(wire, discard=True)
        self.gone()
        return True

    def _open(self) -> socket.socket | None:
        if self._fd is not None and self._port is not None:
            with suppress(OSError):  # no more files may be opened
                return open_wire(self._fd, peer_port=self._port)
        return None

    def cut(self) -> bool:
        """Close the connection if it carries an endless message; return whether it did.

        Call it when there was nothing to read. A message counts as endless if, at a call, more bytes or
        segments have come beyond the complete messages than a message may have, and none is complete at the
        next call. One call is not enough: messages may be completed between the attempt to read and the call.
        """
        wire = self._open()
        self.blind = wire is None
        if wire is None:
            if self._fd is None:  # and all that came over the last connection has been read
                self.gone()
                self._heard, self._delivered = False, 0
            return False
        with suppress(OSError):  # of a descriptor that is another file's by now
            return self._judge(wire, traffic(wire), n_unread(wire))
        wire.close()
        return False

    def _judge(self, wire: socket.socket, counts: Traffic, n_waiting: int) -> bool:
        """Judge the counts of the connection for `cut`, and close the handle `wire`.

        n_waiting : received bytes that libzmq has not read yet
        """
        n_before, self._n = self._n, max(self._n, counts.received - n_waiting)
        n_segment_before, self._n_segment = self._n_segment, max(self._n_segment, counts.segments)
        since_ns, self._looked_ns = self._looked_ns, now_ns()
        gap_s = 1e-9 * max(0, self._looked_ns - since_ns)
        self._saved_s = max(gap_s, min(SAVED_S, self._saved_s + gap_s))
        doubtful, self.doubtful = self.doubtful, False
        if self._heard:
            # Much that came with messages may be theirs after all, as of other topics, which libzmq drops.
            counted = max(self._mark + self._delivered + BESIDE, self._n - MOST_UNFINISHED // 2)
            self._mark, self._segment_mark = min(self._n, counted), self._n_segment
            self._heard, self._delivered = False, 0
        elif doubtful:
            shut(wire, discard=True)
            self.gone()
            return True
        else:
            n_new, n_new_segment = self._n - n_before, self._n_segment - n_segment_before
            needed_s = max(n_new / HEARTBEAT_RATE, n_new_segment / HEARTBEAT_SEGMENTS)
            if needed_s <= self._saved_s:
                self._saved_s -= needed_s
                self._mark, self._segment_mark = self._mark + n_new, self._segment_mark + n_new_segment
            self.doubtful = (
                self._n - self._mark > MOST_UNFINISHED or self._n_segment - self._segment_mark > MOST_SEGMENTS
            )
        n_grown = self._n - max(n_before, self._mark)
        much = 4 * (self._n - self._mark) > MOST_UNFINISHED
        self.grows = max(n_waiting, n_grown) > FAST or (much and n_grown > 0)
        wire.close()
        return False
