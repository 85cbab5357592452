"""ZMTP 3.0 written by hand, for attackers, because a ZeroMQ library would not send their messages."""

from __future__ import annotations

import socket
import struct

PATIENCE_S = 1.0
PAUSE_S = 0.01


def frame(body: bytes, more: bool = False) -> bytes:
    """Return a frame around a body; more = whether further parts of the message follow."""
    if len(body) < 256:
        return bytes([more, len(body)]) + body
    return bytes([2 | more]) + struct.pack(">Q", len(body)) + body


def dial(address: str, kind: bytes) -> socket.socket:
    """Connect to a bound socket and complete the handshake as a socket of this kind. Raises OSError."""
    host, port = address.removeprefix("tcp://").rsplit(":", 1)
    peer = socket.create_connection((host, int(port)), PATIENCE_S)
    try:
        greet(peer, kind)
    except OSError:
        peer.close()
        raise
    return peer


def greet(peer: socket.socket, kind: bytes) -> None:
    """Complete the handshake, from either side, without keys. Raises OSError."""
    peer.settimeout(PATIENCE_S)
    peer.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
    ready = b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind
    peer.sendall(bytes([4, len(ready)]) + ready)
    with peer.makefile("rb") as answer:
        header = answer.read(66)
        if len(header) < 66 or len(answer.read(header[65])) < header[65]:
            raise ConnectionError("closed during the handshake")
