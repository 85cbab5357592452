"""How much time may go to strangers: a share of other time, not a number of messages."""

from __future__ import annotations

MOST_NS = 50_000_000.0
"""What may be spent at once [ns]: a start, or a change of session, is not put off, on slow machines too."""


class Allowance:
    """Time that is earned as a share of other time, and spent by what has cost it.

    What something costs is known when it is done. So it may be begun while there is anything left, and what
    it took beyond that has to be earned before the next.

    Parameters
    ----------
    share : of the time that is told to `earn`

    Attributes
    ----------
    left_ns : what may be spent now [ns]; below zero after something that cost more
    spent_ns : all that was spent so far [ns]
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self.left_ns = MOST_NS
        self.spent_ns = 0

    def earn(self, passed_ns: int) -> None:
        """Add the share of other time that has passed [ns]."""
        self.left_ns = min(MOST_NS, self.left_ns + self._share * passed_ns)

    def spend(self, cost_ns: int) -> None:
        """Take off the time that was spent [ns]."""
        self.left_ns -= cost_ns
        self.spent_ns += cost_ns

    def affords(self, cost_ns: float = 0.0) -> bool:
        """Whether there is enough left to begin something that is likely to cost this much [ns]."""
        return self.left_ns > cost_ns
