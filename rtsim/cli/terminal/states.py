"""How a child process and its parent know of each other.

The child says its states as JSON lines on standard output. The parent holds the other end of the child's
standard input, which closes with the parent, however that ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from contextlib import suppress


def say(state: dict) -> None:
    """Print one state, at once."""
    print(json.dumps(state), flush=True)


def end_with_parent() -> None:
    """End this process, as by a request to terminate, when its parent is gone or closes this end of it."""

    def watch() -> None:
        with suppress(OSError):
            while os.read(0, 4096):  # not sys.stdin, which would hold a lock when the interpreter shuts down
                pass
        if sys.platform == "win32":
            signal.raise_signal(signal.SIGTERM)  # os.kill would be a hard end there
        else:
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parent", daemon=True).start()
