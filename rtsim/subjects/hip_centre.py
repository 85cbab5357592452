"""Hip joint centres from the pelvis by published regressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.subjects.natural import unit

Array = NDArray[np.float64]

# width between the ASIS and depth from mid-PSIS to mid-ASIS [mm] -> right hip from mid-ASIS [mm]:
# forwards, upwards, to the right
Regression = Callable[[Array, Array], tuple[Array, Array, Array]]


class HipRegression(NamedTuple):
    """A published regression."""

    source: str
    of: Regression


def harrington2007(width: Array, depth: Array) -> tuple[Array, Array, Array]:
    """Adults, healthy children and children with cerebral palsy, from magnetic resonance images."""
    return -0.24 * depth - 9.9, -0.30 * width - 10.9, 0.33 * width + 7.3


def bell1990(width: Array, depth: Array) -> tuple[Array, Array, Array]:
    """Adults: 14 % of the width inwards from the ASIS, 19 % backwards and 30 % downwards."""
    return -0.19 * width, -0.30 * width, 0.36 * width


REGRESSIONS = {
    "harrington2007": HipRegression("Harrington et al. (2007) J Biomech 40, 595-602", harrington2007),
    "bell1990": HipRegression("Bell et al. (1990) J Biomech 23, 617-621", bell1990),
}


def find_regression(name: str) -> HipRegression:
    """The regression of that name; ConfigError lists the names there are."""
    try:
        return REGRESSIONS[name]
    except KeyError:
        raise ConfigError(
            f"unknown regression {name!r}", where="hip centre", allowed=", ".join(REGRESSIONS)
        ) from None


def pelvis_axes(asis_right: Array, asis_left: Array, psis_middle: Array) -> tuple[Array, Array, Array, Array]:
    """Origin between the ASIS (n, 3) [m] and axes (n, 3): X forwards in the plane of the ASIS and
    psis_middle, Y upwards, Z from the left to the right ASIS."""
    origin = 0.5 * (asis_right + asis_left)
    z = unit(asis_right - asis_left)
    y = unit(np.cross(z, origin - psis_middle))
    return origin, np.cross(y, z), y, z


def hip_centres(
    asis_right: Array, asis_left: Array, psis_middle: Array, name: str = "harrington2007"
) -> tuple[Array, Array]:
    """Right and left hip centre (n, 3) [m] of a pelvis in right-handed axes.

    asis_right, asis_left, psis_middle : (n, 3) [m], as in `pelvis_axes`
    """
    origin, x, y, z = pelvis_axes(asis_right, asis_left, psis_middle)
    across, ahead = asis_right - asis_left, origin - psis_middle
    width, depth = (1e3 * np.linalg.norm(v, axis=-1, keepdims=True) for v in (across, ahead))
    forwards, upwards, to_right = (1e-3 * c for c in find_regression(name).of(width, depth))
    middle = origin + forwards * x + upwards * y
    return middle + to_right * z, middle - to_right * z
