"""Queue of the commands received since the last tick, from any thread."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from rtsim.device.arming import EMERGENCY

Args = Mapping[str, Any]
ARM, DISARM = "arm", "disarm"
ENDING = (EMERGENCY, DISARM, "pause", "reset")
"""Commands that end torque; in the tick of one of them no `arm` is obeyed, whichever came first."""
ONCE = (*ENDING, ARM)
"""Commands that once in a tick are the same as often: however many come, one waits, in the newest place."""
OF_RUN = "a run with a device, as of `rtsim hil`,"
"""Runs that take commands on a device, in words."""
WATCHED = "watched"
"""Name of a command that stands for what a watch by the clock said, or says no more: nobody gives it."""


class CommandQueue:
    """Commands that wait for a tick, oldest first.

    Attributes
    ----------
    ends : whether one of them ends the torque
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[tuple[str, Args]] = []
        self.ends = False

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, name: str, args: Args) -> None:
        """Add a command, from any thread."""
        with self._lock:
            if name in ONCE:
                self._waiting = [one for one in self._waiting if one[0] != name]
            self._waiting.append((name, args))
            self.ends = self.ends or name in ENDING

    def take(self) -> list[tuple[str, Args]]:
        """Remove and return all waiting commands, oldest first."""
        if not self._waiting:  # in nearly every tick
            return []
        with self._lock:
            taken, self._waiting, self.ends = self._waiting, [], False
        return taken
