"""Second handles of connections: of what is none, nothing stays open."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from streams.access.wire import open_wire

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists its descriptors so")


def n_open() -> int:
    """Descriptors of this process."""
    return len(os.listdir("/proc/self/fd"))


def test_a_number_that_stands_for_a_file_meanwhile_leaves_nothing_open(tmp_path: Path) -> None:
    """Protects from a crowd that comes and goes: numbers are used again, and copies stayed open."""
    with (tmp_path / "key").open("wb") as file:
        before = n_open()
        for _ in range(3):
            assert open_wire(file.fileno(), local_port=1) is None
        assert n_open() == before


def test_a_connection_of_another_port_leaves_nothing_open() -> None:
    """Protects the same where the number stands for another connection, or for nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client, server.accept()[0] as near:
            before = n_open()
            assert open_wire(near.fileno(), local_port=port + 1) is None
            assert n_open() == before
            gone = client.fileno()
        assert open_wire(gone, peer_port=port) is None
        assert n_open() == before - 2
