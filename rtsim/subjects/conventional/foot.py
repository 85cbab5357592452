"""The foot of the conventional gait model: one line to the toe, turned by two offsets of a static trial."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.conventional.angles import cardan
from rtsim.subjects.conventional.axes import SIGNS, about_x, about_y, foot_axes

Array = NDArray[np.float64]


class FootOffsets(NamedTuple):
    """Offsets of a foot as stored in files: StaticPlantFlex and StaticRotOff [rad]."""

    plant_flexion: float
    rotation: float


def static_heel(heel: Array, toe: Array, up: Array, *, flat: bool, sole_delta: float = 0.0) -> Array:
    """(n, 3) - the heel's marker [m], with the foot flat at the height of the toe's.

    heel, toe : (n, 3) [m]; up : (3,) - vertical; sole_delta : how much thicker the sole is under the heel [m]
    """
    if not flat:
        return heel
    lower = (toe - heel) @ up + sole_delta
    level: Array = heel + lower[..., None] * up
    return level


def static_foot(heel: Array, toe: Array, shank: Array) -> Array:
    """(n, 3, 3) - axes of the foot in its standing position; heel : by `static_heel`; shank : (n, 3, 3),
    axes by its ankle"""
    return foot_axes(heel, toe, shank)


def uncorrected_foot(ankle: Array, toe: Array, shank: Array) -> Array:
    """(n, 3, 3) - axes along the line from the toe to the ankle centre."""
    return foot_axes(ankle, toe, shank)


def foot_offsets(uncorrected: Array, standing: Array, side: str) -> FootOffsets:
    """Return the foot offsets of a static trial, means over its frames, from the uncorrected axes and those
    in which the foot stands, both (n, 3, 3).
    """
    first, second, _ = cardan(np.swapaxes(uncorrected, -1, -2) @ standing)
    return FootOffsets(-float(np.nanmean(first)), -SIGNS[side] * float(np.nanmean(second)))


def dynamic_foot(uncorrected: Array, offsets: FootOffsets, side: str) -> Array:
    """(n, 3, 3) - axes of the foot in a walk."""
    return uncorrected @ about_y(-offsets.plant_flexion) @ about_x(-SIGNS[side] * offsets.rotation)
