"""A limit on how often the monitor window is rebuilt, for a sender that changes its session all the time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streams.messages import Session


class RebuildLimit:
    """Decides whether the window may be rebuilt for a new session of the sender: for a few in quick
    succession, then for one per second; others are skipped.

    n_passed : number of skipped sessions
    """

    def __init__(self, n_burst: int) -> None:
        self.n_passed = 0
        self._n_burst = self._credit = float(n_burst)
        self._at = -math.inf
        self._refused: Session | None = None

    def grants(self, session: Session, now: float) -> bool:
        """Return whether the window may be rebuilt for this session at a monotonic time [s]."""
        self._credit = min(self._n_burst, self._credit + now - self._at)
        self._at = now
        if self._credit >= 1.0:
            self._credit -= 1.0
            if session is self._refused:
                self.n_passed -= 1  # it was only late
            self._refused = None
            return True
        if session is not self._refused:
            self._refused = session
            self.n_passed += 1
        return False
