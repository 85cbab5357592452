"""Conversion of forces and moments from a plate's own axes to the laboratory's axes and origin."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
LONGEST_EDGE = 10.0
"""Edges of plates are shorter in metres; longer ones are in millimetres."""
SHORTEST_EDGE = 1e-6


class PlatePlace(NamedTuple):
    """Pose of a plate in the laboratory: rotation (3, 3) from the plate's axes to the laboratory's axes, and
    the point (3,) about which the plate's moments are taken, in the laboratory [m].
    """

    rotation: FloatArray
    origin: FloatArray


def place_of_corners(corners: ArrayLike, offset: ArrayLike) -> PlatePlace | None:
    """Return the pose of a plate that is described as in C3D; None if its corners enclose no area.

    corners : (4, 3) corners +x +y, -x +y, -x -y, +x -y of the plate [m]
    offset : (3,) vector from the sensors' origin to the middle of the surface, in the plate's axes [m]. Its z
      component is taken as negative, whatever its sign: z points down and the sensors are below the surface,
      but some programs reverse the sign.
    """
    c = np.asarray(corners, np.float64)
    x = c[0] + c[3] - c[1] - c[2]
    y = c[0] + c[1] - c[2] - c[3]
    z = np.cross(x, y)
    size = np.linalg.norm(x) * np.linalg.norm(y)
    if not np.isfinite(size) or np.linalg.norm(z) <= 0.5 * size or size <= SHORTEST_EDGE:
        return None
    x = x / np.linalg.norm(x)
    z = z / np.linalg.norm(z)
    rotation = np.column_stack((x, np.cross(z, x), z))
    down = np.asarray(offset, np.float64) * (1.0, 1.0, 1.0)
    down[2] = -abs(down[2])
    return PlatePlace(rotation, c.mean(axis=0) - rotation @ down)


def in_metres(corners: ArrayLike) -> float:
    """Return the factor to metres from the corners' unit, which is not stated: 0.001 if an edge is longer
    than 10, so that the unit must be millimetres, else 1.
    """
    c = np.asarray(corners, np.float64)
    edge = np.linalg.norm(c - np.roll(c, 1, axis=0), axis=1).max(initial=0.0)
    return 1e-3 if edge > LONGEST_EDGE else 1.0


def to_laboratory(place: PlatePlace, force: FloatArray, moment: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Transform forces (n, 3) [N] and moments (n, 3) about the plate's origin [N m] from its axes to the
    laboratory's axes, with moments about the laboratory's origin.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        turned = force @ place.rotation.T
        about = moment @ place.rotation.T + np.cross(place.origin, turned)
        sound = np.isfinite(turned + about).all(axis=1, keepdims=True)
    return np.where(sound, turned, np.nan), np.where(sound, about, np.nan)
