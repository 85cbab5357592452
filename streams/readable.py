"""Waiting for ordinary sockets, not those of ZeroMQ, whatever the number of open descriptors."""

from __future__ import annotations

import selectors
from collections.abc import Sequence
from typing import Any

# not select.select, which refuses descriptors from 1024 on; Windows has no poll, and no such limit there
_Selector: Any = getattr(selectors, "PollSelector", selectors.SelectSelector)


def readable(files: Sequence[Any], timeout_s: float | None = None) -> list[Any]:
    """Wait for sockets that can be read; return them, after at most the timeout [s]; None = without limit.

    files : sockets; but on Windows also other descriptors. ValueError where one is closed.
    """
    with _Selector() as selector:
        for file in files:
            selector.register(file, selectors.EVENT_READ)
        return [key.fileobj for key, _ in selector.select(timeout_s)]
