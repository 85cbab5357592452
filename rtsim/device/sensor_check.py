"""Check whether the angle and speed that a device measures are those of the joint, as known from the model.

The reference angle r is the one that the model sent in the output to which the device's message is the
answer: for a simulated limb the angle of the device's joint, for a person the estimate from markers in usable
frames. Known offsets of the device, such as `mechanics.misalignment_deg` of its config, are subtracted from
its measured angle m. Once a tick there are four checks of m and of the measured speed w:

difference
    A device may be late by `delay_ms`. So m is wrong if it differs by more than `agreement_deg` from every r
    of the last `delay_ms`. The time for which m is wrong is summed, and forgotten over ten seconds, so that
    errors that come and go add up; a sum of more than `agreement_ms` is a fault. While no torque is
    commanded, a single tick with a wrong m prevents arming.
offset
    The mean of m - r over about a second, without the part that a delay causes, is a fault if it is more than
    `agreement_deg`.
following
    The gain and the delay of m relative to r are fitted (rtsim/device/lag_fit.py). They are judged only if
    the motion determines them: three standard deviations of the gain are below 0.5, and three of the delay
    below `delay_ms`. A gain below 0.5 or above 1.5, a phase beyond 3/4 pi, and a delay of more than 85 % of
    `delay_ms` are faults; the delay of a motion with several frequencies is found up to 15 % too short.
speed
    In a tick of length T, m must change by an amount between T w_0 and T w_1, with the speeds w_0 and w_1
    measured at its beginning and end. The excess of each change beyond this range is added to a sum e, which
    decays with a time constant of half a second. With h, which is m after a high-pass filter with the same
    time constant, the ratio of means <e h> / <h h> over about a second is the relative error of the measured
    speed. It is a fault if for `agreement_ms` |e| is more than `agreement_deg`, or the ratio is below -0.5 or
    above 0.5 (judged only where h is more than 1 degree). For a person T is the time between two outputs by
    the model's clock or by the device's, whichever fits better, as frames arrive in bursts.

A fault of gain or delay remains until a motion shows that both are right, or until the angle has agreed for
ten seconds without a motion that determines them.
"""

from __future__ import annotations

import math

import numpy as np

from kernels.compiler.jit import hold
from kernels.sensors.comparison import (
    ANGLE_OFF,
    ANGLE_OVER,
    EH,
    EXTRA,
    GAIN_OFF,
    HH,
    LONG_S,
    MOST_GAIN_OFF,
    N_STATE,
    SPEED_OFF,
    SPEED_OVER,
    TURNED,
    WORST,
    Allowed,
    compare,
)
from kernels.sensors.lag_sums import N_SUM
from rtsim.config.runs.hil_schema import DeviceLimits
from rtsim.device.lag_fit import LagFit
from rtsim.device.told_angles import ToldAngles
from streams.messages import Device

SOLVE_S = 0.02
"""Interval at which the fit is solved [s]."""
SIGMAS, EARLY = 3.0, 0.85
MIRRORED = 0.75 * math.pi
FROZEN = 0.2
"""Gain of the angle below which it is reported as not moving."""
STANDS = 0.05
"""Gain of the speed below which it is reported as zero."""
IN_DEGREES = (40.0, 80.0)
"""Range of gains that suggests degrees in place of radians, a factor of 57.3."""


