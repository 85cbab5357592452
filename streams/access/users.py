"""The user of the program at the other end of a TCP connection within this machine, which only Linux
reports.

The system's table of connections names the user of each socket. For a closed socket it reports 0, the number
of root. So only a connection that is open at both ends is trusted.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

from streams.access.wire import traffic

TELLS = sys.platform == "linux"
"""Whether this system reports the user of a connection."""
ROOT = 0
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = "01"
_LOCAL, _REMOTE, _STATE, _UID, _INODE = 1, 2, 3, 7, 9

Place = tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]


def uid_of(wire: socket.socket) -> int | None:
    """Return the user of the program at the other end of this connection; None if the system does not report
    it.

    The system does not report it for a connection from another machine or container, or for a closed
    connection.
    """
    try:
        ours, theirs = _place(wire.getsockname()), _place(wire.getpeername())
        if not TELLS or not traffic(wire).established:
            return None
        tables = [table.read_text(encoding="ascii") for table in _TABLES if table.exists()]
    except (OSError, ValueError):
        return None
    for line in "".join(tables).splitlines():
        words = line.split()
        if len(words) <= _INODE or words[_STATE] != _ESTABLISHED or words[_INODE] == "0":
            continue
        if not words[_LOCAL].endswith(f":{theirs[1]:04X}"):
            continue
        if _read(words[_LOCAL]) == theirs and _read(words[_REMOTE]) == ours:
            return int(words[_UID])
    return None


def is_own(uid: int | None) -> bool:
    """Return whether a user is root or the one who runs this process."""
    return uid is not None and uid in (os.geteuid(), ROOT)


def name_of(uid: int) -> str:
    """Return the name of a user, for messages."""
    with suppress(ImportError, KeyError):
        import pwd

        return f"user {pwd.getpwuid(uid).pw_name}"
    return f"user {uid}"


def own_name() -> str:
    """Return the name of the user who runs this process, for messages."""
    return name_of(os.geteuid()) if hasattr(os, "geteuid") else "the user who runs this program"


def _place(name: tuple) -> Place:
    """Return the address and port in a socket's name; an IPv4 address in IPv6 notation is converted to
    IPv4.
    """
    return _plain(ipaddress.ip_address(name[0].partition("%")[0])), int(name[1])


def _read(words: str) -> Place:
    """Parse address and port as the system's tables write them: 32-bit words in memory order, in
    hexadecimal."""
    digits, _, port = words.partition(":")
    packed = b"".join(int(digits[k : k + 8], 16).to_bytes(4, sys.byteorder) for k in range(0, len(digits), 8))
    return _plain(ipaddress.ip_address(packed)), int(port, 16)


def _plain(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return getattr(address, "ipv4_mapped", None) or address
