"""Clock of the time stamps of one Lab Streaming Layer stream.

Stamps should be times of liblsl's clock on the sender's computer, which counts from that computer's start;
liblsl compares it with this machine's. But a sender may push any number as a stamp: many push Unix time, some
the time of a camera. To such stamps liblsl's comparison does not apply, so that they are mapped by their
earliest arrivals.
"""

from __future__ import annotations

from collections import deque

from streams.capture.clock_map import ClockMap
from streams.capture.records import ClockPair

FOREIGN_NS = 5_000_000_000
"""Age from which on a stamp is none of liblsl's clock: buffers here hold two seconds [ns]."""
PATIENCE_NS = 3_000_000_000
"""Time of arrivals without a comparison of clocks, or without a stamp that fits it, after which the stamps
are mapped by their arrivals [ns]."""
BACK_NS = 1_000_000_000
"""The sender's clock was set anew if its stamps go back by more [ns]."""
ONE_CLOCK_NS = 100_000_000
"""Clocks of one computer that differ by less are the same one [ns]."""


class SenderClock:
    """Clock of the stamps of a stream, as a map to this machine's clock.

    host : name of the sender's computer, "" = unknown
    """

    def __init__(self, host: str = "") -> None:
        self._host = host
        self._compared, self._arrivals = ClockMap(), ClockMap()
        self._pairs: deque[ClockPair] = deque(maxlen=16)
        self._newest: tuple[int, int] | None = None
        self._since_ns: int | None = None
        self._is_liblsl = self._told = False

    def compare(self, pair: ClockPair) -> None:
        """Learn from a comparison of liblsl's clock on the sender's computer with this machine's."""
        self._compared.pair(pair.stamp_ns, pair.local_ns)
        self._pairs.append(pair)
        self._judge()

    def take(self, stamp_ns: int, arrived_ns: int) -> None:
        """Learn from the stamp of a sample and the time of its arrival, in the order of arrival [ns]."""
        if self._newest is not None and stamp_ns < self._newest[0] - BACK_NS:
            self._arrivals.restart()
            self._since_ns, self._is_liblsl = None, False
        self._newest = stamp_ns, arrived_ns
        if self._is_liblsl:
            return
        if self._since_ns is None:
            self._since_ns = arrived_ns
        self._arrivals.learn(stamp_ns, arrived_ns)
        self._judge()

    @property
    def pair(self) -> ClockPair | None:
        """Oldest comparison that was not returned yet; None if there is none, or while it is not known that
        the stamps are of liblsl's clock.
        """
        return self._pairs.popleft() if self._is_liblsl and self._pairs else None

    @property
    def settled(self) -> bool:
        """Whether it is decided by what the stamps are mapped."""
        if self._newest is None or self._since_ns is None:
            return False
        return self._is_liblsl or self._newest[1] - self._since_ns >= PATIENCE_NS

    def local_ns(self, stamp_ns: int) -> int:
        """Convert a stamp to this machine's clock [ns]; LookupError before the first stamp was taken."""
        return self._map.local_ns(stamp_ns)

    def stamp_ns(self, local_ns: int) -> int:
        """Convert a time of this machine's clock to a stamp [ns]; LookupError before the first stamp was
        taken.
        """
        return self._map.stamp_ns(local_ns)

    def is_of(self, other: SenderClock, stamp_ns: int) -> bool:
        """Return whether another stream's stamps are of the same clock, so that they need no conversion.

        stamp_ns : a recent stamp of this or the other stream [ns]
        """
        if not self._host or self._host != other._host or self._is_liblsl != other._is_liblsl:
            return False
        return abs(self.local_ns(stamp_ns) - other.local_ns(stamp_ns)) < ONE_CLOCK_NS

    def notice(self) -> str:
        """Return, once, what the user must know about the stamps: a clause whose subject is the stream's
        stamps; "" = nothing new.
        """
        if self._told or self._is_liblsl or not self.settled:
            return ""
        self._told = True
        assert self._newest is not None
        if not self._compared.known:
            return (
                f"could not be compared with this machine's clock for {1e-9 * PATIENCE_NS:.0f} s (does the "
                "network let UDP through?): they are mapped by their arrivals, and times are late by the "
                "least delay"
            )
        return (
            f"are not of Lab Streaming Layer's clock, they are {1e-9 * self._apart_ns(*self._newest):.0f} s "
            "off (does the sender push Unix time?): they are mapped by their arrivals, and times are late by "
            "the least delay"
        )

    @property
    def _map(self) -> ClockMap:
        return self._compared if self._is_liblsl else self._arrivals

    def _judge(self) -> None:
        """Judge by the newest sample whether the stamps are of liblsl's clock; once found, it stays."""
        if not self._is_liblsl and self._newest is not None and self._compared.known:
            self._is_liblsl = self._apart_ns(*self._newest) < FOREIGN_NS

    def _apart_ns(self, stamp_ns: int, arrived_ns: int) -> int:
        """Return the difference between an arrival and its stamp, taken as one of liblsl's clock [ns]."""
        return abs(arrived_ns - self._compared.local_ns(stamp_ns))
