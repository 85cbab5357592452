"""Angles of the conventional gait model: Y-X-Z Cardan angles as Plug-in Gait publishes them, in its order.

Signs are the same on both sides: flexion, adduction and internal rotation are positive.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.conventional.axes import SIGNS

Array = NDArray[np.float64]

SQUARE = 0.5 * np.pi


def cardan(R: Array) -> tuple[Array, Array, Array]:
    """Return the Cardan angles a, b, c, (n,) each [rad], of the rotation matrices R = Ry(a) Rx(b) Rz(c), (n,
    3, 3); b is between -90 and 90 degrees.
    """
    a = np.arctan2(R[..., 0, 2], R[..., 2, 2])
    b = np.arcsin(np.clip(-R[..., 1, 2], -1.0, 1.0))
    c = np.arctan2(R[..., 1, 0], R[..., 1, 1])
    return a, b, c


def between(proximal: Array, distal: Array) -> tuple[Array, Array, Array]:
    """Return the Cardan angles of distal axes relative to proximal axes, both (n, 3, 3) [rad]."""
    return cardan(np.swapaxes(proximal, -1, -2) @ distal)


def hip_angles(pelvis: Array, thigh: Array, side: str) -> Array:
    """Return hip flexion, adduction and internal rotation, (n, 3) [rad]."""
    a, b, c = between(pelvis, thigh)
    return np.stack([-a, -SIGNS[side] * b, -SIGNS[side] * c], axis=-1)


def knee_angles(thigh: Array, shank: Array, side: str) -> Array:
    """Return knee flexion, adduction (varus) and internal rotation, (n, 3) [rad]."""
    a, b, c = between(thigh, shank)
    return np.stack([a, -SIGNS[side] * b, -SIGNS[side] * c], axis=-1)


def ankle_angles(shank: Array, foot: Array, side: str) -> Array:
    """Return ankle dorsiflexion, inversion and internal rotation, (n, 3) [rad]; shank : axes of the shank
    with the transverse axis of the ankle
    """
    a, b, c = between(shank, foot)
    return np.stack([-a - SQUARE, -SIGNS[side] * c, -SIGNS[side] * b], axis=-1)


def walking_axes(forwards: Array, up: Array) -> Array:
    """Return the axes of the direction of walking in the laboratory as columns: forwards, to the left, up,
    (3, 3).

    forwards, up : (3,) - perpendicular unit vectors
    """
    return np.stack([forwards, np.cross(up, forwards), up], axis=-1)


def nearest_axis(heading: Array, up: Array) -> Array:
    """Return the horizontal axis of the laboratory, positive or negative, that is nearest to a heading: (3,).

    heading : (3,) - direction of walking; NaN is returned if it is zero
    up : (3,) - axis of the laboratory that points up
    """
    level = heading * (1.0 - np.abs(up))
    largest = int(np.argmax(np.abs(level)))
    axis = np.zeros(3)
    axis[largest] = np.sign(level[largest])
    known = np.isfinite(level).all() and axis[largest] != 0.0
    return axis if known else np.full(3, np.nan)


def pelvis_angles(walking: Array, pelvis: Array, side: str) -> Array:
    """Return the pelvis angles: anterior tilt, obliquity (positive = this side up), internal rotation
    (positive = this side forward), (n, 3) [rad].

    walking : axes of the direction of walking, (3, 3) or (n, 3, 3); pelvis : axes of the pelvis, (n, 3, 3)
    """
    a, b, c = between(walking, pelvis)
    return np.stack([a, SIGNS[side] * b, -SIGNS[side] * c], axis=-1)


def foot_progression(walking: Array, foot: Array, side: str) -> Array:
    """Return the foot progression angles: pitch (level foot: -90 degrees), roll, and internal rotation, (n,
    3) [rad].

    walking : axes of the direction of walking, (3, 3) or (n, 3, 3); foot : axes of the foot, (n, 3, 3)
    """
    a, b, c = between(walking, foot)
    return np.stack([a, SIGNS[side] * c, -SIGNS[side] * b], axis=-1)
