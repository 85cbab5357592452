"""Waiting for ordinary sockets, not those of ZeroMQ, whatever the number of open descriptors."""

from __future__ import annotations

import selectors
import socket
from collections.abc import Sequence
from typing import Any

# not select.select, which refuses descriptors from 1024 on; Windows has no poll, and no such limit there
_Selector: Any = getattr(selectors, "PollSelector", selectors.SelectSelector)


def readable(files: Sequence[Any], timeout_s: float | None = None) -> list[Any]:
    """Wait until sockets can be read or the timeout [s] is over, and return the sockets that can be read. A
    timeout of None waits without limit.

    files : sockets; except on Windows also other descriptors

    Raises ValueError if one of them is closed.
    """
    with _Selector() as selector:
        for file in files:
            selector.register(file, selectors.EVENT_READ)
        return [key.fileobj for key, _ in selector.select(timeout_s)]


def has_come(connection: socket.socket, ending: bytes, most: int) -> bool:
    """Return whether the first bytes that wait to be read contain `ending`; nothing is read or waited for.

    most : number of waiting bytes that are searched

    Afterwards the connection has no timeout, so that the timeout must be set again.
    """
    connection.setblocking(False)
    try:
        return ending in connection.recv(most, socket.MSG_PEEK)
    except OSError:
        return False
