"""Whole messages of Qualisys' real-time protocol over a TCP connection, and commands to the server."""

from __future__ import annotations

import socket

from streams.capture.qtm.packets import COMMAND, HEADER, MOST_BYTES, message
from streams.capture.records import CaptureError
from streams.clock import now_ns

CONNECT_S, SEND_S = 2.0, 1.0
"""Time for the connection, and for a server that does not read what it is sent [s]."""
RECEIVE = 1 << 16
PORTS = "give QTM's little-endian port, which is 22223 unless it was changed"
SHORTEST_S = 1e-4
"""A wait of 0 would turn the socket into one that never waits [s]."""


class QtmSocket:
    """A connection to QTM. Raises CaptureError if it cannot be opened or was closed.

    Attributes
    ----------
    heard_ns, whole_ns : when anything was last received, and when a message was last complete
    """

    def __init__(self, host: str, port: int) -> None:
        self._buffer, self._start, self._end = bytearray(4 * RECEIVE), 0, 0
        self.heard_ns = self.whole_ns = now_ns()
        try:
            self._socket = socket.create_connection((host, port), CONNECT_S)
        except (OSError, UnicodeError) as fault:
            raise CaptureError(
                "unreachable",
                f"nobody answers at {host} port {port} ({fault}); see that QTM is running, and that its "
                "firewall lets the real-time server in",
            ) from fault
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, command: str) -> None:
        """Send a command."""
        try:
            self._socket.settimeout(SEND_S)
            self._socket.sendall(message(COMMAND, command))
        except OSError as fault:
            raise CaptureError("closed", f"the server does not accept commands any more ({fault})") from fault

    def receive(self, timeout_s: float) -> bool:
        """Read received data, waiting at most this long; returns whether there was any."""
        if self._end == len(self._buffer):
            self._make_room()
        try:
            self._socket.settimeout(max(timeout_s, SHORTEST_S))
            n = self._socket.recv_into(memoryview(self._buffer)[self._end :])
        except TimeoutError:
            return False
        except OSError as fault:
            raise CaptureError("closed", f"the connection broke ({fault})") from fault
        if n == 0:
            raise CaptureError("closed", "the server closed the connection")
        self._end += n
        self.heard_ns = now_ns()
        return True

    def message(self) -> tuple[int, memoryview] | None:
        """Return the next complete message, (type, body), valid until more is received; None = there is none
        yet."""
        n = self._end - self._start
        if n < HEADER.size:
            return None
        size, kind = HEADER.unpack_from(self._buffer, self._start)
        if not HEADER.size <= size <= MOST_BYTES:
            raise CaptureError(
                "malformed", f"the server announces a message of {size} bytes, which is impossible; {PORTS}"
            )
        if n < size:
            return None
        body = memoryview(self._buffer)[self._start + HEADER.size : self._start + size]
        self._start += size
        self.whole_ns = self.heard_ns
        if self._start == self._end:
            self._start = self._end = 0
        return kind, body

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _make_room(self) -> None:
        """Move the unread bytes to the front of a buffer that is large enough for the message that has
        begun."""
        left = self._buffer[self._start : self._end]
        wanted = 4 * RECEIVE if len(left) < 2 * RECEIVE else min(2 * len(left), MOST_BYTES)
        self._buffer = bytearray(max(wanted, len(left) + RECEIVE))
        self._buffer[: len(left)] = left
        self._start, self._end = 0, len(left)
