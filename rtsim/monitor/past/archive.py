"""The last ten minutes of curves and poses, in a fixed amount of memory whatever the rate of frames."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rtsim.monitor.plots.history import History, Quality, Window, envelope

Array = NDArray[np.float64]

REACH_S = 600.0
"""Time that one can look back [s]."""
RATE_HZ = 100.0
"""Samples of faster streams become pairs of their smallest and largest value [Hz]."""
POSE_HZ = 25.0
CURVE_BYTES, POSE_BYTES = 192 << 20, 96 << 20
"""Memory for curves and poses: with more curves, or larger poses, one can look back less far, or poses are
fewer."""


class CurveArchive:
    """Samples of a history in a ring buffer of single precision, thinned to RATE_HZ.

    n_channel : values per sample
    rate : rate of the history's samples [Hz]
    """

    def __init__(self, n_channel: int, rate: float) -> None:
        self.stride = 1 if rate <= RATE_HZ * 1.2 else 2 * math.ceil(rate / RATE_HZ)
        kept_hz = rate if self.stride == 1 else 2.0 * rate / self.stride
        n_most = CURVE_BYTES // (4 * n_channel + 17)
        self.n_capacity = max(2, min(int(REACH_S * kept_hz) + 2, n_most))
        self.n_pushed = 0
        self._n_taken = 0  # of the history
        self._time = np.empty(self.n_capacity)  # memory is taken as samples come
        self._values = np.empty((self.n_capacity, n_channel), np.float32)
        self._quality = np.empty(self.n_capacity, np.uint8)
        self._in_trial = np.empty(self.n_capacity)

    def __len__(self) -> int:
        return min(self.n_pushed, self.n_capacity)

    def clear(self, history: History) -> None:
        """Discard all samples. Samples that `history` contains now are not taken over later, either."""
        self.n_pushed, self._n_taken = 0, history.n_pushed

    def take(self, history: History) -> None:
        """Copy the samples that were added to the history since the last call, if the history still holds
        them.
        """
        new = history.latest(history.n_pushed - self._n_taken)
        if self.stride == 1:
            time, values, quality, in_trial = new.time, new.values, new.quality, new.in_trial
            self._n_taken = history.n_pushed
        else:
            time, values, quality = envelope(new, self.stride)
            start = -new.first % self.stride
            in_trial = new.in_trial[start :: self.stride // 2][: len(time)]
            self._n_taken = new.first + start + len(time) // 2 * self.stride
            if not len(time):
                self._n_taken = min(new.first, history.n_pushed)
        n = min(len(time), self.n_capacity)
        if n:
            slots = np.arange(self.n_pushed, self.n_pushed + n) % self.n_capacity
            self._time[slots], self._quality[slots] = time[-n:], quality[-n:]
            self._values[slots] = values[:, -n:].T
            self._in_trial[slots] = in_trial[-n:]
            self.n_pushed += n

    def reach(self) -> tuple[float, float]:
        """Return the times of the oldest and the newest sample [s]; NaN if there are none."""
        if not len(self):
            return math.nan, math.nan
        return float(self._time[self._slot(0)]), float(self._time[self._slot(len(self) - 1)])

    def window(self, end: float, duration: float) -> Window:
        """Return the samples of the given duration before a time [s]."""
        a, b = self._after(end - duration), self._after(end)
        slots = np.arange(self.n_pushed - len(self) + a, self.n_pushed - len(self) + b) % self.n_capacity
        values = np.ascontiguousarray(self._values[slots].T, dtype=np.float64)
        return Window(
            time=self._time[slots],
            values=values,
            quality=self._quality[slots],
            first=self.n_pushed - len(self) + a,
            in_trial=self._in_trial[slots],
        )

    def _slot(self, k: int) -> int:
        """Return the position in the ring buffer of sample number k, counted from the oldest sample."""
        return (self.n_pushed - len(self) + k) % self.n_capacity

    def _after(self, time: float) -> int:
        """Return the number of samples not later than a time [s], by bisection of the ordered times."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._time[self._slot(middle)] <= time:
                low = middle + 1
            else:
                high = middle
        return low


class PoseArchive:
    """Arrays of the stick figure, stored at most POSE_HZ times per second, in single precision.

    parts : field -> shape of the part that is stored
    """

    def __init__(self, parts: Mapping[str, tuple[int, ...]]) -> None:
        self._parts = dict(parts)
        size = sum(math.prod(shape) for shape in parts.values())
        n_most = max(2, POSE_BYTES // (4 * size + 9))
        self.n_capacity = min(int(REACH_S * POSE_HZ), n_most)
        self.period = REACH_S / self.n_capacity
        self.n_pushed = 0
        self._time = np.empty(self.n_capacity)
        self._values = np.empty((self.n_capacity, size), np.float32)
        self._quality = np.empty(self.n_capacity, np.uint8)

    def clear(self) -> None:
        """Discard all poses."""
        self.n_pushed = 0

    def push(self, time: float, pose: Mapping[str, Array], quality: Quality) -> None:
        """Store a pose, unless the last one is too recent."""
        newest = self._time[(self.n_pushed - 1) % self.n_capacity] if self.n_pushed else -math.inf
        if not self._parts or time - newest < self.period:
            return
        slot, at = self.n_pushed % self.n_capacity, 0
        with np.errstate(over="ignore"):  # what a stranger's numbers become is far away
            for name, shape in self._parts.items():
                n = math.prod(shape)
                self._values[slot, at : at + n] = pose[name].reshape(-1)
                at += n
        self._time[slot], self._quality[slot] = time, quality
        self.n_pushed += 1

    def at(self, time: float) -> tuple[dict[str, Array], Quality]:
        """Return the newest pose not later than a time [s]; the oldest pose if all are later."""
        n = min(self.n_pushed, self.n_capacity)
        slots = np.arange(self.n_pushed - n, self.n_pushed) % self.n_capacity
        if not n:
            return {name: np.full(shape, np.nan) for name, shape in self._parts.items()}, Quality.MISSING
        slot = slots[max(0, int(np.searchsorted(self._time[slots], time, side="right")) - 1)]
        pose, at = {}, 0
        for name, shape in self._parts.items():
            size = math.prod(shape)
            pose[name] = self._values[slot, at : at + size].astype(np.float64).reshape(shape)
            at += size
        return pose, Quality(int(self._quality[slot]))
