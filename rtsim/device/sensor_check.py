"""Whether the angle and the speed that a device measures are those of the joint, as the model knows it.

The reference r is the angle that the model told in the output that the device's message answers: of a
simulated limb its angle at the device's joint, of a person the estimate from markers, only where a frame is
usable. What the device is known to add, as `mechanics.misalignment_deg` of its config, is taken off what it
measures, m. Angle and speed w are compared once a tick:

difference
    m is off where it is further than `agreement_deg` from every r of the last `delay_ms`; a device may be
    late by that. The time for which it is off, forgotten over ten seconds, is at most `agreement_ms`: so lies
    that come and go add up. Without torque a single tick speaks against arming.
offset
    the mean of m - r over about a second, less what a delay makes of it, is at most `agreement_deg`.
following
    gain and delay of m against r (rtsim/device/lag_fit.py), where the motion tells them: three standard
    deviations of the gain below 0.5, of the delay below `delay_ms`. A gain below 0.5 or above 1.5, a phase
    beyond 3/4 pi or a delay of more than `delay_ms` is a fault. Delays of motions with several frequencies
    are found up to 15 % too short, so that it is one from 85 % of `delay_ms` on.
speed
    h is the angle without what is older than half a second, h' = m' - h/0.5 s, and e how much further the
    speed says that it turned, e' = x - e/0.5 s. x is what the change of m in a tick is beyond the least and
    the greatest of the two speeds times the tick, so that it is nothing where a speed changes meanwhile. Of
    a person the tick is as long as the model's time of the two outputs says, or the device's clock, whichever
    fits: frames come in bursts, and a simulated device turns with them. A fault is |e| of more than
    `agreement_deg`, or |<e h> / <h h>|, over about a second, of more than 0.5 where h is more than 1 degree,
    for `agreement_ms`.

What was found to follow wrongly stays so until the motion tells otherwise, or the angle has agreed for ten
seconds without a motion that tells anything.
"""

from __future__ import annotations

import math

from rtsim.config.runs.hil_schema import DeviceLimits
from rtsim.device.lag_fit import MEMORY_S, LagFit
from rtsim.device.told_angles import ToldAngles
from streams.messages import Device

LONG_S = 10.0
"""Time over which an angle that was off is forgotten, and a fault of following where nothing moves [s]."""
AGREED_S = 1.0
"""An angle that agreed for so long is no longer off [s]."""
SHORT_S = 0.5
"""Memory of the turn that speed and angle tell [s]."""
LONGEST_S = 0.05
"""Between two measurements, of which speed and angle are compared [s]."""
SOLVE_S = 0.02
"""Between two looks at the fit [s]."""
GAIN_OFF, SIGMAS, EARLY = 0.5, 3.0, 0.85
MIRRORED = 0.75 * math.pi
FROZEN = 0.2
"""A gain below it is told as an angle that does not move."""
MOVED_RAD = math.radians(1.0)
LEAP_RAD = math.radians(1.0)
"""That the reference may leap beyond the greatest speed, before its motion is none to compare with."""
IN_DEGREES = (40.0, 80.0)
"""Gains that look like degrees where radians are due, 57.3."""


class FaultDuration:
    """For how long something was wrong, in about ten seconds; over with a second in which nothing was.

    Attributes
    ----------
    over : whether that is too long
    """

    def __init__(self, most_s: float) -> None:
        self._most_s = most_s
        self._wrong_s = self._right_s = 0.0
        self.over = False

    def add(self, wrong: bool, passed_s: float) -> None:
        """Add this time [s], in which the device was wrong or right."""
        self._wrong_s *= math.exp(-passed_s / LONG_S)
        if wrong:
            self._right_s, self._wrong_s = 0.0, self._wrong_s + passed_s
            self.over = self.over or self._wrong_s > self._most_s
            return
        self._right_s += passed_s
        if self.over and self._right_s > AGREED_S:
            self.over, self._wrong_s = False, 0.0


