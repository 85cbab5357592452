"""Check whether the total torque that a device reports is the sum of its actuator's and its passive
mechanics'.

With the mechanics of its config, at the measured angle m and speed w, the device must satisfy

    |tau - a + k (m - m0) + c w| <= F + T

where tau is the total torque, a the torque of the actuator, k and c stiffness and damping, m0 the neutral
angle, F the friction, which may act in either direction, and T = `tracking_Nm`. A violation that lasts longer
than `tracking_ms` is a fault. If the device does not report a, the commanded torque is used for it. If the
config contains `passive_max_Nm`, the mechanics are unknown, and the condition is |tau - a| <= passive_max_Nm.
"""

from __future__ import annotations

import math

from rtsim.config.runs.device_schema import Mechanics
from rtsim.config.runs.hil_schema import DeviceLimits
from rtsim.device.limits import TimeOff
from streams.messages import Device


class PassiveTorque:
    """Comparison of a device's total torque with the sum of its parts.

    Attributes
    ----------
    watched : whether there is a condition to check
    """

    def __init__(self, limits: DeviceLimits, mechanics: Mechanics | None) -> None:
        self.limits, self._mechanics = limits, mechanics
        self.watched = mechanics is not None or limits.passive_max_Nm is not None
        self._off = TimeOff(1e-3 * limits.tracking_ms)

    def wrong(self, newest: Device, commanded: float, passed_s: float) -> str:
        """Return a sentence that says what contradicts the reported torque; empty if nothing does. Call it
        once per tick.

        commanded : torque of the command before the newest one [N m], as the device follows commands with a
            delay of one tick
        passed_s : length of the tick [s]
        """
        if not self.watched:
            return ""
        applied = newest.actuator[0] if newest.actuator else commanded
        beyond = self._beyond(newest, newest.torque[0] - applied)
        over = self._off.add(beyond > 0.0, passed_s)
        if not over or beyond <= 0.0:
            return ""
        of = "its actuator's" if newest.actuator else "the commanded"
        return (
            f"the device reports a torque of {newest.torque[0]:.3g} N m, {beyond:.3g} N m more than {of} "
            f"{applied:.3g} N m and its declared mechanics explain, for over {self.limits.tracking_ms:g} ms"
        )

    def _beyond(self, newest: Device, passive: float) -> float:
        """Return by how much a reported passive torque exceeds what the device's springs, dampers and
        friction allow [N m]; negative if it is within the limits.

        passive : reported total torque minus the actuator's torque [N m]
        """
        m, most = self._mechanics, self.limits.passive_max_Nm
        if most is not None:
            return abs(passive) - most
        assert m is not None
        stretch = newest.angle[0] - math.radians(m.neutral_deg)
        own = -m.stiffness_N_m_rad * stretch - m.damping_N_m_s_rad * newest.speed[0]
        return abs(passive - own) - m.friction_Nm - self.limits.tracking_Nm
