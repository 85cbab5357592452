"""A person's pelvis and thighs in the vertical plane of the pelvis's forward direction, with speeds and
accelerations.

They can drive a planar model of a limb. The coordinates are the position of the hip midpoint, forwards and
up, the backward tilt of the pelvis, and the flexion of each thigh. The inclination of a body is that of its
long axis u, seen from the side: phi = atan2(-u . f, u . y), where f is the direction in which the pelvis
faces and y is up. In that plane, tilt of the pelvis and flexion of a hip add up to the inclination of the
thigh, as in a planar model.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

UP = np.array([0.0, 1.0, 0.0])
LONGEST_S = 0.25
"""Longest gap between frames of one walk [s]."""


def faced(rotation: Array) -> Array:
    """Return the horizontal direction (3,) of the X axis of a body (3, 3); NaN if it points up or down."""
    x, _, z = rotation[:, 0].tolist()
    size = math.hypot(x, z)
    return np.array([x / size, 0.0, z / size]) if size > 0.0 else np.full(3, math.nan)


def moved(place: Array, speed: Array, acceleration: Array, of_hips: Array, turn: Array, spin: Array) -> Array:
    """Return position, velocity and acceleration in ground [m, m/s, m/s^2] of a point fixed to a body, such
    as the middle of the hips on the pelvis, as rows (3, 3).

    place, speed, acceleration : (3,) position, velocity and acceleration of the body's origin in ground
    of_hips : (3,) vector from this origin to the point, in ground
    turn, spin : (3,) angular velocity and acceleration of the body, in ground
    """
    swept = np.cross(turn, of_hips)
    return np.array([
        place + of_hips, speed + swept, acceleration + np.cross(spin, of_hips) + np.cross(turn, swept),
    ])  # fmt: skip


def inclined(axis: Array, turn: Array, spin: Array, forwards: Array) -> Array:
    """Return the backward inclination of a body's long axis, its rate and its acceleration, (3,) [rad, s].

    axis : (3,) long axis in ground
    turn, spin : (3,) angular velocity and acceleration of the body in ground
    forwards : (3,) horizontal direction that counts as forwards
    """
    first = np.cross(turn, axis)
    second = np.cross(spin, axis) + np.cross(turn, first)
    p, dp, ddp = (float(row @ forwards) for row in (axis, first, second))
    h, dh, ddh = (float(row[1]) for row in (axis, first, second))
    size, change = p * p + h * h, 2.0 * (p * dp + h * dh)
    rate = -(dp * h - p * dh) / size
    return np.array([math.atan2(-p, h), rate, (-(ddp * h - p * ddh) - rate * change) / size])


class ForwardDistance:
    """The distance that a person has moved in the forward direction of the pelvis, also if that changes.

    far : distance [m]; time steps longer than LONGEST_S are ignored
    """

    def __init__(self) -> None:
        self.far = 0.0
        self._time, self._speed = math.nan, 0.0

    def add(self, time: float, speed: float) -> float:
        """Add the speed in the forward direction of the pelvis at a time [m/s, s]; return the distance so far
        [m].
        """
        step = time - self._time
        if 0.0 < step <= LONGEST_S:
            self.far += 0.5 * step * (self._speed + speed)
        self._time, self._speed = time, speed
        return self.far
