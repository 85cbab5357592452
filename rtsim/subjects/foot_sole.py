"""Where the marks and the sole of a foot lie on its segment: from a static trial, in which it stands flat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.trial import MarkerTrial
from rtsim.subjects.marker_names import find_markers

Array = NDArray[np.float64]

LEAST = 3
"""Markers that tell where a segment is."""
TALLEST = 0.2
"""Height of a heel's marker on a foot that stands [m]."""


class Standing(NamedTuple):
    """A foot that stands flat, in the axes of its segment.

    marks : (n, 3) - of the marks that were asked for [m]; up : (3,) - normal of the ground
    heights : (n,) - of the marks above it [m]
    """

    marks: Array
    up: Array
    heights: Array


def stand_on(
    static: MarkerTrial,
    marks: Sequence[str],
    tracked: Sequence[str],
    local: Array,
    ground: float,
    mirrors: bool,
) -> Standing | None:
    """How a segment stands in a static trial; None where too few of its markers are seen there.

    marks : markers whose places are asked for; tracked : those of the segment, local (n, 3) on it [m]
    ground : its height [m]; mirrors : whether the segment is that of the other leg's mirror image
    """
    own = find_markers([*marks, *tracked], static.names)
    shared = [k for k, name in enumerate(tracked) if name in own]
    if any(name not in own for name in marks) or len(shared) < LEAST:
        return None
    names = [*marks, *(tracked[k] for k in shared)]
    seen = static.positions[:, [own[name] for name in names]]
    whole = np.isfinite(seen).all(axis=(1, 2))
    if not whole.any():
        return None
    places = seen[whole].mean(axis=0) * ([1.0, 1.0, -1.0] if mirrors else [1.0, 1.0, 1.0])
    at, body = places[: len(marks)], places[len(marks) :]
    R, x = rigid(local[shared], body)
    heights = at[:, 1] - ground
    if not 0.0 < heights[0] < TALLEST:
        raise ConfigError(
            f"{marks[0]} is {1e3 * heights[0]:.0f} mm above the ground", where=static.source,
            allowed=f"0 to {1e3 * TALLEST:.0f} mm", remedy="correct --static, --up or foot.ground_mm",
        )  # fmt: skip
    return Standing((at - x) @ R, R.T @ [0.0, 1.0, 0.0], heights)


def rigid(local: Array, seen: Array) -> tuple[Array, Array]:
    """Rotation (3, 3) and place (3,) that carry points (n, 3) to where they are seen, by least squares
    (Arun et al. 1987).
    """
    a, b = local.mean(axis=0), seen.mean(axis=0)
    u, _, vt = np.linalg.svd((seen - b).T @ (local - a))
    R = u @ np.diag([1.0, 1.0, np.linalg.det(u) * np.linalg.det(vt)]) @ vt
    return R, b - R @ a
