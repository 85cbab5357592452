"""A gate in front of a WebSocket without authentication; it admits programs of this machine and a few web
pages.

A browser lets every web page connect to WebSockets on its machine, and states the page in the header
`Origin`. The WebSocket itself is hidden behind the gate: on Linux at a random address of the loopback
network, elsewhere at an unpublished port.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence

from rtsim.bridges.page_access import HERE
from rtsim.errors import ConfigError
from streams.account import plain
from streams.readable import has_come, readable

HOST = "127.0.0.1"
VIEWERS_MOST = 16
MOMENT_S = 0.3
"""If all places are taken, a connection without a request is closed after this time for a new one [s]."""
QUEUE = 128
"""Connections that may wait to be accepted."""
REQUEST_MOST = 16_384
"""Longest request of a viewer [bytes]."""
REQUEST_S = 5.0
"""Time that a viewer may take for its request [s]."""
LOOK_S = 0.2
PIECE = 1 << 16
TOLD_MOST = 8
"""Pages that are named when they are refused."""
ORIGINS = (
    re.compile(r"https://([a-z0-9-]+\.)*foxglove\.(dev|com)"),
    re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?"),
    re.compile(r"file://"),
)
"""Permitted web pages: Foxglove's own, those that this machine serves, and local applications."""
ORIGIN = re.compile(r"(https?|file|[a-z][a-z0-9+.-]{0,30})://[a-z0-9.\[\]:_-]{0,253}")
REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def hidden_host() -> str:
    """Return the address for the server behind the gate: on Linux a random address of the loopback network,
    which other programs cannot guess, elsewhere 127.0.0.1.
    """
    if sys.platform != "linux":
        return HOST
    return "127." + ".".join(str(1 + secrets.randbelow(254)) for _ in range(3))


class ViewerGate:
    """Accepts viewers (web pages, programs) at a port, and connects permitted ones to the WebSocket behind
    the gate.

    port : port on this machine, 0 = any; afterwards the port in use
    origins : further permitted pages, such as http://viewer.lab:8080
    say : function called once for each page that is rejected
    behind : host and port of the WebSocket, to be set before `open`

    Raises ConfigError if the port is not available, and for an invalid origin.
    """

    def __init__(self, port: int, origins: Sequence[str], say: Callable[[str], None]) -> None:
        self.behind = (HOST, 0)
        self._say, self._told = say, set[str]()
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)
        for origin in self._origins:
            if not ORIGIN.fullmatch(origin):
                raise ConfigError(
                    f"{origin!r} is not the origin of a web page",
                    where="--origin",
                    allowed="as http://viewer.lab:8080",
                )
        self._places = threading.BoundedSemaphore(VIEWERS_MOST)
        self._asking: dict[socket.socket, float] = {}  # since when [s]
        self._over = threading.Event()
        self._listener = socket.socket()
        try:
            if sys.platform != "win32":  # where it would let another program take the port
                self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listener.bind((HOST, port))
            self._listener.listen(QUEUE)
        except OSError as fault:
            self._listener.close()
            raise ConfigError(
                f"port {port} of {HOST} cannot be opened ({fault.strerror or fault})", where="--port",
                remedy="give another port, or end the program that uses this one",
            ) from None  # fmt: skip
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def open(self) -> None:
        """Begin to accept viewers."""
        self._thread.start()

    def close(self) -> None:
        """Stop accepting viewers, and disconnect those that are connected."""
        self._over.set()
        self._listener.close()

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                if not readable([self._listener], LOOK_S):
                    continue
                viewer, _ = self._listener.accept()
            except (OSError, ValueError):  # it was closed meanwhile, or the viewer has gone
                continue
            if not self._places.acquire(blocking=False) and not self._room_made(viewer):
                viewer.close()
                continue
            self._asking[viewer] = time.monotonic()
            threading.Thread(target=self._lead, args=(viewer,), daemon=True).start()

    def _room_made(self, newcomer: socket.socket) -> bool:
        """Close the connection that has taken longest to send its request; return whether there is now room
        for one more.
        """
        oldest = min(list(self._asking.items()), key=lambda item: item[1], default=None)
        if oldest is None or (
            time.monotonic() - oldest[1] < MOMENT_S and not has_come(newcomer, b"\r\n\r\n", REQUEST_MOST)
        ):
            return False
        self._asking.pop(oldest[0], None)
        with contextlib.suppress(OSError):
            oldest[0].shutdown(socket.SHUT_RDWR)
        return self._places.acquire(timeout=MOMENT_S)

    def _lead(self, viewer: socket.socket) -> None:
        """Read a viewer's request, and relay between it and the WebSocket until one of them disconnects."""
        try:
            with viewer, contextlib.suppress(OSError, ValueError):  # either has gone
                request = read_request(viewer)
                self._asking.pop(viewer, None)
                if not self._admitted(request):
                    viewer.sendall(REFUSED)
                    return
                with socket.create_connection(self.behind, REQUEST_S) as behind:
                    behind.sendall(request)
                    for end in (viewer, behind):
                        end.settimeout(None)
                        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self._hand_over(viewer, behind)
        finally:
            self._asking.pop(viewer, None)
            self._places.release()

    def _hand_over(self, viewer: socket.socket, behind: socket.socket) -> None:
        """Relay data in both directions between a viewer and the WebSocket behind the gate. Each direction
        waits for a side that does not read, which delays no other connection.
        """
        other = {viewer: behind, behind: viewer}
        while not self._over.is_set():
            for end in readable([viewer, behind], LOOK_S):
                piece = end.recv(PIECE)
                if not piece:
                    return
                other[end].sendall(piece)

    def _admitted(self, request: bytes) -> bool:
        """Return whether a viewer's request comes from a program or a permitted page, and addresses this
        machine.
        """
        hosts, origins = header_values(request, "host"), header_values(request, "origin")
        if len(hosts) != 1 or not HERE.fullmatch(hosts[0]) or len(origins) > 1:
            return False
        origin = origins[0].lower() if origins else ""
        if not origins or origin in self._origins or any(known.fullmatch(origin) for known in ORIGINS):
            return True
        if origin not in self._told and len(self._told) < TOLD_MOST:
            self._told.add(origin)
            self._say(
                f"a page of {plain(origin, 100)!r} in a browser of this machine was refused; if it is a "
                "viewer of yours, allow it with --origin"
            )
        return False


def read_request(viewer: socket.socket) -> bytes:
    """Return the head of an HTTP request, with any data that follow; ValueError for a request that is too
    long, truncated or too slow.
    """
    due, request = time.monotonic() + REQUEST_S, b""
    while b"\r\n\r\n" not in request:
        left_s = due - time.monotonic()
        if left_s <= 0.0 or len(request) > REQUEST_MOST:
            raise ValueError("no request")
        viewer.settimeout(left_s)
        piece = viewer.recv(4096)
        if not piece:
            raise ValueError("cut")
        request += piece
    return request


def header_values(request: bytes, name: str) -> list[str]:
    """Return the values of a header in a request; ValueError for ambiguous lines."""
    lines = request.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
    found = []
    for line in lines:
        key, colon, value = line.partition(":")
        if not colon or not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", key) or not value.isprintable():
            raise ValueError("a line that is no header")
        if key.lower() == name:
            found.append(value.strip(" \t"))
    return found
