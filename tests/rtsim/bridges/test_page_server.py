"""The page's server over real sockets."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import rtsim.bridges.page_server
from rtsim.bridges.page import PageOptions, serve_page
from rtsim.bridges.page_server import CONNECTIONS_MOST, HEAD_MOST, VIEWERS_MOST
from rtsim.errors import ConfigError

GUARD_S = 120.0
PATIENCE_S = 120.0
"""How long is waited for what takes many turns of the server [s]."""


class Served:
    """A page on a walk, served by a thread."""

    def __init__(self, address: str, **options: Any) -> None:
        self.stop, self.told, self.urls = threading.Event(), [], []
        there = threading.Event()

        def ready(url: str) -> None:
            self.urls.append(url)
            there.set()

        whole = PageOptions("127.0.0.1:0", **options)
        self.thread = threading.Thread(
            target=serve_page, args=(address, whole, None, self.stop, ready, self.told.append)
        )
        self.thread.start()
        assert there.wait(GUARD_S)
        self.port = int(self.urls[0].split(":")[2].split("/")[0])

    def ask(self, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=GUARD_S)
        connection.request(method, path, headers=headers)
        return connection.getresponse()

    def close(self) -> None:
        self.stop.set()
        self.thread.join(GUARD_S)
        assert not self.thread.is_alive()


@pytest.fixture
def serve(walk: Any) -> Iterator[Callable[..., Served]]:
    """Serves pages on the walk."""
    served: list[Served] = []

    def start(**options: Any) -> Served:
        served.append(Served(walk.address, **options))
        return served[-1]

    yield start
    for each in served:
        each.close()


def events_of(answer: Any, names: set[str], meanwhile: Callable[[], object]) -> dict[str, Any]:
    """The newest of each kind of event, once all these have come."""
    found: dict[str, Any] = {}
    due = time.monotonic() + GUARD_S
    while names - set(found):
        assert time.monotonic() < due, found.keys()
        meanwhile()
        line = answer.readline()
        if line.startswith(b"event: "):
            found[line[7:-1].decode()] = json.loads(answer.readline()[6:])
    return found


def test_a_viewer_gets_layout_state_and_curves(walk: Any, serve: Callable[..., Served]) -> None:
    """Protects the whole way from a result stream to a viewer."""
    answer = serve().ask("/stream?panels=0,1,x,77")
    assert answer.getheader("Content-Type", "").startswith("text/event-stream")
    found = events_of(answer, {"layout", "state", "curves"}, lambda: walk.send(5))
    assert found["layout"]["panels"][0]["names"] == ["flexion"]
    assert set(found["curves"]["panels"]) == {"0", "1"}


def test_files_and_what_is_none(serve: Callable[..., Served]) -> None:
    """Protects read only: files of the page alone, nothing by other methods, nothing outside."""
    served = serve()
    for path, word in (("/", b"<canvas"), ("/page.js", b"EventSource"), ("/page.css", b"#figure")):
        answer = served.ask(path)
        assert answer.status == 200
        assert word in answer.read()
        assert "default-src 'self'" in answer.getheader("Content-Security-Policy", "")
    for path in ("/page.py", "/../page.py", "/%2e%2e/page_server.py", "//etc/passwd", "/stream/"):
        assert served.ask(path).status == 404
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert served.ask("/", method).status == 501
    assert served.ask("/", Host="evil.example").status == 403
    assert served.ask("/", "HEAD").read() == b""


def test_pages_of_others_take_no_place(serve: Callable[..., Served]) -> None:
    """Protects viewers: a stranger's page in a browser on this machine takes none of their places."""
    served = serve()
    for site in ("cross-site", "same-site"):
        for path in ("/stream", "/look.json", "/page.js"):
            assert served.ask(path, **{"Sec-Fetch-Site": site}).status == 403
        assert served.ask("/", **{"Sec-Fetch-Site": site}).status == 200  # a link to the page
    for site in ("same-origin", "none"):
        assert served.ask("/look.json", **{"Sec-Fetch-Site": site}).status == 200


def test_a_stalled_viewer_holds_up_nobody(
    walk: Any, serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects everybody else from a tablet that takes nothing any more, which is let go in the end."""
    monkeypatch.setattr(rtsim.bridges.page_server, "STALL_S", 0.5)
    monkeypatch.setattr(rtsim.bridges.page_server, "VIEWERS_MOST", 2)
    served = serve()
    with socket.socket() as stalled:
        stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        stalled.connect(("127.0.0.1", served.port))
        stalled.sendall(b"GET /stream?panels=0,1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert stalled.recv(8) == b"HTTP/1.0"  # it has its place, and takes nothing from here on
        answer = served.ask("/stream?panels=0")
        due = time.monotonic() + PATIENCE_S
        while served.ask("/stream").status == 503:  # both places are taken until one is let go
            assert time.monotonic() < due
            events_of(answer, {"state"}, lambda: walk.send(100))


def test_viewers_and_visitors_are_bounded(
    serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the machine from a crowd, and the page from those who connect and never ask."""
    served = serve()
    viewers = [served.ask("/stream") for _ in range(VIEWERS_MOST)]
    assert {viewer.status for viewer in viewers} == {200}
    assert served.ask("/stream").status == 503
    assert served.ask("/").status == 200
    silent = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(CONNECTIONS_MOST)]
    due = time.monotonic() + GUARD_S
    monkeypatch.setattr(rtsim.bridges.page_server, "STALL_S", 0.2)
    while True:
        try:
            assert served.ask("/").status == 200  # those who never ask are hung up on
            break
        except (ConnectionError, http.client.HTTPException):
            assert time.monotonic() < due
            time.sleep(0.1)
    for connection in silent:
        connection.close()


