"""Measurements on a knee besides its motion: points of surfaces and of attachment areas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class KneeAnatomy(NamedTuple):
    """Measured points on a knee, in the axes of its bones [m].

    condyles, plateaus : by compartment (n, 3) points on the surfaces of femur and tibia
    origins, insertions : by ligament (n, 3) points in the attachment areas on femur and tibia
    """

    condyles: Mapping[str, Array]
    plateaus: Mapping[str, Array]
    origins: Mapping[str, Array]
    insertions: Mapping[str, Array]
