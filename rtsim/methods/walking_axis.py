"""The direction of walking: an axis of the laboratory, or the actual direction if it is oblique to all axes.

Plug-in Gait takes the horizontal axis of the laboratory, or its opposite, that is nearest to the displacement
from the first to the last frame, if this is 0.8 m or more. Here it is the axis, or its opposite, that the
pelvis faces, as long as the path deviates little from an axis; for a person who walks straight ahead this is
the same. For an oblique path the direction is that of the path itself. Otherwise pelvis and feet would seem
rotated by the angle between the path and the nearest axis.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.conventional.angles import nearest_axis, walking_axes

Array = NDArray[np.float64]

UP = np.array([0.0, 1.0, 0.0])
"""Upward axis of the ground frame."""
ROUND = math.cos(math.radians(135.0))
"""Cosine of the angle to the axis beyond which a person has turned round."""
ROUND_S = 0.5
"""Time for which the person must face the other way to have turned round, so that a stagger does not count
[s]."""
SHORTEST_M = 0.8
"""Shortest way that has a direction, from the first to the last frame of a recording, as in Plug-in Gait
[m]."""
STRIDE_M = 1.5
"""Shortest way that has a direction in a stream: about a stride, over which the pelvis sways to both sides
[m]."""
OBLIQUE = math.radians(15.0)
"""Angle to the nearest axis of the laboratory above which a path counts as oblique [rad]. A choice: a walkway
of 1 m by 6 m leaves room for 10 degrees to a person who walks along it."""
BESIDE = (0.1, 0.05)
"""Largest distance of a straight way from the line of its ends: in all [m], or in parts of its length, the
larger."""
APART_M = 0.05
"""Distance between successive positions that are stored in a stream [m]."""
MOST_PLACES = 100
"""Number of places after which nobody has walked straight ahead, as on a treadmill."""
OBLIQUE_WALK = (
    "The walk deviates by {:.0f} degrees from the axes of the laboratory: pelvis rotation and foot "
    "progression are relative to the direction of walking, where Plug-in Gait would take the nearest axis."
)


def straight_way(places: Array, shortest: float = SHORTEST_M) -> Array | None:
    """Return the unit vector (3,) from the first to the last position on the floor; None if the path is not
    straight, or shorter than `shortest`.

    places : (n, 3) positions of a pelvis, NaN = not seen [m]
    shortest : shortest length of such a path [m]
    """
    seen = places[np.isfinite(places).all(axis=1)] * (1.0 - UP)
    if len(seen) < 2:
        return None
    way = seen[-1] - seen[0]
    length = float(np.linalg.norm(way))
    if length < shortest:
        return None
    forwards: Array = way / length
    beside = np.abs((seen - seen[0]) @ np.cross(UP, forwards))
    return forwards if float(beside.max()) <= max(BESIDE[0], BESIDE[1] * length) else None


def off_axes(direction: Array) -> float:
    """Return the angle of a horizontal direction (3,) to the nearest axis of the laboratory [rad]."""
    largest = float(np.abs(direction).max() / np.linalg.norm(direction))
    return math.acos(min(1.0, largest))


def oblique_way(places: Array, shortest: float = SHORTEST_M) -> Array | None:
    """Return the unit vector (3,) from the first to the last position on the floor, if the path is straight
    and oblique to all axes of the laboratory; else None.

    places : (n, 3) positions of a pelvis, NaN = not seen [m]; shortest : shortest length of such a path [m]
    """
    way = straight_way(places, shortest)
    return way if way is not None and off_axes(way) > OBLIQUE else None


class WalkingAxis:
    """The direction of walking: the laboratory axis, or its opposite, that the pelvis faces; the path itself
    if oblique.

    The direction is determined in the first frame in which the pelvis is visible. It stays the same when the
    person turns a corner, as in a trial of Plug-in Gait, and changes only if the person turns round and walks
    back. In a recording, an oblique path is known before the first frame. In a stream it is known as soon as
    the person has walked far enough straight ahead.

    Attributes
    ----------
    axes : (3, 3) - forwards, to the left, up, as columns; NaN before the pelvis was seen
    """

    def __init__(self, recorded: Array | None = None) -> None:
        """Begin without a known direction.

        recorded : (3,) - direction of the path of a recording, or its opposite, if the path is oblique to all
            axes of the laboratory; else None
        """
        self.axes = np.full((3, 3), math.nan)
        self._recorded = recorded
        self._since = math.nan
        self._places: list[Array] = []
        self._is_oblique, self._judged = False, False

    def begin(self) -> None:
        """Discard the direction and the positions of the walk so far."""
        self.axes[:] = self._since = math.nan
        self._places, self._is_oblique, self._judged = [], False, False

    def look(self, time: float, forwards: Array, place: Array) -> str:
        """Update the direction from the forward direction and position of the pelvis at a time [s]. If the
        walk is oblique, return a note for the user once, otherwise "".

        forwards : (3,) of any length
        place : (3,) [m]; NaN = not seen
        """
        x, z = float(forwards[0]), float(forwards[2])
        size = math.hypot(x, z)
        if not 0.0 < size < math.inf:
            return ""
        cosine = (x * self.axes[0, 0] + z * self.axes[2, 0]) / size
        if cosine != cosine:
            return self._take(forwards)
        if cosine > ROUND:
            self._since = math.nan
        elif self._since != self._since or time < self._since:
            self._since = time
        elif time - self._since >= ROUND_S:
            return self._take(forwards)
        return "" if self._judged else self._follow(forwards, place)

    def _take(self, forwards: Array) -> str:
        """Set the direction of walking to the laboratory axis nearest to `forwards` (3,) or, if an oblique
        path is known, to the direction of that path or its opposite; return a note for the user, or "".
        """
        self._since = math.nan
        self._places, self._judged = [], self._recorded is not None
        way = self.axes[:, 0].copy() if self._is_oblique else self._recorded
        return self._set(nearest_axis(forwards, UP) if way is None else way, forwards)

    def _set(self, way: Array, facing: Array) -> str:
        """Set the direction of walking to `way` (3,) or its opposite, whichever is faced."""
        was, self._is_oblique = self._is_oblique, off_axes(way) > OBLIQUE
        self.axes[:] = walking_axes(way if float(way @ facing) >= 0.0 else -way, UP)
        new = self._is_oblique and not was
        return OBLIQUE_WALK.format(math.degrees(off_axes(way))) if new else ""

    def _follow(self, forwards: Array, place: Array) -> str:
        """Collect positions of the pelvis, `place` (3,) [m], until the person has walked a stride, and then
        take the direction of this path if it is straight and oblique; return a note for the user, or "".
        """
        if not math.isfinite(float(place[0] + place[2])):
            return ""
        if self._places and float(np.hypot(*(place - self._places[-1])[::2])) < APART_M:
            return ""
        self._places.append(np.array(place))
        if float(np.hypot(*(place - self._places[0])[::2])) < STRIDE_M:
            self._judged = len(self._places) >= MOST_PLACES
            return ""
        self._judged = True
        way = oblique_way(np.array(self._places), STRIDE_M)
        if way is None:
            return self._set(nearest_axis(forwards, UP), forwards) if self._is_oblique else ""
        return self._set(way, forwards)
