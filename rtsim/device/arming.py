"""The arming state on the model's side: it commands no torque, ramps torque up, commands all of it, or has
latched a fault.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Literal

from streams.account import plain

ArmState = Literal["disarmed", "ramping", "armed", "fault"]
ARM_STATES: tuple[ArmState, ...] = ("disarmed", "ramping", "armed", "fault")
EMERGENCY = "emergency_stop"
"""Name of the command for an emergency stop."""
BY_COMMAND = "disarmed (by command)"
"""State and reason after `disarm` of an armed device."""
MOST_TOLD = 64
WHOLE = 1.0 - 1e-9
"""Fraction of the ramp at which it is over, in spite of rounding."""


class Arming:
    """Arming state of a device, as the model keeps it. A fault stays until a person arms again, and then
    torque begins at zero.

    Parameters
    ----------
    ramp_s : duration of the rise from zero to the whole torque [s]

    Attributes
    ----------
    state : the present state: disarmed, ramping (torque rises), armed or fault
    on : whether torque is commanded
    reason : why the newest transition happened
    share : fraction of the controller's torque that is commanded, 0 to 1
    armed_s : time since `arm` [s]
    n_fault : number of faults so far
    told : state transitions that have not been reported yet, oldest first
    """

    def __init__(self, ramp_s: float) -> None:
        self.ramp_s = ramp_s
        self.state: ArmState = "disarmed"
        self.on = False
        self.reason = "the run begins"
        self.share = 0.0
        self.armed_s = 0.0
        self.n_fault = 0
        self.told: deque[str] = deque(maxlen=MOST_TOLD)

    @property
    def words(self) -> str:
        """State and reason in words, as the command `status` reports them."""
        return f"{self.state} ({self.reason})"

    def objection(self, args: Mapping[str, Any]) -> str:
        """Return why the command `arm` with these arguments is refused, as a sentence; empty if it is
        permitted.

        The argument `after` states an arming state and its reason. If it is given, arming is permitted only
        while both are still present. So a program that arms a device again cannot overrule a person who has
        ended the torque meanwhile.
        """
        after = args.get("after", self.words)
        if after == self.words:
            return ""
        return (
            f"the arm command names the state {plain(str(after), 64)!r}, but the device is now {self.words}; "
            "look at the device, then arm it again"
        )

    def arm(self, reason: str) -> None:
        """Begin the ramp from zero torque; do nothing if armed already."""
        if not self.on:
            self.armed_s = 0.0
            self._go("ramping", reason)

    def disarm(self, reason: str) -> None:
        """End torque without a ramp; a latched fault remains. If the device is disarmed already, only the
        stored reason changes."""
        if self.on:
            self._go("disarmed", reason)
        elif self.state == "disarmed":
            self.reason = f"{reason} while disarmed"

    def fault(self, reason: str) -> None:
        """Latch a fault: no torque is commanded until somebody arms again. Do nothing unless torque is
        commanded.
        """
        if self.on:
            self.n_fault += 1
            self._go("fault", reason)

    def emergency(self, reason: str) -> None:
        """Latch a fault in any state; it is used for a pressed emergency stop, and for a device that applies
        torque although it is disarmed.
        """
        self.n_fault += self.state != "fault"
        self._go("fault", reason)

    def tick(self, tick_s: float) -> None:
        """Advance the ramp of the torque by a tick of this length [s]."""
        if not self.on:
            return
        self.armed_s += tick_s
        share = self.armed_s / self.ramp_s
        self.share = share if share < WHOLE else 1.0
        if self.state == "ramping" and self.share == 1.0:
            self._go("armed", "the torque ramp is over")

    def _go(self, state: ArmState, reason: str) -> None:
        self.told.append(f"Device: {self.state} -> {state}: {reason}.")
        self.state, self.reason, self.on = state, reason, state in ("ramping", "armed")
        if not self.on:
            self.share = 0.0
