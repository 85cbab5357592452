"""Record of the joint angles that the model sent to the device with each output."""

from __future__ import annotations

import math
from struct import Struct

import numpy as np

from kernels.sensors.told import ANGLE, N_TOLD, SEQ, SPEED, TIME, beyond

LONGEST_S = 2.0
"""Time after which an output is no longer compared with what the device measures [s]."""
ROW = Struct(f"={N_TOLD}d")
"""A row as bytes: it is read and written in one call, which is faster than NumPy."""


class ToldAngles:
    """Stores the joint angles in the newest outputs, the messages that the model sends to the device.

    rate_hz : rate of the outputs [Hz]
    rows : (n, 4) a row for each output: its number, the model's time [s], the angle [rad] and the speed
        [rad/s]
    """

    def __init__(self, rate_hz: float) -> None:
        self._n = math.ceil(LONGEST_S * rate_hz) + 1
        self.rows = np.full((self._n, N_TOLD), -1.0)
        self._bytes = self.rows.data.cast("B")

    def note(self, seq: int, time: float, angle: float, speed: float, known: bool) -> None:
        """Store an output by its number, with the model's time [s], angle and speed [rad, rad/s].

        known : whether the angle is a present one; false while it is an old one, for example because markers
          are missing
        """
        at = seq % self._n * ROW.size
        ROW.pack_into(self._bytes, at, seq, time, angle if known else math.nan, speed)

    def angle(self, seq: int) -> float:
        """Return the angle that was sent in an output [rad]; NaN where it was not known, was never sent or is
        too old."""
        row = self._row(seq)
        return row[ANGLE] if seq >= 0 and row[SEQ] == seq else math.nan

    def speed(self, seq: int) -> float:
        """Return the joint's speed that the model sent to the device in output number seq [rad/s]; it is
        valid only where `angle` of this output is not NaN."""
        return self._row(seq)[SPEED]

    def between_s(self, one: int, other: int) -> float:
        """Return the model's time between two outputs [s]; NaN where one was never sent, or is too old."""
        a, b = self._row(one), self._row(other)
        if one < 0 or other < 0 or a[SEQ] != one or b[SEQ] != other:
            return math.nan
        return b[TIME] - a[TIME]

    def beyond(self, measured: float, first: int, last: int) -> float:
        """Return how far a measured angle lies outside the range of the angles sent in the outputs from
        `first` to `last` [rad].

        It is positive above the range, negative below it, and 0 inside.
        """
        return float(beyond(self.rows, measured, first, last))

    def _row(self, seq: int) -> tuple[float, ...]:
        return ROW.unpack_from(self._bytes, seq % self._n * ROW.size)
