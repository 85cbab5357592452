"""A budget of computing time for the work that unknown clients cause: it limits the time, not the number of
messages.
"""

from __future__ import annotations

MOST_NS = 50_000_000.0
"""Largest budget, and the budget at the start [ns]: enough for a start or a change of session without delay,
also on slow machines."""


class Allowance:
    """A budget of computing time: it grows in proportion to time that passes, and is reduced by the time of
    the work charged to it.

    The cost of work is known only when the work is done. So work may begin while any budget is left. If it
    costs more than the budget, the excess must be earned before the next work begins.

    share : increase of the budget per time passed to `earn`, such as 0.05
    left_ns : remaining budget [ns]; negative after expensive work
    spent_ns : total time charged so far [ns]
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self.left_ns = MOST_NS
        self.spent_ns = 0

    def earn(self, passed_ns: int) -> None:
        """Increase the budget by `share` times passed_ns; it never exceeds 50 ms, so that unused time is not
        saved up.

        passed_ns : time [ns] since the last call, or only that part of it in which the caller had nothing
            else to do
        """
        self.left_ns = min(MOST_NS, self.left_ns + self._share * passed_ns)

    def spend(self, cost_ns: int) -> None:
        """Charge time to the budget [ns]."""
        self.left_ns -= cost_ns
        self.spent_ns += cost_ns

    def affords(self, cost_ns: float = 0.0) -> bool:
        """Return whether the remaining budget allows work that is likely to cost this time [ns]."""
        return self.left_ns > cost_ns
