"""The speed of a treadmill's belt, from feet that stand on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.plates.standing import STANDS

Array = NDArray[np.float64]

LEAST_M_S = 0.4
"""Speed above which the surface is taken to be a moving belt [m/s]: feet that stand on a floor roll and slip,
too."""
SURE_S = 0.1
"""Time for which a foot must have stood flat before its speed is used [s]."""
TILT = 0.1
"""Difference of the heights of heel and toes up to which a foot may be flat [m]."""


class Belt:
    """Velocity of the surface on which the feet stand, such as a treadmill belt.

    velocity : (3,) velocity of the surface [m/s]; zeros until the motion of a foot shows that it moves
    moves : whether it moves
    """

    def __init__(self) -> None:
        self.velocity: Array = np.zeros(3)
        self._sum: Array = np.zeros((2, 3))
        self._time = np.zeros(2)

    def forget(self) -> None:
        """Assume that the surface is at rest."""
        self.velocity[:] = 0.0
        self._sum[:] = self._time[:] = 0.0

    @property
    def moves(self) -> bool:
        return bool(self.velocity.any())

    def take(self, feet: Array, former: Array, dt: float, bears: NDArray[np.bool_], low: float) -> None:
        """Update the velocity from the feet of a frame that stand on the surface.

        A foot counts as standing if it is flat and loads a plate, or if it moves horizontally near the ground
        in the direction of its heel, as on a moving belt.

        feet, former : (2, 2, 3) heel and tip of the toes now and in the previous frame [m]
        dt : time between these two frames [s]
        bears : (2,) whether a foot loads a plate
        low : largest height of a foot that may be on the ground [m]
        """
        for f in range(len(feet)):
            speeds = (feet[f] - former[f]) / dt if dt > 0.0 else np.full((2, 3), np.nan)
            mean, line = speeds.mean(axis=0), feet[f, 1] - feet[f, 0]
            flat = abs(line[1]) <= TILT and np.linalg.norm(speeds[0] - speeds[1]) <= STANDS
            back = mean @ line < 0.0 and abs(mean[1]) <= STANDS and feet[f, :, 1].max() <= low
            if not (flat and (bears[f] or back)):
                self._sum[f] = self._time[f] = 0.0
                continue
            self._sum[f] += dt * mean
            self._time[f] += dt
            if self._time[f] >= SURE_S:
                found = self._sum[f] / self._time[f]
                self.velocity[:] = found if np.linalg.norm(found) >= LEAST_M_S else 0.0
