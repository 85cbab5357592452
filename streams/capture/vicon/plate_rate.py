"""Sampling rate of a force plate of Vicon's DataStream, which is not told: from its samples per frame."""

from __future__ import annotations

from streams.capture.vicon.blocks import TICKS_PER_S

MEASURED = 60
"""Frames over which the mean number of samples is taken; a multiple of most patterns, such as 9, 8, 8."""
DIFFERENT = 0.01
"""A mean that differs by more than this part from the first number of samples is another rate [1]."""


class PlateRate:
    """Samples per second of one device, whose frames may have different numbers of samples.

    period : period of the frames [ticks], more than 0; hz : samples per second, 0 = not known yet [Hz]

    The first frame tells the rate at once. The mean of the next MEASURED frames corrects it where that frame
    was incomplete, or where a frame has no whole number of samples (1000 Hz: 9, 8 and 8 at 120 Hz).
    """

    def __init__(self, period: int) -> None:
        self.hz = 0.0
        self._period = period
        self._newest = -2
        self._n_frame = self._n_sample = 0

    def see(self, frame: int, size: int) -> bool:
        """Learn from a frame, unless it came before; return whether the rate has changed.

        frame : its number, -1 = none; size : samples in it, 1 or more
        """
        if frame <= self._newest or self._n_frame >= MEASURED:
            return False
        self._newest = frame
        if not self.hz:
            self.hz = self._rate(size)
            return True
        self._n_frame += 1
        self._n_sample += size
        rate = self._rate(self._n_sample / self._n_frame)
        if self._n_frame < MEASURED or abs(rate - self.hz) <= DIFFERENT * self.hz:
            return False
        self.hz = rate
        return True

    def _rate(self, size: float) -> float:
        return round(size * TICKS_PER_S / self._period, 3)
