"""A port at which another protocol than the one that was asked for answers."""

from __future__ import annotations

import socket
import threading

import pytest

from streams.capture.natnet.connection import NatNetConnection
from streams.capture.records import CaptureError
from streams.capture.system import parse_capture


def test_another_protocol_at_natnets_port_is_named():
    """Protects against the wrong port: what answers without sense is told from silence; options at once."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def answer() -> None:
            _, client = server.recvfrom(2048)
            server.sendto(b"\1\0\4\0abcd", client)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        with pytest.raises(CaptureError, match="not a NatNet server"):
            NatNetConnection(parse_capture(f"natnet://127.0.0.1:{server.getsockname()[1]}"))
        thread.join()
    with pytest.raises(CaptureError, match="mode is 'broadcast'"):
        NatNetConnection(parse_capture("natnet://127.0.0.1:9?mode=broadcast"))
