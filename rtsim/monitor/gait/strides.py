"""The last strides of both feet, with all curves over each stride, and the stride in progress."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.files.gait.events import STRIKE, GaitEvent
from rtsim.files.tables.legs import SIDES
from rtsim.methods.gait.cycle_curves import PERCENT, delay_of, deviation_of, mean_of, over_cycle
from rtsim.methods.gait.cycles import cycles_of
from rtsim.methods.gait_phase import STRIDE_S
from rtsim.monitor.layout import WindowLayout
from rtsim.monitor.plots.history import History, Quality, Window
from streams.messages import Session, speed_of

Array = NDArray[np.float64]
N_KEPT = 10
"""Strides of each side over which means are taken."""
LOOK_BACK_S = 20.0
"""Events so far back are looked at for strides that have become complete [s]."""
NOT_LATE: Array = np.zeros(1)


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
    """Cuts strides out of the history of the curves when their final foot strike arrives, and the values at
    this strike, which are later for curves that passed a filter, such as moments. Values of unusable frames
    are left out.

    n_stride : number of strides of each side so far
    waits : whether a stride is complete but for late values
    """

    def __init__(self) -> None:
        self.clear(-np.inf)

    def clear(self, since: float, delays: Array = NOT_LATE) -> None:
        """Discard all strides, because the time axis, the curves or the session have changed.

        since : time that no stride may begin before, because that is another session [s]
        delays : (n_channel,) by how much the values of each curve are later than their frames [s]
        """
        self.n_stride = dict.fromkeys(SIDES, 0)
        self.waits = False
        self._since, self._delays = since, delays if len(delays) else NOT_LATE
        self._kept: dict[str, deque[Array]] = {side: deque(maxlen=N_KEPT) for side in SIDES}
        self._until = dict.fromkeys(SIDES, since)
        self._curves: dict[str, StrideCurves | None] = {}

    def take(self, events: Sequence[GaitEvent], history: History) -> None:
        """Cut out the strides whose final foot strike is among the events, from the samples of all curves."""
        newest = history.latest(1).time
        self.waits = False
        if not len(newest):
            return
        oldest = max(newest[0] - LOOK_BACK_S, self._since)
        recent = [event for event in events if event.time > oldest]
        for cycle in cycles_of(recent):
            if cycle.end > self._until[cycle.side] + 1e-6 and cycle.strike >= self._until[cycle.side] - 1e-6:
                if newest[0] < cycle.end + self._delays.max():
                    self.waits = True
                    continue
                self._until[cycle.side] = cycle.end
                self._kept[cycle.side].append(_cut(history, cycle.strike, cycle.end, self._delays))
                self.n_stride[cycle.side] += 1
                self._curves.pop(cycle.side, None)

    def of(self, side: str) -> StrideCurves | None:
        """Return the strides of a side; None if there are none yet."""
        if side not in self._curves:
            kept = self._kept.get(side)
            self._curves[side] = _summary(np.array(kept)) if kept else None
        return self._curves[side]

    def current(self, side: str, events: Sequence[GaitEvent], history: History) -> tuple[Array, Array]:
        """Return the stride in progress: the phase (n_channel, n) of each value [%], negative where a late
        value belongs to the stride before, and the values (n_channel, n); the phase assumes the duration of
        the last strides. Both are empty without a stride in progress.
        """
        window = history.window(STRIDE_S[1])
        strikes = [e.time for e in events if (e.side, e.kind) == (side, STRIKE) and e.time >= self._since]
        nothing = np.empty((len(window.values), 0))
        if len(strikes) < 2 or not len(window.time) or strikes[-1] < window.time[0]:
            return nothing, nothing
        lasts = np.diff(strikes[-N_KEPT:])
        lasts = lasts[(lasts >= STRIDE_S[0]) & (lasts <= STRIDE_S[1])]
        first = int(np.searchsorted(window.time, strikes[-1]))
        if not lasts.size:
            return nothing, nothing
        values = _usable(window, slice(first, None))
        since = window.time[first:] - strikes[-1] - np.broadcast_to(self._delays, len(values))[:, None]
        return 100.0 * since / float(np.median(lasts)), values


def channel_delays(session: Session, layout: WindowLayout) -> Array:
    """Return by how much the values of each curve (channel) of a layout are later than their frames,
    (n_channel,) [s of the time axis]; 0 for those that passed no filter.
    """
    specs = {spec.name: spec for spec in session.fields}
    delays = np.zeros(layout.n_channel)
    for reading in layout.channels:
        delays[reading.into] = delay_of(session, specs[reading.field])
    return delays / speed_of(session)


def _cut(history: History, begin: float, end: float, delays: Array) -> Array:
    """Return all curves from foot strike to foot strike, times begin to end [s], at 101 times, (n_channel,
    101); NaN next to missing values and those of unusable frames. delays : of the curves [s]
    """
    held = history.latest(len(history))
    a, b = np.searchsorted(held.time, (begin - 1.0, end + delays.max() + 1.0))
    time, values = held.time[a:b], _usable(held, slice(a, b))
    late = np.broadcast_to(delays, len(values))
    cut = np.full((len(values), len(PERCENT)), np.nan)
    for delay in np.unique(late) if len(time) > 1 else ():
        of_it = late == delay
        cut[of_it] = over_cycle(time, values[of_it].T, begin + delay, end + delay).T
    return cut


def _usable(window: Window, part: slice) -> Array:
    """Return the values (n_channel, n) of a part of the samples, NaN for frames that are unusable."""
    return np.where(window.quality[part] >= Quality.UNUSABLE, np.nan, window.values[:, part])


def _summary(values: Array) -> StrideCurves:
    return StrideCurves(values, mean_of(values), deviation_of(values))
