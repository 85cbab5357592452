"""The clock of all time stamps, and pacing by absolute deadlines."""

from __future__ import annotations

import time

SPIN_NS = 200_000
"""Time before a deadline at which spinning replaces sleeping; about the overshoot of a sleep [ns]."""
STALL_NS = 100_000_000
"""Delay from which a pacer postpones its deadlines, rather than send a burst to catch up [ns]."""

now_ns = time.perf_counter_ns
"""CLOCK_MONOTONIC on Linux, mach_absolute_time on macOS, QueryPerformanceCounter on Windows [ns]: the same
for all processes of a machine. Python's monotonic clock ticks at 15.6 ms on Windows before Python 3.13.
"""


def is_over(since_ns: int, span_ns: int, at_ns: int) -> bool:
    """Return whether a time span that began at `since_ns` is over at the time `at_ns` [ns]. It also counts as
    over if the clock was set back to before its beginning, as the span would otherwise last longer.
    """
    return not 0 <= at_ns - since_ns < span_ns


def sleep_until_ns(due_ns: int) -> None:
    """Return at the time `due_ns` on the clock of now_ns: sleep until shortly before, then poll the clock."""
    while (left_ns := due_ns - now_ns()) > SPIN_NS:
        time.sleep((left_ns - SPIN_NS) * 1e-9)
    while now_ns() < due_ns:
        pass


class Pacer:
    """Deadlines that do not drift, at a steady rate [Hz] or at given offsets from the start.

    After a delay of more than 0.1 s all later deadlines are postponed by the delay, so that they keep their
    spacing.
    """

    def __init__(self, rate: float = 1.0) -> None:
        if not 0.0 < rate < float("inf"):
            raise ValueError(f"the rate is {rate}; give a positive number of Hz")
        self.rate = rate
        self.start_ns = now_ns()
        self.n_resync = 0
        self._n_tick = 0

    def deadline_ns(self, offset_ns: int) -> int:
        """Return the deadline `offset_ns` after the start. If it passed more than 0.1 s ago, the start is
        first moved by the delay, so that the deadline is now.
        """
        due_ns = self.start_ns + offset_ns
        late_ns = now_ns() - due_ns
        if late_ns > STALL_NS:
            self.start_ns += late_ns
            self.n_resync += 1
            return due_ns + late_ns
        return due_ns

    def wait(self) -> int:
        """Wait for the next tick; return how late it came [ns]. The first tick is at the start."""
        due_ns = self.deadline_ns(round(self._n_tick * 1e9 / self.rate))
        self._n_tick += 1
        sleep_until_ns(due_ns)
        return now_ns() - due_ns
