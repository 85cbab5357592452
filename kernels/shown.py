"""Results of a frame as they are published: in the signs of the labels, as numbers, NaN where not known."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kernels._jit import njit


class Found(NamedTuple):
    """As the kernels leave it; deviations may have no entries."""

    angle: np.ndarray  # (n_angle,) [rad]
    sign: np.ndarray  # (n_angle,)
    deviation: np.ndarray  # (n_angle,) - of the angles [rad]
    uncertain: np.ndarray  # (n_angle,) - 1 = above the limit
    swap_with: np.ndarray  # (n_marker,) int64
    fault: np.ndarray  # (n_marker,) int64


class Shown(NamedTuple):
    """The same as it is published."""

    angle: np.ndarray
    deviation: np.ndarray
    uncertain: np.ndarray
    swap_with: np.ndarray  # (n_marker,)
    fault: np.ndarray  # (n_marker,)


def new_shown(found: Found) -> Shown:
    """Allocate a Shown."""
    return Shown(*(np.zeros(len(found[k])) for k in (0, 2, 3, 4, 5)))


@njit
def show(found, unknown, shown):
    """shown of what was found.

    found : Found
    unknown : (n_angle,) bool - angles that are NaN
    shown : Shown - written
    """
    for k in range(shown.angle.shape[0]):
        shown.angle[k] = math.nan if unknown[k] else found.sign[k] * found.angle[k]
    for k in range(shown.deviation.shape[0]):
        shown.deviation[k] = math.nan if unknown[k] else found.deviation[k]
        shown.uncertain[k] = 1.0 if unknown[k] else found.uncertain[k]
    for m in range(shown.fault.shape[0]):
        shown.swap_with[m], shown.fault[m] = found.swap_with[m], found.fault[m]
