"""Check whether frames come at the rate of their session, by their own times and by this computer's clock."""

from __future__ import annotations

import math

from streams.receiving.ring import ReceivedFrame

STEP = (0.5, 1.5)
"""Limits of the step of the frame times, divided by the step that frame numbers and stated rate give."""
LONGEST_STEP_S = 1.0
"""Longest step of the frame times that is compared with the stated rate [s]."""
LEAP_S = 0.1
"""Difference between the steps of frame time and of this computer's clock above which the time jumped [s]."""
WINDOW_S = 1.0
"""Time over which rates are measured [s]."""
CLOCK_OFF = 0.05
"""Largest relative difference of the frames' rate, and of their times, from this computer's clock."""
LEAST_COME = 0.5
"""Smallest fraction of a window's frames that must arrive, apart from one gap that is bridged."""


def seconds_of(frame: ReceivedFrame) -> float:
    """Return the time at which a frame came [s]: by this computer's clock if live, by its own time in a
    recording.
    """
    return 1e-9 * frame.t_arrived if frame.t_arrived else frame.time


class FramePace:
    """Checks whether frames come at the rate that their session states, by their times and, live, by the
    clock.

    The actual rate follows from the frames with the smallest delay. In each window of time the smallest
    difference between the time of arrival and (frame number / stated rate) is taken. It drifts from window to
    window if the actual rate differs from the stated one. Bursts and jitter do not affect it. The same is
    done with the frame times instead of number / rate.

    Attributes
    ----------
    leapt : whether the time of the newest frame jumped relative to the clock (the time of arrival)
    wrong : a sentence on a wrong rate in the last window; empty if it is right
    """

    def __init__(self, gap_s: float) -> None:
        """Prepare the check; gap_s : longest gap between frames that is bridged [s]"""
        self._gap_s = gap_s
        self.begin(0.0)

    def begin(self, rate: float) -> None:
        """Begin a new session of frames, at a stated rate [Hz]; without a rate only the order of times is
        checked.
        """
        self._rate = rate if rate > 0.0 else 0.0
        self._before: tuple[int, float, float] | None = None  # number, time, arrival
        self._window = _Window()
        self._last: _Window | None = None
        self.leapt, self.wrong = False, ""

    def take(self, frame: ReceivedFrame) -> bool:
        """Add a frame; return whether the step from the time of the frame before agrees with the stated rate
        or, without a stated rate, with the clock. For the first frame it is true."""
        seq, time, came = frame.seq, frame.time, seconds_of(frame)
        before, self._before = self._before, (seq, time, came)
        if frame.t_arrived and self._rate:
            self._watch(seq, time, came)
        self.leapt = False
        if before is None:
            return True
        passed = time - before[1]
        self.leapt = abs(passed - (came - before[2])) > LEAP_S
        if not 0.0 < passed <= LONGEST_STEP_S:
            return False
        if not self._rate:
            return not self.leapt
        stated = max(1, seq - before[0]) / self._rate
        return STEP[0] * stated <= passed <= STEP[1] * stated

    def _watch(self, seq: int, time: float, came: float) -> None:
        """Add a frame to the present window of time; if the window is complete, compare it with the one
        before.

        seq : number of the frame; time, came : its own time, and the time at which it came [s]
        """
        window = self._window
        if window.n and came - window.began >= WINDOW_S:
            self.wrong = self._compared(window, came)
            self._last, self._window = window, _Window()
            window = self._window
        window.add(came, seq / self._rate, time)

    def _compared(self, window: _Window, now: float) -> str:
        rate, long_s = self._rate, now - window.began
        due = rate * (LEAST_COME * long_s - self._gap_s)
        if window.n < due:
            return (
                f"only {window.n} frames of markers came in {long_s:.2g} s, but the rate declared for "
                f"them is {rate:g} Hz"
            )
        if self._last is None:
            return ""
        slower, behind = (mine.drift(last) for mine, last in zip(window.least, self._last.least, strict=True))
        if abs(slower) > CLOCK_OFF:
            return (
                f"the markers come at {rate * max(0.0, 1.0 - slower):.3g} Hz by this computer's "
                f"clock, but the rate declared for them is {rate:g} Hz"
            )
        if abs(behind) > CLOCK_OFF:
            return (
                f"the time stamps of the markers advance by {1.0 - behind:.3g} s in one second of this "
                "computer's clock"
            )
        return ""


class _Least:
    """The smallest delay within a window [s], and the time at which it occurred [s]."""

    __slots__ = ("at", "delay")

    def __init__(self) -> None:
        self.at, self.delay = math.nan, math.inf

    def add(self, came: float, stated: float) -> None:
        if came - stated < self.delay:
            self.at, self.delay = came, came - stated

    def drift(self, last: _Least) -> float:
        """Return how fast the smallest delay has grown since the last window [s/s]."""
        return (self.delay - last.delay) / max(self.at - last.at, 0.5 * WINDOW_S)


class _Window:
    """Delays of the frames of about a second.

    least : smallest delays relative to frame number divided by stated rate, and relative to the frames' times
    """

    __slots__ = ("began", "least", "n")

    def __init__(self) -> None:
        self.n, self.began = 0, 0.0
        self.least = (_Least(), _Least())

    def add(self, came: float, stated: float, time: float) -> None:
        """Update the smallest delays by a frame.

        came : time of its arrival; stated : its number divided by the stated rate; time : its own time [s]
        """
        if not self.n:
            self.began = came
        self.n += 1
        self.least[0].add(came, stated)
        self.least[1].add(came, time)
