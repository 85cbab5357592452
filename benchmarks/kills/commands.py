"""`rtsim` commands as processes that are killed and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from rtsim.errors import RtsimError

READY_S = 180.0
LOOK_S = 0.005


class CommandError(RtsimError):
    """A command that does not start, or ends by itself."""


class Commands:
    """Starts commands by a process that forks them (benchmarks/kills/fork_server), and ends them all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.n_started = 0
        self._running: list[RunningCommand] = []
        self._server = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.kills.fork_server"], stdin=subprocess.PIPE, text=True,
            stdout=subprocess.PIPE, env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        )  # fmt: skip
        self._answer()

    def start(self, *arguments: object) -> RunningCommand:
        """Start a command."""
        self.n_started += 1
        words = [str(one) for one in arguments]
        out, error = (self.folder / f"{self.n_started}.{kind}" for kind in ("out", "err"))
        assert self._server.stdin is not None
        self._server.stdin.write(
            json.dumps({"arguments": words, "out": str(out), "error": str(error)}) + "\n"
        )
        self._server.stdin.flush()
        command = RunningCommand(int(self._answer()), words, out, error)
        self._running = [one for one in self._running if one.runs] + [command]
        return command

    def close(self) -> None:
        """End everything."""
        for command in self._running:
            command.kill()
        self._server.kill()
        self._server.wait()

    def _answer(self) -> str:
        assert self._server.stdout is not None
        line = self._server.stdout.readline().strip()
        if not line:
            raise CommandError("the process that starts the commands has ended")
        return line


class RunningCommand:
    """A command.

    pid : its process; arguments; out, error : files of what it prints
    """

    def __init__(self, pid: int, arguments: list[str], out: Path, error: Path) -> None:
        self.pid, self.arguments, self.out, self.error = pid, arguments, out, error

    @property
    def runs(self) -> bool:
        """Return whether the process exists."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal, and wait for the end."""
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return
        due = time.monotonic() + READY_S
        while self.runs and time.monotonic() < due:
            time.sleep(LOOK_S)

    def until(self, asked: str, in_error: bool = False) -> None:
        """Wait until the command has printed these words."""
        path = self.error if in_error else self.out
        due = time.monotonic() + READY_S
        while not path.exists() or asked not in path.read_text(errors="replace"):
            if not self.runs or time.monotonic() > due:
                words = self.error.read_text(errors="replace")[-500:] if self.error.exists() else ""
                raise CommandError(
                    f"the command {' '.join(self.arguments)} has not printed {asked!r}: {words}"
                )
            time.sleep(LOOK_S)