class SensorCheck:
    """Comparison of a device's measured angle and speed with those that the model sent.

    Parameters
    ----------
    limits : limits of the checks (see the module)
    period_s : period of the ticks [s]
    adds_deg : known difference of the device's angle from the joint's angle [deg]

    Attributes
    ----------
    told : the joint angles that were sent in the outputs
    """

    def __init__(self, limits: DeviceLimits, period_s: float, adds_deg: float = 0.0) -> None:
        self.limits, self._adds = limits, math.radians(adds_deg)
        self.told = ToldAngles(1.0 / period_s)
        self._agreement = math.radians(limits.agreement_deg)
        self._late_s = 1e-3 * limits.delay_ms
        self._state, self._found = np.zeros(N_STATE), 0
        self._fit = LagFit(self._state[:N_SUM])
        self._since_s = self._idle_s = 0.0
        self._offset = self._follows = self._speed = ""
        n_late, speed_max = math.ceil(self._late_s / period_s), math.radians(limits.speed_max_deg_s)
        allowed = Allowed(self._agreement, n_late, 1e-3 * limits.agreement_ms, speed_max)
        held = (self._state, self.told.rows, allowed)
        self._compare = hold(compare, (*held, 0, 0, 0.0, 0.0, 0.0, 0.0), given=(3, 4, 5, 6, 7, 8))

    def look(self, newest: Device, awaited: int, passed_s: float, by_device_s: float = math.nan) -> None:
        """Compare a new measurement of the device with the joint angles that were sent to it.

        awaited : sequence number of the newest output, to which the next measurement will be the answer
        passed_s : time since the previous measurement, as a number of ticks times their period [s]
        by_device_s : time since the previous measurement by the device's clock [s]; NaN if that clock cannot
          be used
        """
        if not self.limits.watch_sensors:
            return
        angle = newest.angle[0] - self._adds
        found = self._compare(newest.command, awaited, angle, newest.speed[0], passed_s, by_device_s)
        if found < 0:  # nobody knows the angle
            return
        self._found = found
        if found & (SPEED_OFF | GAIN_OFF):
            self._speed = self._of_speed(found)
        self._since_s += passed_s
        if self._since_s > SOLVE_S:
            self._follow(self._since_s)
            self._since_s = 0.0

    def wrong(self, on: bool) -> str:
        """Return a sentence that says what is wrong with the sensors; empty if nothing is.

        on : whether torque is commanded
        """
        limits, why, found = self.limits, self._follows or self._offset, self._found
        if found & ANGLE_OVER or (found & ANGLE_OFF and not on):
            worst_deg = math.degrees(self._state[WORST])
            off = f"{worst_deg:.3g} deg{hint_of_turns(worst_deg)}"
            allowed = (
                f"a difference of up to {limits.agreement_deg:g} deg, and more for at most "
                f"{limits.agreement_ms:g} ms in ten seconds"
            )
            return f"the device's angle is off the joint's by {off}; allowed: {allowed}{why and ': ' + why}"
        return why or (self._speed if found & SPEED_OVER else "")

    def hint(self, newest: Device) -> str:
        """Return a hint if the device's angle agrees with the joint's when it is read as degrees; empty
        otherwise."""
        if len(newest.angle) != 1:  # of a device of other joints something else is wrong
            return ""
        reference, said = self.told.angle(newest.command), newest.angle[0]
        near = abs(math.radians(said) - reference) < self._agreement < abs(said - reference)
        looks = near and self.limits.watch_sensors
        return "; the device seems to send degrees, but radians are expected" if looks else ""

    def _follow(self, passed_s: float) -> None:
        """Fit offset, gain and delay of the measured angle, and store what is wrong with them."""
        fit, most = self._fit, self.limits.agreement_deg
        fit.solve()
        offset = math.degrees(fit.offset)
        self._offset = (
            f"the device's angle is {offset:.3g} deg off the joint's on average over a second; "
            f"allowed: {most:g} deg{hint_of_turns(offset)}"
            if abs(offset) > most
            else ""
        )
        sure = SIGMAS * fit.gain_error < MOST_GAIN_OFF and SIGMAS * fit.delay_error_s < self._late_s
        if sure:
            self._idle_s, self._follows = 0.0, self._as_told(fit)
            return
        self._idle_s = 0.0 if self._found & ANGLE_OFF else self._idle_s + passed_s
        if self._idle_s > LONG_S:
            self._follows = ""

    def _as_told(self, fit: LagFit) -> str:
        """Describe faults of the fitted gain and delay in words; "" if there is none."""
        gain, delay_ms = fit.gain, 1e3 * fit.delay_s
        if gain < FROZEN:
            return "the device's angle does not move while the joint moves"
        if abs(fit.phase) > MIRRORED:
            return "the device's angle is mirrored: it falls where the joint's rises"
        if abs(gain - 1.0) > MOST_GAIN_OFF:
            degrees = IN_DEGREES[0] < gain < IN_DEGREES[1]
            hint = "; the device seems to send degrees, but radians are expected" if degrees else ""
            return f"the device's angle moves {gain:.2g} times as much as the joint's{hint}"
        if abs(delay_ms) > EARLY * self.limits.delay_ms and abs(fit.delay_s) > SIGMAS * fit.delay_error_s:
            way = "behind" if delay_ms > 0.0 else "ahead of"
            return (
                f"the device's angle is {abs(delay_ms):.0f} ms {way} the joint's; allowed: "
                f"{EARLY * self.limits.delay_ms:.3g} ms, because a true delay of "
                f"{self.limits.delay_ms:g} ms can look like that"
            )
        return ""

    def _of_speed(self, found: int) -> str:
        """Return a sentence on a fault of the measured speed; found : flags that state the kind of fault"""
        turned, extra, hh, eh = (float(self._state[k]) for k in (TURNED, EXTRA, HH, EH))
        if found & GAIN_OFF:
            gain = 1.0 + eh / hh
            if abs(gain) < STANDS:
                return "the device's speed stays at zero while its angle turns"
            return f"the device's speed is {gain:.2g} times the rate of change of its angle"
        by_speed, by_angle = math.degrees(turned + extra), math.degrees(turned)
        return (
            f"the device's speed says that it turned by {by_speed:.3g} deg in about half a second, "
            f"its angle by {by_angle:.3g} deg"
        )


def hint_of_turns(off_deg: float) -> str:
    """Return a hint if the measured angle differs from the joint's by a whole number of full turns; empty
    otherwise.

    off_deg : difference of the angles [deg]
    """
    turns = round(off_deg / 360.0)
    return f", {turns:+d} turns" if turns and abs(off_deg - 360.0 * turns) < 5.0 else ""