class SensorCheck:
    """Compares what a device measures with what the model sent it.

    Parameters
    ----------
    adds_deg : what its angle is known to be beside the joint's
    period_s : of the ticks [s]

    Attributes
    ----------
    told : the angles of the outputs
    off_deg : of the newest measurement, 0 where it is within what a delay explains
    """

    def __init__(self, limits: DeviceLimits, period_s: float, adds_deg: float = 0.0) -> None:
        self.limits, self._adds = limits, math.radians(adds_deg)
        self.told = ToldAngles(1.0 / period_s)
        self._agreement = math.radians(limits.agreement_deg)
        self._late_s = 1e-3 * limits.delay_ms
        self._n_late = math.ceil(self._late_s / period_s)
        self._fit, self.off_deg = LagFit(), 0.0
        self._off, self._denied = (
            FaultDuration(1e-3 * limits.agreement_ms),
            FaultDuration(1e-3 * limits.agreement_ms),
        )
        self._worst_deg = self._since_s = self._idle_s = 0.0
        self._offset = self._follows = self._speed = ""
        self._was: tuple[int, float, float] | None = None  # command, angle and speed before
        self._turned = self._extra = self._hh = self._eh = 0.0

    def look(self, newest: Device, awaited: int, passed_s: float, by_device_s: float = math.nan) -> None:
        """Compare a new measurement.

        awaited : seq of the newest output
        passed_s : since the last one that was compared, by ticks [s]
        by_device_s : since that one by the device's clock [s]; NaN where that means nothing
        """
        if not self.limits.watch_sensors:
            return
        at, angle, speed = newest.command, newest.angle[0] - self._adds, newest.speed[0]
        reference = self.told.angle(at)
        if reference != reference:  # nobody knows the angle
            self._was = None
            return
        off = angle - reference
        if abs(off) > self._agreement:
            off = self.told.beyond(angle, max(0, at - self._n_late), awaited)
        self.off_deg = math.degrees(off) if abs(off) > self._agreement else 0.0
        self._off.add(self.off_deg != 0.0, passed_s)
        if abs(self.off_deg) > abs(self._worst_deg) or not (self.off_deg or self._off.over):
            self._worst_deg = self.off_deg
        self._fit.add(angle, reference, self.told.speed(at), passed_s)
        self._compare_speed(at, angle, speed, passed_s, by_device_s)
        self._since_s += passed_s
        if self._since_s > SOLVE_S:
            self._follow(self._since_s)
            self._since_s = 0.0

    def wrong(self, on: bool) -> str:
        """A sentence on what speaks against the sensors; empty where nothing does. on : whether torque is
        commanded
        """
        limits, why = self.limits, self._follows or self._offset
        if self._off.over or (self.off_deg and not on):
            off = f"{self._worst_deg:.3g} deg{hint_of_turns(self._worst_deg)}"
            allowed = f"{limits.agreement_deg:g} deg, or more for {limits.agreement_ms:g} ms in ten seconds"
            return f"the device's angle is off the joint's by {off}; allowed: {allowed}{why and ': ' + why}"
        return why or (self._speed if self._denied.over else "")

    def hint(self, newest: Device) -> str:
        """Words for an angle that is right if it is read in degrees; empty where it is not."""
        if len(newest.angle) != 1:  # of a device of other joints something else is wrong
            return ""
        reference, said = self.told.angle(newest.command), newest.angle[0]
        near = abs(math.radians(said) - reference) < self._agreement < abs(said - reference)
        return "; it looks like degrees, and radians are due" if near and self.limits.watch_sensors else ""

    def _follow(self, passed_s: float) -> None:
        """Judge the fit."""
        fit, most = self._fit, self.limits.agreement_deg
        fit.solve()
        offset = math.degrees(fit.offset)
        self._offset = (
            f"the device's angle is {offset:.3g} deg off the joint's on average over a second; "
            f"allowed: {most:g} deg{hint_of_turns(offset)}"
            if abs(offset) > most
            else ""
        )
        sure = SIGMAS * fit.gain_error < GAIN_OFF and SIGMAS * fit.delay_error_s < self._late_s
        if sure:
            self._idle_s, self._follows = 0.0, self._as_told(fit)
            return
        self._idle_s = 0.0 if self.off_deg else self._idle_s + passed_s
        if self._idle_s > LONG_S:
            self._follows = ""

    def _as_told(self, fit: LagFit) -> str:
        """What is wrong with gain and delay, in words."""
        gain, delay_ms = fit.gain, 1e3 * fit.delay_s
        if gain < FROZEN:
            return "the device's angle does not move while the joint moves"
        if abs(fit.phase) > MIRRORED:
            return "the device's angle is mirrored: it falls where the joint's rises"
        if abs(gain - 1.0) > GAIN_OFF:
            degrees = IN_DEGREES[0] < gain < IN_DEGREES[1]
            hint = "; it looks like degrees, and radians are due" if degrees else ""
            return f"the device's angle moves {gain:.2g} times as much as the joint's{hint}"
        if abs(delay_ms) > EARLY * self.limits.delay_ms and abs(fit.delay_s) > SIGMAS * fit.delay_error_s:
            way = "behind" if delay_ms > 0.0 else "ahead of"
            return (
                f"the device's angle is {abs(delay_ms):.0f} ms {way} the joint's; allowed: "
                f"{EARLY * self.limits.delay_ms:.3g} ms, as up to {self.limits.delay_ms:g} ms may look so"
            )
        return ""

    def _compare_speed(
        self, at: int, angle: float, speed: float, passed_s: float, by_device_s: float
    ) -> None:
        was, self._was = self._was, (at, angle, speed)
        keeps = math.exp(-passed_s / SHORT_S)
        self._turned, self._extra = keeps * self._turned, keeps * self._extra
        if was is None:
            return
        short = long = self.told.between_s(was[0], at)
        if by_device_s == by_device_s:
            short, long = min(short, by_device_s), max(long, by_device_s)
        if not (short >= 0.0 and long <= LONGEST_S):
            return
        told = math.radians(self.limits.speed_max_deg_s) * long + LEAP_RAD
        before = self.told.angle(was[0])
        if not abs(self.told.angle(at) - before) <= told:
            return
        turned = angle - was[1]
        slow, fast = (was[2], speed) if was[2] < speed else (speed, was[2])
        low, high = slow * (short if slow > 0.0 else long), fast * (long if fast > 0.0 else short)
        self._turned += turned
        self._extra += low - turned if turned < low else min(0.0, high - turned)
        h, e, k = self._turned, self._extra, math.exp(-passed_s / MEMORY_S)
        self._hh = k * self._hh + passed_s * h * h
        self._eh = k * self._eh + passed_s * e * h
        said = self._of_speed(h, e)
        self._denied.add(bool(said), passed_s)
        self._speed = said or self._speed

    def _of_speed(self, turned: float, extra: float) -> str:
        if abs(extra) > self._agreement:
            by_speed, by_angle = math.degrees(turned + extra), math.degrees(turned)
            return (
                f"the device's speed says that it turned by {by_speed:.3g} deg in about half a second, "
                f"its angle by {by_angle:.3g} deg"
            )
        if self._hh > MOVED_RAD * MOVED_RAD * MEMORY_S and abs(self._eh) > GAIN_OFF * self._hh:
            gain = 1.0 + self._eh / self._hh
            return f"the device's speed is {gain:.2g} times what its angle turns by"
        return ""


def hint_of_turns(off_deg: float) -> str:
    """Words for an angle that is off by whole turns; empty for others."""
    turns = round(off_deg / 360.0)
    return f", {turns:+d} turns" if turns and abs(off_deg - 360.0 * turns) < 5.0 else ""
