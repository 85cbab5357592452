"""Latency percentiles without storing samples: a histogram with bins of 1 %."""

from __future__ import annotations

import math
import threading
from array import array

import numpy as np
from numpy.typing import NDArray

LOWEST_NS = 100
RATIO = 1.01
PERCENTILES = {"p50": 50.0, "p99": 99.0, "p99_9": 99.9}
N_BIN = 2100  # up to 100 ns * 1.01^2100 = 120 s
_SCALE = 1.0 / math.log(RATIO)
_LOWEST = math.log(LOWEST_NS)
_SHARES = np.array(list(PERCENTILES.values()))
MOST_NEW = 4096
"""Number of durations that are stored before they are sorted into bins; fewer come between two telemetry
messages."""


class LatencyHistogram:
    """Counts durations [ns]; its percentiles are exact to 1 %.

    New durations are stored in a ring. They are sorted into the bins of the histogram on request, by any
    thread. This is fast: the durations of one second must be sorted within the idle time of a tick at 1 kHz.
    """

    def __init__(self) -> None:
        self._counts = np.zeros(N_BIN, np.int64)
        self._largest_ns = 0
        self._new = array("q", bytes(8 * MOST_NEW))
        self._n_added = self._n_sorted = 0  # each written on one side alone
        self._sorting = threading.Lock()

    def add(self, duration_ns: int) -> None:
        """Count one duration [ns]; only one thread may call this."""
        n = self._n_added
        if n - self._n_sorted >= MOST_NEW:
            self._sorted()
        self._new[n % MOST_NEW] = duration_ns
        self._n_added = n + 1

    def merge(self, other: LatencyHistogram) -> None:
        """Add the counts of another histogram."""
        self._sorted()
        counts = other._sorted()
        with self._sorting:
            self._counts += counts
            self._largest_ns = max(self._largest_ns, other._largest_ns)

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self._sorted().sum())

    @property
    def largest_ns(self) -> int:
        """The longest duration [ns]; 0 without samples."""
        self._sorted()
        return self._largest_ns

    def percentile_us(self, percent: float) -> float:
        """Return the duration below which `percent` of all durations lie [us]; NaN without samples."""
        return self._percentiles_us(np.array([percent]))[0]

    def gauges(self, name: str) -> dict[str, float]:
        """Return percentiles and maximum of the durations [us] for the telemetry, under the keys
        "NAME_us.p50", "NAME_us.p99", "NAME_us.p99_9" and "NAME_us.max"; {} without durations.
        """
        told = self._percentiles_us(_SHARES)
        if math.isnan(told[0]):
            return {}
        keys = [f"{name}_us.{label}" for label in (*PERCENTILES, "max")]
        return dict(zip(keys, (*told, 1e-3 * self._largest_ns), strict=True))

    def _percentiles_us(self, percents: NDArray[np.float64]) -> list[float]:
        """Return the durations below which these percentages of all durations lie [us]."""
        up_to = self._sorted().cumsum()
        n = int(up_to[-1])
        if n == 0:
            return [math.nan] * len(percents)
        found = up_to.searchsorted(np.ceil(n * percents / 100.0)).tolist()
        return [1e-3 * min(LOWEST_NS * RATIO ** (k + 0.5), float(self._largest_ns)) for k in found]

    def _sorted(self) -> NDArray[np.int64]:
        """Sort new durations into the bins; return the number of durations in each bin, (n_bin,)."""
        with self._sorting:
            first, end = self._n_sorted, self._n_added
            if end > first:
                new = np.frombuffer(self._new, np.int64)
                begin, stop = first % MOST_NEW, first % MOST_NEW + end - first
                self._count(new[begin:stop])
                if stop > MOST_NEW:
                    self._count(new[: stop - MOST_NEW])
                self._n_sorted = end
            return self._counts

    def _count(self, new: NDArray[np.int64]) -> None:
        """Count durations [ns] in bins."""
        bins = (np.log(np.maximum(new, LOWEST_NS)) - _LOWEST) * _SCALE
        self._counts += np.bincount(np.minimum(bins, N_BIN - 1).astype(np.int64), minlength=N_BIN)
        self._largest_ns = max(self._largest_ns, int(new.max()))


class StageTimes:
    """Durations of the parts of one pass of the loop, each with its histogram.

    The parts lie between the time stamps of a frame: its capture, its receipt, its solution (`solve`), and
    t_published, which is taken right before the result is encoded. `publish` is the encoding and sending
    after that; `turn` is everything from the receipt of a frame until the loop waits again.
    """

    STAGES = (
        "receive_to_solve", "solve_to_publish", "receive_to_publish", "capture_to_publish", "publish",
        "capture_to_receive", "turn",
    )  # fmt: skip

    def __init__(self) -> None:
        self.stages = {name: LatencyHistogram() for name in self.STAGES}

    def add_solved(self, t_capture: int, t_received: int, t_solved: int) -> None:
        """Add the durations between the time stamps of one frame, up to its solution [ns]."""
        self.stages["receive_to_solve"].add(t_solved - t_received)
        self._add_from("capture_to_receive", t_capture, t_received)

    def add_published(self, t_capture: int, t_received: int, t_solved: int, t_published: int) -> None:
        """Add the durations between the time stamps of a frame that was published [ns]."""
        s = self.stages
        s["solve_to_publish"].add(t_published - t_solved)
        s["receive_to_publish"].add(t_published - t_received)
        self._add_from("capture_to_publish", t_capture, t_published)

    def _add_from(self, name: str, t_capture: int, t: int) -> None:
        # only on one machine do source and estimator share a clock; elsewhere the difference means nothing
        if 0 <= t - t_capture < 10_000_000_000:
            self.stages[name].add(t - t_capture)

    def gauges(self) -> dict[str, float]:
        """Return percentiles and maximum of the durations of each part [us] for the telemetry, under keys
        such as "receive_to_solve_us.p99"; parts without durations are left out.
        """
        gauges: dict[str, float] = {}
        for name, histogram in self.stages.items():
            gauges |= histogram.gauges(name)
        return gauges
