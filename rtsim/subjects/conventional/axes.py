"""Segments of the conventional gait model as Plug-in Gait has them: x forwards, y to the left, z up.

On the foot, z points backwards from the toes and x up. On both sides y points to the person's left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.calibration.natural import unit

Array = NDArray[np.float64]

SIGNS = {"right": -1.0, "left": 1.0}
"""Sign of the outward direction of each leg along an axis that points to the left."""


class LegCentres(NamedTuple):
    """Joint centres of a leg, and the lateral markers of knee and ankle, each (n, 3) [m]."""

    hip: Array
    knee: Array
    ankle: Array
    knee_lateral: Array
    ankle_lateral: Array


class LegAxes(NamedTuple):
    """Axes of thigh and shank as columns, each (n, 3, 3).

    shank : axes with y along the knee axis; torsioned : axes of the shank with y along the ankle axis, which
        foot and ankle angles use
    """

    thigh: Array
    shank: Array
    torsioned: Array


def framed(z: Array, y: Array) -> Array:
    """Return axes with z along the first vector (n, 3) and y in the plane of both vectors, as columns, (n,
    3, 3).
    """
    z = unit(z)
    y = unit(y - np.sum(y * z, axis=-1, keepdims=True) * z)
    return np.stack([np.cross(y, z), y, z], axis=-1)


def pelvis_frame(asis_right: Array, asis_left: Array, psis_middle: Array) -> Array:
    """Return the pelvis axes: y to the left ASIS, z perpendicular to the plane of the ASIS and the PSIS, (n,
    3, 3).
    """
    y = unit(asis_left - asis_right)
    x = 0.5 * (asis_right + asis_left) - psis_middle
    x = unit(x - np.sum(x * y, axis=-1, keepdims=True) * y)
    return np.stack([x, y, np.cross(x, y)], axis=-1)


def leg_axes(centres: LegCentres, side: str, torsion: float = 0.0) -> LegAxes:
    """Return the axes of thigh and shank.

    torsion : tibial torsion [rad], the internal rotation of the knee axis relative to the ankle axis, as
        files store it
    """
    sign = SIGNS[side]
    thigh = framed(centres.hip - centres.knee, sign * (centres.knee_lateral - centres.knee))
    torsioned = framed(centres.knee - centres.ankle, sign * (centres.ankle_lateral - centres.ankle))
    return LegAxes(thigh, torsioned @ about_z(sign * torsion), torsioned)


def foot_axes(behind: Array, toe: Array, shank: Array) -> Array:
    """Return the axes of the foot, (n, 3, 3): z from the toe to a point behind it, both (n, 3) [m]; y is
    that of the shank, made perpendicular to z.
    """
    return framed(behind - toe, shank[..., 1])


def about_y(angle: float) -> Array:
    """Return the matrix (3, 3) of a rotation by an angle [rad] about y."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def about_x(angle: float) -> Array:
    """Return the matrix (3, 3) of a rotation by an angle [rad] about x."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def about_z(angle: float) -> Array:
    """Return the matrix (3, 3) of a rotation by an angle [rad] about z."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
