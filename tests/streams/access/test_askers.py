"""Who gave a command, where a descriptor has had several connections since all was read."""

from __future__ import annotations

import contextlib
import socket
import sys

import pytest
import zmq

from streams.access.askers import Askers
from streams.access.guard import Guard
from streams.clock import now_ns
from streams.control.commands import COMMANDS
from tests.streams.access.test_guard import GUARD_S, frame, greet, wire

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says whose a connection is")


def taken(router: zmq.Socket[bytes]) -> tuple[zmq.Frame, bytes]:
    """The next message: its first frame, and its last part."""
    assert router.poll(1000 * GUARD_S)
    parts = router.recv_multipart(copy=False)
    return parts[0], parts[-1].bytes


def test_who_was_cut_off_leaves_its_descriptor_to_the_same_user():
    """Protects `disarm`: while messages of a connection that was cut off wait, the next one under its
    descriptor is known if both are of one user; it was refused as nobody's.
    """
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router, socket.socket() as honest:
        router.linger = router.rcvhwm = 0
        port = router.bind_to_random_port("tcp://127.0.0.1")
        guard = Guard(router, COMMANDS, None)
        askers, drained_ns = Askers(guard, None), now_ns()
        with contextlib.closing(wire(f"tcp://127.0.0.1:{port}", b"DEALER")) as stranger:
            stranger.sendall(frame(b"status"))
            first, _ = taken(router)
            assert askers.of(first, drained_ns).role == "arm"
            with contextlib.suppress(ConnectionError):
                while True:  # until it is cut off, while nothing is read
                    stranger.sendall(frame(b"status"))
            # its own socket was made before, so that the descriptor that became free is the server's to take
            honest.settimeout(GUARD_S)
            honest.connect(("127.0.0.1", port))
            greet(honest, b"DEALER")
            honest.sendall(frame(b"disarm"))
            descriptor = first.get(zmq.SRCFD)
            while (message := taken(router))[1] != b"disarm":
                assert message[1] == b"status"
            assert message[0].get(zmq.SRCFD) == descriptor
            assert askers.of(message[0], drained_ns).role == "arm"
        guard.close()
