"""Which frames a loop works on: those of the leading session, and others as time allows.

To turn to another session takes the loop as long as many frames do, and the same again to turn back. On a
stream where anybody can begin sessions, that is bounded in time, not in number, so that it holds on any
machine: others than the session that leads (streams/receiving/known.py) get a part of the time in which the
loop would otherwise wait.
"""

from __future__ import annotations

from collections.abc import Callable

from streams.access.allowance import Allowance
from streams.messages import Session
from streams.receiving.ring import ReceivedFrame

SHARE = 0.25
"""Of the time that the loop would wait, others than the session that leads get so much."""


class Turns:
    """Lets sessions in, and keeps account of the time that all but the one that leads take.

    Parameters
    ----------
    allowance : of that time; more than one may draw on it
    clock : of the machine [ns]
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
            self.allowance.spend(now - self._since_ns)
            self._since_ns = 0
        return now

    def waited(self, since_ns: int, until_ns: int) -> None:
        """Credit the other sessions with the time in which the loop had nothing to do."""
        self.allowance.earn(max(0, until_ns - since_ns))

    def grants(self, frame: ReceivedFrame) -> bool:
        """Whether the loop may turn to the session of a frame; if so, it is charged as turning to it.

        Descriptors are compared, not their ids, which a sender may use again for another content.
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
        """Begin to charge the loop's time to the other sessions: the frame belongs to one of them, or the
        loop returns from one of them.
        """
        self._since_ns = self._since_ns or self._clock()

    def percent(self, others_ns: int) -> float:
        """The share of time since the last call that other sessions took [%].

        others_ns : what they took besides since the start [ns]
        """
        now, spent = self._clock(), self.allowance.spent_ns + others_ns
        percent = 100.0 * (spent - self._told_ns) / max(1, now - self._told_at_ns)
        self._told_ns, self._told_at_ns = spent, now
        return percent


def same(session: Session, other: Session | None) -> bool:
    """Whether both frames belong to one session."""
    return session is other or session == other
