"""A witness that receives the same streams as the recorders, and so knows what these should contain."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping

import zmq

from streams.clock import now_ns
from streams.codec import TOPICS

Digest = bytes
REACHED_MS = 50


class Witness:
    """Records when each message came, on the machine's clock, in a separate thread.

    addresses : name of a stream -> where it is published, whether somebody publishes there or not
    """

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self.heard: dict[str, list[tuple[int, Digest]]] = {name: [] for name in addresses}
        self._addresses = dict(addresses)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="witness", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._over.set()
        self._thread.join()

    def forget(self, before_ns: int) -> None:
        """Discard what came before a time."""
        for heard in self.heard.values():
            n_old = next((k for k, (t_ns, _) in enumerate(heard) if t_ns >= before_ns), len(heard))
            del heard[:n_old]

    def _listen(self) -> None:
        with zmq.Context() as context:
            poller, streams = zmq.Poller(), {}
            for name, address in self._addresses.items():
                socket = context.socket(zmq.SUB)
                socket.rcvhwm = 100_000
                socket.linger = 0
                socket.subscribe(b"")
                socket.connect(address)
                poller.register(socket, zmq.POLLIN)
                streams[socket] = self.heard[name]
            while not self._over.is_set():
                for socket, _ in poller.poll(REACHED_MS):
                    parts = socket.recv_multipart()
                    if len(parts) == 2 and parts[0] in TOPICS:
                        streams[socket].append((now_ns(), digest(parts[1])))
            for socket in streams:
                socket.close()


def digest(payload: bytes) -> Digest:
    """Digest that stands for a message."""
    return hashlib.blake2b(payload, digest_size=12).digest()
