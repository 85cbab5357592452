"""Angles of the conventional gait model: Y-X-Z Cardan angles as Plug-in Gait publishes them, in its order.

Both sides read alike: flexion, adduction and internal rotation are positive on the right and on the left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.conventional.axes import SIGNS

Array = NDArray[np.float64]

SQUARE = 0.5 * np.pi


def cardan(R: Array) -> tuple[Array, Array, Array]:
    """Angles (n,) of R = Ry(a) Rx(b) Rz(c), (n, 3, 3) [rad]; b within a quarter turn."""
    a = np.arctan2(R[..., 0, 2], R[..., 2, 2])
    b = np.arcsin(np.clip(-R[..., 1, 2], -1.0, 1.0))
    c = np.arctan2(R[..., 1, 0], R[..., 1, 1])
    return a, b, c


def between(proximal: Array, distal: Array) -> tuple[Array, Array, Array]:
    """Cardan angles of distal axes in proximal ones, both (n, 3, 3) [rad]."""
    return cardan(np.swapaxes(proximal, -1, -2) @ distal)


def hip_angles(pelvis: Array, thigh: Array, side: str) -> Array:
    """(n, 3) - flexion, adduction, internal rotation [rad]."""
    a, b, c = between(pelvis, thigh)
    return np.stack([-a, -SIGNS[side] * b, -SIGNS[side] * c], axis=-1)


def knee_angles(thigh: Array, shank: Array, side: str) -> Array:
    """(n, 3) - flexion, adduction (varus), internal rotation [rad]."""
    a, b, c = between(thigh, shank)
    return np.stack([a, -SIGNS[side] * b, -SIGNS[side] * c], axis=-1)


def ankle_angles(shank: Array, foot: Array, side: str) -> Array:
    """(n, 3) - dorsiflexion, inversion, internal rotation [rad]; shank : axes of the shank about the
    ankle's axis"""
    a, b, c = between(shank, foot)
    return np.stack([-a - SQUARE, -SIGNS[side] * c, -SIGNS[side] * b], axis=-1)


def walking_axes(forwards: Array, up: Array) -> Array:
    """(3, 3) - axes of the direction of walking in the laboratory: forwards, to the left, up, as
    columns.

    forwards, up : (3,) - unit vectors, square to each other
    """
    return np.stack([forwards, np.cross(up, forwards), up], axis=-1)


def nearest_axis(heading: Array, up: Array) -> Array:
    """(3,) - the horizontal axis of the laboratory, or its opposite, that a heading (3,) is nearest to.

    up : (3,) - along an axis of the laboratory. NaN where the heading has no direction.
    """
    level = heading * (1.0 - np.abs(up))
    largest = int(np.argmax(np.abs(level)))
    axis = np.zeros(3)
    axis[largest] = np.sign(level[largest])
    known = np.isfinite(level).all() and axis[largest] != 0.0
    return axis if known else np.full(3, np.nan)


def pelvis_angles(walking: Array, pelvis: Array, side: str) -> Array:
    """(n, 3) - anterior tilt, obliquity (up on this side), internal rotation (this side ahead) [rad].

    Of the pelvis (n, 3, 3) to the direction of walking (3, 3), or (n, 3, 3).
    """
    a, b, c = between(walking, pelvis)
    return np.stack([a, SIGNS[side] * b, -SIGNS[side] * c], axis=-1)


def foot_progression(walking: Array, foot: Array, side: str) -> Array:
    """(n, 3) - pitch (a level foot: -90 degrees), roll, and rotation inwards [rad].

    Of the foot (n, 3, 3) to the direction of walking (3, 3), or (n, 3, 3).
    """
    a, b, c = between(walking, foot)
    return np.stack([a, SIGNS[side] * c, -SIGNS[side] * b], axis=-1)
