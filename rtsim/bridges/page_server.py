"""The web server of the browser page with results: a few files, and for each viewer a stream of events, each
in a thread.

It is read only. A viewer that stops reading blocks only its own thread; if it continues, it gets the newest
data, otherwise it is disconnected.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.client import LineTooLong
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import IO, Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from rtsim.bridges.gait_events import GaitEvents
from rtsim.bridges.page_access import COOKIE, Access, PageAddress
from rtsim.bridges.page_messages import curves_message, layout_message, look_message, state_message
from rtsim.errors import ConfigError
from rtsim.monitor.feed import Change, Feed
from rtsim.monitor.layout import PANELS_ALL
from streams.readable import has_come

FILES = {
    "/": ("page.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}
TURN_S = 0.05
"""Interval at which new data are sent to viewers [s]."""
STATE_TURNS = 5
"""Number of intervals without new data after which the state is sent anyway, such as a lost connection."""
STALL_S = 10.0
"""Longest time for which a viewer may not read its data, or a client may take for its request [s]."""
MOMENT_S = 0.3
"""If all places are taken, a connection without a request is closed after this time for a new one [s]."""
CONNECTIONS_MOST, VIEWERS_MOST = 64, 16
SENT_AHEAD = 65_536
"""Bytes that may be queued for a viewer; few, so that a viewer that stalled soon shows the newest data."""
HEAD_MOST = 16_384
"""Longest head of a request [bytes]; the library would read 6 MB from everybody, before any token."""
QUEUE = 128
"""Connections that may wait to be accepted; one more would be tried again by its system a second later."""
STRANGE_SITES = ("cross-site", "same-site")
"""Values of the header Sec-Fetch-Site of requests by other sites' pages, which could take all places of
viewers."""
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; form-action 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class Showing:
    """The data that the browser page shows, shared between the thread that receives frames and those of the
    viewers.

    feed : newest state of the result stream, used only while holding the lock `news`
    events : gait events, used under the same lock
    """

    def __init__(self, feed: Feed, events: GaitEvents) -> None:
        self.feed, self.events = feed, events
        self.news = threading.Condition()
        self.n_turn = self.n_layout = 0
        self.over = False

    def turn(self) -> None:
        """Process newly arrived results, and wake the threads of the viewers."""
        with self.news:
            change, _ = self.feed.take()
            self.n_layout += change is not Change.NOTHING
            self.n_turn += 1
            self.news.notify_all()

    def close(self) -> None:
        """Wake the threads of the viewers and let them end."""
        with self.news:
            self.over = True
            self.news.notify_all()


class Viewer:
    """Record of what was already sent to one viewer of the browser page; panels : indices of the panels of
    curves that the viewer requests.
    """

    def __init__(self, showing: Showing, panels: list[int]) -> None:
        self._showing, self._panels = showing, panels
        self._n_layout, self._n_turn, self._n_sent = -1, -1, 0
        self._n_frame = -1
        self._quiet = 0

    def next_events(self) -> list[tuple[str, dict[str, Any]]] | None:
        """Wait for new data; return names and values of the events to send, None when the page is closed."""
        showing = self._showing
        with showing.news:
            while showing.n_turn == self._n_turn and not showing.over:
                showing.news.wait(1.0)
            if showing.over:
                return None
            self._n_turn = showing.n_turn
            return self._events(showing)

    def _events(self, showing: Showing) -> list[tuple[str, dict[str, Any]]]:
        feed, found = showing.feed, []
        if showing.n_layout != self._n_layout:
            self._n_layout = showing.n_layout
            if feed.layout is not None:
                found.append(("layout", layout_message(feed.layout)))
                self._n_sent = 0
        self._quiet = self._quiet + 1 if feed.meter.n_frame == self._n_frame else 0
        if self._quiet % STATE_TURNS:
            return found
        self._n_frame = feed.meter.n_frame
        found.append(("state", state_message(feed, showing.events)))
        if self._panels:
            curves, self._n_sent = curves_message(feed, self._panels, self._n_sent)
            found += [("curves", curves)] if curves else []
        return found


class PageServer(ThreadingHTTPServer):
    """Serves the browser page at an address; each connection has a daemon thread, and the number of
    connections is limited.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = QUEUE

    def __init__(
        self,
        place: PageAddress,
        access: Access,
        showing: Showing,
        tls: ssl.SSLContext | None,
        say: Callable[[str], None],
    ) -> None:
        self.access, self.showing, self._tls, self._say = access, showing, tls, say
        self.address_family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        self.viewers = threading.BoundedSemaphore(VIEWERS_MOST)
        self._connections = threading.BoundedSemaphore(CONNECTIONS_MOST)
        self._asking: dict[socket.socket, float] = {}  # since when [s]; the thread that accepts looks at it
        self.pages = {path: (_file(name), kind) for path, (name, kind) in FILES.items()}
        self.pages["/look.json"] = (msgspec.json.encode(look_message()), "application/json")
        try:
            super().__init__((place.host, place.port), PageRequest)
        except OSError as fault:
            raise ConfigError(
                f"{place.host} port {place.port} cannot be bound ({fault.strerror or fault})", where="--page",
                remedy="give another port, 0 for any free one",
            ) from fault  # fmt: skip
        host = f"[{place.host}]" if ":" in place.host else place.host
        scheme = "https" if tls else "http"
        query = f"?token={access.token}" if access.token else ""
        self.url = f"{scheme}://{host}:{self.server_address[1]}/{query}"

    def server_bind(self) -> None:
        """Bind without looking up the host's name, which may take a minute without a network."""
        socket_server_bind = super(ThreadingHTTPServer, self).server_bind
        with contextlib.suppress(AttributeError):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        socket_server_bind()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Accept a connection if there is room for one more, or after closing one that has sent no
        request.
        """
        if not self._connections.acquire(blocking=False) and not self._room_made(request):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def _room_made(self, newcomer: socket.socket) -> bool:
        """Close the connection that has taken longest to send its request, at once if a newcomer has sent one
        already; return whether there is now room for one more.
        """
        oldest = min(list(self._asking.items()), key=lambda item: item[1], default=None)
        if oldest is None or (
            time.monotonic() - oldest[1] < MOMENT_S and not has_come(newcomer, b"\r\n\r\n", HEAD_MOST)
        ):
            return False
        self.has_asked(oldest[0])
        hang_up(oldest[0])
        return self._connections.acquire(timeout=MOMENT_S)

    def service_actions(self) -> None:
        """Close connections that take too long to send their request."""
        now = time.monotonic()
        for connection, since in list(self._asking.items()):
            if now - since > STALL_S:
                hang_up(connection)

    def has_asked(self, connection: socket.socket) -> None:
        """Record that the request of a connection has arrived; answering it may take any time."""
        self._asking.pop(connection, None)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one client; the TLS handshake is done in its own thread, so that it delays nothing else."""
        try:
            request.settimeout(STALL_S)
            request.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SENT_AHEAD)
            if self._tls is not None:
                request = self._tls.wrap_socket(request, server_side=True, do_handshake_on_connect=False)
            self._asking[request] = time.monotonic()
            if isinstance(request, ssl.SSLSocket):
                request.do_handshake()
            self.finish_request(request, client_address)
        except (OSError, ValueError):  # the client has gone, or speaks something else
            pass
        except Exception as fault:
            self._say(f"a request to the page has failed: {type(fault).__name__}: {fault}")
        finally:
            self.has_asked(request)
            self.shutdown_request(request)
            self._connections.release()


