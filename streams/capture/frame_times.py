"""Capture times of frames, on this machine's clock and in the session's time, with counts of irregularities.

Some systems repeat or omit frames, keep the frame number at 1 for a whole session, reset their clock, or have
no clock. Times are computed from the time stamps of the frames, or from their arrival if the stamps are
unusable. Frame numbers only serve to count missing frames.
"""

from __future__ import annotations

from collections import Counter, deque

from streams.capture.clock_map import ClockMap
from streams.capture.records import CaptureFrame

NEAR_NS = 1_000_000_000
"""Largest age of frames that may arrive again over a new connection [ns]."""
DOUBLED_NS = 250_000_000
"""Longest time after which the network delivers a copy of a frame, as behind a mirrored switch port [ns]."""
KEPT_NS = 250_000_000
"""Difference up to which stamps of a new connection fit the clock of the one before [ns]."""
REMEMBERED = 1024
"""Number of recent frames by which a repeated frame is recognised."""
MOST_SKIPPED = 64
"""Number of recent missing frame numbers that are stored, by which a late frame is recognised."""
MOST_LEFT_OUT = 1_000_000
"""A gap of more frames means that the stated rate is wrong."""
LEAST_STEP_S = 1e-6
"""Least time between two frames, whatever their stamps say [s]."""


