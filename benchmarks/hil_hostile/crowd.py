"""Strangers beside a run: silent connections, churn, floods, datagrams; and ways to request a stop."""

from __future__ import annotations

import os
import random
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from benchmarks.hil_hostile.wire import packed
from benchmarks.strangers.zmtp import dial, frame
from streams.clock import now_ns

SETTLE_S = 0.4
"""Time between the arrival of a crowd and what is tried beside it [s]."""
STOP, STOPPED = b"rtsim:stop", b"rtsim:stopped"
TOKEN = 8
AGAIN_S, GIVE_UP_S = 0.02, 2.0
COMMAND_PAUSE_S = 0.0005
Member = Callable[[str, threading.Event], None]


class Crowd:
    """Threads that repeat an action until the crowd leaves."""

    def __init__(self, address: str, member: Member, n: int = 1) -> None:
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=member, args=(address, self._over), name="crowd", daemon=True)
            for _ in range(n)
        ]

    def __enter__(self) -> Crowd:
        for thread in self._threads:
            thread.start()
        time.sleep(SETTLE_S)
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


def silent(n: int, kind: bytes = b"DEALER", again: bool = True) -> Member:
    """Return a crowd of n connections that complete the handshake and send nothing more; a connection that
    is cut comes back.
    """

    def member(address: str, over: threading.Event) -> None:
        peers: list[socket.socket] = []
        try:
            while not over.is_set():
                while len(peers) < n and not over.is_set():
                    try:
                        peers.append(dial(address, kind))
                    except OSError:
                        if not again:
                            break
                        time.sleep(0.02)
                over.wait(0.05)
                if again:
                    peers = [peer for peer in peers if is_open(peer)]
        finally:
            for peer in peers:
                peer.close()

    return member


def silent_before_the_handshake(n: int) -> Member:
    """Return a crowd of n connections that do not even complete the handshake."""

    def member(address: str, over: threading.Event) -> None:
        peers: list[socket.socket] = []
        while not over.is_set():
            while len(peers) < n and not over.is_set():
                with suppress(OSError):
                    peers.append(socket.create_connection(place(address), 1.0))
            over.wait(0.05)
            peers = [peer for peer in peers if is_open(peer)]
        for peer in peers:
            peer.close()

    return member


def churn(address: str, over: threading.Event) -> None:
    """Open and close connections as fast as possible."""
    while not over.is_set():
        try:
            dial(address, b"DEALER").close()
        except OSError:
            time.sleep(0.002)


def flooding(*names: str) -> Member:
    """Return a crowd that sends commands as fast as they are accepted; a connection that is cut comes
    back.
    """
    messages = b""
    for name in names:
        topic, payload = packed("command", {"session": "", "name": name, "args": {}})
        messages += frame(b"", more=True) + frame(topic, more=True) + frame(payload)
    return pouring(b"DEALER", lambda: messages)


def pouring(kind: bytes, make: Callable[[], bytes], pause_s: float = COMMAND_PAUSE_S) -> Member:
    """Return a crowd that sends bytes after the handshake, again and again; a connection that is cut comes
    back.
    """

    def member(address: str, over: threading.Event) -> None:
        while not over.is_set():
            try:
                with dial(address, kind) as peer:
                    peer.settimeout(0.2)
                    while not over.is_set():
                        peer.sendall(make())
                        time.sleep(pause_s)
            except OSError:
                time.sleep(0.005)

    return member


def endless_parts() -> bytes:
    """Return the bytes of a message that has no last part."""
    return frame(b"", more=True) * 1000


def rubbish() -> bytes:
    """Return frames of random bytes."""
    return b"".join(frame(os.urandom(100)) for _ in range(20))


def drip(address: str, over: threading.Event) -> None:
    """Send a large command, a byte every ten milliseconds."""
    while not over.is_set():
        try:
            with dial(address, b"DEALER") as peer:
                body = frame(b"", more=True) + frame(b"command", more=True) + frame(bytes(5000))
                for k in range(len(body)):
                    if over.wait(0.01):
                        return
                    peer.sendall(body[k : k + 1])
        except OSError:
            time.sleep(0.02)


def datagrams(make: Callable[[random.Random], bytes]) -> Member:
    """Return a crowd that sends datagrams to the port of the control address, as fast as possible."""

    def member(address: str, over: threading.Event) -> None:
        rng = random.Random(3)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            while not over.is_set():
                for _ in range(50):
                    with suppress(OSError):
                        one.sendto(make(rng), place(address))
                time.sleep(0.0005)

    return member


def place(address: str) -> tuple[str, int]:
    """Return host and port of an address."""
    host, port = address.removeprefix("tcp://").rsplit(":", 1)
    return host, int(port)


def is_open(peer: socket.socket) -> bool:
    """Return whether a connection that sends nothing has not been cut."""
    try:
        peer.setblocking(False)
        while True:
            if not peer.recv(4096):
                return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def stop_by_datagram(address: str) -> tuple[int, bool]:
    """Request a stop at the endpoint that cannot be blocked; return the first time [ns], and whether it was
    answered.
    """
    token = os.urandom(TOKEN)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.settimeout(AGAIN_S)
        began, due = now_ns(), time.monotonic() + GIVE_UP_S
        while time.monotonic() < due:
            try:
                one.sendto(STOP + token, place(address))
                if answers(one.recv(64), token):
                    return began, True
            except ConnectionRefusedError:
                time.sleep(AGAIN_S)
            except OSError:
                continue
    return began, False


def answers(text: bytes, token: bytes) -> bool:
    """Return whether a datagram answers a stop: it repeats the token, as far as it fits into the same number
    of bytes.
    """
    wanted = STOPPED + token
    return text.startswith(STOPPED) and wanted.startswith(text) and len(text) >= len(STOP + token)
