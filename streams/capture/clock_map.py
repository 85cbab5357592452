"""Maps the clock of a capture system to this machine's: offset and drift, from the arrival times of its
stamps.

A frame arrives with a delay that has a lower bound and is often larger. So the earliest arrival of each half
second is used, and the line of Theil and Sen is fitted to these points: its slope is the median of the slopes
of all pairs, and its offset the median of the residuals. Neither is affected by late frames as long as fewer
than 29 % of the points are late. H. Theil, Proc. K. Ned. Akad. Wet. 53 (1950) 386-392; P. K. Sen, J. Am.
Stat. Assoc. 63 (1968) 1379-1389.
"""

from __future__ import annotations

from collections import deque

import numpy as np

BLOCK_NS = 500_000_000
"""Length of the blocks of time, in each of which only the earliest arrival counts [ns]."""
MOST_BLOCKS = 64
"""Number of blocks that the line is fitted to: the last half minute."""
LEAST_SPAN_NS = 4_000_000_000
"""Time span below which the drift is taken as zero: it is below a millisecond, and not measurable [ns]."""
GREATEST_DRIFT = 500e-6
"""Largest drift of clocks of computers and cameras [1]; a steeper line is caused by delays."""
LEAP_NS = 1_000_000_000
"""The clock was reset if stamps arrive earlier than any delay permits by this much [ns]."""
LATE_BLOCKS = 4
"""The clock was also reset (set back) if in so many blocks every stamp was late by LEAP_NS."""


class ClockMap:
    """Converter of a capture system's time stamps to this machine's clock, learnt from arrival times.

    n_restart : number of times that the system's clock was reset, so that everything was learnt again
    """

    def __init__(self) -> None:
        self.n_restart = 0
        self._paired = False
        self._forget()

    def _forget(self) -> None:
        self._blocks: deque[tuple[int, int]] = deque(maxlen=MOST_BLOCKS)
        self._block_start_ns = 0
        self._earliest: tuple[int, int] | None = None
        self._n_late = 0
        # the line: offset = _offset_ns + _drift * (stamp - _anchor_ns)
        self._anchor_ns = self._offset_ns = 0
        self._drift, self._spread_ns = 0.0, 0.0

    @property
    def known(self) -> bool:
        """Whether time stamps can be converted: whether the relation of the two clocks is known since the
        system's clock last started.
        """
        return self._earliest is not None or bool(self._blocks)

    def learn(self, stamp_ns: int, local_ns: int) -> bool:
        """Learn from a time stamp and the time at which it arrived; return whether the system's clock was
        reset.

        local_ns : time of arrival on this machine's clock, less the age of the frame if the system reports
            that [ns]

        Nothing is done once simultaneous readings of both clocks (ClockPair) are known.
        """
        return False if self._paired else self._take(stamp_ns, local_ns)

    def pair(self, stamp_ns: int, local_ns: int) -> bool:
        """Learn from simultaneous readings of both clocks; from then on only such pairs are used. Return
        whether the system's clock was reset.
        """
        if not self._paired:
            self._forget()
            self._paired = True
        return self._take(stamp_ns, local_ns)

    def restart(self) -> None:
        """Discard the relation of the clocks, for a new connection."""
        self._forget()
        self._paired = False

    def local_ns(self, stamp_ns: int) -> int:
        """Convert a stamp to this machine's clock [ns]; LookupError while the relation of the clocks is
        unknown."""
        if not self.known:
            raise LookupError("nothing is known of the system's clock yet")
        return stamp_ns + self._offset_ns + round(self._drift * (stamp_ns - self._anchor_ns))

    def stamp_ns(self, local_ns: int) -> int:
        """Convert a time of this machine's clock to a stamp, the inverse of `local_ns` [ns]; LookupError
        while the relation of the clocks is unknown.
        """
        passed_ns = local_ns - self.local_ns(self._anchor_ns)
        return self._anchor_ns + passed_ns - round(self._drift / (1.0 + self._drift) * passed_ns)

    def gauges(self) -> dict[str, float]:
        """Return the current values for the telemetry: the clock's offset, its drift, and the median distance
        of the earliest arrivals from the fitted line.
        """
        if not self.known:
            return {}
        last = self._earliest or self._blocks[-1]
        return {
            "clock_offset_s": 1e-9 * (self.local_ns(last[0]) - last[0]),
            "clock_drift_ppm": 1e6 * self._drift,
            "clock_spread_us": 1e-3 * self._spread_ns,
        }

    def _take(self, stamp_ns: int, local_ns: int) -> bool:
        restarted = self._is_anew(stamp_ns, local_ns)
        if restarted:
            self._forget()
            self.n_restart += 1
        arrival = stamp_ns, local_ns - stamp_ns
        if self._earliest is None:
            self._earliest, self._block_start_ns = arrival, local_ns
        elif local_ns - self._block_start_ns >= BLOCK_NS:
            late = self._earliest[1] > self.local_ns(self._earliest[0]) - self._earliest[0] + LEAP_NS
            self._n_late = self._n_late + 1 if late else 0
            self._blocks.append(self._earliest)
            self._fit()
            self._earliest, self._block_start_ns = arrival, local_ns
        elif arrival[1] < self._earliest[1]:
            self._earliest = arrival
        if not self._blocks:
            self._anchor_ns, self._offset_ns = self._earliest
        return restarted

    def _is_anew(self, stamp_ns: int, local_ns: int) -> bool:
        """Return whether this time stamp, or the stamps of a recent period, show that the system's clock was
        restarted."""
        if not self.known:
            return False
        return self._n_late >= LATE_BLOCKS or local_ns - self.local_ns(stamp_ns) < -LEAP_NS

    def _fit(self) -> None:
        """Fit the line of Theil and Sen to the earliest arrivals and store its offset and slope."""
        anchor_ns, base_ns = self._blocks[-1]
        # differences first, as int: stamps and offsets may be days, of which a float keeps too little
        x = np.array([stamp_ns - anchor_ns for stamp_ns, _ in self._blocks], dtype=np.float64)
        y = np.array([offset_ns - base_ns for _, offset_ns in self._blocks], dtype=np.float64)
        slope = 0.0
        if x[-1] - x[0] >= LEAST_SPAN_NS:
            first, second = np.triu_indices(len(x), 1)
            apart = x[second] - x[first]
            slopes = (y[second] - y[first])[apart > 0.0] / apart[apart > 0.0]
            slope = float(np.clip(np.median(slopes), -GREATEST_DRIFT, GREATEST_DRIFT)) if slopes.size else 0.0
        left = y - slope * x
        middle = float(np.median(left))
        self._anchor_ns, self._offset_ns, self._drift = anchor_ns, base_ns + round(middle), slope
        self._spread_ns = float(np.median(np.abs(left - middle)))
