"""The last seconds of every curve of the monitor window, in ring buffers of a fixed size."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

N_POINT_DRAWN = 1200  # two or three per pixel of a plot: more points cost time and show nothing
GAP_PERIODS = 3.5  # a silence of this many nominal periods breaks the curve ...
GAP_SECONDS = 0.05  # ... unless it is shorter than this (a jittery source is no gap)
LONGEST_STEP = 600.0  # s; a longer step of the capture clock is a jump of that clock, not time that passed


class Quality(IntEnum):
    """The quality of a sample of the history: good, degraded (its frame was flagged), unusable (it was
    flagged as describing nothing, but has values to draw), or missing.
    """

    GOOD = 0
    DEGRADED = 1
    UNUSABLE = 2
    MISSING = 3


class Window(NamedTuple):
    """Views of the newest samples of the history, oldest first; valid until the next push.

    time : (n,) stream time [s]; values : (n_channel, n), NaN where missing
    quality : (n,) uint8; first : number of samples that the history received before the first of these
    in_trial : (n,) times in the trial, as the frames state them [s]; NaN for samples of no frame
    """

    time: Array
    values: Array
    quality: NDArray[np.uint8]
    first: int
    in_trial: Array


class History:
    """A ring buffer that stores each sample twice, one capacity apart, so that any time window is one slice.

    Parameters
    ----------
    n_channel : values per sample
    n_capacity : number of samples kept
    """

    def __init__(self, n_channel: int, n_capacity: int) -> None:
        self.n_capacity = n_capacity
        self.n_pushed = 0
        self._n_held = 0
        self._time = np.empty(2 * n_capacity)  # memory is taken as samples come
        self._values = np.empty((n_channel, 2 * n_capacity))
        self._quality = np.empty(2 * n_capacity, dtype=np.uint8)
        self._in_trial = np.empty(2 * n_capacity)

    def __len__(self) -> int:
        return self._n_held

    def push(
        self,
        time: float,
        values: Array | float,
        quality: Quality = Quality.GOOD,
        in_trial: float = math.nan,
    ) -> None:
        """Store one sample: time [s], not earlier than the last one, and values (n_channel,) or one value
        for all channels; in_trial : time in the trial [s], NaN for a sample of no frame.
        """
        slot = self.n_pushed % self.n_capacity
        for k in (slot, slot + self.n_capacity):
            self._time[k] = time
            self._values[:, k] = values
            self._quality[k] = quality
            self._in_trial[k] = in_trial
        self.n_pushed += 1
        self._n_held = min(self._n_held + 1, self.n_capacity)

    def clear(self) -> None:
        """Discard all samples of the history."""
        self._n_held = 0

    def latest(self, n: int) -> Window:
        """Return the newest `n` samples, or all if there are fewer."""
        n = min(n, self._n_held)
        stop = (self.n_pushed - 1) % self.n_capacity + self.n_capacity + 1
        part = slice(stop - n, stop)
        return Window(
            time=self._time[part],
            values=self._values[:, part],
            quality=self._quality[part],
            first=self.n_pushed - n,
            in_trial=self._in_trial[part],
        )

    def window(self, duration: float) -> Window:
        """Return the samples of the last `duration` seconds before the newest one."""
        held = self.latest(self._n_held)
        if not len(held.time):
            return held
        return self.latest(len(held.time) - int(np.searchsorted(held.time, held.time[-1] - duration)))

    def before(self, end: float, duration: float) -> Window:
        """Return the held samples of the given duration before a time [s]."""
        held = self.latest(self._n_held)
        a, b = np.searchsorted(held.time, (end - duration, end), side="right").tolist()
        return Window(
            time=held.time[a:b],
            values=held.values[:, a:b],
            quality=held.quality[a:b],
            first=held.first + a,
            in_trial=held.in_trial[a:b],
        )


class Timeline:
    """Stream time of frames that never goes backwards, computed from their sequence numbers and capture
    times.

    Parameters
    ----------
    period : nominal time between two frames [s]
    regular : whether a silence of several periods counts as a gap; otherwise only missing sequence numbers do
    """

    def __init__(self, period: float, regular: bool = True) -> None:
        self.period, self.regular = period, regular
        self.time = 0.0
        self._last: tuple[int, int] | None = None
        self._broken = False

    def interrupt(self) -> None:
        """Record that another sender follows, whose numbers and clock are unrelated to the earlier ones."""
        self._broken |= self._last is not None  # a sender without any frame hides no break before it
        self._last = None

    def repeat(self, seq: int) -> None:
        """Record a frame that repeats the last one, with its capture time: no time passes by it, as the next
        new frame tells how much has passed.
        """
        if self._last is not None:
            self._last = (seq, self._last[1])

    def advance(self, seq: int, t_capture: int) -> bool:
        """Add the next frame (capture time in ns); return True if frames are missing before it."""
        if self._last is None:
            self._last = (seq, t_capture)
            broken, self._broken = self._broken, False
            self.time += GAP_PERIODS * self.period if broken else 0.0
            return broken
        n_step = max(1, seq - self._last[0])
        elapsed = 1e-9 * (t_capture - self._last[1])
        self._last = (seq, t_capture)
        if not 0.0 < elapsed < LONGEST_STEP:
            elapsed = min(n_step * self.period, LONGEST_STEP)
        self.time += elapsed
        silent = self.regular and elapsed > max(GAP_PERIODS * self.period, GAP_SECONDS)
        return n_step > 1 or silent


def thin(window: Window, n_point_max: int = N_POINT_DRAWN) -> tuple[Array, Array]:
    """Return times (m,) and values (n_channel, m) to draw, with m at most about `n_point_max`.

    Blocks of samples become their minimum and maximum: peaks stay visible, and a gap in a block stays a gap.
    The blocks are aligned to the sample count, so a scrolling curve does not flicker.
    """
    n = len(window.time)
    if n <= n_point_max:
        return window.time, window.values
    return envelope(window, 2 ** int(np.ceil(np.log2(2.0 * n / n_point_max))))[:2]


def envelope(window: Window, stride: int) -> tuple[Array, Array, NDArray[np.uint8]]:
    """Divide the samples into blocks of `stride` samples (an even number); return two points for each block:
    times (m,), minimum and maximum (n_channel, m), the maximum first where the curve falls, and the worst
    quality (m,). Blocks that are only partly in the window are left out.
    """
    n = len(window.time)
    start = -window.first % stride
    n_block = max(0, n - start) // stride
    part = slice(start, start + n_block * stride)
    blocks = window.values[:, part].reshape(len(window.values), n_block, stride)
    values = np.empty((len(blocks), 2 * n_block))
    low, high = blocks.min(axis=2), blocks.max(axis=2)
    falls = blocks[:, :, 0] > blocks[:, :, -1]  # then the maximum comes first, or the curve would saw
    values[:, 0::2] = np.where(falls, high, low)
    values[:, 1::2] = np.where(falls, low, high)
    worst = window.quality[part].reshape(n_block, stride).max(axis=1)
    return window.time[part][:: stride // 2], values, np.repeat(worst, 2)


def spans(window: Window, quality: Quality, period: float) -> list[tuple[float, float]]:
    """Return the intervals in which the samples have this quality [s]; each sample represents one period
    [s].
    """
    hit = window.quality == quality
    if not hit.any():
        return []
    edges = np.flatnonzero(np.diff(np.concatenate(([False], hit, [False])).astype(np.int8)))
    half = 0.5 * period
    return [
        (float(window.time[a]) - half, float(window.time[b - 1]) + half)
        for a, b in zip(edges[0::2], edges[1::2], strict=True)
    ]
