"""The watchdog of a device: it checks the age of commands, decides whether torque may act, and enters a safe
state if not.

It reads no clock and no socket: times are arguments [ns], so that every sequence of events can be tested.
"""

from __future__ import annotations

import math

from rtsim.config.runs.device_schema import SafeState
from streams.messages import DeviceState, Output

WINDOW_NS = 10_000_000_000
"""The smallest transit time is that of the last one or two windows of this length, as two clocks drift apart
[ns]."""
HALF = 0.5
"""Tolerance of summed ticks [ticks]."""
NOTHING = 1e-9
"""Torque [N m], and fraction of a torque [1], below which it counts as zero."""


class Delays:
    """Computes the ages of the commands that a device has received.

    one_clock : whether sender and device stamp times on the same clock; otherwise the offset of the two
        clocks is unknown, and the age of a command is measured from the fastest transit of the last seconds
    """

    def __init__(self, one_clock: bool = False) -> None:
        first = 0.0 if one_clock else math.inf
        self._one_clock = one_clock
        self._least: tuple[float, float] = (first, first)  # of this window, of the one before
        self._began_ns = 0

    def note(self, t_sent: int, t_arrived: int) -> None:
        """Record when a command was sent and when it arrived [ns], each on the clock of its side."""
        if self._one_clock:
            return
        if t_arrived - self._began_ns > WINDOW_NS:
            self._least, self._began_ns = (math.inf, self._least[0]), t_arrived
        self._least = (min(self._least[0], t_arrived - t_sent), self._least[1])

    def age_ms(self, t_sent: int, t_ns: int) -> float:
        """Return the age that a command has at time t_ns [ns] of this side's clock, if it was sent at time
        t_sent [ns] of the sender's clock [ms].
        """
        return 1e-6 * (t_ns - t_sent - min(self._least))


class Passed:
    """Duration of ticks, by their nominal length and by the clock.

    A tick counts with its nominal length as long as the time on the clock exceeds the sum of the ticks by no
    more than an allowance. Otherwise it counts with the time that has passed on the clock. So a model that
    requests ticks gets ticks of the same length, however long it computes. But if the process was suspended,
    or the model requests ticks slowly, the counted time lags behind the clock by no more than the allowance.
    A clock that stands still or goes back is ignored.
    """

    def __init__(self) -> None:
        self._t_ns = 0
        self._behind_s = 0.0

    def count(self, period_s: float, t_ns: int, allowed_s: float) -> float:
        """Return the duration that counts for a tick [s], never less than its nominal length; period_s : that
        length [s]; t_ns : time on the clock [ns]; allowed_s : allowance [s]."""
        since_s = 1e-9 * (t_ns - self._t_ns) if self._t_ns else period_s
        self._t_ns = t_ns
        self._behind_s = max(-period_s, self._behind_s + since_s - period_s)  # ticks are not quite even
        if self._behind_s <= max(0.0, allowed_s):
            return period_s
        passed_s, self._behind_s = period_s + self._behind_s, 0.0
        return passed_s


