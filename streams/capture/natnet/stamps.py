"""Check of frame stamps: whether the server's clock continues, or was restarted, and whether the stamps agree
with the frame rate that the server states."""

from __future__ import annotations

from collections import deque

LEAP_NS = 1_000_000_000
"""Stamps that go back, or ahead of the arrival times, by more than this are of another clock [ns]."""
LONGEST_HELD_NS = 10_000_000_000
"""Frames that are late by more than LEAP_NS for so long are not held up: the clock stood still [ns]."""
CONFIRMING = 3
"""Number of frames in a row that have to agree with each other for the clock to count as set anew; fewer
are damaged."""
RECENT = 25
"""Number of the newest steps between stamps from which the period of frames is taken."""
RATE_OFF = 0.1
"""Part by which the rate of the stamps may differ from the stated one."""
CONTRADICTS_NS = 3_000_000_000
"""Time after which a difference is told; a changed rate is known earlier [ns]."""


class StampCheck:
    """Check of the stamps of frames, in the order of their arrival.

    leap_ns : change of the server's clock by its restart, which three frames in a row have confirmed; 0 = the
        server was not restarted [ns]
    """

    def __init__(self) -> None:
        self.leap_ns = 0
        self._steps: deque[int] = deque(maxlen=RECENT)
        self._differs_since_ns, self._told = 0, False
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
        if self._last is not None and stamp_ns > self._last[0]:
            self._steps.append(stamp_ns - self._last[0])
        self._last = newest
        return True

    def frame_ns(self, rate: float) -> int:
        """Return the period of a frame of the cameras, to which the force samples of a frame belong [ns]; 0 =
        not known yet.

        rate : stated frames per second, 0 = not stated; a server may send only part of these frames, but
            none more, so shorter steps between stamps show that the rate has changed
        """
        if not rate:
            return self._typical_ns()
        return self._typical_ns() if self._off(rate) < 0 else round(1e9 / rate)

    def contradiction(self, rate: float, arrived_ns: int) -> str:
        """Return a sentence for the user if the stamps have contradicted the stated rate for three seconds;
        "" otherwise, and if it was told already. It is called for each frame.

        rate : stated frames per second, 0 = not stated; arrived_ns : arrival of the newest frame [ns]
        """
        off = self._off(rate) if rate else 0
        if not off:
            self._differs_since_ns, self._told = 0, False
            return ""
        self._differs_since_ns = self._differs_since_ns or arrived_ns
        if self._told or arrived_ns - self._differs_since_ns < CONTRADICTS_NS:
            return ""
        self._told = True
        return (
            f"The server states {rate:g} frames per second, but its stamps show "
            f"{1e9 / self._typical_ns():.4g}: times of force samples go by the "
            f"{'stamps' if off < 0 else 'stated rate'}."
        )

    def _typical_ns(self) -> int:
        """Return the median of the newest steps between stamps, which lost frames do not change [ns]; 0 = not
        known yet."""
        return sorted(self._steps)[(len(self._steps) - 1) // 2] if self._steps else 0

    def _off(self, rate: float) -> int:
        """Return -1 if the newest frames have clearly shorter periods than the stated rate, 1 if clearly
        longer ones, otherwise 0. Median and mean must agree: frames that are lost or come in groups change
        only one of them.
        """
        if len(self._steps) < RECENT:
            return 0
        typical, mean = self._typical_ns(), sum(self._steps) / RECENT
        if 1e-9 * rate * max(typical, mean) < 1.0 - RATE_OFF:
            return -1
        return int(1e-9 * rate * min(typical, mean) > 1.0 + RATE_OFF)


def _leap(before: tuple[int, int], after: tuple[int, int]) -> bool:
    """Return whether the clock jumps between two frames. A clock that stands still does not, nor does one
    that advances less than the time that passed until the arrival: the frame was held up on its way."""
    step_ns, passed_ns = after[0] - before[0], after[1] - before[1]
    return not 0 <= step_ns <= passed_ns and abs(step_ns - passed_ns) > LEAP_NS


def _held_up(before: tuple[int, int], after: tuple[int, int]) -> bool:
    """Return whether a frame was held up on its way, so that the ones after it may come earlier."""
    step_ns, passed_ns = after[0] - before[0], after[1] - before[1]
    return 0 <= step_ns < passed_ns - LEAP_NS and passed_ns <= LONGEST_HELD_NS
