"""Whether a device does what it is told, and whether what it measures goes on."""

from __future__ import annotations

import math

from rtsim.config.hil_schema import HilSpec
from rtsim.device.arming import Arming
from streams.messages import Device

FOLLOWS = 10
"""Ticks beyond those that may be missed, after which a device must be as it is told, and its clock go on."""
LEAP_DEG = 1.0
"""That an angle may be off by noise, beside what it turns at the greatest speed."""


class Obedience:
    """What speaks against a device whose messages can be believed one by one.

    Attributes
    ----------
    disobeys : whether it applies torque, or says that it may, where it is told to be disarmed: `wrong` of the
        newest tick
    """

    def __init__(self, spec: HilSpec, period_s: float) -> None:
        exchange = spec.exchange
        self._limits, self._period_s = spec.limits, period_s
        self._valid_s = 1e-3 * min(exchange.valid_for_ms, spec.limits.delay_ms)
        self._free = exchange.mode == "free"
        self._patience = exchange.missed_most + FOLLOWS
        if self._free:  # words of either side may be that old
            self._patience += math.ceil(1e-3 * (exchange.deadline_ms + exchange.valid_for_ms) / period_s)
        self.disobeys = False
        self._leap = ""
        self._was_on = False
        self._n_still = self._n_deaf = self._n_off = self._n_disarmed = self._n_jumping = 0

    def jumps(self) -> None:
        """The limb goes back to its start: the next angles may leap."""
        self._n_jumping = self._patience

    def measured(self, before: Device, newest: Device, passed_s: float) -> None:
        """Look at two messages in a row; passed_s : between their measurements [s]."""
        self._n_still = self._n_still + 1 if newest.t <= before.t else 0
        if self._n_jumping > 0:
            self._n_jumping -= 1
            return
        turned = abs(math.degrees(newest.angle[0] - before.angle[0]))
        passed_s = max(passed_s, self._period_s)
        if turned > self._limits.speed_max_deg_s * passed_s + LEAP_DEG:
            self._leap = (
                f"the device's angle leaps by {turned:.3g} deg in {1e3 * passed_s:.3g} ms, "
                f"more than {self._limits.speed_max_deg_s:g} deg/s"
            )

    def lifeless(self) -> str:
        """Why its measurements are none, in words; empty where they are. Of a leap once."""
        leap, self._leap = self._leap, ""
        if self._n_still > self._patience:
            return f"the clock of the device has stood still for {self._n_still} messages"
        return leap

    def wrong(self, newest: Device, arming: Arming, commanded: float, late_s: float) -> str:
        """What it does otherwise than told, once a tick, in words.

        commanded : torque of the command before the newest [N m]
        late_s : how long before the newest message the command was sent that the device had taken then [s]
        """
        if arming.on != self._was_on:  # who is told otherwise has the whole time again
            self._was_on, self._n_off = arming.on, 0
        self._n_disarmed = 0 if arming.on else self._n_disarmed + 1
        self._n_deaf = self._n_deaf + 1 if self._free and late_s > self._valid_s else 0
        wrong = self._state(newest, arming) or self._torque(newest, commanded)
        self.disobeys = bool(wrong) and not arming.on
        if not wrong and self._n_deaf > self._patience:
            return f"the device takes no commands: its newest one was {1e3 * late_s:.0f} ms old"
        return wrong

    def _state(self, newest: Device, arming: Arming) -> str:
        if arming.on and newest.state == "disarmed" and arming.n_armed > self._patience:
            return "the device is told to be armed, and is not"
        if newest.state == "armed" and self._n_disarmed > self._patience:
            return "the device is told to be disarmed, and is not"
        return ""

    def _torque(self, newest: Device, commanded: float) -> str:
        off = bool(newest.actuator) and abs(newest.actuator[0] - commanded) > self._limits.tracking_Nm
        self._n_off = self._n_off + 1 if off else 0
        if 1e3 * self._n_off * self._period_s <= self._limits.tracking_ms:
            return ""
        return (
            f"the actuator applies {newest.actuator[0]:.3g} N m where {commanded:.3g} N m "
            f"are commanded, for more than {self._limits.tracking_ms:g} ms"
        )
