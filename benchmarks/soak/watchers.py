"""Watchers of a run in a soak: a viewer of the page, and a subscriber that never reads its messages."""

from __future__ import annotations

import contextlib
import json
import sys
import time
import urllib.request

import zmq

PANELS = "0,1,2"
CHUNK = 65_536
PAGE, NEVER = "page", "never"
"""Kinds."""


def view(url: str) -> None:
    """Read the page's stream of events until it ends; then print the number of bytes and events."""
    n_byte = n_event = 0
    with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}stream?panels={PANELS}") as stream:
        print(json.dumps({"state": "ready"}), flush=True)
        while chunk := stream.read1(CHUNK):
            n_byte += len(chunk)
            n_event += chunk.count(b"\nevent: ")
    print(json.dumps({"bytes": n_byte, "events": n_event}), flush=True)


def never_read(address: str) -> None:
    """Subscribe to everything, and read nothing until it is ended."""
    with zmq.Context() as context, context.socket(zmq.SUB) as socket:
        socket.linger = 0
        socket.connect(address)
        socket.subscribe(b"")
        print(json.dumps({"state": "ready"}), flush=True)
        while True:
            time.sleep(1.0)


if __name__ == "__main__":
    {PAGE: view, NEVER: never_read}[sys.argv[1]](sys.argv[2])
