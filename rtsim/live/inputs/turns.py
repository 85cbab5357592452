"""Choice of the sessions whose frames a loop computes: the leading one, and others if there is time.

A session is all that one sender sends with one descriptor (its first message). Switching to another session
and back takes the loop as much time as computing many frames, and anybody may begin sessions on an open
stream. The leading session is the one whose frames have come for the longest time without a pause
(streams/receiving/known.py). The time for all others is limited to a part of the time in which the loop would
otherwise wait.
"""

from __future__ import annotations

from collections.abc import Callable

from streams.access.allowance import Allowance
from streams.messages import Session
from streams.receiving.ring import ReceivedFrame

SHARE = 0.25
"""Fraction of the loop's waiting time that may be used for sessions other than the leading one."""

LONGEST_TURN_NS = 10_000_000_000
"""Largest time that is charged at once [ns]. A longer one comes from a clock that has jumped, as after the
machine slept, and would block other sessions for hours."""


class Turns:
    """Decides whether the loop computes a frame, so that sessions other than the leading one take only a
    limited part of its time.

    The leading session is the one whose frames have come for the longest time without a pause.

    Parameters
    ----------
    allowance : budget of time for all other sessions and for switching to them and back; the streams of
        markers and of forces of a run share one budget
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
        """Record that the loop has finished its work and waits from now on; return the present time [ns]. The
        time since `pay` is charged to the budget of the sessions other than the leading one.
        """
        now = self._clock()
        if self._since_ns:
            self.allowance.spend(min(max(0, now - self._since_ns), LONGEST_TURN_NS))
            self._since_ns = 0
        return now

    def waited(self, since_ns: int, until_ns: int) -> None:
        """Add a part of the time from since_ns to until_ns [ns], in which the loop had nothing to do, to the
        budget of the sessions other than the leading one.
        """
        self.allowance.earn(max(0, until_ns - since_ns))

    def grants(self, frame: ReceivedFrame) -> bool:
        """Return whether the loop may compute a frame.

        It may always compute frames of the session that has been the leading one so far. Frames of any other
        session, and of one that has newly become the leading one, are computed only while some of the budget
        is left. The time for these, and for switching back, is charged to the budget.

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
        """Charge the loop's time from now until it waits again to the budget: the next frame belongs to a
        session other than the leading one, or the loop switches back from one.
        """
        self._since_ns = self._since_ns or self._clock()

    def percent(self, others_ns: int) -> float:
        """Return the percentage of the time since the previous call that sessions other than the leading one
        took.

        others_ns : time since the start that they took besides the budget, such as for receiving messages
            [ns]
        """
        now, spent = self._clock(), self.allowance.spent_ns + others_ns
        percent = 100.0 * (spent - self._told_ns) / max(1, now - self._told_at_ns)
        self._told_ns, self._told_at_ns = spent, now
        return percent


def same(session: Session, other: Session | None) -> bool:
    """Return whether two descriptors have the same content, so that their frames belong to one session."""
    return session is other or session == other
