"""A network with delays, pauses and broken connections: a relay of TCP connections between a source and a
reader.

A lossy network delays a stream over TCP: the systems at both ends send lost packets again and restore their
order. So a reader meets delays, pauses, throttling and broken connections. The queueing discipline netem
does the same with packets, where the system has it.
"""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time

from streams.readable import readable

CHUNK = 65_536
LOOK_S = 0.02


class NetworkRelay:
    """Relays bytes to an address within a `with` block.

    Attributes
    ----------
    address : where to connect instead
    delay_s, jitter_s : time that each piece is under way, and the most that chance adds to it
    holds : nothing gets through; broken : connections are cut and none is taken
    """

    def __init__(self, target: str, seed: int = 1) -> None:
        host, _, port = target.removeprefix("tcp://").rpartition(":")
        self._target = (host, int(port))
        self._random = random.Random(seed)
        self.delay_s = self.jitter_s = 0.0
        self.holds = self.broken = False
        self._over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(LOOK_S)
        self.address = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    def __enter__(self) -> NetworkRelay:
        self._threads[0].start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while not self._over.is_set():
            with contextlib.suppress(TimeoutError):
                near, _ = self._listener.accept()
                if self.broken:
                    near.close()
                    continue
                try:
                    far = socket.create_connection(self._target)
                except OSError:
                    near.close()
                    continue
                thread = threading.Thread(target=self._pass, args=(near, far), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _pass(self, near: socket.socket, far: socket.socket) -> None:
        """Relay both directions until one side closes, each piece after its delay and in order."""
        ways: list[tuple[socket.socket, socket.socket, list[tuple[float, bytes]]]] = [
            (near, far, []),
            (far, near, []),
        ]
        with near, far, contextlib.suppress(OSError):
            while not (self._over.is_set() or self.broken):
                sources = [] if self.holds else [way[0] for way in ways]
                ready = readable(sources, 0.001) if sources else []
                if not sources:
                    time.sleep(0.001)
                for source, _, waiting in ways:
                    if source in ready:
                        piece = source.recv(CHUNK)
                        if not piece:
                            return
                        due = time.monotonic() + self.delay_s + self._random.uniform(0.0, self.jitter_s)
                        waiting.append((max(due, waiting[-1][0]) if waiting else due, piece))
                for _, sink, waiting in ways:
                    while waiting and waiting[0][0] <= time.monotonic() and not self.holds:
                        sink.sendall(waiting.pop(0)[1])
