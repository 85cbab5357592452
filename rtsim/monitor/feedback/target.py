"""A target band for one value of biofeedback: whether the value is inside, for which share of the time, and
when a sound is due.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

SOUND_S = 0.6
"""Time between two sounds while a value is outside [s]."""
LARGEST = 1e9


@dataclass
class TargetBand:
    """A target band for biofeedback: lowest and highest value in display units, and the time inside it.

    seconds_inside, seconds_known : durations inside the target, and with a known value, since the start or
        the last `restart` [s]
    """

    low: float
    high: float
    seconds_inside: float = 0.0
    seconds_known: float = 0.0
    _time: float = math.nan
    _sounded: float = -math.inf

    def __post_init__(self) -> None:
        if not -LARGEST <= self.low < self.high <= LARGEST:
            raise ValueError(f"the target ranges from {self.low:g} to {self.high:g}")

    def holds(self, value: float) -> bool:
        """Return whether a value is inside the target; an unknown value is not."""
        return self.low <= value <= self.high

    def take(self, time: float, value: float) -> bool:
        """Add a value at a time [s] to the durations inside and outside the target; return whether a sound is
        due because the value is outside, at most one sound in SOUND_S seconds.
        """
        passed = time - self._time
        self._time = time
        if not math.isfinite(value):
            return False
        if 0.0 < passed < 1.0:  # not over gaps
            self.seconds_known += passed
            self.seconds_inside += passed if self.holds(value) else 0.0
        if self.holds(value) or time - self._sounded < SOUND_S:
            return False
        self._sounded = time
        return True

    @property
    def share(self) -> float:
        """Return the fraction of the time inside the target; NaN before any value is known."""
        return self.seconds_inside / self.seconds_known if self.seconds_known else math.nan

    def restart(self) -> None:
        """Restart the measurement of the time inside the target."""
        self.seconds_inside = self.seconds_known = 0.0
        self._time, self._sounded = math.nan, -math.inf
