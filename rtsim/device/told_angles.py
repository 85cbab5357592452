"""The joint's angles that the model sent to the device, output by output."""

from __future__ import annotations

import math

LONGEST_S = 2.0
"""An output that is older tells nothing of what the device measures now [s]."""


class ToldAngles:
    """The angles of the newest outputs, by their number.

    Parameters
    ----------
    rate_hz : of the outputs
    """

    def __init__(self, rate_hz: float) -> None:
        self._n = math.ceil(LONGEST_S * rate_hz) + 1
        self._angles, self._speeds = [math.nan] * self._n, [0.0] * self._n
        self._times, self._seqs = [0.0] * self._n, [-1] * self._n

    def note(self, seq: int, time: float, angle: float, speed: float, known: bool) -> None:
        """An output: its number, the model's time [s], angle and speed [rad, rad/s].

        known : false where the angle is an older one, as while markers are lost
        """
        k = seq % self._n
        self._seqs[k], self._times[k] = seq, time
        self._angles[k], self._speeds[k] = angle if known else math.nan, speed

    def angle(self, seq: int) -> float:
        """The angle in an output [rad]; NaN where it was not known, was never sent or is too old."""
        k = seq % self._n
        return self._angles[k] if seq >= 0 and self._seqs[k] == seq else math.nan

    def speed(self, seq: int) -> float:
        """The speed in an output whose angle is known [rad/s]."""
        return self._speeds[seq % self._n]

    def between_s(self, one: int, other: int) -> float:
        """Time of the model from one output to another [s]; NaN where one was never sent, or is too old."""
        a, b = one % self._n, other % self._n
        if one < 0 or other < 0 or self._seqs[a] != one or self._seqs[b] != other:
            return math.nan
        return self._times[b] - self._times[a]

    def beyond(self, measured: float, first: int, last: int) -> float:
        """How far an angle is outside the range of those sent from one output to another [rad], with its
        sign; 0 inside.
        """
        told = [angle for angle in map(self.angle, range(first, last + 1)) if angle == angle]
        if not told:
            return 0.0
        low, high = min(told), max(told)
        return measured - high if measured > high else min(0.0, measured - low)
