"""Clock of a Vicon server, which sends none: made from its frame numbers, and checked by their arrival."""

from __future__ import annotations

from collections import Counter

LEAP_NS = 500_000_000
"""Numbers that differ more from the arrival times have begun anew, or their frames were held up [ns]."""
CONFIRM_NS = 250_000_000
"""Time at the usual pace of frames after which it is judged whether late frames catch up [ns]."""
CATCHING_UP_NS = 20_000_000
"""Frames catch up that become less late by more than this in CONFIRM_NS [ns]."""
LATEST_STAMP_NS = 1 << 62
"""Stamps beyond this are of no clock [ns]."""


class FrameNumbers:
    """Clock made from frame numbers, as long as the numbers increase as frames arrive.

    The server sends no clock, but its frame numbers times the frame period can serve as a clock. If the
    numbers restart, the new ones are joined to the former ones by their arrival times. Numbers that do not
    increase are not used.

    A network or a computer may hold frames up, and then deliver them all at once: their numbers are right,
    and their arrival is not. Frames that are late, but then arrive at their usual pace, come from a server
    that has paused, and its numbers too: they are joined by their arrival as well.

    period_ns : period of the frames, 0 = not known [ns]
    counters : name -> number: frame_numbers_stuck (frames with the number of the frame before),
        frame_numbers_anew (restarts, leaps and pauses of the numbers), late_frames (frames that arrived more
        than LEAP_NS later than their numbers say)
    """

    def __init__(self) -> None:
        self.period_ns = 0
        self.counters: Counter[str] = Counter()
        self._last: tuple[int, int, int] | None = None
        self._late: _Lateness | None = None

    def stamp_ns(self, number: int, arrived_ns: int) -> int | None:
        """Return the time of a frame on the clock that is made from frame numbers (number times frame period)
        [ns]; None if the number cannot be used.

        number : number of the frame, -1 = none
        arrived_ns : time of its arrival on this machine's clock [ns]
        """
        if number < 0 or not self.period_ns:
            return None
        if self._last is None:
            stamp_ns = number * self.period_ns
        else:
            last_number, last_stamp_ns, last_arrived_ns = self._last
            if number == last_number:
                self.counters["frame_numbers_stuck"] += 1
                return None
            stamp_ns = last_stamp_ns + self._step_ns(number - last_number, arrived_ns - last_arrived_ns)
        if not 0 <= stamp_ns < LATEST_STAMP_NS:
            return None
        self._last = (number, stamp_ns, arrived_ns)
        return stamp_ns

    def _step_ns(self, n_frame: int, passed_ns: int) -> int:
        """Return the time from the last frame to one whose number is greater by `n_frame`, and that arrived
        `passed_ns` after it [ns]."""
        step_ns = n_frame * self.period_ns
        late_ns = passed_ns - step_ns + (self._late.now_ns if self._late is not None else 0)
        leaps = n_frame > 1 and late_ns < -LEAP_NS  # successive numbers do not leap, they catch up
        if n_frame < 0 or leaps or self._has_paused(late_ns, min(passed_ns, step_ns)):
            self.counters["frame_numbers_anew"] += 1
            self._late = None
            return max(1, round((step_ns + late_ns) / self.period_ns)) * self.period_ns
        if late_ns > LEAP_NS:
            self.counters["late_frames"] += 1
        return step_ns

    def _has_paused(self, late_ns: int, usual_ns: int) -> bool:
        """Return whether the frames up to this one confirm that the server paused, and its numbers too.

        usual_ns : time since the last frame, as far as it is not longer than between their numbers: bursts
            and gaps confirm nothing [ns]

        Only a frame that is suddenly late begins this check: numbers that run slower than this machine's
        clock, as those of a recording that is played slowly, are a clock, too.
        """
        if self._late is None:
            self._late = _Lateness(late_ns) if late_ns > LEAP_NS else None
            return False
        late = self._late
        late.now_ns = late_ns
        late.least_ns = min(late.least_ns, late_ns)
        late.waited_ns += usual_ns
        if late.waited_ns < CONFIRM_NS:
            return False
        before_ns, least_ns = late.before_ns, late.least_ns
        late.before_ns, late.least_ns, late.waited_ns = least_ns, late_ns, 0
        if least_ns <= LEAP_NS:
            self._late = None
            return False
        return least_ns > before_ns - CATCHING_UP_NS


class _Lateness:
    """How late frames are since one was suddenly late [ns]: now, at the least in the present CONFIRM_NS and
    in the one before, and how much of the present one is over.
    """

    def __init__(self, late_ns: int) -> None:
        self.now_ns = self.least_ns = self.before_ns = late_ns
        self.waited_ns = 0
