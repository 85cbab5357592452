"""The TCP connections below libzmq's sockets: received and delivered bytes, as counted by the system.

Only Linux has these counts (TCP_INFO); elsewhere the constant WATCHES is False, and the functions must not be
called.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import sys
from contextlib import suppress
from typing import NamedTuple

WATCHES = sys.platform == "linux"
"""Whether this system reports how many bytes a connection has received."""
EVENT_FORMAT = struct.Struct("=Hi")
"""First part of a message of libzmq's socket monitor: event, and value, which may be a file descriptor."""

# Of struct tcp_info in linux/tcp.h: tcpi_state; tcpi_unacked; tcpi_bytes_acked, tcpi_bytes_received; and
# tcpi_notsent_bytes and tcpi_data_segs_in, which kernels before 4.6 leave out.
_STATE, _UNACKED, _BYTES, _UNSENT = (struct.Struct(kind) for kind in ("@B", "@I", "@QQ", "@I"))
_STATE_AT, _UNACKED_AT, _BYTES_AT, _UNSENT_AT, _SEGMENTS_AT = 0, 24, 120, 144, 152
_SEGMENTS = _UNSENT
_ESTABLISHED = 1
HEARTBEAT_RATE = 64
"""Heartbeats of libzmq are no messages, and come as long as a connection lasts: some 10 bytes a second, with
keys 45; more than they need [bytes/s]."""
MOST_STEPS = 4
"""Attempts to discard what waits for a connection: an urgent byte ends each."""
ENOUGH_FILES = 4096
"""Open files that a program with four bound sockets may need: 256 connections to each, with two handles."""


def port_of(endpoint: str) -> int | None:
    """Return the port in an address tcp://HOST:PORT; None where there is none."""
    port = endpoint.rpartition(":")[2]
    return int(port) if endpoint.startswith("tcp://") and port.isdecimal() else None


def open_wire(
    fd: int, *, local_port: int | None = None, peer_port: int | None = None
) -> socket.socket | None:
    """Open a second handle of the TCP connection that libzmq uses under file descriptor `fd`.

    local_port : port of this end, for an accepted connection
    peer_port : port of the other end, for a connection that this program opened

    Returns None if the descriptor no longer belongs to a connection with that port: libzmq closes descriptors
    in its own thread, and the system reuses their numbers. The connection stays open as long as the second
    handle is open. Raises OSError if this program may open no more files.
    """
    try:
        copy = os.dup(fd)
    except OSError as fault:
        if fault.errno in (errno.EMFILE, errno.ENFILE):
            raise
        return None
    try:
        wire = socket.socket(fileno=copy)
    except OSError:  # the number stands for no socket any more; the copy does not close by itself
        os.close(copy)
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


class Traffic(NamedTuple):
    """Bytes transferred over a connection.

    received : bytes received since it was made
    taken : sent bytes that the other side has confirmed
    waits : whether some sent bytes are not confirmed yet
    established : whether neither side has closed it
    segments : segments with data that were received; 0 where the kernel does not count them
    """

    received: int = 0
    taken: int = 0
    waits: bool = False
    established: bool = False
    segments: int = 0


def traffic(wire: socket.socket) -> Traffic:
    """Return the system's traffic counts for a connection; zeros if the kernel (before 4.2) has none."""
    info = wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _SEGMENTS_AT + _SEGMENTS.size)
    established = len(info) > _STATE_AT and _STATE.unpack_from(info, _STATE_AT)[0] == _ESTABLISHED
    if len(info) < _BYTES_AT + _BYTES.size:
        return Traffic(established=established)
    taken, received = _BYTES.unpack_from(info, _BYTES_AT)
    waits = _UNACKED.unpack_from(info, _UNACKED_AT)[0] > 0
    if not waits and len(info) >= _UNSENT_AT + _UNSENT.size:
        waits = _UNSENT.unpack_from(info, _UNSENT_AT)[0] > 0
    counted = len(info) >= _SEGMENTS_AT + _SEGMENTS.size
    segments = _SEGMENTS.unpack_from(info, _SEGMENTS_AT)[0] if counted else 0
    return Traffic(received, taken, waits, established, segments)


def inode_of(fd: int) -> int:
    """Return the inode of an open file descriptor: a number of the system that no other open file has. Return
    0 if the descriptor is closed.
    """
    try:
        return os.fstat(fd).st_ino
    except OSError:
        return 0


def n_unread(wire: socket.socket) -> int:
    """Return the number of bytes that were received and that libzmq has not read yet."""
    import fcntl
    import termios

    n: int = struct.unpack("i", fcntl.ioctl(wire, termios.FIONREAD, bytes(4)))[0]
    return n


def shut(wire: socket.socket, discard: bool) -> str:
    """Shut down the connection, which libzmq notices; return host and port of its peer as text.

    discard : whether what waits in the system is thrown away, as for a connection that floods: libzmq would
        still read it, and store it at many times its size
    """
    try:
        host, port = wire.getpeername()[:2]
        # Reset when libzmq closes it, or a peer that goes on sending would wait for a minute.
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wire.shutdown(socket.SHUT_RDWR)
        if discard:
            _discard(wire)
    except OSError:
        return "a client that has disconnected"
    finally:
        wire.close()
    return f"{host}:{port}"


def _discard(wire: socket.socket) -> None:
    """Discard what waits for a connection that is shut down, to which nothing more comes. All of it goes in
    one step, as libzmq's thread would read what is left after a part of it as messages.
    """
    with suppress(OSError, MemoryError):
        for _ in range(MOST_STEPS):
            if not wire.recv(n_unread(wire) + 4096, socket.MSG_DONTWAIT | socket.MSG_TRUNC):
                return


def turn_away(fd: int, local_port: int | None) -> bool:
    """Shut down the connection under libzmq's file descriptor `fd` without a second handle of it, for a
    program that can open no more files; return whether there was one to this local port.
    """
    try:
        borrowed = socket.socket(fileno=fd)
    except (OSError, ValueError):
        return False
    try:
        if borrowed.getsockname()[1] != local_port or not borrowed.getpeername():
            return False
        borrowed.shutdown(socket.SHUT_RDWR)
    except (OSError, IndexError):
        return False
    finally:
        borrowed.detach()  # libzmq closes it
    return True


def allow_enough_files() -> None:
    """Raise this program's limit of open files to ENOUGH_FILES, as far as the system lets its user do so."""
    import resource

    present, highest = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = ENOUGH_FILES if highest == resource.RLIM_INFINITY else min(ENOUGH_FILES, highest)
    if present != resource.RLIM_INFINITY and present < enough:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (enough, highest))
