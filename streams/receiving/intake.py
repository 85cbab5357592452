"""Handling of each arriving message: it is used, passed on, or counted and reported."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from time import thread_time_ns

from streams.access.allowance import Allowance
from streams.account import add, plain, received
from streams.clock import now_ns
from streams.codec import MAX_PAYLOAD, FieldLayout, decode, encode
from streams.errors import DecodeError
from streams.messages import AnyFrame, End, Forces, Markers, Result, Session, StreamName, Telemetry
from streams.receiving.checks import COUNTERS, EventLog, clean
from streams.receiving.known import KnownSession, KnownSessions
from streams.receiving.ring import ReceivedFrame, Ring

_COUNTER_OF_REASON = {
    "oversize": "oversize",
    "bad_version": "bad_version",
    "malformed": "malformed",
    "bad_topic": "malformed",
    "bad_type": "malformed",
}
LONGEST_REASON = 200
"""Length of the stated reason for a stream's end that is reported [characters]."""
JOINING_NS = 1_500_000_000
"""Time after joining a stream within which its descriptor arrives, as it is repeated every second [ns]."""
N_OTHER = 64
"""Number of sessions of other streams on the same address that are known by their ids."""
STEP_NS = 1_000_000_000
"""A message is looked at no longer than this after its arrival; more is a clock that was set back [ns]."""
SHARE = 0.05
"""Fraction of the receiving thread's processor time that may be used for anything but frames of the leading
session; time in which the thread waits does not count."""
DEARER = 8.0
"""Ratio of the decoding time per byte of large descriptors to that of small ones, which fit into caches."""
REMEMBERED = 16 * MAX_PAYLOAD
"""Bytes of descriptors over which the time per byte is learnt; earlier ones count less and less."""


