"""Times at which the input of a result frame was captured, on this machine's clock or as times of the day,
for programs such as Foxglove and LSL that compare them with other data by these clocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from streams.clock import is_over, now_ns
from streams.messages import Status
from streams.receiving.ring import ReceivedFrame

FRESH_NS = 1_000_000_000
"""A capture time longer ago, or after the receipt, is of another computer's clock and not used [ns]."""
LOOK_NS = 1_000_000_000
"""Interval at which the clocks are compared anew [ns]."""
BACK_NS = 1_000_000
"""Most by which times go back at one comparison, so that frames stay in order, unless the day's clock was set
back by more than STEP_NS [ns]."""
STEP_NS = 1_000_000_000
N_READING = 3


def captured_ns(frame: ReceivedFrame) -> int:
    """Return the capture time of a frame on this machine's clock [ns]; if it is unknown, the time when the
    input was received, or else when the result arrived here. A stale frame, which repeats an earlier one, has
    the time when it arrived.
    """
    if frame.status & Status.STALE:
        return frame.t_arrived
    stamp_ns = frame.t_capture
    if not 0 <= frame.t_received - stamp_ns < FRESH_NS:
        stamp_ns = frame.t_received
    if not 0 <= frame.t_arrived - stamp_ns < FRESH_NS:
        stamp_ns = frame.t_arrived
    return stamp_ns


class DayTime:
    """Times of this machine's monotonic clock as Unix times. They follow the day's clock, which is set from
    time to time, and do not go back by that unless it is set back by more than a second.

    wall_ns, local_ns : functions that return the Unix time, and the time of the monotonic clock [ns]
    """

    def __init__(
        self, wall_ns: Callable[[], int] = time.time_ns, local_ns: Callable[[], int] = now_ns
    ) -> None:
        self._wall_ns, self._local_ns = wall_ns, local_ns
        self._offset_ns, self._looked_ns = self._measured_ns(), local_ns()

    def of(self, t_ns: int) -> int:
        """Return the Unix time of a time of the monotonic clock [ns]."""
        at_ns = self._local_ns()
        if is_over(self._looked_ns, LOOK_NS, at_ns):
            self._looked_ns, offset_ns = at_ns, self._measured_ns()
            if 0 < self._offset_ns - offset_ns < STEP_NS:
                offset_ns = max(offset_ns, self._offset_ns - BACK_NS)
            self._offset_ns = offset_ns
        return self._offset_ns + t_ns

    def _measured_ns(self) -> int:
        """Return the Unix time minus the time of the monotonic clock [ns], by the quickest of some readings,
        as a reading that is interrupted is wrong by the interruption.
        """
        readings = []
        for _ in range(N_READING):
            before_ns, wall_ns, after_ns = self._local_ns(), self._wall_ns(), self._local_ns()
            readings.append((after_ns - before_ns, wall_ns - (before_ns + after_ns) // 2))
        return min(readings)[1]
