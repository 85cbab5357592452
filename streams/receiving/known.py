"""The sessions of a stream that a receiver knows, and the choice of the leading one.

Any sender on a stream can begin sessions. So a new descriptor does not displace the session whose frames
arrive: the receiver keeps several sessions, and the leading one is that whose frames have arrived for the
longest time without a pause. Frames are counted by time intervals, so that no sender takes the lead by
sending more of them at once.
"""

from __future__ import annotations

from streams.clock import is_over
from streams.codec import MAX_ARRAY_BYTES, MAX_PAYLOAD, FieldLayout
from streams.messages import Session
from streams.receiving.checks import CaptureClockCheck, OrderCheck

MOST_KNOWN = 8
"""Sessions known at a time."""
STRETCH_NS = 50_000_000
"""Interval of time: all frames of a session within one interval count once [ns]."""
AHEAD = 4
"""A session replaces the leading one if its frames came in more intervals than those of the leading one, by
more than this number."""
SHORTEST_SILENCE_NS, LONGEST_SILENCE_NS = 250_000_000, 3_000_000_000
"""A session pauses when no frame has come for ten of its periods, within these bounds [ns]."""
IRREGULAR_SILENCE_NS = 1_000_000_000
"""The same for a session whose frames have no fixed rate [ns]."""
SHORT = 4096
"""Size up to which decoding a message takes no longer than receiving it [bytes]."""
ROOM = MAX_PAYLOAD - MAX_ARRAY_BYTES
"""Room for names and stamps that a frame has beside its arrays [bytes]."""


class KnownSession:
    """A session, given by its descriptor, and what is known of its frames.

    Attributes
    ----------
    payload : bytes of its descriptor
    layout, order, clock : layout of its frames, and checks of their order and clock
    ended : whether its sender has ended it
    """

    __slots__ = (
        "_beside_ns", "_counted_ns", "_heard_ns", "_n_frame", "_n_stretch", "_silence_ns", "clock", "ended",
        "layout", "order", "payload", "session", "word",
    )  # fmt: skip

    def __init__(self, session: Session, layout: FieldLayout, payload: bytes, t_ns: int) -> None:
        self.session, self.layout, self.payload = session, layout, payload
        self.word = session.session.encode()
        self.order, self.clock, self.ended = OrderCheck(), CaptureClockCheck(), False
        self._silence_ns = silence_ns(session.rate)
        self._heard_ns = t_ns
        self._counted_ns = -STRETCH_NS
        self._beside_ns = -1
        self._n_frame = self._n_stretch = 0

    def begin_again(self) -> None:
        """Reset the checks of the session: its descriptor came after that of another session, so that numbers
        and clock may have restarted.
        """
        self.order, self.clock, self.ended = OrderCheck(), CaptureClockCheck(), False

    def forget(self) -> None:
        """Reset the counts of the session's frames, by which the leading session is chosen."""
        self._n_frame = self._n_stretch = 0

    def hear(self, t_ns: int) -> None:
        """Record that a frame without faults came at the time `t_ns`."""
        self._heard_ns = t_ns
        self._n_frame += 1
        if is_over(self._counted_ns, STRETCH_NS, t_ns):
            self._n_stretch += 1
            self._counted_ns = t_ns

    def excuse(self, busy_ns: int) -> None:
        """Do not count a time in which this receiver was busy as a pause of the session [ns]."""
        self._heard_ns += max(0, busy_ns)

    def pauses(self, t_ns: int) -> bool:
        """Return whether the session pauses: no frame has come for about ten frame periods (`silence_ns`), or
        the sender has ended it.
        """
        return self.ended or t_ns - self._heard_ns > self._silence_ns

    def gone(self, t_ns: int) -> bool:
        """Return whether the session is gone: its sender has ended it, or no frame has come for 3 s, so that
        the sender must have disappeared.
        """
        return self.ended or t_ns - self._heard_ns > LONGEST_SILENCE_NS

    def follow_clock(self, t_ns: int) -> None:
        """If the clock was set back to `t_ns` since the session's last frame, count the time without a frame
        from `t_ns` on; otherwise that time would be negative.
        """
        if t_ns < self._heard_ns - LONGEST_SILENCE_NS:
            self._heard_ns = t_ns

    def goes_on_beside(self, leader: KnownSession, t_ns: int) -> bool:
        """Return whether this session replaces the leading one, `leader`, which pauses: whether frames of
        this session have come for at least 50 ms since the last frame of the leading session.

        A single frame is not enough: after a pause of the whole stream, the first frame may be of any
        session. The method is called at each frame of this session.
        """
        if not leader._heard_ns <= self._beside_ns <= t_ns:
            self._beside_ns = t_ns
        return t_ns - self._beside_ns >= STRETCH_NS

    def holds(self, t_ns: int) -> bool:
        """Return whether frames of this session have come for at least 0.2 s (counted by intervals of 50 ms),
        and the session does not pause.

        Such a session is protected: another message that describes a session with the same id, but other
        contents, is refused. It may also become the leading session when the present leading session ends.
        """
        return self._n_stretch > AHEAD and not self.pauses(t_ns)

    def outranks(self, other: KnownSession) -> bool:
        """Return whether this session replaces another as the leading one, although the other does not pause:
        its frames have come for at least 0.25 s longer, or for at least as long and more than twice as many.
        """
        if self._n_stretch > other._n_stretch + AHEAD:
            return True
        return self._n_stretch >= other._n_stretch and self._n_frame > 2 * other._n_frame

    def may_be_of(self, payload: bytes) -> bool:
        """Return whether bytes may be a message of this session. Only their number is checked, and whether
        they contain the session id, as decoding takes longer.
        """
        return len(payload) <= 8 * self.layout.n_value + ROOM and self.word in payload

    def worth(self, t_ns: int) -> tuple[bool, int, int, int]:
        """Return the rank of this session as a tuple. If there are too many sessions, those with the larger
        tuples are kept.
        """
        return not self.pauses(t_ns), self._n_stretch, self._n_frame, self._heard_ns


