"""A person's pelvis and thighs in the vertical plane that the pelvis faces, with speeds and accelerations.

What drives a planar limb: where the middle of the hips is, forwards and up, how far the pelvis is tilted
backwards, how far each thigh is flexed against it. A body's inclination is that of its long axis u, seen from
the side: phi = atan2(-u . f, u . y), f the direction in which the pelvis faces, y up. In that plane the
pelvis' tilt and a hip's flexion add up to the thigh's inclination, as in a planar model.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

UP = np.array([0.0, 1.0, 0.0])
LONGEST_S = 0.25
"""Over a longer gap nobody is taken to have walked."""


def faced(rotation: Array) -> Array:
    """(3,) - where the X axis of a body (3, 3) points, in the horizontal; NaN where it points up or down."""
    x, _, z = rotation[:, 0].tolist()
    size = math.hypot(x, z)
    return np.array([x / size, 0.0, z / size]) if size > 0.0 else np.full(3, math.nan)


def moved(place: Array, speed: Array, acceleration: Array, of_hips: Array, turn: Array, spin: Array) -> Array:
    """(3, 3) - rows: place, velocity and acceleration in ground [m, s] of a point of a body.

    place, speed, acceleration : (3,) - of its origin; of_hips : (3,) - the point from there, in ground
    turn, spin : (3,) - angular velocity and acceleration, in ground
    """
    swept = np.cross(turn, of_hips)
    return np.array([
        place + of_hips, speed + swept, acceleration + np.cross(spin, of_hips) + np.cross(turn, swept),
    ])  # fmt: skip


def inclined(axis: Array, turn: Array, spin: Array, forwards: Array) -> Array:
    """(3,) - inclination of a body's long axis backwards, its rate and the rate of that [rad, s].

    axis : (3,) - in ground; turn, spin : (3,) - of the body in ground; forwards : (3,)
    """
    first = np.cross(turn, axis)
    second = np.cross(spin, axis) + np.cross(turn, first)
    p, dp, ddp = (float(row @ forwards) for row in (axis, first, second))
    h, dh, ddh = (float(row[1]) for row in (axis, first, second))
    size, change = p * p + h * h, 2.0 * (p * dp + h * dh)
    rate = -(dp * h - p * dh) / size
    return np.array([math.atan2(-p, h), rate, (-(ddp * h - p * ddh) - rate * change) / size])


class ForwardDistance:
    """The distance that a person has moved along the direction that the pelvis faces, also where that
    changes.

    far : [m], of a clock that goes on by steps of up to LONGEST_S
    """

    def __init__(self) -> None:
        self.far = 0.0
        self._time, self._speed = math.nan, 0.0

    def add(self, time: float, speed: float) -> float:
        """Take the speed along the direction that the pelvis faces at a time [m/s, s]; return the distance
        covered so far [m].
        """
        step = time - self._time
        if 0.0 < step <= LONGEST_S:
            self.far += 0.5 * step * (self._speed + speed)
        self._time, self._speed = time, speed
        return self.far
