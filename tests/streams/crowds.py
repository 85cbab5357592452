"""Crowds of hostile connections to an endpoint, in a process of their own: `python -m tests.streams.crowds`.

Arguments: the address, how many, and what each does; it says "there" when all have connected once, and goes
on until it is killed. Whoever is cut off comes back at once.
"""

from __future__ import annotations

import selectors
import socket
import struct
import sys
import time
from contextlib import suppress

import zmq

from streams.codec import encode
from streams.messages import Command

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
PONG = b"\x04\x05\x04PONG"


def ready(kind: bytes) -> bytes:
    """The command of ZMTP that ends a handshake."""
    body = b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind
    return bytes([4, len(body)]) + body


def message(*parts: bytes) -> bytes:
    """A message in frames of ZMTP."""
    frames = [bytes([k < len(parts) - 1, len(part)]) + part for k, part in enumerate(parts)]
    return b"".join(frames)


SAID = {
    "silent": (GREETING + ready(b"DEALER"), b""),
    "listeners": (GREETING + ready(b"SUB"), b""),
    "half": (GREETING[:20], b""),
    "nothing": (b"", b""),
    "drip": (GREETING[:10], b"\x7f"),
    "once": (GREETING + ready(b"DEALER") + message(b"", *encode(Command(name="status"))), b""),
    "pongs": (GREETING + ready(b"DEALER"), PONG),
    "deaf": (GREETING + ready(b"SUB") + message(b"\x01session") + message(b"\x01markers"), PONG),
}
"""What each kind says at once, and then every second."""


class Crowd:
    """Plain sockets, one thread for all of them."""

    def __init__(self, address: str, n: int, kind: str) -> None:
        host, port = address.removeprefix("tcp://").rsplit(":", 1)
        self.place, self.reads = (host, int(port)), kind != "deaf"
        self.first, self.later = SAID[kind]
        self.waiting = selectors.DefaultSelector()
        self.peers: set[socket.socket] = set()
        for _ in range(n):
            self.come()

    def come(self) -> None:
        """Connect and say the first thing."""
        with suppress(OSError):
            peer = socket.create_connection(self.place, 5.0)
            peer.sendall(self.first)
            peer.setblocking(False)
            self.peers.add(peer)
            # of who does not read, the end alone is of interest
            self.waiting.register(peer, selectors.EVENT_READ if self.reads else selectors.EVENT_WRITE)

    def turn(self) -> None:
        """Come back where cut off; speak once a second."""
        due = time.monotonic() + 1.0
        while (left := due - time.monotonic()) > 0.0:
            if not self.reads:
                time.sleep(min(left, 0.05))
            for key, _ in self.waiting.select(left):
                self.look(key.fileobj)
        for peer in list(self.peers) if self.later else ():
            with suppress(OSError):
                peer.sendall(self.later)

    def look(self, peer: socket.socket) -> None:
        """Read what came, or notice that it is over."""
        try:
            if self.reads:
                over = not peer.recv(65536)
            else:
                over = peer.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
        except BlockingIOError:
            return
        except OSError:
            over = True
        if over:
            self.waiting.unregister(peer)
            self.peers.discard(peer)
            peer.close()
            self.come()


def holders(address: str, n: int, keys: list[str]) -> None:
    """As many ZeroMQ clients, with keys, that say nothing; libzmq answers heartbeats for them."""
    from streams.access.security import Security
    from streams.sockets import client_socket, connect

    security = Security.for_client(*keys) if keys else None
    context = zmq.Context()
    context.max_sockets = 2 * n
    sockets = [client_socket(context, zmq.DEALER, address, security) for _ in range(n)]
    for one in sockets:
        one.reconnect_ivl = 1
        connect(one, address)
    print("there", flush=True)
    time.sleep(3600.0)


def main() -> None:
    """Be a crowd."""
    address, n, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    if kind == "holders":
        holders(address, n, sys.argv[4:])
        return
    crowd = Crowd(address, n, kind)
    print("there", flush=True)
    while True:
        crowd.turn()


if __name__ == "__main__":
    main()