class KnownSessions:
    """The sessions of a stream that are known at a time: at most 8, whose descriptors take at most 1 MiB
    together, or two of any size.

    newest : session with the latest descriptor
    leader : leading session, whose frames have come for the longest time without a pause; None before there
        are frames
    """

    def __init__(self) -> None:
        self._by_id: dict[str, KnownSession] = {}
        self.newest: KnownSession | None = None
        self.leader: KnownSession | None = None

    def __len__(self) -> int:
        return len(self._by_id)

    def of(self, session_id: str) -> KnownSession | None:
        """Return the session with this id."""
        return self._by_id.get(session_id)

    def described(self, payload: bytes) -> KnownSession | None:
        """Return the session whose descriptor arrived as exactly these bytes."""
        return next((known for known in self._by_id.values() if known.payload == payload), None)

    def may_know(self, payload: bytes) -> bool:
        """Return whether bytes may be a message of the leading session (`leader`), or a message of at most
        4096 bytes of any known session, by a quick test without decoding.

        Without a leading session, messages of every known session pass, whatever their size. So the first
        session loses no frames after its descriptor, whose decoding may have used up the time budget.
        """
        first = self._by_id.values() if self.leader is None else (self.leader,)
        if any(known.may_be_of(payload) for known in first):
            return True
        return len(payload) <= SHORT and any(known.word in payload for known in self._by_id.values())

    def add(self, known: KnownSession, t_ns: int) -> None:
        """Add a session, replacing any other with its id. If there are too many, those of the lowest rank
        (`KnownSession.worth`) are dropped.
        """
        former = self._by_id.pop(known.session.session, None)
        if former is not None and former is self.leader:
            self.leader = None
        self._by_id[known.session.session] = self.newest = known
        others = [k for k in self._by_id.values() if k is not known and k is not self.leader]
        others.sort(key=lambda k: k.worth(t_ns), reverse=True)
        n_byte = len(known.payload)
        for n, other in enumerate(others):
            n_byte += len(other.payload)
            if n + 2 >= MOST_KNOWN or n_byte > MAX_PAYLOAD:
                del self._by_id[other.session.session]

    def hear(self, known: KnownSession, t_ns: int) -> None:
        """Record that a frame without faults of a session came at the time `t_ns` [ns]. It may make this
        session the leading one, `leader`.
        """
        leader = self.leader
        for one in (known, leader):
            if one is not None:
                one.follow_clock(t_ns)
        if known is not leader and known.pauses(t_ns):
            known.forget()
        known.hear(t_ns)
        if leader is None or leader.ended or (known is not leader and known.outranks(leader)):
            self.leader = known
        elif known is not leader and leader.pauses(t_ns) and known.goes_on_beside(leader, t_ns):
            leader.forget()
            self.leader = known

    def end(self, known: KnownSession, t_ns: int) -> bool:
        """End a session; return whether frames of another session continue to come. If the ended session was
        the leading one (`leader`), one of the others takes its place.
        """
        known.ended = True
        going_on = [k for k in self._by_id.values() if k.holds(t_ns)]
        if known is self.leader and going_on:
            self.leader = max(going_on, key=lambda k: k.worth(t_ns))
        return bool(going_on)


def silence_ns(rate: float) -> int:
    """Return the time without a frame after which a session of this rate counts as paused [ns]."""
    if rate <= 0.0:
        return IRREGULAR_SILENCE_NS
    return int(min(max(1e10 / rate, SHORTEST_SILENCE_NS), LONGEST_SILENCE_NS))
