"""Measures a server's clock relative to this machine's by echo requests; the shortest round trips give the
most accurate readings (F. Cristian, Distrib. Comput. 3 (1989) 146-158).
"""

from __future__ import annotations

from collections import deque

from streams.capture.records import ClockPair

MOST_ASKED = 16
"""Number of echo requests that are remembered; answers to others are ignored."""
SO_MANY_TRIPS = 40
"""Round trips among which the shortest counts."""
WORST_NS = 100_000
"""Round trips that exceed the shortest recent one by more are not used: half of this is their error [ns]."""


class EchoClock:
    """Measures round trips to a server, and derives pairs of simultaneous readings of its clock and this
    machine's.
    """

    def __init__(self) -> None:
        self._asked: deque[int] = deque(maxlen=MOST_ASKED)
        self._trips: deque[int] = deque(maxlen=SO_MANY_TRIPS)

    @property
    def shortest_ns(self) -> int:
        """Duration of the shortest of the recent round trips [ns]; -1 = there was none."""
        return min(self._trips, default=-1)

    def ask(self, now: int) -> int:
        """Record that an echo request is sent now; return the stamp to send with it."""
        self._asked.append(now)
        return now

    def answer(self, asked_ns: int, stamp_ns: int, arrived_ns: int) -> ClockPair | None:
        """Use the answer to an echo request.

        asked_ns : the stamp that was sent with the request and came back [ns]
        stamp_ns, arrived_ns : the server's clock, and this machine's at the arrival of the answer [ns]

        Returns the readings of both clocks at the middle of the round trip. Returns None if the answer is
        unexpected, or if the round trip took much longer than usual in this network.
        """
        if asked_ns not in self._asked:
            return None
        self._asked.remove(asked_ns)
        trip_ns = arrived_ns - asked_ns
        self._trips.append(trip_ns)
        if trip_ns > min(self._trips) + WORST_NS:
            return None
        return ClockPair(stamp_ns, asked_ns + trip_ns // 2)