def test_who_does_not_ask_makes_room(serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects viewers from those who keep every place and never ask, however long that is allowed."""
    monkeypatch.setattr(rtsim.bridges.page_server, "STALL_S", 1000.0)
    served = serve()
    silent = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(2 * CONNECTIONS_MOST)]
    due, n_answered = time.monotonic() + GUARD_S, 0
    while n_answered < 5:
        assert time.monotonic() < due
        try:
            n_answered += served.ask("/").status == 200
        except (ConnectionError, http.client.HTTPException):
            time.sleep(0.1)
    for connection in silent:
        connection.close()
    assert served.told == []


def test_who_has_asked_gets_the_place_of_who_has_not(
    serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects viewers from a crowd that comes back as fast as it is cut: nobody there has had its moment."""
    monkeypatch.setattr(rtsim.bridges.page_server, "STALL_S", 1000.0)
    monkeypatch.setattr(rtsim.bridges.page_server, "MOMENT_S", 1000.0)
    served = serve()
    silent = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(2 * CONNECTIONS_MOST)]
    due, answer = time.monotonic() + GUARD_S, b""
    while not answer.startswith(b"HTTP/1.0 200"):  # it may be looked at before the request is there
        assert time.monotonic() < due
        with (
            contextlib.suppress(ConnectionError),
            socket.create_connection(("127.0.0.1", served.port), timeout=GUARD_S) as viewer,
        ):
            viewer.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = viewer.recv(16)
    for connection in silent:
        connection.close()


def test_a_long_head_is_not_read(serve: Callable[..., Served]) -> None:
    """Protects memory: the library would read 6 MB of headers from each of 64, before any token."""
    served = serve()
    line = b"A: " + b"c" * 60_000 + b"\r\n"
    heads = (
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + line, b"HTTP/1.0 431"),
        (b"GET / HTTP/1.1\r\n" + b"B: d\r\n" * 50 + b"C: " + b"e" * HEAD_MOST + b"\r\n", b"HTTP/1.0 431"),
        (b"GET /?a&b&c&d&e&f&g&h&i=1 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.0 400"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nA: " + b"c" * 9_000 + b"\r\n\r\n", b"HTTP/1.0 200"),
    )
    for head, status in heads:
        with socket.create_connection(("127.0.0.1", served.port), timeout=GUARD_S) as connection:
            connection.sendall(head)
            answer = b""
            while len(answer) < len(status) and (part := connection.recv(len(status) - len(answer))):
                answer += part
        assert answer == status
    assert served.told == []


def test_nonsense_ends_nothing(serve: Callable[..., Served]) -> None:
    """Protects the server from bytes that are no request."""
    served = serve()
    for nonsense in (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 300 + b"\r\n",
        b"GET /stream?" + b"&" * 500 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", served.port), timeout=GUARD_S) as connection:
            connection.sendall(nonsense)
            connection.shutdown(socket.SHUT_WR)
            with connection.makefile("rb") as answer:
                answer.read()
    assert served.ask("/").status == 200
    assert served.told == []


def test_a_place_that_is_taken_is_told(serve: Callable[..., Served], walk: Any) -> None:
    """Protects with a sentence whoever starts a second page at one port."""
    served = serve()
    options = PageOptions(f"127.0.0.1:{served.port}")
    with pytest.raises(ConfigError, match="cannot be bound"):
        serve_page(walk.address, options, None, threading.Event(), print, print)


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate that nobody has signed, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    paths = tmp_path / "page.crt", tmp_path / "page.key"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=rtsim"]
    subprocess.run([*made, "-out", paths[0], "-keyout", paths[1]], check=True, capture_output=True)
    paths[1].chmod(0o600)
    return paths


def test_with_tls_the_token_admits(
    serve: Callable[..., Served], certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    """Protects the page in a network: encrypted, and nothing without the token, which moves into a cookie."""
    token = tmp_path / "token"
    token.write_text("0123456789_abcdefghij-XYZ")
    token.chmod(0o600)
    served = serve(token_file=token, certificate=certificate[0], key=certificate[1])
    assert served.urls == [f"https://127.0.0.1:{served.port}/?token=0123456789_abcdefghij-XYZ"]
    context = ssl.create_default_context(cafile=str(certificate[0]))
    context.check_hostname = False

    def ask(path: str, **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPSConnection("127.0.0.1", served.port, timeout=GUARD_S, context=context)
        connection.request("GET", path, headers=headers)
        return connection.getresponse()

    for path in ("/", "/stream", "/page.js", "/?token=wrong", "/?token="):
        assert ask(path).status == 403
    answer = ask("/?token=0123456789_abcdefghij-XYZ")
    cookie = answer.getheader("Set-Cookie", "")
    assert (answer.status, answer.getheader("Location")) == (303, "/")
    assert all(word in cookie for word in ("HttpOnly", "SameSite=Strict", "Secure"))
    assert ask("/", Cookie=cookie.partition(";")[0]).status == 200
    with pytest.raises((http.client.HTTPException, OSError)):
        served.ask("/")  # without TLS
