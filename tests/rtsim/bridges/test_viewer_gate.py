"""The gate before Foxglove's WebSocket, which itself asks nobody who they are."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from contextlib import contextmanager

import pytest

from rtsim.bridges import viewer_gate
from rtsim.bridges.viewer_gate import ViewerGate, header_values
from rtsim.errors import ConfigError

GUARD_S = 120.0
ANSWER = b"HTTP/1.1 101 Switching Protocols\r\n\r\n"


@contextmanager
def gate(origins=(), said=None):
    """A gate, and behind it a server that answers each connection with ANSWER and then echoes."""
    behind = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = behind.accept()
            except OSError:
                return
            threading.Thread(target=echo, args=(connection,), daemon=True).start()

    def echo(connection) -> None:
        with connection:
            connection.recv(65_536)
            connection.sendall(ANSWER)
            while piece := connection.recv(65_536):
                connection.sendall(piece)

    threading.Thread(target=serve, daemon=True).start()
    one = ViewerGate(0, origins, said.append if said is not None else print)
    one.behind = behind.getsockname()
    one.open()
    try:
        yield one
    finally:
        one.close()
        behind.close()


def asked(one, head: bytes) -> bytes:
    """What a viewer is answered that sends these headers."""
    with socket.create_connection(("127.0.0.1", one.port), GUARD_S) as viewer:
        viewer.sendall(b"GET / HTTP/1.1\r\n" + head + b"\r\n")
        return viewer.recv(65_536)


HERE = b"Host: 127.0.0.1:8765\r\n"


@pytest.mark.parametrize(
    "head",
    [
        HERE + b"Origin: https://evil.example\r\n",
        HERE + b"Origin: https://evilfoxglove.dev\r\n",
        HERE + b"Origin: https://foxglove.dev.evil.example\r\n",
        HERE + b"Origin: http://localhost.evil.example\r\n",
        HERE + b"Origin: null\r\n",
        HERE + b"Origin: https://app.foxglove.dev\r\nOrigin: https://evil.example\r\n",
        b"Host: evil.example:8765\r\n",
        b"Host: evil.example\r\nHost: 127.0.0.1\r\n",
        b"",
    ],
)
def test_a_page_of_a_stranger_sees_nothing(head):
    """Protects a person's results from every page that is open in a browser of the machine."""
    with gate() as one:
        assert asked(one, head).startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize(
    "head",
    [
        HERE,
        b"Host: localhost:8765\r\nOrigin: https://app.foxglove.dev\r\n",
        HERE + b"origin: http://localhost:8080\r\n",
        HERE + b"Origin: file://\r\n",
        HERE + b"Origin: http://viewer.lab:8080\r\n",
    ],
)
def test_programs_and_viewers_pass_with_all_that_follows(head):
    """Protects the picture: whoever may look gets every byte, in both directions."""
    sent = bytes(range(256)) * 64
    with (
        gate(["http://viewer.lab:8080"]) as one,
        socket.create_connection(("127.0.0.1", one.port), GUARD_S) as viewer,
    ):
        viewer.sendall(b"GET / HTTP/1.1\r\n" + head + b"\r\n")
        assert viewer.recv(len(ANSWER), socket.MSG_WAITALL) == ANSWER
        viewer.sendall(sent)
        assert viewer.recv(len(sent), socket.MSG_WAITALL) == sent


def test_a_refused_page_is_told_once_and_harmlessly():
    """Protects who uses a viewer of their own: its page is named, once, without control characters."""
    said = []
    with gate(said=said) as one:
        for _ in range(3):
            asked(one, HERE + b"Origin: https://viewer.example\r\n")
        asked(one, HERE + b"Origin: \x1b[2J\r\n")
    assert len(said) == 1
    assert "https://viewer.example" in said[0]
    assert "--origin" in said[0]


def test_a_request_that_two_readers_could_read_in_two_ways_is_none():
    """Protects from headers that hide in other headers: folded lines, spaces before the colon, line feeds."""
    for line in (b" Origin: a", b"Origin : a", b"X: a\nOrigin: b", b"no header"):
        with pytest.raises(ValueError, match="no header"):
            header_values(b"GET / HTTP/1.1\r\nHost: a\r\n" + line + b"\r\n\r\n", "origin")


def test_what_is_no_origin_is_refused():
    """Protects against a slip on the command line."""
    with pytest.raises(ConfigError, match="origin"):
        ViewerGate(0, ["viewer.lab"], print)


def test_who_has_asked_gets_the_place_of_who_has_not(monkeypatch):
    """Protects a viewer from a crowd that comes back as fast as it is cut, so that none had its moment."""
    monkeypatch.setattr(viewer_gate, "REQUEST_S", 10.0 * GUARD_S)
    monkeypatch.setattr(viewer_gate, "MOMENT_S", 10.0 * GUARD_S)
    with gate() as one:
        crowd = [
            socket.create_connection(("127.0.0.1", one.port), GUARD_S)
            for _ in range(viewer_gate.VIEWERS_MOST)
        ]
        due, answer = time.monotonic() + GUARD_S, b""
        while answer != ANSWER and time.monotonic() < due:
            with contextlib.suppress(OSError):  # it may be looked at before the request is there
                answer = asked(one, HERE)
        assert answer == ANSWER
        for silent in crowd:
            silent.close()


def test_who_does_not_ask_makes_room(monkeypatch):
    """Protects a viewer from a crowd that takes all places and stays silent."""
    monkeypatch.setattr(viewer_gate, "REQUEST_S", 10.0 * GUARD_S)
    with gate() as one:
        crowd = [
            socket.create_connection(("127.0.0.1", one.port), GUARD_S)
            for _ in range(viewer_gate.VIEWERS_MOST)
        ]
        due = time.monotonic() + GUARD_S
        answer = b""
        while answer != ANSWER and time.monotonic() < due:
            with contextlib.suppress(OSError):  # refused as long as nobody has been silent for long
                answer = asked(one, HERE)
        assert answer == ANSWER
        for silent in crowd:
            silent.close()
