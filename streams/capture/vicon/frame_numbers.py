"""Clock of a Vicon server, which sends none: made from its frame numbers, and checked by their arrival."""

from __future__ import annotations

from collections import Counter

LEAP_NS = 500_000_000
"""Numbers that differ more from the arrival times have begun anew, or their frames were held up [ns]."""
CONFIRM_NS = 250_000_000
"""Time at the usual pace of frames after which it is judged whether late frames catch up [ns]."""
CATCHING_UP_NS = 20_000_000
"""Frames catch up that become less late by more than this in CONFIRM_NS [ns]."""
BURST_NS = 100_000_000
"""Frames catch up at once, as those of a burst, that become less late by more than this [ns]."""
KEPT_NS = 2 * CONFIRM_NS
"""Longest time for which frames are kept back until it is known how to date them [ns]."""
MOST_KEPT = 512
"""Largest number of frames that are kept back."""
LATEST_STAMP_NS = 1 << 62
"""Stamps beyond this are of no clock [ns]."""


class FrameNumbers:
    """Clock made from frame numbers, as long as the numbers increase as frames arrive.

    The server sends no clock, but its frame numbers times the frame period can serve as a clock. If the
    numbers restart, the new ones are joined to the former ones by their arrival times. Numbers that do not
    increase are not used.

    A network or a computer may hold frames up, and then deliver them all at once: their numbers are right,
    and their arrival is not. Frames that are late, but then arrive at their usual pace, come from a server
    that has paused, and its numbers too: they are joined by their arrival as well. Which of the two it is, is
    known a moment after the first late frame; until then frames are kept back, so that each gets the right
    time.

    period_ns : period of the frames, 0 = not known [ns]
    kept_until_ns : when frames that are kept back must be released, whatever follows [ns]
    counters : name -> number: frame_numbers_stuck (frames with the number of the frame before),
        frame_numbers_anew (restarts, leaps and pauses of the numbers), late_frames (frames that arrived more
        than LEAP_NS later than their numbers say)
    """

    def __init__(self) -> None:
        self.period_ns = self.kept_until_ns = 0
        self.counters: Counter[str] = Counter()
        self._last: tuple[int, int, int] | None = None
        self._late: _Lateness | None = None
        self._kept: list[int | None] = []
        self._n_late = 0  # of the frames that are kept back

    def stamps_ns(self, number: int, arrived_ns: int) -> list[int | None]:
        """Return the times of the frames that can be dated now, in the order in which they came: of those
        that were kept back, and of this one; [] = this one is kept back as well.

        number : number of the frame, -1 = none
        arrived_ns : time of its arrival on this machine's clock [ns]

        Times are those of the clock that is made from frame numbers (number times frame period) [ns]; None
        for a frame whose number cannot be used.
        """
        if not self._kept:
            self.kept_until_ns = arrived_ns + KEPT_NS
        stamp_ns = self._stamp_ns(number, arrived_ns)  # which may also date those that are kept back
        self._kept.append(stamp_ns)
        undecided = self._late is not None and not self._late.decided
        if undecided and arrived_ns < self.kept_until_ns and len(self._kept) < MOST_KEPT:
            return []
        return self.release_ns()

    def release_ns(self) -> list[int | None]:
        """Return the times of the frames that are kept back, as far as they are known: by their numbers."""
        released, self._kept = self._kept, []
        if self._late is not None:
            self._late.decided = True
        if self._n_late:
            self.counters["late_frames"] += self._n_late
            self._n_late = 0
        return released

    def _stamp_ns(self, number: int, arrived_ns: int) -> int | None:
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
        if n_frame < 0 or leaps:
            self.counters["frame_numbers_anew"] += 1
            self._late = None
            return max(1, round((step_ns + late_ns) / self.period_ns)) * self.period_ns
        if pause_ns := self._paused_ns(late_ns, min(passed_ns, step_ns)):
            self.counters["frame_numbers_anew"] += 1
            self._late, self._n_late = None, 0
            pause_ns = round(pause_ns / self.period_ns) * self.period_ns
            self._kept = [None if kept is None else kept + pause_ns for kept in self._kept]
            return step_ns + pause_ns
        if late_ns > LEAP_NS:
            self._n_late += 1
        return step_ns

    def _paused_ns(self, late_ns: int, usual_ns: int) -> int:
        """Return how long the server paused, and its numbers too, if the frames up to this one confirm it,
        else 0 [ns].

        usual_ns : time since the last frame, as far as it is not longer than between their numbers: bursts
            and gaps confirm nothing [ns]

        Only a frame that is suddenly late begins this check: numbers that run slower than this machine's
        clock, as those of a recording that is played slowly, are a clock, too.
        """
        if self._late is None:
            self._late = _Lateness(late_ns) if late_ns > LEAP_NS else None
            return 0
        late = self._late
        late.now_ns = late_ns
        late.least_ns = min(late.least_ns, late_ns)
        late.waited_ns += usual_ns
        if late_ns <= max(LEAP_NS, late.first_ns - BURST_NS):
            late.decided = True
        if late.waited_ns < CONFIRM_NS:
            return 0
        before_ns, least_ns = late.before_ns, late.least_ns
        late.before_ns, late.least_ns, late.waited_ns = least_ns, late_ns, 0
        late.decided = True
        if least_ns <= LEAP_NS:
            self._late = None
            return 0
        return least_ns if least_ns > before_ns - CATCHING_UP_NS else 0


class _Lateness:
    """How late frames are since one was suddenly late [ns]: the first one, now, at the least in the present
    CONFIRM_NS and in the one before, and how much of the present one is over; and whether it is decided how
    the first frames are dated.
    """

    def __init__(self, late_ns: int) -> None:
        self.first_ns = self.now_ns = self.least_ns = self.before_ns = late_ns
        self.waited_ns = 0
        self.decided = False
