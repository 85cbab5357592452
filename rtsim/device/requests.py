"""Queue of the commands received since the last tick, from any thread."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from rtsim.device.arming import EMERGENCY

Args = Mapping[str, Any]
ARM, DISARM = "arm", "disarm"
ENDING = (EMERGENCY, DISARM, "pause", "reset")
"""Commands that end torque; `arm` is refused in the tick of one of them, whichever came first."""
ONCE = (*ENDING, ARM)
"""Commands that have the same effect once or several times in a tick: only the newest of each waits, and of
`disarm` also the first. So the second of two users who disarm in one tick does so while it is disarmed, as in
a later tick, and a program that has disarmed for a trial does not arm what a person has disarmed, too."""
OF_RUN = "a run with a device, as of `rtsim hil`,"
"""Runs that accept commands on a device, in words."""
WATCHED = "watched"
"""Name under which the result of a check that reads a clock is recorded as a command; no user gives it."""


class CommandQueue:
    """Commands that wait for a tick, oldest first.

    Attributes
    ----------
    ends : whether one of them ends the torque of the device: emergency stop, disarm, pause or reset
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
                same = [k for k, (waiting, _) in enumerate(self._waiting) if waiting == name]
                for k in reversed(same[1:] if name == DISARM else same):
                    del self._waiting[k]
            self._waiting.append((name, args))
            self.ends = self.ends or name in ENDING

    def take(self) -> list[tuple[str, Args]]:
        """Remove and return all waiting commands, oldest first."""
        if not self._waiting:  # in nearly every tick
            return []
        with self._lock:
            taken, self._waiting, self.ends = self._waiting, [], False
        return taken
