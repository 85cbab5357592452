"""Choice of the sessions whose frames a loop computes: the leading one, and others if there is time.

Switching to another session and back takes the loop as much time as computing many frames. Anybody may begin
sessions on an open stream. The leading session is the one whose frames have come for the longest time without
a pause (streams/receiving/known.py). The time for all others is limited to a part of the time in which the
loop would otherwise wait.
"""

from __future__ import annotations

from collections.abc import Callable

from streams.access.allowance import Allowance
from streams.messages import Session
from streams.receiving.ring import ReceivedFrame

SHARE = 0.25
"""Share of the loop's waiting time that goes to sessions other than the one that leads."""

LONGEST_TURN_NS = 10_000_000_000
"""Time that a turn can cost [ns]: more is a clock that leapt, as where the machine slept, and would have
others wait for hours.
"""


class Turns:
    """Decides which sessions the loop computes, and limits the time that all but the leading session take.

    Parameters
    ----------
    allowance : budget of that time, which may be shared
    clock : function that returns the present time [ns]
    """

    def __init__(self, allowance: Allowance, clock: Callable[[], int]) -> None:
        self.allowance = allowance
        self._clock = clock
        self._at: Session | None = None  # the session at hand
        self._host: Session | None = None  # the one that led when it was let in
        self._since_ns = 0  # when a turn began that is to be paid for; 0 = none
        self._told_ns, self._told_at_ns = 0, clock()

    def begin_waiting(self) -> int:
        """Note that the loop has finished its work and waits from now on; return the time [ns]."""
        now = self._clock()
        if self._since_ns:
            self.allowance.spend(min(max(0, now - self._since_ns), LONGEST_TURN_NS))
            self._since_ns = 0
        return now

    def waited(self, since_ns: int, until_ns: int) -> None:
        """Credit the budget of the other sessions with a time in which the loop had nothing to do."""
        self.allowance.earn(max(0, until_ns - since_ns))

    def grants(self, frame: ReceivedFrame) -> bool:
        """Return whether the loop may switch to the session of a frame; if so, the time of the switch is
        charged to that session.

        Sessions are compared by their descriptors and not by their ids, because a sender may use an id again
        for another content.
        """
        session, leads = frame.session, frame.leads
        if leads and session is self._at:
            self._host = session
            return True
        if not (leads and same(session, self._host)) and not self.allowance.affords():
            return False
        if not leads or (self._at is not None and not same(session, self._at)):
            self.pay()
        self._at = session
        if leads:
            self._host = session
        return True

    def pay(self) -> None:
        """Charge the loop's time from now on to the sessions other than the leading one: the next frame
        belongs to one of them, or the loop switches back from one.
        """
        self._since_ns = self._since_ns or self._clock()

    def percent(self, others_ns: int) -> float:
        """Return the fraction of the time since the last call that other sessions took [%].

        others_ns : further time that they took since the start [ns]
        """
        now, spent = self._clock(), self.allowance.spent_ns + others_ns
        percent = 100.0 * (spent - self._told_ns) / max(1, now - self._told_at_ns)
        self._told_ns, self._told_at_ns = spent, now
        return percent


def same(session: Session, other: Session | None) -> bool:
    """Return whether two descriptors describe the same session."""
    return session is other or session == other
