"""Communication of states between a child process and its parent.

The child prints its states as JSON lines on standard output. The parent holds the other end of the child's
standard input, which closes when the parent ends in any way; its first line may be a request.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from contextlib import suppress

from rtsim.errors import ConfigError
from rtsim.live.processes.signals import Interrupted

_requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()  # None: the parent is gone
_has_parent = threading.Event()


def say(state: dict) -> None:
    """Print one state, at once."""
    print(json.dumps(state), flush=True)


def end_with_parent() -> None:
    """End this process, as by a request to terminate, when its parent ends or closes this process's input;
    store the first line from the parent for `request_of_parent`.
    """

    def watch() -> None:
        line, is_whole = b"", False
        with suppress(OSError):
            while part := os.read(0, 65536):  # not sys.stdin, whose lock would outlive the interpreter
                line = line if is_whole else line + part
                if not is_whole and b"\n" in line:
                    is_whole = True
                    _requests.put(line.partition(b"\n")[0])
        if sys.platform == "win32":
            signal.raise_signal(signal.SIGTERM)  # os.kill would be a hard end there
        else:
            os.kill(os.getpid(), signal.SIGTERM)
        # A signal that is ignored ends no wait, nor does any on Windows. It comes first: who wakes up has it.
        _requests.put(None)

    _has_parent.set()
    threading.Thread(target=watch, name="parent", daemon=True).start()


def request_of_parent() -> bytes:
    """Wait for the line that the parent writes to standard input, and return it. ConfigError if no parent
    has started this process, Interrupted if the parent has ended.
    """
    try:
        request = _requests.get(block=_has_parent.is_set())
    except queue.Empty:
        raise ConfigError(
            "no request has come on standard input", where="--request",
            remedy="this is reserved for processes that rtsim starts itself; give the options instead",
        ) from None  # fmt: skip
    if request is None:
        raise Interrupted
    return request
