"""Rotation of the axes of a capture system so that Y or Z points up, as the protocol of rtsim's streams
requires.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from streams.capture.records import FloatArray

TURNS: Mapping[str, tuple[tuple[float, float, float], ...]] = {
    "+X": ((0, 1, 0), (0, 0, 1), (1, 0, 0)),
    "-X": ((0, 0, 1), (0, 1, 0), (-1, 0, 0)),
    "-Y": ((1, 0, 0), (0, 0, 1), (0, -1, 0)),
    "-Z": ((1, 0, 0), (0, -1, 0), (0, 0, -1)),
}
"""Axis that points up -> rotation after which Z does."""


def turn_up(up: str) -> tuple[FloatArray | None, Literal["Y", "Z"]]:
    """Return the rotation that makes an axis of the system point up as Y or Z, and the name of the axis that
    points up afterwards.

    The rotation (3, 3) is for column vectors; None = none is needed.
    """
    if up in ("+Y", "+Z"):
        return None, "Y" if up == "+Y" else "Z"
    return np.array(TURNS[up], dtype=np.float64), "Z"