class FrameTimes:
    """Times of the frames of one relay.

    Parameters
    ----------
    latency_ns : least time from exposure to arrival, if the user knows it [ns]

    Attributes
    ----------
    clock : map from the system's clock to this machine's
    counters : name -> number: repeated_frames and out_of_order (frames that are not published), stuck_stamps
        and stuck_numbers (frames whose time stamp or number does not increase), frames_left_out (frames that
        the system or the network lost), clock_restarts (of the system's clock)
    """

    def __init__(self, latency_ns: int = 0) -> None:
        self.clock = ClockMap()
        self.counters: Counter[str] = Counter()
        self._latency_ns = latency_ns
        # stamp and content -> arrival and number, oldest first
        self._seen: dict[tuple[int, int], tuple[int, int]] = {}
        self._skipped: deque[int] = deque(maxlen=MOST_SKIPPED)
        self._stamp_ns: int | None = None
        self._number = -1
        self._anew = True
        self.begin()

    def begin(self) -> None:
        """Begin a session, whose time is 0 at its first frame."""
        self._time = self._anchor_time = 0.0
        self._anchor_stamp_ns: int | None = None
        self._t_capture = 0
        self._first = True

    def reconnect(self) -> None:
        """Begin a new connection. Its first time stamp shows whether the system's clock was restarted
        meanwhile.
        """
        self._anew, self._anchor_stamp_ns, self._number = True, None, -1
        self._skipped.clear()

    def place(self, frame: CaptureFrame, content: bytes, rate: float) -> tuple[int, float] | None:
        """Return the capture time of a frame on this machine's clock [ns], and its time in the session [s];
        None for a frame that must not be published.

        content : bytes of its positions, by which a repeated frame is recognised
        rate : frames per second [Hz], 0 = not known
        """
        stamp_ns = frame.stamp_ns
        if stamp_ns is not None:
            if self._came_before(stamp_ns, hash(content), frame):
                self.counters["repeated_frames"] += 1
                return None
            stamp_ns = self._judged(stamp_ns, frame)
            if stamp_ns is None and frame.stamp_ns != self._stamp_ns:
                return None  # overtaken
        self._count_left_out(stamp_ns, frame.number, rate)
        t_capture = self._captured(stamp_ns, frame)
        time = self._time_of(stamp_ns, t_capture)
        if stamp_ns is not None:
            self._stamp_ns = stamp_ns
        self._number, self._t_capture, self._time, self._first = frame.number, t_capture, time, False
        return t_capture, time

    def _came_before(self, stamp_ns: int, content: int, frame: CaptureFrame) -> bool:
        """Return whether a frame is a repetition: of the last frame, of one that arrived just before, or, on
        a new connection, of one of the last second.

        Frames of a recording that the system plays in a loop are no repetitions: their time stamps continue
        to increase, or they come again much later than the network delivers a copy. Frames without a visible
        marker all have the same content, so that a copy of one is known by its number: else it is the
        system's clock that was set back.
        """
        last_ns, key = self._stamp_ns, (stamp_ns, content)
        first = self._seen.get(key)
        if first is not None and last_ns is not None:
            first_ns, first_number = first
            copied = frame.shows_any or frame.number == first_number != self._number
            again = copied and stamp_ns < last_ns and frame.arrived_ns - first_ns <= DOUBLED_NS
            sent_again = self._anew and last_ns - NEAR_NS < stamp_ns < last_ns
            if stamp_ns == last_ns or again or sent_again:
                return True
        self._seen.pop(key, None)  # so that it is the newest of the order
        self._seen[key] = frame.arrived_ns, frame.number
        if len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return False

    def _judged(self, stamp_ns: int, frame: CaptureFrame) -> int | None:
        """Return the time stamp of a frame if it is usable, else None. If it shows that the system's clock
        was restarted, the relation of the clocks is learnt anew.
        """
        before, number = self._stamp_ns, frame.number
        arrived_ns = frame.arrived_ns - frame.age_ns
        if before is not None and not self._anew:
            if stamp_ns == before:
                self.counters["stuck_stamps"] += 1
                return None
            if stamp_ns < before:
                if number in self._skipped:
                    self._skipped.remove(number)
                    self.counters["out_of_order"] += 1
                    return None
                self._restart()
            elif number == self._number >= 0:
                self.counters["stuck_numbers"] += 1
        elif self._anew and self.clock.known:
            fits = abs(arrived_ns - self.clock.local_ns(stamp_ns)) <= KEPT_NS
            if not fits or (before is not None and stamp_ns < before):
                self._restart()
        self._anew = False
        if self.clock.learn(stamp_ns, arrived_ns):
            self.counters["clock_restarts"] += 1
            self._anchor_stamp_ns = None
        return stamp_ns

    def _restart(self) -> None:
        self.counters["clock_restarts"] += 1
        self.clock.restart()
        self._skipped.clear()
        self._anchor_stamp_ns = None

    def _count_left_out(self, stamp_ns: int | None, number: int, rate: float) -> None:
        """Count the frames that the system or the network left out between the last frame and this one."""
        n = 0
        if 0 <= self._number < number <= self._number + MOST_SKIPPED:
            self._skipped.extend(range(self._number + 1, number))
        if self._first or (self._anchor_stamp_ns is None and stamp_ns is not None):
            return
        if stamp_ns is not None and self._stamp_ns is not None and rate > 0.0:
            n = round((stamp_ns - self._stamp_ns) * 1e-9 * rate) - 1
        elif stamp_ns is None and number > self._number >= 0:
            n = number - self._number - 1
        if 0 < n <= MOST_LEFT_OUT:
            self.counters["frames_left_out"] += n

    def _captured(self, stamp_ns: int | None, frame: CaptureFrame) -> int:
        """Return when a frame was captured, on this machine's clock [ns]: never after its arrival, always
        after the capture of the previous frame."""
        arrived_ns = frame.arrived_ns - frame.age_ns
        mapped_ns = self.clock.local_ns(stamp_ns) if stamp_ns is not None else arrived_ns
        return max(min(mapped_ns, frame.arrived_ns) - self._latency_ns, self._t_capture + 1, 0)

    def _time_of(self, stamp_ns: int | None, t_capture: int) -> float:
        """Return a frame's time in the session [s], from its time stamp, or from this machine's clock if
        stamps are unusable or restart."""
        if self._first:
            self._anchor_stamp_ns, self._anchor_time = stamp_ns, 0.0
            return 0.0
        if stamp_ns is not None and self._anchor_stamp_ns is not None:
            time = self._anchor_time + 1e-9 * (stamp_ns - self._anchor_stamp_ns)
            return max(time, self._time + LEAST_STEP_S)
        time = self._time + max(1e-9 * (t_capture - self._t_capture), LEAST_STEP_S)
        self._anchor_stamp_ns, self._anchor_time = stamp_ns, time
        return time
