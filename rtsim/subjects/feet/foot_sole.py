"""Positions of markers and sole on a foot segment, from a static trial in which the foot stands flat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.feet.foot_marks import UP
from rtsim.subjects.markers.marker_names import find_markers

Array = NDArray[np.float64]

LEAST = 3
"""Least number of markers that determine the pose of a segment."""
TALLEST = 0.2
"""Largest height of the heel marker of a foot that stands on the ground [m]."""
STRETCH = 10.0
"""Largest root mean square deviation of the markers from a rigid foot [mm]."""


class Carried(NamedTuple):
    """A marker of a static trial whose position follows from the other markers of its segment.

    place : (3,) - position in the axes of the segment [m]; seen : (3,) - position in the static trial, Y up
        [m]
    turn : (3, 3) - rotation of the segment in the static trial; off : RMS deviation of its markers from a
        rigid segment [mm]
    """

    place: Array
    seen: Array
    turn: Array
    off: float


class Standing(NamedTuple):
    """A foot that stands flat on the ground; all vectors are in the axes of the foot's segment.

    marks : (n, 3) - positions of the requested markers [m]; NaN = not visible
    up : (3,) - normal of the ground
    height : height of the first requested marker above the ground [m]
    off : RMS deviation of the markers from a rigid segment [mm]
    """

    marks: Array
    up: Array
    height: float
    off: float


def carry(
    static: MarkerTrial, mark: str, tracked: Sequence[str], local: Array, mirrors: bool = False
) -> Carried | None:
    """Locate a marker on a segment by a static trial; return None if no frame shows it together with enough
    of the segment's markers.

    mark : name of the marker
    tracked : markers of the segment, with positions `local` (n, 3) on it [m]
    mirrors : whether these positions are those of a mirrored left leg
    """
    own = find_markers([mark, *tracked], static.names)
    shared = [k for k, name in enumerate(tracked) if name in own and _is_seen(static, own[name])]
    if mark not in own or len(shared) < LEAST:
        return None
    seen = static.positions[:, [own[mark], *(own[tracked[k]] for k in shared)]]
    whole = np.isfinite(seen).all(axis=(1, 2))
    if not whole.any():
        return None
    places = seen[whole].mean(axis=0) * ([1.0, 1.0, -1.0] if mirrors else [1.0, 1.0, 1.0])
    turn, x = rigid(local[shared], places[1:])
    off = local[shared] @ turn.T + x - places[1:]
    return Carried(
        (places[0] - x) @ turn, places[0], turn, 1e3 * float(np.sqrt(np.square(off).sum(axis=1).mean()))
    )


def stand_on(
    static: MarkerTrial,
    marks: Sequence[str],
    tracked: Sequence[str],
    local: Array,
    ground: float,
    mirrors: bool,
) -> Standing | None:
    """Locate a foot segment in a static trial in which it stands flat; return None if its first marker, or
    too few of its markers, are visible there.

    marks : markers to be located, the heel first
    tracked : markers of the segment, with positions `local` (n, 3) on it [m]
    ground : height of the ground [m]; mirrors : whether these positions are those of a mirrored left leg
    """
    carried = [carry(static, mark, tracked, local, mirrors) for mark in marks]
    heel = carried[0] if carried else None
    if heel is None:
        return None
    height = float(heel.seen[1]) - ground
    if not 0.0 < height < TALLEST:
        raise ConfigError(
            f"{marks[0]} is {1e3 * height:.0f} mm above the ground", where=static.source,
            allowed=f"a height of 0 to {1e3 * TALLEST:.0f} mm",
            remedy="correct --static, --up or foot.ground_mm",
        )  # fmt: skip
    places = np.array([np.full(3, np.nan) if mark is None else mark.place for mark in carried])
    off = max(mark.off for mark in carried if mark is not None)
    return Standing(places, heel.turn.T @ UP, height, off)


def rigid(local: Array, seen: Array) -> tuple[Array, Array]:
    """Fit the rotation (3, 3) and translation (3,) that map points (n, 3) to their measured positions, by
    least squares (Arun et al. 1987).
    """
    a, b = local.mean(axis=0), seen.mean(axis=0)
    u, _, vt = np.linalg.svd((seen - b).T @ (local - a))
    R = u @ np.diag([1.0, 1.0, np.linalg.det(u) * np.linalg.det(vt)]) @ vt
    return R, b - R @ a


def _is_seen(static: MarkerTrial, row: int) -> bool:
    return bool(np.isfinite(static.positions[:, row]).all(axis=1).any())
