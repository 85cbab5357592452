"""Checks of a whole person's motion: impossible jumps, turning round, and walking backwards."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEAP_M, FASTEST_M_S = 0.3, 10.0
"""Largest movement of a person between two frames: this distance, plus this speed times the time between."""
LEAP_RAD, FASTEST_RAD_S = 1.0, 20.0
"""The same for the rotation of a person."""
TURN_RAD = math.radians(45.0)
"""Angle within TURN_S from which somebody turns round; in level walking the pelvis turns to and fro by
half."""
TURN_S = 1.0
LOOK_S = 0.02
"""Interval at which headings are stored [s]."""
STEPS_S = 0.4
"""Time over which the motion of raised feet is compared [s]."""
HEIGHT_S = 1.0
"""Time over which the height of one foot alone is averaged [s]."""
LEARNING_S = 0.8
"""Time of observation before steps are judged [s]."""
LEAST_M_S = 0.15
"""Root mean square speed of the feet below which they do not step [m/s]."""
BACK_FROM, FORWARDS_FROM = -0.3, 0.2
"""Correlations below which the gait counts as backwards, and above which as forwards again."""
BACK_M_S, BACK_S = 0.4, 0.2
"""Backward speed of the pelvis, averaged over this time, from which the person walks backwards whatever the
feet do."""
LONGEST_S = 0.25
"""Longest gap between samples [s]; after a longer one the check begins anew."""
TURNS, BACKWARDS = "the person turns round", "the person walks backwards"


class PersonLeap:
    """Checks whether a person has moved farther since the last sample than a person can."""

    def __init__(self) -> None:
        self._before: tuple[float, Array, Array] | None = None

    def begin(self) -> None:
        """Discard the previous position and orientation of the person."""
        self._before = None

    def look(self, now_s: float, place: Array, rotation: Array) -> str:
        """Return a sentence for the user if no person can move so far or turn so much since the previous
        sample; empty otherwise.

        now_s : time of the sample [s]; place : (3,) position of the pelvis [m]
        rotation : (3, 3) its axes in ground
        """
        before, self._before = self._before, (now_s, place.copy(), rotation.copy())
        if before is None:
            return ""
        passed_s = max(0.0, now_s - before[0])
        moved = math.dist(place, before[1])
        if not moved <= LEAP_M + FASTEST_M_S * passed_s:
            return f"the person leaps by {moved:.2g} m in {1e3 * passed_s:.0f} ms"
        cosine = 0.5 * (float(np.vdot(before[2], rotation)) - 1.0)
        turned = math.acos(min(1.0, max(-1.0, cosine)))
        if not turned <= LEAP_RAD + FASTEST_RAD_S * passed_s:
            return f"the person turns by {math.degrees(turned):.0f} deg in {1e3 * passed_s:.0f} ms"
        return ""


class WalkDirection:
    """Checks whether a person walks forwards, on a floor or on a belt.

    On a belt the pelvis stays in place. There the check uses the feet: relative to the pelvis, a raised foot
    moves forwards and a foot on the ground moves backwards, so height and forward speed of a foot are
    correlated. The correlation is computed for the difference between right and left foot or, with one foot,
    for the foot itself after subtraction of its mean height. It is positive in walking forwards and negative
    in walking backwards:

        recorded walks      two feet 0.53 to 0.88       one foot 0.08 to 0.78
        played backwards    two feet -0.88 to -0.52     one foot -0.95 to -0.20, below -0.5 in every stride
        built-in walker     two feet 0.36 to 0.71       one foot -0.19 to 0.58
        played backwards    two feet -0.65 to -0.32     one foot -0.82 to -0.20

    There were eight recorded walks. The built-in walker raises its ankles more before toe-off than a person.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Discard the history of the walk."""
        self._before: tuple[float, float, float, float] | None = None  # time, of the feet, of the pelvis
        self._headings: deque[tuple[float, float]] = deque()
        self._heading = self._height = self._speed = self._seen_s = 0.0
        self._joint = self._heights = self._speeds = 0.0  # means of products
        self._backwards = False

    def look(
        self, time: float, pelvis: Array, forwards: tuple[float, float], feet: list[tuple[float, float]]
    ) -> str:
        """Return a sentence for the user if the person turns round or walks backwards; empty otherwise.

        pelvis : (3,) position of the pelvis [m]
        forwards : its horizontal forward direction in ground, a unit vector
        feet : forward position relative to the pelvis and height of each foot [m]
        """
        place, height = feet[0]
        if len(feet) > 1:
            place, height = place - feet[1][0], height - feet[1][1]
        before = self._before
        if before is not None and not 0.0 < time - before[0] <= LONGEST_S:
            self.begin()
            before = None
        x, z = float(pelvis[0]), float(pelvis[2])
        self._before = (time, place, x, z)
        heading = math.atan2(forwards[1], forwards[0])
        if before is None:
            self._heading, self._height = heading, height
            return ""
        passed = time - before[0]
        self._heading += math.remainder(heading - self._heading, math.tau)
        moved = (x - before[2]) * forwards[0] + (z - before[3]) * forwards[1]
        self._speed += min(1.0, passed / BACK_S) * (moved / passed - self._speed)
        self._step((place - before[1]) / passed, height, passed, len(feet) == 1)
        if self._turns(time):
            return TURNS
        return BACKWARDS if self._backwards or self._speed < -BACK_M_S else ""

    def _step(self, speed: float, height: float, passed: float, alone: bool) -> None:
        """Update the evidence for walking backwards by one sample of the feet.

        speed, height : forward speed relative to the pelvis [m/s] and height [m], of the right foot minus the
            left one, or of a single foot
        passed : time since the previous sample [s]; alone : whether only one foot is tracked
        """
        if alone:
            self._height += min(1.0, passed / HEIGHT_S) * (height - self._height)
            height -= self._height
        part = min(1.0, passed / STEPS_S)
        self._joint += part * (height * speed - self._joint)
        self._heights += part * (height * height - self._heights)
        self._speeds += part * (speed * speed - self._speeds)
        self._seen_s += passed
        if self._seen_s < LEARNING_S or self._speeds < LEAST_M_S**2:
            return
        size = math.sqrt(self._heights * self._speeds)
        correlation = self._joint / size if size > 0.0 else 0.0
        self._backwards = correlation < (FORWARDS_FROM if self._backwards else BACK_FROM)

    def _turns(self, time: float) -> bool:
        """Return whether the pelvis has rotated by much within TURN_S."""
        headings = self._headings
        while headings and time - headings[0][0] > TURN_S:
            headings.popleft()
        if not headings or time - headings[-1][0] >= LOOK_S:
            headings.append((time, self._heading))
        return any(abs(self._heading - heading) > TURN_RAD for _, heading in headings)