class RequestHead:
    """Reader of the head of an HTTP request, its first line and its fields, of at most HEAD_MOST bytes;
    raises LineTooLong for a longer head.

    file : connection from which the request is read
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._left = file, HEAD_MOST
        self.close = file.close

    def readline(self, limit: int) -> bytes:
        """Return the next line, cut at `limit` bytes."""
        if self._left <= 0:
            raise LineTooLong("header line")
        line = self._file.readline(min(limit, self._left))
        self._left -= len(line)
        return line


class PageRequest(BaseHTTPRequestHandler):
    """Answers GET and HEAD requests for the files of the browser page, and GET requests for its stream of
    events.
    """

    server: PageServer
    server_version, sys_version = "rtsim", ""

    def setup(self) -> None:
        """Limit the number of bytes read of a request."""
        super().setup()
        self.rfile: Any = RequestHead(self.rfile)

    def do_GET(self) -> None:
        """Answer a request with a file of the page, the stream of events, or the reason why it is
        rejected.
        """
        self.server.has_asked(self.connection)
        parts = urlsplit(self.path)
        try:
            query = parse_qs(parts.query, max_num_fields=8)
        except ValueError:
            self._answer(HTTPStatus.BAD_REQUEST, b"Too many parameters.\n")
            return
        if not self._admitted(parts.path, query):
            return
        if parts.path == "/stream":
            self._stream(_numbers(query.get("panels", [""])[0]))
        elif parts.path in self.server.pages:
            content, kind = self.server.pages[parts.path]
            self._answer(HTTPStatus.OK, content, kind)
        else:
            self._answer(HTTPStatus.NOT_FOUND, b"There is no such page here.\n")

    do_HEAD = do_GET  # noqa: N815 - the library calls it so

    def log_message(self, *_: Any) -> None:
        """Log nothing, because addresses of the page contain the token."""

    def _admitted(self, path: str, query: dict[str, list[str]]) -> bool:
        access = self.server.access
        if not access.allows_host(self.headers.get("Host", "")):
            self._answer(HTTPStatus.FORBIDDEN, b"This page is called by the address of this machine alone.\n")
            return False
        if path != "/" and self.headers.get("Sec-Fetch-Site", "") in STRANGE_SITES:
            self._answer(HTTPStatus.FORBIDDEN, b"This is for the page itself, not for pages of others.\n")
            return False
        if access.token and path == "/" and "token" in query and access.fits(query["token"][0]):
            self.send_response(HTTPStatus.SEE_OTHER)
            self._head({"Location": "/", "Content-Length": "0"})
            self.send_header(
                "Set-Cookie", f"{COOKIE}={access.token}; Path=/; HttpOnly; SameSite=Strict{self._secure()}"
            )
            self.end_headers()
            return False
        if access.has_cookie(self.headers.get("Cookie", "")):
            return True
        self._answer(
            HTTPStatus.FORBIDDEN,
            b"This page needs its token: open it by the address that rtsim serve has told.\n",
        )
        return False

    def _secure(self) -> str:
        return "; Secure" if isinstance(self.connection, ssl.SSLSocket) else ""

    def _head(self, more: dict[str, str]) -> None:
        for name, value in (HEADERS | more).items():
            self.send_header(name, value)

    def _answer(self, status: HTTPStatus, content: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        self._head({"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(content))})
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _stream(self, panels: list[int]) -> None:
        if not self.server.viewers.acquire(blocking=False):
            self._answer(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"The page already has {VIEWERS_MOST} viewers, its maximum.\n".encode(),
            )
            return
        try:
            self.send_response(HTTPStatus.OK)
            self._head({"Content-Type": "text/event-stream"})
            self.end_headers()
            if self.command != "HEAD":
                self._send_events(Viewer(self.server.showing, panels))
        finally:
            self.server.viewers.release()

    def _send_events(self, viewer: Viewer) -> None:
        self.wfile.write(b"retry: 1000\n\n")
        while (events := viewer.next_events()) is not None:
            for name, value in events:
                self.wfile.write(b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(value)))


def hang_up(connection: socket.socket) -> None:
    """Shut down a TCP connection whose thread is waiting for data over TLS."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


def _numbers(text: str) -> list[int]:
    """Parse the indices of the panels that a viewer requests, each once; words that are not numbers are
    ignored."""
    numbers = [
        int(part)
        for part in text.split(",")[:PANELS_ALL]
        if part.isascii() and part.isdigit() and len(part) < 4
    ]
    return sorted(set(numbers))


def _file(name: str) -> bytes:
    return files("rtsim.bridges").joinpath("page", name).read_bytes()
