"""Meaning of the channels of each type of C3D force plate (C3D user guide, group FORCE_PLATFORM).

Every type is converted to the force and its moment about the centre of the plate's surface, in the plate's
axes. With the vector `origin` from the plate's measuring origin to the centre of its surface, moments are
shifted by M' = M + F x origin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Wrench = tuple[FloatArray, FloatArray]


class PlateType(NamedTuple):
    """A type of force plate, and how its channels are read.

    n_channel : number of channels
    kinds : kind of each channel: "force", "moment", "length", or "raw" before a calibration matrix
    wrench : function (channels (n, n_channel) [N, N m, m], origin (3,) [m]) -> force, moment (n, 3)
    """

    n_channel: int
    kinds: tuple[str, ...]
    wrench: Callable[[FloatArray, FloatArray], Wrench]


def with_centre(channels: FloatArray, origin: FloatArray) -> Wrench:
    """Return force, and moment about the centre of the surface, of a plate of type 1.

    channels : force Fx Fy Fz, x and y of the centre of pressure relative to the centre of the surface, and
        free moment
    origin : (3,) not needed for this type
    """
    force = channels[:, :3]
    point = np.column_stack([channels[:, 3:5], np.zeros(len(channels))])
    moment = np.cross(point, force)
    moment[:, 2] += channels[:, 5]
    return force, moment


def with_moments(channels: FloatArray, origin: FloatArray) -> Wrench:
    """Return force, and moment about the centre of the surface, of a plate of type 2, or of type 4 after its
    calibration matrix.

    channels : force Fx Fy Fz, and moment Mx My Mz about the sensors' origin
    origin : (3,) vector from the sensors' origin to the centre of the surface [m]
    """
    force = channels[:, :3]
    return force, channels[:, 3:6] + np.cross(force, origin)


def with_eight(channels: FloatArray, origin: FloatArray) -> Wrench:
    """Return force, and moment about the centre of the surface, of a plate of type 3, which measures with
    four sensors at (+-a, +-b).

    channels : forces Fx12 Fx34 Fy14 Fy23 Fz1 Fz2 Fz3 Fz4, each named after its axis and its sensors
    origin : (a, b, z) [m], with z from the plane of the sensors to the surface, along the plate's z axis
    """
    x12, x34, y14, y23, z1, z2, z3, z4 = channels.T
    a, b = abs(origin[0]), abs(origin[1])
    force = np.column_stack([x12 + x34, y14 + y23, z1 + z2 + z3 + z4])
    moment = np.column_stack(
        [b * (z1 + z2 - z3 - z4), a * (z2 + z3 - z1 - z4), b * (x34 - x12) + a * (y14 - y23)]
    )
    return force, moment + np.cross(force, [0.0, 0.0, origin[2]])


THREE = ("force",) * 3
TYPES: dict[int, PlateType] = {
    1: PlateType(6, (*THREE, "length", "length", "moment"), with_centre),
    2: PlateType(6, (*THREE, "moment", "moment", "moment"), with_moments),
    3: PlateType(8, ("force",) * 8, with_eight),
    4: PlateType(6, ("raw",) * 6, with_moments),
}
