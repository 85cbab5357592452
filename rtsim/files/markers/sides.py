"""A check whether the right markers are on the right side, as labels may be exchanged and axes mirrored."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rtsim.files.markers.landmarks import plain_name, thin

RIGHT = re.compile(r"r(asis?|ias)")
LEFT = re.compile(r"l(asis?|ias)")
BACK = re.compile(r"[rl](psis?|ips)|v?sacr(um|al)?|s[12]")
DOUBTED = "exchanged, or the axes of the file are left-handed"
EITHER = f"either the labels of right and left are {DOUBTED}"
"""Part of every message on labels of right and left that contradict the body."""
EXCHANGED = -0.5  # cosine between "towards the right label" and the right of the body that is no accident


def doubt_sides(names: Sequence[str], positions: NDArray[np.float64]) -> str | None:
    """Return a message if right and left ASIS markers are on the wrong side of the pelvis, else None.

    positions : (n, n_marker, 3) in ground (Y up) [m]. The pelvis faces from its rear markers (PSIS, sacrum)
    to its ASIS markers. None too when one of these is missing.
    """
    plain = [plain_name(name.rpartition(":")[2]) for name in names]
    right, left, back = (
        [index for index, name in enumerate(plain) if pattern.fullmatch(name)]
        for pattern in (RIGHT, LEFT, BACK)
    )
    if not (right and left and back):
        return None
    frames = thin(positions)
    at_right, at_left, at_back = (frames[:, group[0]] for group in (right, left, back))
    forward, across = 0.5 * (at_right + at_left) - at_back, at_right - at_left
    # forward x up, with up = Y, points to the right of the body.
    to_right = np.stack([-forward[:, 2], np.zeros(len(frames)), forward[:, 0]], axis=1)
    length = np.linalg.norm(to_right, axis=1) * np.linalg.norm(across, axis=1)
    known = length > 0.0  # False where a marker is missing: NaN compares so
    cosine = (to_right * across).sum(axis=1)[known] / length[known]
    if cosine.size == 0 or np.median(cosine) > EXCHANGED:
        return None
    return f"check the sides: the right ASIS lies on the left of the pelvis, so {EITHER}; nothing was changed"
