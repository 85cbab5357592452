"""Pausing, stepping and resetting the limb's motion; never under torque."""

from __future__ import annotations

WAIT_S = 0.1
"""Longest time for which a pause waits until the device reports that it is off; then the limb stops [s]."""
ROUNDED_S = 1e-9
PAUSED = "the limb is paused"
GOES_BACK = "the limb is about to return to its start"


class PauseControl:
    """Control of whether the limb moves in a tick.

    The exchange with the device continues in a pause, and the device stays disarmed.

    Before the limb is stopped, or returns to its start, the device is given time to end its torque: a sudden
    stop would jerk a device that follows its angle.

    Attributes
    ----------
    wanted : a pause was requested
    paused : the pause has begun
    stands : the limb is at rest in this tick
    n_moved : number of ticks in which the limb has moved
    n_left : number of ticks that the limb still moves although a pause is requested: one after a return to
      its start, so that it has a pose to publish
    back : whether the limb returns to its start at the beginning of this tick
    """

    def __init__(self) -> None:
        self.wanted = self.paused = self.stands = self.back = False
        self.n_moved = self.n_left = 0
        self._resets = False
        self._waited_s = 0.0

    @property
    def objection(self) -> str:
        """Return why torque must not begin, as a sentence; empty if the limb is neither paused nor about to
        return to its start."""
        return PAUSED if self.wanted else GOES_BACK if self._resets else ""

    def pause(self) -> None:
        """Pause the limb as soon as the device reports no torque."""
        if not self.wanted:
            self.wanted, self._waited_s = True, 0.0

    def resume(self) -> None:
        """End the pause of the limb."""
        self.wanted = self.paused = False
        self.n_left = 0

    def reset(self) -> None:
        """Return the limb to its start as soon as the device reports no torque."""
        self._resets, self._waited_s = True, 0.0

    def tick(self, off: bool, tick_s: float) -> None:
        """Decide whether the limb moves in a tick of this length [s].

        off : whether the device reports that it applies no torque
        """
        if not (self.wanted or self._resets or self.paused or self.n_left):  # as in nearly every tick
            self.back = self.stands = False
            self.n_moved += 1
            return
        self.back = False
        waits = False
        if self._resets or (self.wanted and not self.stands):
            waits = not off and self._waited_s < WAIT_S - ROUNDED_S
            self._waited_s += tick_s
        if self._resets and not waits:
            self.back, self._resets = True, False
            self.n_left += self.wanted  # a tick from the start, so that there is a pose to tell
        self.stands = self.wanted and not waits and not self.n_left
        self.paused = self.paused or self.stands
        if not self.stands:
            self.n_moved += 1
            self.n_left = max(0, self.n_left - 1)
