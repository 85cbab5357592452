"""Limits of the commanded torque; plausibility of a device's messages, and how long they may be
implausible.
"""

from __future__ import annotations

import math

from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.config.runs.hil_schema import DeviceLimits, HilSpec
from rtsim.errors import ConfigError
from streams.messages import Device

HEALS = 0.25
"""Factor by which time with a right measurement is subtracted from time with a wrong one: a measurement that
is wrong for more than a fifth of the time is found."""
ROUNDED_S = 1e-9
"""Tolerance for the rounding of summed times [s]."""


def within(torque: float, most: float) -> float:
    """Limit a torque to the range from -most to `most` [N m]; return zero if the torque is not a finite
    number, or `most` is negative.
    """
    if not (math.isfinite(torque) and most >= 0.0):
        return 0.0
    return min(max(torque, -most), most)


class TorqueLimit:
    """Limits the commanded torque in size, in rate of change, and in power, which is torque times joint
    speed.

    Attributes
    ----------
    torque : torque that was commanded last [N m]
    """

    def __init__(self, limits: DeviceLimits) -> None:
        self.limits = limits
        self.torque = 0.0

    def limited(self, wanted: float, speed: float, tick_s: float) -> float:
        """Return the torque to command [N m] for the controller's torque [N m] at a joint speed [rad/s]. If
        one of them is not a finite number, the controller's torque counts as zero.

        tick_s : time since the previous command [s], which bounds the change of torque

        The power limit is applied last. So it always holds, even if the torque must then change faster than
        the rate limit permits.
        """
        if not math.isfinite(wanted) or not math.isfinite(speed):
            wanted = speed = 0.0
        change = self.limits.rate_max_Nm_s * tick_s
        torque = within(wanted, self.limits.torque_max_Nm)
        torque = min(max(torque, self.torque - change), self.torque + change)
        if abs(torque * speed) > self.limits.power_max_W:
            torque = math.copysign(self.limits.power_max_W / abs(speed), torque)
        self.torque = torque
        return torque


class EnergyWatch:
    """Net work E of the device on the limb, in which earlier work is forgotten with a time constant of one
    second: E' = tau w - E / (1 s), with the torque tau and the speed w of the joint.

    E of a passive device, which only returns the energy that it took, stays near zero; E of a device that
    drives the limb does not.
    """

    def __init__(self) -> None:
        self.energy = 0.0
        self.largest = 0.0

    def add(self, torque: float, turned: float, tick_s: float) -> float:
        """Update E by a tick and return it [J]; E > 0 if the device has driven the limb.

        torque, turned : the joint's torque [N m], and the angle through which it turned in the tick [rad];
            their product is added
        tick_s : length of the tick [s], in which earlier work decays by exp(-tick_s / 1 s)
        """
        self.energy = math.exp(-tick_s) * self.energy + torque * turned
        self.largest = max(self.largest, self.energy)
        return self.energy


class TimeOff:
    """Sums the time for which a measurement is wrong, so that errors that come and go are detected, too.
    While the measurement is right, the sum decreases.

    most_s : largest permitted sum [s]

    Attributes
    ----------
    off_s : sum of the time [s]; it is limited to little more than most_s, so that a measurement that is right
      again is soon trusted
    """

    def __init__(self, most_s: float) -> None:
        self.most_s, self.off_s = most_s, 0.0

    @property
    def over(self) -> bool:
        """Whether the measurement has been wrong for too long."""
        return self.off_s > self.most_s + ROUNDED_S

    def add(self, off: bool, passed_s: float) -> bool:
        """Increase the sum by a time [s] in which the measurement was wrong (`off`), or decrease it for a
        time in which it was right; return whether it exceeds the limit."""
        if off:
            self.off_s = min(self.off_s + passed_s, self.most_s + max(passed_s, 2.0 * ROUNDED_S))
        else:
            self.off_s = max(0.0, self.off_s - HEALS * passed_s)
        return self.over

    def forget(self) -> None:
        """Reset the sum of the time with wrong measurements to zero."""
        self.off_s = 0.0


def unbelievable(message: Device, limits: DeviceLimits) -> str:
    """Return a sentence that says what is implausible in a message of the device; empty if nothing is."""
    if len(message.angle) != 1:
        return f"the device reports {len(message.angle)} joints, but the model expects 1"
    low, high = limits.angle_deg
    angle = math.degrees(message.angle[0])
    speed = abs(math.degrees(message.speed[0]))
    if not low <= angle <= high:
        return f"the device measures an angle of {angle:.4g} deg, outside {low:g} to {high:g} deg"
    if not speed <= limits.speed_max_deg_s:
        return f"the device measures {speed:.4g} deg/s, more than {limits.speed_max_deg_s:g}"
    largest = max(map(abs, (*message.torque, *message.actuator)))
    if not largest <= limits.measured_max_Nm:
        return f"the device measures {largest:.4g} N m, more than {limits.measured_max_Nm:g}"
    return ""


def of_itself(newest: Device) -> str:
    """Return a sentence if a device has ended or is ending its torque by its own decision, with the reason
    that it states; "" otherwise."""
    done = "is ending its torque by itself" if newest.state == "falling" else "has stopped by itself"
    return f"the device {done} ({newest.fault or 'it does not say why'})"


def too_weak(message: Device, limits: DeviceLimits) -> str:
    """Return a sentence if the largest torque that the device states is less than the torque limit of the
    config, so that it could not apply what is commanded; else, or if it states none, return empty text.
    """
    most = message.torque_max[0] if message.torque_max else math.inf
    if most >= limits.torque_max_Nm:
        return ""
    return (
        f"the device can apply {most:g} N m at most, but limits.torque_max_Nm is {limits.torque_max_Nm:g}; "
        f"lower this limit to {most:g} or less"
    )


def check_fit(spec: HilSpec, device: DeviceSpec) -> None:
    """Raise ConfigError for a torque limit beyond what the device's actuator applies, and for torques that
    are valid for less than a time step.
    """
    limit, most = spec.limits.torque_max_Nm, device.actuator.torque_max_Nm
    if limit > most:
        raise ConfigError(
            f"{limit:g} N m is more than the actuator of {device.name} can apply, {most:g} N m",
            where=f"{spec.name}: limits.torque_max_Nm", allowed=f"at most {most:g}",
            remedy="lower the limit, or name a stronger device",
        )  # fmt: skip
    tick_ms = 1e3 / spec.exchange.rate_hz
    if spec.exchange.valid_for_ms < tick_ms:
        raise ConfigError(
            f"a torque that is valid for {spec.exchange.valid_for_ms:g} ms ends before the next command",
            where=f"{spec.name}: exchange.valid_for_ms",
            allowed=f"a time of {tick_ms:g} ms (one time step) or more",
        )
