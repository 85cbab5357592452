"""A double's plate in axes of its own, as C3D has them: x and y along its edges, z down, origin below it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
DEPTH = 0.04
"""Depth of the sensors below the surface [m]."""


def axes_of(corners: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rotation (3, 3) from the plate's axes to the laboratory's and the middle of its surface (3,) [m].

    corners : (4, 3) in order around it, in the laboratory's axes
    """
    x = corners[0] - corners[1]
    y = corners[0] - corners[3]
    x = x / np.linalg.norm(x)
    z = np.cross(x, y)
    z = z / np.linalg.norm(z)
    return np.column_stack((x, np.cross(z, x), z)), corners.mean(axis=0)


def in_plate_axes(
    corners: FloatArray, wrenches: FloatArray, offset: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Convert forces and moments to the plate's axes, about its origin, (n, 3) each.

    wrenches : (n, 6 or more) force [N] and moment about the laboratory's origin [N m], in its axes
    offset : (3,) vector from the plate's origin to the middle of its surface, in its axes [m]
    """
    rotation, middle = axes_of(corners)
    origin = middle - rotation @ offset
    force, moment = wrenches[:, :3], wrenches[:, 3:6]
    return force @ rotation, (moment - np.cross(origin, force)) @ rotation
