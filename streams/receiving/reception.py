"""Completeness of a received stream: missing frames, and whether the stream has ended."""

from __future__ import annotations

from collections.abc import Sequence

from streams.codec import decode
from streams.errors import DecodeError
from streams.messages import End, Forces, Markers, Result, Session, StreamName
from streams.receiving.checks import EventLog, OrderCheck


class Reception:
    """Counts missing frames in the newest session of each stream that is sent at one address.

    Attributes
    ----------
    n_lost : number of missing frames after the first received one
    over : whether every session that began has ended
    events : sentences on what is missing, each kind at most once per second
    """

    def __init__(self) -> None:
        self.n_lost = 0
        self.over = False
        self.events = EventLog()
        self._sessions: dict[StreamName, str] = {}
        self._orders: dict[str, OrderCheck] = {}

    def take(self, parts: Sequence[bytes], t_ns: int) -> None:
        """Evaluate one message that arrived at `t_ns`; one that cannot be decoded is ignored."""
        try:
            message = decode(parts)
        except DecodeError:
            return
        if isinstance(message, Session):
            self._begin(message)
        elif isinstance(message, (Markers, Forces, Result)):
            order = self._orders.get(message.session)
            if order is not None and order.judge(message.seq) == "in_order":
                self._lose(order.n_lost, f"the last gap was before frame {message.seq}", t_ns)
        elif isinstance(message, End):
            self._end(message, t_ns)

    def _begin(self, session: Session) -> None:
        former = self._sessions.get(session.stream)
        if former == session.session:
            return
        if former is not None:
            self._orders.pop(former, None)
        self._sessions[session.stream] = session.session
        self._orders[session.session] = OrderCheck()
        self.over = False

    def _end(self, end: End, t_ns: int) -> None:
        """Handle the end of a session; the end of a session that is not followed is ignored."""
        order = self._orders.pop(end.session, None)
        if order is None:
            return
        if order.last >= 0:
            self._lose(end.seq - order.last - 1, "the last gap was at the end", t_ns)
        self.over = not self._orders

    def _lose(self, n: int, where: str, t_ns: int) -> None:
        if n > 0:
            self.n_lost += n
            self.events.note("lost", n, where, t_ns)
