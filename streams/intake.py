"""What becomes of each arriving message: adopted, handed over, or counted and named."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from streams.account import add, plain, received
from streams.checks import COUNTERS, ClockCheck, EventLog, OrderCheck, clean
from streams.codec import FieldLayout, decode
from streams.errors import DecodeError
from streams.messages import AnyFrame, End, Forces, Markers, Result, Session, StreamName, Telemetry
from streams.ring import Frame, Ring

_COUNTER_OF_REASON = {
    "oversize": "oversize",
    "bad_version": "bad_version",
    "malformed": "malformed",
    "bad_topic": "malformed",
    "bad_type": "malformed",
}
LONGEST_REASON = 200
"""Of why a stream ended so much is told [characters]."""
JOINING_NS = 1_500_000_000
"""Who joins a stream that goes on has its descriptor, which is repeated every second, by then [ns]."""
N_OTHER = 64
"""How many sessions of other streams on the same address are known by their ids."""


class _Course(NamedTuple):
    """What belongs to the session being received."""

    session: Session
    layout: FieldLayout
    order: OrderCheck
    clock: ClockCheck


class Intake:
    """Judges the messages of one stream and puts good frames into the ring; no sockets here.

    Bad data never raises: each message that is not used goes into one counter and, by and by, one sentence.
    """

    def __init__(self, stream: StreamName, ring: Ring) -> None:
        self.counters: dict[str, int] = dict.fromkeys(COUNTERS, 0)
        self.events = EventLog()
        self.telemetry: deque[Telemetry] = deque(maxlen=64)
        self.ended = False
        self._stream = stream
        self._ring = ring
        self._course: _Course | None = None
        self._session_payload = b""
        self._first_ns: int | None = None
        self._others: deque[str] = deque(maxlen=N_OTHER)

    def accept(self, parts: Sequence[bytes], t_arrived: int) -> None:
        """Use or count one message that arrived at `t_arrived` [ns]."""
        if parts[-1] == self._session_payload:
            return  # the descriptor is repeated every second
        try:
            message = decode(parts)
        except DecodeError as fault:
            self._count(_COUNTER_OF_REASON[fault.reason], 1, str(fault), t_arrived)
            return
        if isinstance(message, (Markers, Forces, Result)):
            self._frame(message, t_arrived)
        elif isinstance(message, Session):
            self._descriptor(message, parts[-1], t_arrived)
        elif isinstance(message, End):
            self._end(message, t_arrived)
        elif isinstance(message, Telemetry):
            self.telemetry.append(received(message))

    def refuse(self, fault: Exception, t_arrived: int) -> None:
        """Count a message that `accept` failed on in a way nobody foresaw; the next finds all in order."""
        self._count("malformed", 1, f"{type(fault).__name__}: {fault}", t_arrived)

    def _descriptor(self, session: Session, payload: bytes, t_arrived: int) -> None:
        if session.stream != self._stream:
            if session.session not in self._others:
                self._others.append(session.session)
            return
        former = self._course
        if former is not None and former.session.session == session.session:
            if former.session != session:
                self._count("malformed", 1, "the descriptor changed within its session", t_arrived)
            return
        layout = FieldLayout(session)
        course = _Course(session, layout, OrderCheck(), ClockCheck())
        self._ring.begin(session, layout)
        self._course, self._session_payload = course, payload
        self.ended = False
        if former is not None:
            self.events.note("session", 1, session.session, t_arrived)

    def _frame(self, message: AnyFrame, t_arrived: int) -> None:
        course = self._course
        if course is None or message.session != course.session.session or message.type != self._stream:
            if course is None and self._joining(t_arrived):
                self.counters["unknown_session"] += 1  # of a stream that goes on already: no fault
            else:
                self._count("unknown_session", 1, f"the session is {message.session!r}", t_arrived)
            return
        where = f"the last was frame {message.seq}"
        verdict = course.order.judge(message.seq)
        if verdict != "in_order":
            self._count(verdict, 1, where, t_arrived)
            return
        if course.order.n_lost:
            self._count(
                "lost", course.order.n_lost, f"the last gap was before frame {message.seq}", t_arrived
            )
        slot = self._ring.slot()
        if course.layout.unpack_into(message.data, slot.data) is not None:
            self._count("wrong_shape", 1, where, t_arrived)
            return
        if clean(slot.flat, message.data.values()):
            self._count("non_finite", 1, where, t_arrived)
        if course.clock.jumped(message.t_capture, t_arrived):
            self._count("clock_jump", 1, where, t_arrived)
        _stamp(slot, message, t_arrived)
        self.counters["received"] += 1
        n_skipped = self._ring.push()
        if n_skipped:
            self._count("skipped", n_skipped, where, t_arrived)

    def _joining(self, t_arrived: int) -> bool:
        """Whether the first descriptor may still be on its way."""
        if self._first_ns is None:
            self._first_ns = t_arrived
        return t_arrived - self._first_ns < JOINING_NS

    def _end(self, message: End, t_arrived: int) -> None:
        course = self._course
        if course is None or message.session != course.session.session:
            if message.session not in self._others:
                where = f"the session is {message.session!r}"
                self._count("unknown_session", 1, where, t_arrived, event="unknown_end")
            return
        if self.ended:
            return
        n_lost = course.order.missing_at_end(message.seq)
        if n_lost:
            self._count("lost", n_lost, "the last gap was at the end", t_arrived)
        self.ended = True
        why = plain(message.reason, LONGEST_REASON)
        self.events.note("end", 1, f"{message.seq} frames: {why}", t_arrived)
        self._ring.nudge()

    def _count(self, kind: str, n: int, detail: str, t_arrived: int, event: str = "") -> None:
        add(self.counters, kind, n)
        self.events.note(event or kind, n, detail, t_arrived)


def _stamp(slot: Frame, message: AnyFrame, t_arrived: int) -> None:
    slot.seq, slot.time = message.seq, message.time
    slot.t_capture, slot.t_arrived = message.t_capture, t_arrived
    slot.t_received = t_arrived
    if isinstance(message, Result):
        slot.t_received, slot.t_solved, slot.t_published = (
            message.t_received,
            message.t_solved,
            message.t_published,
        )
        slot.status, slot.iterations, slot.residual = message.status, message.iterations, message.residual