class Intake:
    """Checks the messages of one stream and puts good frames into the ring buffer; it uses no sockets.

    Bad data never raises an exception: each unused message is counted, and sooner or later reported in a
    sentence. Several senders may send sessions on one stream. The leading session is the one whose frames
    have come for the longest time without a pause. The time for anything but its frames is limited. When it
    is used up, descriptors are postponed (only the newest is stored), and other messages are dropped unread.

    Parameters
    ----------
    stream : the stream whose frames are used
    ring : where they are stored
    clock : function that returns the time of the machine [ns]
    work : function that returns the processor time of the calling thread [ns]

    Attributes
    ----------
    strangers : time budget for everything but frames of the leading session
    """

    def __init__(
        self,
        stream: StreamName,
        ring: Ring,
        clock: Callable[[], int] = now_ns,
        work: Callable[[], int] = thread_time_ns,
    ) -> None:
        self.counters: dict[str, int] = dict.fromkeys(COUNTERS, 0)
        self.events = EventLog()
        self.telemetry: deque[Telemetry] = deque(maxlen=64)
        self.strangers = Allowance(SHARE)
        self._stream = stream
        self._ring = ring
        self._clock, self._work = clock, work
        self._sessions = KnownSessions()
        self._written: KnownSession | None = None  # whose frames the ring takes at the moment
        self._put_off: Sequence[bytes] | None = None
        # of descriptors, and what they took
        self._n_byte, self._bytes_ns = float(MAX_PAYLOAD), MAX_PAYLOAD * dearest_byte_ns(work)
        self._earned_ns = clock()
        self._first_ns: int | None = None
        self._others: deque[str] = deque(maxlen=N_OTHER)
        self._over = self._over_beside = False

    @property
    def ended(self) -> bool:
        """Whether a session has ended and no other session continues."""
        leader = self._sessions.leader
        return self._over or (self._over_beside and (leader is None or leader.pauses(self._clock())))

    def accept(self, parts: Sequence[bytes], t_arrived: int) -> None:
        """Use a message that arrived at `t_arrived` [ns], or count it as unused."""
        if self._sessions.newest is not None and parts[-1] == self._sessions.newest.payload:
            return  # the descriptor is repeated every second
        if parts[0] == b"session" and (known := self._sessions.described(parts[-1])) is not None:
            self._again(known)
        elif self._may_be_read(parts, t_arrived):
            self._read(parts, t_arrived)
        if parts is not self._put_off:
            self.look_again(t_arrived)  # last, as this may have been a frame after which nobody pauses

    def look_again(self, t_ns: int) -> None:
        """Decode the postponed descriptor if there is one and the time budget of other messages permits it;
        called regularly.
        """
        if self._put_off is not None and self._affords(self._put_off, t_ns):
            parts, self._put_off = self._put_off, None
            self._read(parts, t_ns)

    def _may_be_read(self, parts: Sequence[bytes], t_ns: int) -> bool:
        """Return whether a message may be decoded: there is time for it, or a quick test shows that it may be
        a short message or one of the leading session.
        """
        of_session = parts[0] == b"session"
        if not of_session and self.strangers.left_ns > 0.0:
            return True
        if not of_session and self._sessions.may_know(parts[-1]):
            return True
        if self._affords(parts, t_ns):
            return True
        if of_session:
            self._put_off = parts
            self._sessions.newest = None
        self._count("put_off", 1, "other sessions on this stream take too much time", t_ns)
        return False

    def _affords(self, parts: Sequence[bytes], t_ns: int) -> bool:
        """Return whether there is time left for a message.

        While there is a leading session, a descriptor is only decoded if that will not take more than the
        remaining time, as estimated from its number of bytes. The reason: decoding delays all other messages.
        """
        passed_ns = t_ns - self._earned_ns
        self.strangers.earn(max(0, passed_ns))
        if passed_ns > 0 or passed_ns < -STEP_NS:
            self._earned_ns = t_ns
        leader = self._sessions.leader
        if parts[0] != b"session" or leader is None or leader.gone(t_ns):
            return self.strangers.affords()
        return self.strangers.affords(self._bytes_ns / self._n_byte * len(parts[-1]))

    def _read(self, parts: Sequence[bytes], t_arrived: int) -> None:
        """Decode a message and judge it; charge its time to the budget, unless it was a frame of the leading
        session."""
        leads, begun = False, self._work()
        try:
            leads = self._judge(parts, t_arrived)
        finally:
            if not leads:
                spent = self._work() - begun
                self.strangers.spend(spent)
                if self._sessions.leader is not None:
                    self._sessions.leader.excuse(self._clock() - t_arrived)
                if parts[0] == b"session":
                    self._learn(len(parts[-1]), spent)

    def _learn(self, n_byte: int, spent_ns: int) -> None:
        """Learn the cost per byte from a descriptor of this many bytes and its decoding time [ns]."""
        if self._n_byte > REMEMBERED:
            self._n_byte, self._bytes_ns = 0.5 * self._n_byte, 0.5 * self._bytes_ns
        self._n_byte, self._bytes_ns = self._n_byte + n_byte, self._bytes_ns + spent_ns

    def _judge(self, parts: Sequence[bytes], t_arrived: int) -> bool:
        """Use one message, or count it as unused; return whether it is a frame of the leading session without
        faults.
        """
        try:
            message = decode(parts)
        except DecodeError as fault:
            self._count(_COUNTER_OF_REASON[fault.reason], 1, str(fault), t_arrived)
            return False
        if isinstance(message, (Markers, Forces, Result)):
            return self._frame(message, t_arrived)
        if isinstance(message, Session):
            self._descriptor(message, parts[-1], t_arrived)
        elif isinstance(message, End):
            self._end(message, t_arrived)
        elif isinstance(message, Telemetry):
            self.telemetry.append(received(message))
        return False

    def refuse(self, fault: Exception, t_arrived: int) -> None:
        """Count a message on which `accept` failed unexpectedly (`fault`); the next message is treated as
        usual.
        """
        self._count("malformed", 1, f"{type(fault).__name__}: {fault}", t_arrived)

    def _descriptor(self, session: Session, payload: bytes, t_arrived: int) -> None:
        if session.stream != self._stream:
            if session.session not in self._others:
                self._others.append(session.session)
            return
        former = self._sessions.of(session.session)
        if former is not None and former.session == session:
            self._again(former)
            return
        if former is not None and (former is self._sessions.newest or former.holds(t_arrived)):
            self._count("malformed", 1, "the descriptor changed within its session", t_arrived)
            return
        first = not len(self._sessions)
        known = KnownSession(session, FieldLayout(session), payload, t_arrived)
        self._sessions.add(known, t_arrived)
        self._write(known)
        self._over = self._over_beside = False
        if not first:
            self.events.note("session", 1, session.session, t_arrived)

    def _again(self, known: KnownSession) -> None:
        """Handle a repeated descriptor of a session that is already known; the session's checks are reset if
        another session's descriptor came in between.
        """
        if known is not self._sessions.newest:
            known.begin_again()
            self._sessions.newest = known
            self._over = self._over_beside = False

    def _write(self, known: KnownSession) -> None:
        """Let the ring receive frames of this session from now on."""
        self._written = known
        self._ring.begin(known.session, known.layout)

    def _frame(self, message: AnyFrame, t_arrived: int) -> bool:
        """Use a frame, or count it as unused; return whether it is a frame of the leading session without
        faults.
        """
        known = self._sessions.of(message.session)
        if known is None or message.type != self._stream:
            if not len(self._sessions) and self._joining(t_arrived):
                self.counters["unknown_session"] += 1  # of a stream that goes on already: no fault
            else:
                self._count("unknown_session", 1, f"the session is {message.session!r}", t_arrived)
            return False
        where = f"the last was frame {message.seq}"
        verdict = known.order.judge(message.seq)
        if verdict != "in_order":
            self._count(verdict, 1, where, t_arrived)
            return False
        if known.order.n_lost:
            self._count("lost", known.order.n_lost, f"the last gap was before frame {message.seq}", t_arrived)
        if known is not self._written:
            self._write(known)
        slot = self._ring.slot()
        if known.layout.unpack_into(message.data, slot.data) is not None:
            self._count("wrong_shape", 1, where, t_arrived)
            return False
        if clean(slot.flat, message.data.values()):
            self._count("non_finite", 1, where, t_arrived)
        if known.clock.jumped(message.t_capture, t_arrived):
            self._count("clock_jump", 1, where, t_arrived)
        _stamp(slot, message, t_arrived)
        self.counters["received"] += 1
        slot.leads = leads = self._hear(known, t_arrived)
        n_skipped = self._ring.push()
        if n_skipped:
            self._count("skipped", n_skipped, where, t_arrived)
        return leads

    def _hear(self, known: KnownSession, t_arrived: int) -> bool:
        """Record a frame without faults of a session; return whether that session leads."""
        self._sessions.hear(known, t_arrived)
        if known is not self._sessions.leader:
            return False
        self._ring.first = known.session
        self._over_beside = False
        return True

    def _joining(self, t_arrived: int) -> bool:
        """Return whether the first descriptor may not have arrived yet, so that frames without one are no
        fault."""
        if self._first_ns is None:
            self._first_ns = t_arrived
        return t_arrived - self._first_ns < JOINING_NS

    def _end(self, message: End, t_arrived: int) -> None:
        known = self._sessions.of(message.session)
        if known is None:
            if message.session not in self._others:
                where = f"the session is {message.session!r}"
                self._count("unknown_session", 1, where, t_arrived, event="unknown_end")
            return
        if known.ended:
            return
        n_lost = known.order.missing_at_end(message.seq)
        if n_lost:
            self._count("lost", n_lost, "the last gap was at the end", t_arrived)
        beside = self._sessions.end(known, t_arrived)
        self._over, self._over_beside = self._over or not beside, beside
        if not beside:
            self._put_off = None  # it came before the end, and would begin the stream anew
        why = plain(message.reason, LONGEST_REASON)
        self.events.note("end_beside" if beside else "end", 1, f"{message.seq} frames: {why}", t_arrived)
        self._ring.nudge()

    def _count(self, kind: str, n: int, detail: str, t_arrived: int, event: str = "") -> None:
        add(self.counters, kind, n)
        self.events.note(event or kind, n, detail, t_arrived)


def _stamp(slot: ReceivedFrame, message: AnyFrame, t_arrived: int) -> None:
    slot.seq, slot.time = message.seq, message.time
    slot.t_capture, slot.t_arrived = message.t_capture, t_arrived
    slot.t_received, slot.t_taken = t_arrived, 0
    if isinstance(message, Result):
        slot.t_received, slot.t_solved, slot.t_published = (
            message.t_received,
            message.t_solved,
            message.t_published,
        )
        slot.status, slot.iterations, slot.residual = message.status, message.iterations, message.residual


def dearest_byte_ns(work: Callable[[], int]) -> float:
    """Measure how long it takes at most to decode one byte of a large descriptor on this machine [ns], by
    decoding one that consists of many small maps; work : function that returns the processor time used so far
    [ns]
    """
    session = Session(
        session="0" * 16, stream="markers", t_start=0, rate=0.0, fields=(), meta={"maps": [{"a": 1}] * 1000}
    )
    parts, spent = encode(session), []
    for _ in range(3):
        begun = work()
        decode(parts)
        spent.append(work() - begun)
    return DEARER * min(spent) / len(parts[1])
