"""Waiting for sockets that are not ZeroMQ's, for any number of descriptors of the process."""

from __future__ import annotations

import selectors
from collections.abc import Sequence
from typing import Any

# not select.select, which refuses descriptors from 1024 on; Windows has no poll, and no such limit there
_Selector: Any = getattr(selectors, "PollSelector", selectors.SelectSelector)


def readable(files: Sequence[Any], timeout_s: float | None = None) -> list[Any]:
    """Sockets that can be read without waiting, after a wait of at most the timeout [s]; None = without
    limit.

    files : sockets; but on Windows also other descriptors. ValueError where one is closed.
    """
    with _Selector() as selector:
        for file in files:
            selector.register(file, selectors.EVENT_READ)
        return [key.fileobj for key, _ in selector.select(timeout_s)]
