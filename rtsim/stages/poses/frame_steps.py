"""Times between the frames of a stream, and between those of them that are used."""

from __future__ import annotations

import math

LONGEST_STEP_S = 86_400.0
"""Time between two frames above which it counts as unknown, as the clock has jumped [s]."""
SHORTEST_STEP_S = 1e-9
"""Time between two frames below which it counts as unknown, as speeds would be meaningless [s]."""


class FrameSteps:
    """Times between the frames of one stream. For what follows the person from one used frame to the next,
    the time of the frames between them counts as well.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Discard the time of the last frame."""
        self._time, self._dt, self._left_out = math.nan, 0.0, 0.0

    def take(self, time: float) -> float:
        """Return the time since the previous frame [s], 0 = unknown; time : time of the frame [s]"""
        dt = time - self._time
        self._time = time
        self._dt = dt if SHORTEST_STEP_S <= dt < LONGEST_STEP_S else 0.0
        return self._dt

    def since_used(self, used: bool) -> float:
        """Return the time from the last frame that was used to the one taken last [s], 0 = unknown; used :
        whether the latter is used, too
        """
        if not used:
            self._left_out += self._dt
            return 0.0
        left_out, self._left_out = self._left_out, 0.0
        return self._dt + left_out if self._dt > 0.0 else 0.0
