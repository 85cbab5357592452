"""Comparison of the device's clock with this computer's clock.

A message that was measured at time t of the device's clock arrives at time T of this computer's clock. T - t
is the offset of the two clocks plus the transit time, which has a lower bound. The smallest T - t of a second
minus that of the second before is the time that the device's clock has lost meanwhile, however long single
messages waited. A relative loss of more than `clock_percent` is a fault. A second fault: T - t exceeds its
smallest value of the last two seconds by more than `delay_ms` for `agreement_ms`. Then the measurements are
too old by the device's own clock. (Names in backticks are limits in the config of the device exchange.)

If the device's clock runs faster than this computer's clock, T - t falls below its smallest value so far. The
time between two measurements is at once shortened by this difference, less 0.2 ms. So a fast clock cannot
make a jump of the angle look slow. A clock that goes forwards and backwards cannot do so either: the time of
a step counts from the latest time that the clock has shown. It is a fault if the clock is behind this latest
time for `agreement_ms` in total.
"""

from __future__ import annotations

import math

from rtsim.config.runs.hil_schema import DeviceLimits
from rtsim.device.limits import TimeOff

WINDOW_NS = 1_000_000_000
"""Length of the time windows over which the clocks are compared [ns]."""
LEAST_MESSAGES = 8
"""Least number of messages in a window for a comparison."""
JITTER_MS = 0.2
"""Time by which a message may arrive earlier than expected from all before it [ms]."""
BEHIND_NS = 1_000_000
"""Time behind the latest time stamp from which on the device's clock counts as behind [ns]."""


class DeviceClockCheck:
    """Check of the time stamps of the device's messages; each comes with its arrival time, and no clock is
    read here.

    Attributes
    ----------
    wrong : a sentence on what is wrong with the device's clock or with the age of its measurements; empty if
        nothing is
    """

    def __init__(self, limits: DeviceLimits) -> None:
        self.limits = limits
        self._share, self._old_ns = 1e-2 * limits.clock_percent, 1e6 * limits.delay_ms
        self._behind, self._aged = TimeOff(1e-3 * limits.agreement_ms), TimeOff(1e-3 * limits.agreement_ms)
        self._is_behind = self._is_old = False  # by the message before
        self._followed = -math.inf  # T - t [ns] where a clock was followed back
        self._least = self._before = math.inf  # of T - t in this window, and the one before [ns]
        self._began = self._began_before = self._n = 0
        self._newest = self._furthest = self._arrived = 0
        self._rate = self._old = self._back = ""

    @property
    def wrong(self) -> str:
        return self._rate or self._old or self._back

    def note(self, t_device: int, t_arrived: int) -> float:
        """Check a message by its time on the device's clock and its arrival on this computer's [ns].

        Returns by how much the time since the previous message is longer on the device's clock than it can
        have been [s].
        """
        way = t_arrived - t_device
        if self._n and t_arrived - self._began >= WINDOW_NS:
            self._end_window(t_arrived)
        if self._n == 0:
            self._began = t_arrived
        least = min(self._least, self._before)
        self._n, self._least = self._n + 1, min(self._least, way)
        if least == math.inf:
            self._newest = self._furthest = t_device
            self._arrived = t_arrived
            return 0.0
        passed_s, self._arrived = 1e-9 * (t_arrived - self._arrived), t_arrived
        to_and_fro = self._furthest - self._newest
        ahead = max(least, self._followed) - way
        self._followed = min(self._followed, way)
        if t_device != self._newest:  # a clock that stands is told as one
            self._go_back(t_device, way, passed_s)
            self._age(way - least, t_device > self._newest, passed_s)
        self._newest = t_device
        return 1e-9 * (max(0.0, ahead - 1e6 * JITTER_MS) + to_and_fro)

    def _go_back(self, t_device: int, way: int, passed_s: float) -> None:
        """Check whether the device's clock has gone back. After a step back of more than a second, the new
        time becomes the reference.

        t_device : time stamp of the message on the device's clock [ns]
        way : arrival time minus t_device [ns]
        passed_s : time since the previous message by this computer's clock [s]
        """
        behind_ns = self._furthest - t_device
        over = self._behind.add(self._is_behind, passed_s)
        self._is_behind = behind_ns > BEHIND_NS
        if behind_ns > WINDOW_NS:
            self._followed = way
        if behind_ns <= 0 or behind_ns > WINDOW_NS:
            self._furthest = t_device
        self._back = (
            f"the device's clock goes back: it is {1e-6 * behind_ns:.0f} ms behind its latest time stamp"
            if over and self._is_behind
            else ""
        )

    def _end_window(self, t_arrived: int) -> None:
        passed = self._began - self._began_before
        if self._n < LEAST_MESSAGES:
            self._rate = ""
        elif self._before < math.inf:
            lost = self._least - self._before
            self._rate = (
                f"the device's clock advanced by {1e-9 * (passed - lost):.3g} s in "
                f"{1e-9 * passed:.3g} s of this computer's clock; allowed: "
                f"{self.limits.clock_percent:g} % more or less"
                if abs(lost) > self._share * passed
                else ""
            )
        told = self._n >= LEAST_MESSAGES
        self._before = self._least if told else math.inf
        self._began_before = self._began
        self._n, self._least = 0, math.inf

    def _age(self, age_ns: float, goes_on: bool, passed_s: float) -> None:
        """Check the age of the measurements.

        age_ns : by how much the transit time of the newest message exceeds the smallest one [ns]
        goes_on : whether the clock has advanced since the previous message, as the age is meaningless after a
            step back
        passed_s : time since the previous message by this computer's clock [s]
        """
        over = self._aged.add(self._is_old, passed_s)
        self._is_old = goes_on and age_ns > self._old_ns
        if not self._is_old:
            self._old = self._old if over and not goes_on else ""
        elif over:
            self._old = (
                f"what the device measures is {1e-6 * age_ns:.0f} ms old by its own clock; "
                f"allowed: {self.limits.delay_ms:g} ms"
            )
