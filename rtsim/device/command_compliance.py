"""Check whether a device obeys its commands, and whether its measurements follow each other plausibly: no
stopped clock, no jump of the angle.
"""

from __future__ import annotations

import math

from rtsim.config.runs.hil_schema import HilSpec
from rtsim.device.arming import Arming
from rtsim.device.limits import ROUNDED_S, TimeOff, of_itself, unbelievable
from streams.account import plain
from streams.messages import Device

FOLLOWS = 10
"""Number of periods, besides those that may be missed, within which a device must obey a command and its
clock must advance."""
LEAP_DEG = 1.0
"""Noise of the angle that is allowed beyond the change at the largest speed [deg]."""
FELL = ("falling", "stopped")


class CommandCompliance:
    """Check of a device for faults that only several of its messages show: it does not obey its commands, its
    clock stands still, or its angle jumps.

    How long a fault has lasted is measured in seconds, not in ticks, frames or messages. `lifeless` and
    `wrong` return the faults; the caller then ends the torque.

    Attributes
    ----------
    disobeys : whether the device applies torque, or reports that it is armed, although it is commanded to be
        disarmed; set by `wrong` in the newest tick
    """

    def __init__(self, spec: HilSpec, period_s: float) -> None:
        exchange = spec.exchange
        self._limits, self._period_s = spec.limits, period_s
        self._valid_s = 1e-3 * min(exchange.valid_for_ms, spec.limits.delay_ms)
        self._free = exchange.mode == "free"
        self._patience_s = (exchange.missed_most + FOLLOWS) * period_s + ROUNDED_S
        if self._free:  # words of either side may be that old
            self._patience_s += 1e-3 * (exchange.deadline_ms + exchange.valid_for_ms)
        self._off = TimeOff(1e-3 * self._limits.tracking_ms)
        self.disobeys = False
        self._leap = self._between = ""
        self._was_on = False
        self._stands = False  # its clock, over the messages of this tick
        self._is_new = False  # whether the newest message came in this tick
        self._from = self._from_s = 0.0  # angle of the message before this tick [rad], and time since [s]
        self._still_s = self._deaf_s = self._disarmed_s = self._jumping_s = 0.0

    def jumps(self) -> None:
        """Accept jumps of the measured angle for a short time; called when the limb is reset to its start."""
        self._jumping_s = self._patience_s

    def tick(self, tick_s: float) -> None:
        """Begin a tick. It is called after `measured` has been called for the messages that came since the
        previous tick. tick_s : time since the previous tick [s]
        """
        self._is_new = False
        self._still_s = self._still_s + tick_s if self._stands else 0.0
        self._jumping_s = max(0.0, self._jumping_s - tick_s)

    def measured(self, before: Device, newest: Device, passed_s: float) -> None:
        """Compare a message of the device with the one before it: store whether the device's clock has
        advanced, and a fault if the angle jumps, that is, if it has changed since the last message of the
        previous tick by more than the largest permitted speed allows. `lifeless` reports both.

        If several messages come in one tick, `before` is also checked by itself, as later checks see only the
        newest.

        before, newest : two successive messages
        passed_s : time between their measurements [s]
        """
        if self._is_new:  # of all messages of a tick the newest alone is looked at later
            self._between = self._between or self._wrong_between(before)
        else:
            self._from, self._from_s = before.angle[0], 0.0
        self._is_new = True
        self._stands = newest.t <= before.t
        self._from_s += max(passed_s, 0.0)
        if self._jumping_s > 0.0:
            return
        # from the message before the tick on, so that small leaps within a tick add up
        turned = abs(math.degrees(newest.angle[0] - self._from))
        passed_s = max(self._from_s, self._period_s)
        if turned > self._limits.speed_max_deg_s * passed_s + LEAP_DEG:
            self._leap = (
                f"the device's angle leaps by {turned:.3g} deg in {1e3 * passed_s:.3g} ms, "
                f"more than {self._limits.speed_max_deg_s:g} deg/s"
            )

    def lifeless(self) -> str:
        """Return a sentence on a fault of the measurements: the device's clock stands still, the angle has
        jumped, or an earlier message of the same tick was implausible. Return "" if there is none.

        The last two faults are reported once.
        """
        leap, between = self._leap, self._between
        self._leap = self._between = ""
        if self._still_s > self._patience_s:
            return f"the clock of the device has stood still for {1e3 * self._still_s:.0f} ms"
        return leap or between

    def wrong(self, newest: Device, arming: Arming, commanded: float, late_s: float, tick_s: float) -> str:
        """Check once a tick whether the device obeys its commands; return a sentence on how it does not, else
        "".

        commanded : torque of the command before the newest one [N m], which the actuator should apply by now,
            as it follows commands with a delay of one tick
        late_s : age of the newest command that the device had received when it sent its newest message [s]
        tick_s : time since the previous tick [s]
        """
        if arming.on != self._was_on:  # who is told otherwise has the whole time again
            self._was_on = arming.on
            self._off.forget()
        self._disarmed_s = 0.0 if arming.on else self._disarmed_s + tick_s
        self._deaf_s = self._deaf_s + tick_s if self._free and late_s > self._valid_s else 0.0
        wrong = self._state(newest, arming) or self._torque(newest, commanded, tick_s)
        self.disobeys = bool(wrong) and not arming.on
        if not wrong and self._deaf_s > self._patience_s:
            return f"the device receives no new commands: its latest command was {1e3 * late_s:.0f} ms old"
        return wrong

    def _wrong_between(self, message: Device) -> str:
        """Return what is wrong with a message, as text, judged by this message alone; it is called for
        messages that were followed by another one in the same tick.
        """
        if message.state in FELL:
            return of_itself(message)
        return unbelievable(message, self._limits) or fault_without_fall(message)

    def _state(self, newest: Device, arming: Arming) -> str:
        if arming.on and newest.state == "disarmed" and arming.armed_s > self._patience_s:
            return "the device was commanded to arm, and is not armed"
        if newest.state == "armed" and self._disarmed_s > self._patience_s:
            return "the device was commanded to disarm, and is still armed"
        return fault_without_fall(newest) if arming.on else ""

    def _torque(self, newest: Device, commanded: float, tick_s: float) -> str:
        off = bool(newest.actuator) and abs(newest.actuator[0] - commanded) > self._limits.tracking_Nm
        # a message that leaves it out says neither
        over = self._off.add(off, tick_s) if newest.actuator else self._off.over
        if not (over and off):
            return ""
        return (
            f"the actuator applies {newest.actuator[0]:.3g} N m where {commanded:.3g} N m "
            f"are commanded, for more than {self._limits.tracking_ms:g} ms"
        )


def fault_without_fall(message: Device) -> str:
    """Return a sentence if a message contradicts itself: the device states why it entered its safe state, but
    also that it is armed. Return "" otherwise.
    """
    if message.state != "armed" or not message.fault:
        return ""
    return (
        "the device reports that it is armed, but also a reason for ending its torque: "
        f"{plain(message.fault)}"
    )
