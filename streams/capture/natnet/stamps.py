"""Check of frame stamps: whether the server's clock continues, or was restarted."""

from __future__ import annotations

LEAP_NS = 1_000_000_000
"""Stamps that go back, or ahead of the arrival times, by more than this are of another clock [ns]."""
LONGEST_HELD_NS = 10_000_000_000
"""Frames that are late by more than LEAP_NS for so long are not held up: the clock stood still [ns]."""
CONFIRMING = 3
"""Number of frames in a row that have to agree with each other for the clock to count as set anew; fewer
are damaged."""


class StampCheck:
    """Check of the stamps of frames, in the order of their arrival.

    period_ns : difference of the stamps of the newest two frames, 0 = not known yet [ns]
    leap_ns : change of the server's clock by its restart, which three frames in a row have confirmed; 0 = the
        server was not restarted [ns]
    """

    def __init__(self) -> None:
        self.period_ns = self.leap_ns = 0
        self._last: tuple[int, int] | None = None
        self._on_time: tuple[int, int] | None = None
        self._odd: tuple[int, int] | None = None
        self._n_odd = 0

    def believed(self, stamp_ns: int, arrived_ns: int) -> bool:
        """Return whether a time stamp is consistent with the server's clock so far. A frame whose stamp is
        not is treated as a frame without a stamp.
        """
        newest = (stamp_ns, arrived_ns)
        if self._on_time is not None and _leap(self._on_time, newest):
            agrees = self._odd is not None and not _leap(self._odd, newest)
            self._n_odd = self._n_odd + 1 if agrees else 1
            self._odd = newest
            if self._n_odd >= CONFIRMING:
                self.leap_ns = stamp_ns - self._on_time[0]
            return False
        if self._on_time is None or not _held_up(self._on_time, newest):
            self._on_time = newest
        self._odd, self._n_odd = None, 0
        if self._last is not None:
            self.period_ns = max(stamp_ns - self._last[0], 0)
        self._last = newest
        return True


def _leap(before: tuple[int, int], after: tuple[int, int]) -> bool:
    """Return whether the clock jumps between two frames. A clock that stands still does not, nor does one
    that advances less than the time that passed until the arrival: the frame was held up on its way."""
    step_ns, passed_ns = after[0] - before[0], after[1] - before[1]
    return not 0 <= step_ns <= passed_ns and abs(step_ns - passed_ns) > LEAP_NS


def _held_up(before: tuple[int, int], after: tuple[int, int]) -> bool:
    """Return whether a frame was held up on its way, so that the ones after it may come earlier."""
    step_ns, passed_ns = after[0] - before[0], after[1] - before[1]
    return 0 <= step_ns < passed_ns - LEAP_NS and passed_ns <= LONGEST_HELD_NS
