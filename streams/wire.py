"""The TCP connections below libzmq's sockets: what each has received, by the operating system's account.

Only Linux is asked (TCP_INFO); elsewhere WATCHES is False and nobody may call the functions.
"""

from __future__ import annotations

import os
import socket
import struct
import sys

WATCHES = sys.platform == "linux"
"""Whether this system tells how much a connection has received."""
EVENT_FORMAT = struct.Struct("=Hi")
"""First part of a message of libzmq's socket monitor: event, and value, which may be a file descriptor."""

_N_RECEIVED = struct.Struct("@Q")
_N_RECEIVED_AT = 128  # tcpi_bytes_received in struct tcp_info of linux/tcp.h


def port_of(endpoint: str) -> int | None:
    """The port of tcp://HOST:PORT; None where there is none."""
    port = endpoint.rpartition(":")[2]
    return int(port) if endpoint.startswith("tcp://") and port.isdecimal() else None


def open_wire(
    fd: int, *, local_port: int | None = None, peer_port: int | None = None
) -> socket.socket | None:
    """A second handle of the TCP connection that libzmq has under `fd`.

    None where this is no longer a connection from, or to, that port: libzmq closes its descriptors in a
    thread of its own, and their numbers are used again. While the handle is open, so is the connection.
    """
    try:
        wire = socket.socket(fileno=os.dup(fd))
    except OSError:
        return None
    try:
        if local_port is not None and wire.getsockname()[1] == local_port and wire.getpeername():
            return wire
        if peer_port is not None and wire.getpeername()[1] == peer_port:
            return wire
    except (OSError, IndexError):
        pass
    wire.close()
    return None


def n_received(wire: socket.socket) -> int:
    """Bytes that have arrived since the connection was made."""
    info = wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _N_RECEIVED_AT + _N_RECEIVED.size)
    if len(info) < _N_RECEIVED_AT + _N_RECEIVED.size:
        return 0  # a kernel before 4.2
    n: int = _N_RECEIVED.unpack_from(info, _N_RECEIVED_AT)[0]
    return n


def n_unread(wire: socket.socket) -> int:
    """Of these, the bytes that libzmq has not taken yet."""
    import fcntl
    import termios

    n: int = struct.unpack("i", fcntl.ioctl(wire, termios.FIONREAD, bytes(4)))[0]
    return n


def shut(wire: socket.socket) -> str:
    """Shut the connection down, which libzmq notices; who was at the other end."""
    try:
        host, port = wire.getpeername()[:2]
        # Reset when libzmq closes it, or a peer that goes on sending would wait for a minute.
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wire.shutdown(socket.SHUT_RDWR)
    except OSError:
        return "somebody who has gone"
    finally:
        wire.close()
    return f"{host}:{port}"
