"""The device's own guard: how old a command is, whether torque may act, and what follows where it may not.

No clock and no socket here: times are handed in [ns], so that every course of events can be tested.
"""

from __future__ import annotations

import math

from rtsim.config.device_schema import SafeState
from streams.messages import DeviceState, Output

WINDOW_NS = 10_000_000_000
"""The least delay of a command is that of the last one or two windows, as two clocks drift apart [ns]."""
NOTHING = 1e-9
"""A torque that is none [N m]."""


class Delays:
    """How much older a command is than the swiftest of late, whatever the sender's clock shows."""

    def __init__(self) -> None:
        self._least: tuple[float, float] = (math.inf, math.inf)  # of this window, of the one before
        self._began_ns = 0

    def note(self, t_sent: int, t_arrived: int) -> None:
        """A command that was sent and came [ns], each on its own clock."""
        if t_arrived - self._began_ns > WINDOW_NS:
            self._least, self._began_ns = (math.inf, self._least[0]), t_arrived
        self._least = (min(self._least[0], t_arrived - t_sent), self._least[1])

    def age_ms(self, t_sent: int, t_ns: int) -> float:
        """Of a command at a time of this side's clock [ns]."""
        return 1e-6 * (t_ns - t_sent - min(self._least))


class Watchdog:
    """Whether torque may act. What fell stays so until a command disarmed it and another one arms.

    Parameters
    ----------
    safe : what to do where torque may not act any more; period_s : of the device's clock [s]

    Attributes
    ----------
    state : disarmed, armed, falling or stopped; fault : why it fell, empty where it did not
    output : the newest command, None before there is one
    """

    def __init__(self, safe: SafeState, period_s: float) -> None:
        self.safe, self.period_s = safe, period_s
        self.state: DeviceState = "disarmed"
        self.fault = ""
        self.output: Output | None = None
        self._delays = Delays()
        self._may_arm = False
        self._n_tick = 0  # since it fell
        self._from = (0.0, 0.0)  # torque and angle where it fell

    def age_ms(self, t_ns: int) -> float:
        """Of the newest command; infinite before there is one."""
        return math.inf if self.output is None else self._delays.age_ms(self.output.t_sent, t_ns)

    def look(self, t_ns: int, torque: float, angle: float) -> None:
        """Fall where the command is too old by now; called before new ones are looked at, so that a device
        that was stopped finds its last command expired.

        torque : that acts [N m]; angle : of the joint [rad]
        """
        output = self.output
        if self.state == "armed" and output is not None and self.age_ms(t_ns) > output.valid_for_ms:
            self.fall(f"the command is older than {output.valid_for_ms:g} ms", torque, angle)

    def take(self, output: Output, t_arrived: int, torque: float, angle: float) -> bool:
        """The newest command, when it came [ns], and torque and angle then; whether its session is new."""
        new = self.output is None or output.session != self.output.session
        if new:
            self._delays, self._may_arm = Delays(), False
            if self.state == "armed":
                self.fall("another session began", torque, angle)
        self._delays.note(output.t_sent, t_arrived)
        self.output = output
        if self.age_ms(t_arrived) > output.valid_for_ms:
            return new  # it waited somewhere
        if not output.armed:
            self._may_arm = True
            if self.state == "stopped":
                self.state, self.fault = "disarmed", ""
            elif self.state == "armed":
                self.state = "disarmed"
        elif self._may_arm and self.state == "disarmed":
            self.state, self._may_arm = "armed", False
        return new

    def fall(self, why: str, torque: float, angle: float) -> None:
        """Begin the safe state from a torque [N m] at an angle [rad]; what fell goes on falling."""
        if self.state in ("falling", "stopped"):
            return
        self.state, self.fault, self._may_arm = "falling", why, False
        self._n_tick, self._from = 0, (torque, angle)

    def falling_torque(self, angle: float, speed: float) -> float:
        """Torque of the safe state in the next tick [N m]; each call is a tick of the device's clock.

        ramp: tau0 (1 - t / t_ramp). damp, hold: -c w and -k (theta - theta0) - c w, from `lasts_ms` on faded
        out by the same ramp. last: tau0 for some ticks.
        """
        self._n_tick += 1
        safe, (torque, held) = self.safe, self._from
        passed_ms = 1e3 * self._n_tick * self.period_s
        if safe.kind == "last":
            share = float(self._n_tick <= safe.ticks)
        else:
            lasts_ms = 0.0 if safe.kind == "ramp" else safe.lasts_ms
            share = min(1.0, max(0.0, 1.0 - (passed_ms - lasts_ms) / safe.ramp_ms))
        if safe.kind in ("damp", "hold"):
            torque = -safe.damping_N_m_s_rad * speed
            torque -= safe.stiffness_N_m_rad * (angle - held) if safe.kind == "hold" else 0.0
        if share == 0.0:
            self.state = "stopped"
        return share * torque
