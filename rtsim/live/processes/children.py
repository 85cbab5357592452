"""The child processes of a live run, player and estimator. They are started and watched by the process that
shows the results as a table in the terminal.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from rtsim.errors import RtsimError
from rtsim.live.processes.signals import REQUESTS

CHILD = "RTSIM_CHILD"
"""Environment variable that tells a process that it is one of a run and shall end with its parent."""
# Ctrl-C in a terminal goes to every process of the foreground group; only the parent shall decide on it.
APART: dict[str, Any] = (
    {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    if sys.platform == "win32"
    else {"process_group": 0}
)


LAST = "rtsim: "
"""Beginning of the last message of a command that fails, by which it is distinguished from earlier output."""
POLITE_S = 3.0
"""Time that a process may take to end after its standard input is closed [s]."""
TERMINATE_S = 1.0
"""Time that it may take after that, upon the request to terminate [s]."""


class ChildFailedError(RtsimError):
    """Raised if a process of the run ended with an error; the text is the message of that process."""


class Child:
    """An `rtsim` process that reports its states as JSON lines.

    asked_later : whether the process first imports its modules and then waits until `ask` sends its request
    """

    def __init__(self, name: str, arguments: list[str], asked_later: bool = False) -> None:
        self.name = name
        self._idle = asked_later
        self._process = subprocess.Popen(
            [sys.executable, "-m", "rtsim.cli.main", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # open to the end: it closes when this process ends, which is how the child learns of that
            stdin=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            # whatever the terminal has: this process writes to that
            env={**os.environ, CHILD: "1", "PYTHONIOENCODING": "utf-8"},
            **APART,
        )
        self._states: queue.SimpleQueue[dict] = queue.SimpleQueue()
        self._errors: list[str] = []
        self._n_taken = 0
        self._readers = [
            threading.Thread(target=read, daemon=True) for read in (self._read_states, self._read_errors)
        ]
        for reader in self._readers:
            reader.start()

    def ask(self, request: bytes) -> None:
        """Write the request, one line, to the process; a process that has already ended reports the reason
        itself.
        """
        assert self._process.stdin is not None
        self._idle = False
        with suppress(OSError):
            self._process.stdin.write(request.decode() + "\n")
            self._process.stdin.flush()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def wait_ready(self, timeout_s: float, others: Sequence[Child] = ()) -> dict:
        """Wait for the state in which the process is ready and return it; ChildFailedError with the message
        of this process, or of another process that failed first.
        """
        due = time.monotonic() + timeout_s
        while time.monotonic() < due:
            for other in others:
                other.check()
            try:
                state = self._states.get(timeout=0.05)
            except queue.Empty:
                if self.running:
                    continue
                self._join_readers()
                if self._states.empty():
                    break
                continue
            if state.get("state") == "ready":
                return state
        self.check()
        if not self.running:
            raise ChildFailedError(f"the {self.name} ended before it was ready")
        raise ChildFailedError(f"the {self.name} was not ready within {timeout_s:.0f} s")

    def newest_state(self, name: str) -> dict:
        """Return the newest unread state of that name and mark all of them as read; {} if there is none."""
        found: dict = {}
        while not self._states.empty():
            state = self._states.get()
            found = state if state.get("state") == name else found
        return found

    def take_words(self) -> list[str]:
        """Return the lines of text that the process has printed for the user since the last call."""
        words = self._errors[self._n_taken :]
        self._n_taken += len(words)
        return words

    def check(self) -> None:
        """Raise ChildFailedError if the process has ended with an error."""
        failure = self.failure()
        if failure:
            raise ChildFailedError(failure)

    def failure(self) -> str:
        """Return the failure of the process, with its own message if it left one; "" while it runs and after
        a normal end.
        """
        code = self._process.poll()
        if not code:
            return ""
        self._join_readers()
        last = next((words for words in reversed(self._errors) if words.startswith(LAST)), "")
        words = last.removeprefix(LAST) or " ".join(self._errors[-20:])
        if code < 0:
            return f"the {self.name} was killed (signal {-code})"
        if code - 128 in REQUESTS:
            return f"the {self.name} was asked to end by another process (signal {code - 128})"
        return words or f"the {self.name} ended with exit code {code}"

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process.poll() is None

    @property
    def code(self) -> int | None:
        """Exit code; None while it runs."""
        return self._process.poll()

    def wait(self, timeout_s: float) -> bool:
        """Wait until the process has ended; return whether it ended in time."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """End the process: first close its standard input, which requests a normal end on every system.

        If the process does not end, it is terminated; on Windows its recordings are then truncated. A process
        that still waits for its request is terminated at once.
        """
        if self._idle:
            self._process.kill()
        stdin = self._process.stdin
        if stdin is not None and not stdin.closed:
            with suppress(OSError):
                stdin.close()
        if not self.wait(POLITE_S):
            self._process.terminate()
        if not self.wait(TERMINATE_S):
            self._process.kill()
            self._process.wait()

    def _join_readers(self) -> None:
        """Read the last output of a process that has ended, for a limited time, as its own child processes
        may continue.
        """
        for reader in self._readers:
            reader.join(timeout=1.0)

    def _read_states(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                state = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(state, dict):
                self._states.put(state)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        self._errors.extend(line.rstrip("\n") for line in self._process.stderr)
