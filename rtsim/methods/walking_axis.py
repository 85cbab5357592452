"""The direction of walking as gait laboratories have it: an axis of the laboratory."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.conventional.angles import nearest_axis, walking_axes

Array = NDArray[np.float64]

UP = np.array([0.0, 1.0, 0.0])
"""Of the ground frame."""
ROUND = math.cos(math.radians(135.0))
"""Cosine of the angle to the axis beyond which a person has turned round."""
ROUND_S = 0.5
"""For so long, so that a stagger is none [s]."""


class WalkingAxis:
    """The axis of the laboratory, or its opposite, that the pelvis faces.

    It is that of the first frame which shows the pelvis, and stays as the person turns a corner, as in a
    trial of Plug-in Gait; only who turns round and goes back has another.

    Attributes
    ----------
    axes : (3, 3) - forwards, to the left, up, as columns; NaN before the pelvis was seen
    """

    def __init__(self) -> None:
        self.axes = np.full((3, 3), math.nan)
        self._since = math.nan

    def begin(self) -> None:
        """Nobody has been seen yet."""
        self.axes[:] = self._since = math.nan

    def look(self, time: float, forwards: Array) -> None:
        """Take in where the pelvis faces, forwards : (3,) - of any length, NaN = not seen; at a time [s]."""
        x, z = float(forwards[0]), float(forwards[2])
        size = math.hypot(x, z)
        if not 0.0 < size < math.inf:
            return
        cosine = (x * self.axes[0, 0] + z * self.axes[2, 0]) / size
        if cosine != cosine:
            self._take(forwards)
        elif cosine > ROUND:
            self._since = math.nan
        elif self._since != self._since or time < self._since:
            self._since = time
        elif time - self._since >= ROUND_S:
            self._take(forwards)

    def _take(self, forwards: Array) -> None:
        """The axis that is nearest from now on."""
        self.axes[:] = walking_axes(nearest_axis(forwards, UP), UP)
        self._since = math.nan
