"""Ports for programs that a test starts, and that bind them a while later."""

from __future__ import annotations

import socket
from random import SystemRandom

PORTS = range(10_000, 28_000)
"""Below those that systems give to connections and to port 0, which could take a free one meanwhile."""


def free_port() -> int:
    """Return a port of this machine that nobody holds and that no connection is given."""
    while True:
        port = SystemRandom().choice(PORTS)  # workers of one run have the same seed
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
