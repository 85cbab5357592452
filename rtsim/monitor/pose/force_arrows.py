"""External forces in the stick figure: an arrow from the point of application of each force on a person."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

PLATE, FOOT = "plate force (arrow of 1 m: 1 kN)", "foot contact force (arrow of 1 m: 1 kN)"
"""Names of the forces in the key of the figure."""
FORCES = {
    PLATE: ("plate_centres", "plate_forces"),
    FOOT: ("foot_contact_centres", "foot_contact_forces"),
}
"""Name -> fields with the points of application [m] and with the forces [N], in ground axes, (n, 3) each."""
M_PER_N = 1e-3
LEAST_N = 10.0
"""Smaller forces are not drawn, as unloaded force plates do not measure exactly zero [N]."""


def arrow_ends(data: Mapping[str, Array], sign: str) -> tuple[Array, Array]:
    """Return begin and end of the arrows of one kind of force in a frame, (n, 3) in ground [m]; NaN where
    there is none. There are no arrows if the frame lacks one of the two fields.

    data : arrays of the frame by field
    sign : the kind of force, as in the key of the figure
    """
    places, forces = FORCES[sign]
    if places not in data or forces not in data or data[places].shape != data[forces].shape:
        return np.empty((0, 3)), np.empty((0, 3))
    begin, force = data[places].copy(), data[forces]
    with np.errstate(invalid="ignore", over="ignore"):
        begin[~(np.linalg.norm(force, axis=1) > LEAST_N)] = np.nan
    return begin, begin + M_PER_N * force


def force_points(data: Mapping[str, Array]) -> Array:
    """Return the known ends of all arrows of a frame, (n, 3) [m], which a saved picture must contain."""
    points = np.concatenate([end for sign in FORCES for end in arrow_ends(data, sign)])
    return points[np.isfinite(points).all(axis=1)]


def arrow_heads(begin: Array, end: Array, size: float) -> list[Array]:
    """Return the corners (3, 2) of the heads of arrows from begin to end (n, 3) [px]; arrows that are unknown
    or short have none.
    """
    heads = []
    for first, last in zip(begin[:, :2], end[:, :2], strict=True):
        way = last - first
        length = float(np.hypot(*way))
        if length > size:  # False of NaN
            along, across = size / length * way, 0.4 * size / length * np.array([-way[1], way[0]])
            heads.append(
                np.array([last + 0.5 * along, last - 0.5 * along + across, last - 0.5 * along - across])
            )
    return heads
