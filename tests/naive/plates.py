"""Contacts on force plates, by solving for the point of the surface where the moment is along the normal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def contact(centre: Array, axes: Array, force: Array, moment: Array) -> tuple[Array, float]:
    """Centre of pressure (3,) m and free moment N m of one wrench, its moment about the ground origin.

    The unknowns are the two coordinates of the point along the edges and the free moment:
    M = (c + a e1 + b e2) x F + T n is linear in them.
    """
    matrix = np.column_stack([np.cross(axes[0], force), np.cross(axes[1], force), axes[2]])
    a, b, free_moment = np.linalg.solve(matrix, moment - np.cross(centre, force))
    return centre + a * axes[0] + b * axes[1], float(free_moment)


def wrench_at(point: Array, force: Array, free_moment: float, normal: Array) -> Array:
    """Moment (3,) N m about the ground origin of a force at a point with a free moment about a normal."""
    return np.cross(point, force) + free_moment * normal