class Watchdog:
    """Decides whether a device may apply torque.

    After the safe state torque may act again only when one command has disarmed the device and a later one
    arms it.

    Parameters
    ----------
    safe : description of the safe state, in which torque is ended when it may no longer act
    period_s : period of the device's clock [s]
    one_clock : the model's time stamps are of the same clock, as on one machine

    Attributes
    ----------
    state : disarmed; armed; falling: the safe state ends the torque; or stopped: the safe state has ended it
    fault : why the safe state was entered; empty if it was not
    output : the newest command; None before there is one
    most : largest torque of the safe state, as limited by the command at its beginning [N m]
    """

    def __init__(self, safe: SafeState, period_s: float, one_clock: bool = True) -> None:
        self.safe, self.period_s = safe, period_s
        self.state: DeviceState = "disarmed"
        self.fault = ""
        self.output: Output | None = None
        self._one_clock = one_clock
        self._delays = Delays(one_clock)
        self._may_arm = False
        self._from = (0.0, 0.0)  # torque and angle where it fell
        self._passed = Passed()
        self._late_s = 0.0  # that it fell too late: how long its command was too old by then
        self._fallen_s = 0.0  # since it fell
        self._valid_s = 0.0  # of the command by which it fell
        self.most = math.inf

    def age_ms(self, t_ns: int) -> float:
        """Return the age of the newest command [ms]; infinite before the first, negative where the clock was
        set back.
        """
        return math.inf if self.output is None else self._delays.age_ms(self.output.t_sent, t_ns)

    def look(self, t_ns: int, torque: float, angle: float) -> None:
        """Enter the safe state if the device is armed and its newest command is too old at the time t_ns
        [ns], or the clock was set back.

        It is called before waiting commands are read. So a device whose process was suspended enters the safe
        state although newer commands have arrived in the meantime. The safe state is timed from when the
        command became too old.

        torque : present torque [N m]
        angle : joint angle [rad]
        """
        output = self.output
        if self.state != "armed" or output is None:
            return
        age_ms = self.age_ms(t_ns)
        if age_ms > output.valid_for_ms:
            late_s = 1e-3 * (age_ms - output.valid_for_ms)
            self.fall(f"the command is older than {output.valid_for_ms:g} ms", torque, angle, late_s)
        elif age_ms < 0.0:
            self.fall("the clock went back", torque, angle)

    def take(self, output: Output, t_arrived: int, torque: float, angle: float) -> bool:
        """Take over the newest command, and change the state if it arms or disarms the device, comes too
        late, or begins a new session of commands.

        Returns whether its session is new.

        t_arrived : its arrival [ns]
        torque, angle : torque [N m] and joint angle [rad] at that time
        """
        new = self.output is None or output.session != self.output.session
        if new:
            self._delays, self._may_arm = Delays(self._one_clock), False
            if self.state == "armed":
                self.fall("another session began", torque, angle)
        self._delays.note(output.t_sent, t_arrived)
        self.output = output
        if self.age_ms(t_arrived) > output.valid_for_ms:  # it waited somewhere
            if self.state == "armed":
                self.fall(f"the command is older than {output.valid_for_ms:g} ms", torque, angle)
            return new
        if not output.armed:
            self._may_arm = True
            if self.state == "stopped":
                self.state, self.fault = "disarmed", ""
            elif self.state == "armed":
                self.state = "disarmed"
        elif self._may_arm and self.state == "disarmed":
            self.state, self._may_arm = "armed", False
        return new

    def fall(self, why: str, torque: float, angle: float, late_s: float = 0.0) -> None:
        """Begin the safe state at a torque [N m] and an angle [rad]; do nothing if it has already begun or
        ended the torque.

        why : reason, as text
        late_s : time since the safe state should have begun [s]
        """
        if self.state in ("falling", "stopped"):
            return
        self.state, self.fault, self._may_arm = "falling", why, False
        self._fallen_s, self._late_s, self._from = 0.0, late_s, (torque, angle)
        if self.output is not None:
            self._valid_s, self.most = 1e-3 * self.output.valid_for_ms, self.output.torque_max[0]

    def tick(self, period_s: float, t_ns: int | None, asked: bool) -> float:
        """Begin a tick; return the duration that counts for it [s], by which commands age and the safe state
        advances.

        period_s : nominal length of the tick [s]
        t_ns : time of the device's clock [ns]; None if time is measured by ticks only, as with model and
            device in one process
        asked : whether the model requests the tick; time on the clock may then exceed the sum of the ticks by
            the validity of the newest command (in the safe state, of the command at its beginning) before the
            tick counts as longer than its nominal length
        """
        falls, passed_s, valid_s = self.state == "falling", period_s, 0.0
        if asked and self.output is not None:
            valid_s = self._valid_s if falls else 1e-3 * self.output.valid_for_ms
        if t_ns is not None:
            passed_s = self._passed.count(period_s, t_ns, valid_s)
        if falls and self._fallen_s == 0.0:  # what passed before it fell does not count for the safe state
            passed_s = max(period_s, self._late_s)
        self._fallen_s += passed_s if falls else 0.0
        return passed_s

    def falling_torque(self, angle: float, speed: float) -> float:
        """Return the torque of the device's safe state at the end of the tick [N m].

        It depends on the kind of the safe state. tau0 and theta0 are the torque and the angle at its
        beginning, t is the time since then, theta and w are the joint's angle and speed. The duration t_ramp
        of the ramp, `lasts_ms`, damping c and stiffness k are settings of the safe state:

        ramp : tau0 (1 - t/t_ramp)
        damp : -c w, after `lasts_ms` faded out by the same ramp
        hold : -k (theta - theta0) - c w, faded out in the same way
        last : tau0 for as many ticks as the setting `ticks` states, then 0
        """
        safe, (torque, held) = self.safe, self._from
        passed_ms = 1e3 * self._fallen_s
        if safe.kind == "last":
            share = float(self._fallen_s < (safe.ticks + HALF) * self.period_s)
        else:
            lasts_ms = 0.0 if safe.kind == "ramp" else safe.lasts_ms
            share = min(1.0, max(0.0, 1.0 - (passed_ms - lasts_ms) / safe.ramp_ms))
        if safe.kind in ("damp", "hold"):
            torque = -safe.damping_N_m_s_rad * speed
            torque -= safe.stiffness_N_m_rad * (angle - held) if safe.kind == "hold" else 0.0
        if share < NOTHING:
            self.state, share = "stopped", 0.0
        return share * torque
