"""Segments of the conventional gait model as Plug-in Gait has them: x forwards, y to the left, z up.

Of the foot z points from the toes backwards and x up. Whatever the side, y points to the person's left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.calibration.natural import unit

Array = NDArray[np.float64]

SIGNS = {"right": -1.0, "left": 1.0}
"""Sign of the direction that points outwards, along an axis to the left."""


class LegCentres(NamedTuple):
    """Joint centres of a leg and the markers on the outer side of knee and ankle, each (n, 3) [m]."""

    hip: Array
    knee: Array
    ankle: Array
    knee_lateral: Array
    ankle_lateral: Array


class LegAxes(NamedTuple):
    """Axes as columns, each (n, 3, 3).

    shank : about the axis of the knee; torsioned : about that of the ankle, which foot and ankle take
    """

    thigh: Array
    shank: Array
    torsioned: Array


def framed(z: Array, y: Array) -> Array:
    """(n, 3, 3) - axes with z along the one vector (n, 3), y in the plane of both, as columns."""
    z = unit(z)
    y = unit(y - np.sum(y * z, axis=-1, keepdims=True) * z)
    return np.stack([np.cross(y, z), y, z], axis=-1)


def pelvis_frame(asis_right: Array, asis_left: Array, psis_middle: Array) -> Array:
    """(n, 3, 3) - y to the left ASIS, z square to the plane of the ASIS and the PSIS."""
    y = unit(asis_left - asis_right)
    x = 0.5 * (asis_right + asis_left) - psis_middle
    x = unit(x - np.sum(x * y, axis=-1, keepdims=True) * y)
    return np.stack([x, y, np.cross(x, y)], axis=-1)


def leg_axes(centres: LegCentres, side: str, torsion: float = 0.0) -> LegAxes:
    """Axes of thigh and shank; torsion : tibial torsion as a file stores it [rad], the inward rotation
    of the knee's axis from the ankle's
    """
    sign = SIGNS[side]
    thigh = framed(centres.hip - centres.knee, sign * (centres.knee_lateral - centres.knee))
    torsioned = framed(centres.knee - centres.ankle, sign * (centres.ankle_lateral - centres.ankle))
    return LegAxes(thigh, torsioned @ about_z(sign * torsion), torsioned)


def foot_axes(behind: Array, toe: Array, shank: Array) -> Array:
    """(n, 3, 3) - axes of the foot: z from the toe to a place behind it, both (n, 3) [m]; y that of the
    shank, made orthogonal to z.
    """
    return framed(behind - toe, shank[..., 1])


def about_y(angle: float) -> Array:
    """(3, 3) - rotation about y [rad]."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def about_x(angle: float) -> Array:
    """(3, 3) - rotation about x [rad]."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def about_z(angle: float) -> Array:
    """(3, 3) - rotation about z [rad]."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
