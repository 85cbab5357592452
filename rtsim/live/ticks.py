"""Deadlines on a fixed grid of the clock; a missed deadline is counted, and its tick is skipped."""

from __future__ import annotations

from streams import clock


class Ticks:
    """The ticks of a paced run at a steady rate [Hz]; the first one is one period after the start.

    Attributes
    ----------
    n_due : number of deadlines so far, including the one waited for
    n_missed : number of deadlines that passed during an earlier tick or a stall of the machine
    """

    def __init__(self, rate: float) -> None:
        if not 0.0 < rate < float("inf"):
            raise ValueError(f"the rate is {rate}; give a positive number of Hz")
        self.rate = rate
        self.n_due = self.n_missed = 0
        self._start_ns = clock.now_ns()

    def wait(self) -> int:
        """Sleep until the next deadline that has not passed; return its time [ns]."""
        self.n_due += 1
        late_ns = clock.now_ns() - self._due_ns()
        if late_ns > 0:
            n_missed = int(late_ns * self.rate * 1e-9) + 1
            self.n_due += n_missed
            self.n_missed += n_missed
        due_ns = self._due_ns()
        clock.sleep_until_ns(due_ns)
        return due_ns

    def _due_ns(self) -> int:
        return self._start_ns + round(self.n_due * 1e9 / self.rate)
