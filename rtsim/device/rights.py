"""Rights of users: who may give which command to a run, and who alone may arm a device.

The emergency stop is open to all. The role `watch` may ask for the status; `set` may also change parameters
and methods, tare, move the limb, and disarm; `arm` may also arm and end the run. After a user has armed,
nobody else may arm until somebody disarms by command. A fault, an emergency stop or a pause does not end this
sole right. So nobody else can start torque again while somebody attends to the device.
"""

from __future__ import annotations

from collections.abc import Collection

from rtsim.device.arming import EMERGENCY
from streams.access.askers import Asker

ROLES = ("watch", "set", "arm")
"""Roles of users; each has the rights of those before it, too."""
NEEDS = {
    "watch": ("status", "list"),
    "set": (
        "set", "undo", "save", "switch", "pause", "resume", "step", "reset", "disarm", "restart",
        "set_method", "set_downweighting", "tare", "mark",
    ),
}  # fmt: skip
"""Role -> commands; all others need the last role."""
OF_REPLAY = ("status", "list", "stop")
"""Commands that the replay of a recording accepts; all others come from the recording."""


class RunRights:
    """Decides which commands the users of one run may give.

    Parameters
    ----------
    owner : name of the user who arms from the command line; empty if nobody does
    replay : whether a recording is being replayed
    """

    def __init__(self, owner: str = "", replay: bool = False) -> None:
        self.owner, self._replay = owner, replay

    @property
    def free(self) -> Collection[str]:
        """The commands that every sender may give, even one without a role (rights that go with a key)."""
        return () if self._replay else (EMERGENCY,)

    def refusal(self, command: str, asker: Asker) -> str:
        """Return a sentence on why a user may not give a command; empty if the user may."""
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
            return (
                f"Not armed: the device is armed by {self.owner} already; others may arm it after a "
                "command has disarmed it."
            )
        return ""

    def done(self, command: str, asker: Asker) -> None:
        """Record that a user's command was carried out; `arm` and `disarm` begin and end the user's sole
        right to arm."""
        if command == "arm":
            self.owner = asker.name
        elif command == "disarm":
            self.owner = ""
