"""Who may give which command to a run, and who alone may arm a device.

The emergency stop is open to all. `watch` asks how it stands; `set` changes parameters and methods, tares,
moves the limb, and disarms, which leads towards no torque; `arm` arms and ends the run as well. Whoever armed
owns arming until somebody disarms by command: a fault, an emergency stop or a pause leaves it theirs, so that
nobody else has torque begin again under the hands of who sees to the device.
"""

from __future__ import annotations

from collections.abc import Collection

from rtsim.device.arming import EMERGENCY
from streams.access.askers import Asker

ROLES = ("watch", "set", "arm")
"""Each may what those before it may."""
NEEDS = {
    "watch": ("status", "list"),
    "set": (
        "set", "undo", "save", "switch", "pause", "resume", "step", "reset", "disarm", "restart",
        "set_method", "set_downweighting", "tare", "mark",
    ),
}  # fmt: skip
"""Role -> commands; all others need the last role."""
OF_REPLAY = ("status", "list", "stop")
"""What a recording that is run again takes: all else it has from the recording."""


class RunRights:
    """Decides which commands the users of one run may give.

    Parameters
    ----------
    owner : who arms it from the command line, in words; empty where nobody does
    replay : a recording is run again
    """

    def __init__(self, owner: str = "", replay: bool = False) -> None:
        self.owner, self._replay = owner, replay

    @property
    def free(self) -> Collection[str]:
        """The commands that need no role."""
        return () if self._replay else (EMERGENCY,)

    def refusal(self, command: str, asker: Asker) -> str:
        """Why somebody may not give a command, in words; empty where they may."""
        if self._replay and command not in OF_REPLAY:
            return (
                f"A replayed run takes its commands, {command} among them, from the recording; it accepts "
                f"{', '.join(OF_REPLAY)}."
            )
        needed = next((role for role, names in NEEDS.items() if command in names), ROLES[-1])
        if asker.role not in ROLES:
            return f"{command} needs the role {needed}, and {asker.name} has none."
        if ROLES.index(asker.role) < ROLES.index(needed):
            return f"{command} needs the role {needed}, and {asker.name} has the role {asker.role}."
        if command == "arm" and self.owner not in ("", asker.name):
            return f"Not armed: armed by {self.owner}; others may arm once it was disarmed by command."
        return ""

    def done(self, command: str, asker: Asker) -> None:
        """Note that a command was carried out."""
        if command == "arm":
            self.owner = asker.name
        elif command == "disarm":
            self.owner = ""
