"""The foot of the conventional gait model: its axes lie along the line from ankle to toe, rotated by two
offsets from a static trial.
"""

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
    """Return the heel marker, moved to the height of the toe marker if the foot is assumed flat, (n, 3) [m].

    heel, toe : (n, 3) [m]; up : (3,) - vertical; sole_delta : thickness of the sole under the heel minus
        that under the toes [m]
    """
    if not flat:
        return heel
    lower = (toe - heel) @ up + sole_delta
    level: Array = heel + lower[..., None] * up
    return level


def static_foot(heel: Array, toe: Array, shank: Array) -> Array:
    """Return the axes of the foot in its standing position, along the line from the toe marker to the heel,
    (n, 3, 3).

    heel, toe : (n, 3) markers [m]; the heel is moved to the height of the toe if the foot is assumed flat
    shank : (n, 3, 3) axes of the shank, whose transverse axis the foot gets
    """
    return foot_axes(heel, toe, shank)


def uncorrected_foot(ankle: Array, toe: Array, shank: Array) -> Array:
    """Return axes of the foot along the line from the toe marker to the ankle centre, without the offsets of
    a static trial, (n, 3, 3).

    shank : (n, 3, 3) axes of the shank, whose transverse axis the foot gets
    """
    return foot_axes(ankle, toe, shank)


def foot_offsets(uncorrected: Array, standing: Array, side: str) -> FootOffsets:
    """Return the foot offsets of a static trial, means over its frames, from the uncorrected axes and the
    axes of the standing foot, both (n, 3, 3).
    """
    first, second, _ = cardan(np.swapaxes(uncorrected, -1, -2) @ standing)
    return FootOffsets(-float(np.nanmean(first)), -SIGNS[side] * float(np.nanmean(second)))


def dynamic_foot(uncorrected: Array, offsets: FootOffsets, side: str) -> Array:
    """Return the axes of the foot in a walking trial, (n, 3, 3): the uncorrected axes, along the line from
    toe to ankle, rotated by the offsets of the static trial.
    """
    return uncorrected @ about_y(-offsets.plant_flexion) @ about_x(-SIGNS[side] * offsets.rotation)
