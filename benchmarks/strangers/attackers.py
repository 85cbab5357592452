"""Hostile peers of the estimator, as processes: `python -m benchmarks.strangers.attackers NAME ADDRESS
SECONDS`.

A peer that is disconnected or rejected comes back at once. At the end the process prints its counts as JSON.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count

from benchmarks.strangers.zmtp import PAUSE_S, dial, frame, greet
from streams.clock import now_ns
from streams.codec import encode
from streams.messages import Command

CHUNK = 64 << 10
"""About what is handed to the system at once [bytes]."""


def subscribe_and_cancel() -> Iterator[bytes]:
    """Yield subscriptions, each cancelled at once."""
    for n in count():
        yield frame(b"\x01%d" % n) + frame(b"\x00%d" % n)


def subscribe_to_all() -> Iterator[bytes]:
    """Yield the shortest subscription, again and again."""
    while True:
        yield frame(b"\x01")


def long_subscriptions() -> Iterator[bytes]:
    """Yield random topics of the largest accepted length."""
    while True:
        yield frame(b"\x01" + os.urandom(900))


def commands() -> Iterator[bytes]:
    """Yield changes of the method, one after the other."""
    while True:
        for method in ("zero", "minimised"):
            topic, payload = encode(Command(name="set_method", args={"method": method}))
            yield frame(b"", more=True) + frame(topic, more=True) + frame(payload)


def endless_message() -> Iterator[bytes]:
    """Yield parts of a message without a last part; empty parts take most memory in a receiver that collects
    them.
    """
    while True:
        yield frame(b"", more=True)


Flood = tuple[bytes, Callable[[], Iterator[bytes]]]
FLOODS: dict[str, Flood] = {
    "3_subscribe_cancel": (b"SUB", subscribe_and_cancel),
    "3_subscribe_all": (b"SUB", subscribe_to_all),
    "3_long_subscriptions": (b"SUB", long_subscriptions),
    "4_set_method": (b"DEALER", commands),
    "5_results": (b"SUB", endless_message),
    "5_control": (b"DEALER", endless_message),
}
ENDLESS_SOURCE = "5_markers"


def flood(name: str, address: str, seconds: float) -> dict:
    """Attack a bound socket for this time; return {"first_ns", "last_ns", "bytes", "connections"}."""
    kind, make = FLOODS[name]
    done = {"first_ns": now_ns(), "bytes": 0, "connections": 0}
    until = time.perf_counter() + seconds
    chunks = in_chunks(make())
    while time.perf_counter() < until:
        try:
            with dial(address, kind) as peer:
                done["connections"] += 1
                done["bytes"] += pour(peer, chunks, until)
        except OSError:
            time.sleep(PAUSE_S)
    return {**done, "last_ns": now_ns()}


def in_chunks(frames: Iterator[bytes]) -> Iterator[bytes]:
    """Combine many frames to chunks."""
    while True:
        chunk = bytearray()
        while len(chunk) < CHUNK:
            chunk += next(frames)
        yield bytes(chunk)


def pour(peer: socket.socket, chunks: Iterator[bytes], until: float) -> int:
    """Send until the time is up or the other side disconnects; return the number of bytes."""
    n = 0
    try:
        while time.perf_counter() < until:
            chunk = next(chunks)
            peer.sendall(chunk)
            n += len(chunk)
    except OSError:
        pass
    return n


def endless_source(seconds: float) -> dict:
    """Act as a source of markers whose first message does not end; print its address first."""
    done = {"first_ns": 0, "bytes": 0, "connections": 0}
    chunks = in_chunks(endless_message())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(json.dumps({"markers": f"tcp://127.0.0.1:{listener.getsockname()[1]}"}), flush=True)
        until = None
        while until is None or time.perf_counter() < until:
            listener.settimeout(seconds if until else None)
            try:
                with listener.accept()[0] as peer:
                    until = until or time.perf_counter() + seconds
                    done["first_ns"] = done["first_ns"] or now_ns()
                    done["connections"] += 1
                    greet(peer, b"XPUB")
                    done["bytes"] += pour(peer, chunks, until)
            except OSError:
                continue
    return {**done, "last_ns": now_ns()}


if __name__ == "__main__":
    name, address, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    print(json.dumps(endless_source(seconds) if name == ENDLESS_SOURCE else flood(name, address, seconds)))
