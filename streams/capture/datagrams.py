"""Sockets for UDP datagrams to and from a server: on the network card that leads to it, and in multicast
groups.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from streams.capture.records import CaptureError
from streams.clock import now_ns
from streams.readable import readable

LONGEST_DATAGRAM = 65_535
RECEIVE_BUFFER = 1 << 21
"""Size of the receive buffer, for a second of large frames [bytes]."""
MOST_AT_ONCE = 32
"""Datagrams of one socket that are read before the others have their turn."""


class Datagram(NamedTuple):
    """A datagram: its content, the time of arrival [ns], and the sender."""

    packet: bytes
    arrived_ns: int
    sender: tuple[str, int]


def resolved(host: str, port: int) -> tuple[str, int]:
    """Return the numeric address of a host. Raises CaptureError for an unknown name."""
    try:
        found = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as fault:
        raise CaptureError("unreachable", f"{host!r} could not be resolved to an address: {fault}") from fault
    return str(found[0][4][0]), port


def interface_to(server: tuple[str, int]) -> str:
    """Return the address of the network card that leads to a server; other cards are not used."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(server)  # of datagrams: chooses the way, sends nothing
            return str(probe.getsockname()[0])
        except OSError as fault:
            raise CaptureError("unreachable", f"there is no network route to {server[0]}: {fault}") from fault


def bound_socket(local: str, port: int = 0, broadcast: bool = False) -> socket.socket:
    """Open a socket for datagrams at an address of this computer. Raises CaptureError where it has no such
    address.

    local : address of a network card
    port : 0 = any free port; another one may be shared with other programs
    broadcast : whether datagrams may be sent to all computers of the network
    """
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        if port:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if broadcast:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        sock.bind((local, port))
    except (OSError, UnicodeError) as fault:
        sock.close()
        raise CaptureError("unreachable", f"{local!r} is no address of this computer: {fault}") from fault
    return sock


def group_socket(local: str, group: str, port: int) -> socket.socket:
    """Open a socket and join a multicast group by one network card. Raises CaptureError where that fails."""
    sock = bound_socket("", port)
    try:
        member = socket.inet_aton(group) + socket.inet_aton(local)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
    except OSError as fault:
        sock.close()
        raise CaptureError(
            "unreachable",
            f"the network card {local} cannot join the multicast group {group}: {fault}; give another one as "
            "?interface=ADDRESS",
        ) from fault
    return sock


def arrivals(sockets: Sequence[socket.socket], timeout_s: float) -> Iterator[Datagram]:
    """Yield the datagrams that have arrived, after a wait of at most the timeout; at most 32 from each
    socket.
    """
    for sock in readable(sockets, max(0.0, timeout_s)):
        for _ in range(MOST_AT_ONCE):
            try:
                packet, sender = sock.recvfrom(LONGEST_DATAGRAM)
            except OSError:
                break  # nothing is left; or, on Windows, what was sent before met nobody
            yield Datagram(packet, now_ns(), sender)
