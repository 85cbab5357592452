"""Recording of results, started and stopped from the monitor window, by a process like `rtsim record`."""

from __future__ import annotations

import time
from collections.abc import Callable

from rtsim.live.processes.children import Child
from streams.access.security import Security

NAME = "recorder"


class RecordingControl:
    """Starts and stops one recorder of the results at an address.

    say : function called with messages on its progress
    """

    def __init__(self, address: str, security: Security | None, say: Callable[[str], None]) -> None:
        self.address, self._security, self._say = address, security, say
        self._child: Child | None = None
        self.path = ""

    @property
    def running(self) -> bool:
        """Return whether a recorder is running."""
        return self._child is not None

    def start(self, path: str = "") -> None:
        """Record to a new file; without a path, to a file in the current folder named after the time."""
        if self._child is not None:
            return
        self.path = path or time.strftime("rtsim-%Y%m%d-%H%M%S.mcap")
        keys = []
        if self._security is not None:
            keys = [
                "--client-key", str(self._security.client_key),
                "--server-key", str(self._security.server_public_key),
            ]  # fmt: skip
        try:
            self._child = Child(NAME, ["record", self.address, self.path, *keys])
        except OSError as fault:
            self._say(f"The recorder could not be started: {fault}.")
            return
        self._say(f"Recording to {self.path}.")

    def stop(self) -> None:
        """End the recording and complete its file."""
        if self._child is not None:
            self._child.close()
            self.look()

    def look(self) -> None:
        """Show the messages of the recorder, and detect its end."""
        child = self._child
        if child is None:
            return
        running = child.running
        failure = child.failure()
        for words in child.take_words():
            if words.strip() and not failure:
                self._say(words)
        if not running:
            self._child = None
            self._say(f"The recording has failed: {failure}." if failure else f"Recorded: {self.path}.")
