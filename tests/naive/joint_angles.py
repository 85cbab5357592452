"""Joint angles as rotations about named axes, and displacements as a system of three equations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.floating]


def angles(proximal: Array, distal: Array) -> Array:
    """Return the angles (3,) rad of the mobile sequence Z-X-Y between two sets of axes (3, 3, columns)."""
    return Rotation.from_matrix(proximal.T @ distal).as_euler("ZXY")


def rotated(proximal: Array, turns: Array) -> Array:
    """Return axes turned by mobile Z-X-Y angles (3,) rad: undoes `angles`."""
    return proximal @ Rotation.from_euler("ZXY", turns).as_matrix()


def axes_of_displacement(proximal: Array, distal: Array) -> Array:
    """Return e1 = Z of the proximal axes, e2 across, e3 = Y of the distal axes, as columns (3, 3)."""
    e1, e3 = proximal[:, 2], distal[:, 1]
    e2 = np.cross(e3, e1)
    return np.column_stack([e1, e2 / np.linalg.norm(e2), e3])


def displacement(proximal: Array, distal: Array, x: Array) -> Array:
    """Return (a, b, c) with x = a e1 + b e2 + c e3, (3,) m."""
    return np.linalg.solve(axes_of_displacement(proximal, distal), x)
