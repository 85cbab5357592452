"""The last strides of both feet, with all curves over each stride, and the stride in progress."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.files.gait.events import STRIKE, GaitEvent
from rtsim.files.tables.legs import SIDES
from rtsim.methods.gait.cycle_curves import PERCENT, deviation_of, mean_of, over_cycle
from rtsim.methods.gait.cycles import cycles_of
from rtsim.methods.gait_phase import STRIDE_S
from rtsim.monitor.plots.history import History

Array = NDArray[np.float64]
N_KEPT = 10
"""Strides of each side over which means are taken."""
LOOK_BACK_S = 20.0
"""Events so far back are looked at for strides that have become complete [s]."""


class StrideCurves(NamedTuple):
    """All curves of the monitor window over the strides of one side.

    values : (n_stride, n_channel, 101) values of each curve (channel) at 0 to 100 % of each stride
    mean, deviation : (n_channel, 101) mean and sample standard deviation (n - 1); NaN if no stride, or only
        one, is known
    """

    values: Array
    mean: Array
    deviation: Array


class Strides:
    """Cuts strides out of the history of the curves when their final foot strike arrives.

    n_stride : number of strides of each side so far
    """

    def __init__(self) -> None:
        self.n_stride = dict.fromkeys(SIDES, 0)
        self._kept: dict[str, deque[Array]] = {side: deque(maxlen=N_KEPT) for side in SIDES}
        self._until = dict.fromkeys(SIDES, -np.inf)
        self._curves: dict[str, StrideCurves | None] = {}

    def clear(self) -> None:
        """Discard all strides, because the time axis or the curves have changed."""
        self.__init__()  # type: ignore[misc]

    def take(self, events: Sequence[GaitEvent], history: History) -> None:
        """Cut out the strides whose final foot strike is among the events, from the samples of all curves."""
        newest = history.latest(1).time
        if not len(newest):
            return
        recent = [event for event in events if event.time > newest[0] - LOOK_BACK_S]
        for cycle in cycles_of(recent):
            if cycle.end > self._until[cycle.side] + 1e-6 and cycle.strike >= self._until[cycle.side] - 1e-6:
                self._until[cycle.side] = cycle.end
                self._kept[cycle.side].append(_cut(history, cycle.strike, cycle.end))
                self.n_stride[cycle.side] += 1
                self._curves.pop(cycle.side, None)

    def of(self, side: str) -> StrideCurves | None:
        """Return the strides of a side; None if there are none yet."""
        if side not in self._curves:
            kept = self._kept.get(side)
            self._curves[side] = _summary(np.array(kept)) if kept else None
        return self._curves[side]

    def current(self, side: str, events: Sequence[GaitEvent], history: History) -> tuple[Array, Array]:
        """Return the phase (n,) of the stride in progress [%], and its values (n_channel, n); the phase
        assumes the duration of the last strides. Both are empty without a stride in progress.
        """
        window = history.window(STRIDE_S[1])
        strikes = [e.time for e in events if e.side == side and e.kind == STRIKE]
        if len(strikes) < 2 or not len(window.time) or strikes[-1] < window.time[0]:
            return np.empty(0), np.empty((len(window.values), 0))
        lasts = np.diff(strikes[-N_KEPT:])
        lasts = lasts[(lasts >= STRIDE_S[0]) & (lasts <= STRIDE_S[1])]
        first = int(np.searchsorted(window.time, strikes[-1]))
        if not lasts.size:
            return np.empty(0), window.values[:, :0]
        percent = 100.0 * (window.time[first:] - strikes[-1]) / float(np.median(lasts))
        return percent, window.values[:, first:]


def _cut(history: History, begin: float, end: float) -> Array:
    """Return all curves from foot strike to foot strike, times begin to end [s], at 101 times, (n_channel,
    101); NaN next to missing values.
    """
    held = history.latest(len(history))
    a, b = np.searchsorted(held.time, (begin - 1.0, end + 1.0))
    time, values = held.time[a:b], held.values[:, a:b]
    if len(time) < 2:
        return np.full((len(values), len(PERCENT)), np.nan)
    return over_cycle(time, values.T, begin, end).T


def _summary(values: Array) -> StrideCurves:
    return StrideCurves(values, mean_of(values), deviation_of(values))
