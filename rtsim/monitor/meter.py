"""Rates, latencies and counts of the received frames, for the status strip."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.monitor.plots.history import Quality
from streams.messages import UNUSABLE, Status
from streams.receiving.ring import ReceivedFrame

N_FRAME = 1000  # frames over which latencies are taken
RATE_SECONDS = 2.0  # the measured rate is an average over this time
CLOCK_LIMIT = 60.0  # s; a latency outside [0, this] means that two different clocks were subtracted

WORTHLESS = int(Status.STALE | Status.INVALID_INPUT)  # carries no value worth drawing
DOUBTFUL = int(
    Status.DEGRADED | Status.NOT_CONVERGED | Status.UNCERTAIN | Status.SUSPECT | Status.IMPLAUSIBLE
)  # carries the best there was


class Latency(NamedTuple):
    """A latency of the newest frames: its median and 99th percentile [ms]; NaN when unknown."""

    p50: float
    p99: float


UNKNOWN = Latency(float("nan"), float("nan"))


def quality_of(status: int) -> Quality:
    """Return how the curves show a frame with this status: good (even if late), degraded, unusable (drawn,
    but nothing is computed from it), or missing.
    """
    if status & WORTHLESS:
        return Quality.MISSING
    if status & UNUSABLE:
        return Quality.UNUSABLE
    return Quality.DEGRADED if status & DOUBTFUL else Quality.GOOD


def status_words(status: int) -> str:
    """Return the status as text, "ok" if no bit is set."""
    return Status(status).names().replace("_", " ")


class Meter:
    """Counts frames and stores the times of the last thousand; its memory does not grow with run time."""

    def __init__(self) -> None:
        self.n_frame = self.n_late = self.n_doubtful = self.n_worthless = 0
        self.status = 0
        self.iterations = 0
        self._published = np.zeros(N_FRAME, dtype=np.int64)
        self._inside = np.zeros(N_FRAME)
        self._whole = np.zeros(N_FRAME)
        self._n_held = 0

    def add(self, frame: ReceivedFrame) -> None:
        """Count one frame."""
        slot = self.n_frame % N_FRAME
        self._published[slot] = frame.t_published
        repeated = bool(frame.status & Status.STALE)  # with the stamps of an old frame
        self._inside[slot] = np.nan if repeated else frame.t_published - frame.t_received
        self._whole[slot] = np.nan if repeated else frame.t_arrived - frame.t_capture
        self._n_held = min(self._n_held + 1, N_FRAME)
        self.n_frame += 1
        self.status, self.iterations = int(frame.status), int(frame.iterations)
        self.n_late += bool(self.status & Status.LATE)
        self.n_doubtful += bool(self.status & DOUBTFUL)
        self.n_worthless += bool(self.status & WORTHLESS)

    def restart(self) -> None:
        """Discard the times of the previous sender, whose clock may have been different; the counts stay."""
        self._n_held = 0

    def rate(self) -> float:
        """Return the frames per second that arrived over the last seconds [Hz]; NaN before the second
        frame.
        """
        times = self._held(self._published)
        times = times[times > times[-1] - int(1e9 * RATE_SECONDS)] if len(times) else times
        if len(times) < 2 or times[-1] <= times[0]:
            return float("nan")
        return 1e9 * (len(times) - 1) / float(times[-1] - times[0])

    def latency_inside(self) -> Latency:
        """Return the latency inside the estimator, from receipt of markers to publication of results."""
        return _latency(self._held(self._inside))

    def latency_whole(self) -> Latency:
        """Return the latency from capture to arrival at this window; NaN if the source has another clock."""
        return _latency(self._held(self._whole))

    def _held(self, ring: NDArray[Any]) -> NDArray[Any]:
        """Return the newest entries of a ring buffer, oldest first."""
        return ring[np.arange(self.n_frame - self._n_held, self.n_frame) % N_FRAME]


def _latency(nanoseconds: NDArray[np.float64]) -> Latency:
    known = nanoseconds[np.isfinite(nanoseconds)]
    if not known.size:
        return UNKNOWN
    p50, p99 = np.percentile(known, (50.0, 99.0))
    if not 0.0 <= p50 <= 1e9 * CLOCK_LIMIT:
        return UNKNOWN
    return Latency(1e-6 * float(p50), 1e-6 * float(p99))
