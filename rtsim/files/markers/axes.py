"""Rotation from the axes of a file to the ground frame (Y up): as declared in the file, given by the user,
or guessed from the data.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.markers.landmarks import foot_to, thin, upper_and_lower

# position_in_ground = ROTATION @ position_in_file, keyed by the axis of the file that points up.
ROTATIONS: dict[str, NDArray[np.float64]] = {
    "+X": np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    "-X": np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    "+Y": np.eye(3),
    "-Y": np.diag([1.0, -1.0, -1.0]),
    "+Z": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    "-Z": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
}
AXIS_NAMES = "XYZ"
DOMINANCE = 1.3  # the vertical must stand out from the horizontals by this factor before names decide
MIN_HEIGHT = 0.1  # [m] pelvis or trunk above the feet, below which names decide nothing
FLOOR = -0.05  # [m] markers dip at most so far below the floor of the laboratory
ABOVE_FLOOR = 0.99  # share of the samples that must lie above the floor


def parse_up(text: str, where: str) -> str:
    """Parse an up axis such as "Y", "z", "-Y" and return it with its sign, such as "+Y"; ConfigError naming
    `where` otherwise.
    """
    match = re.fullmatch(r"\s*([+-]?)([XYZxyz])\s*", text)
    if not match:
        raise ConfigError(
            f"{text!r} is not an up axis",
            where=where,
            allowed="X, Y or Z, optionally with + or - before the letter",
        )
    return (match[1] or "+") + match[2].upper()


def rotate_to_ground(positions: NDArray[np.float64], up: str) -> NDArray[np.float64]:
    """Rotate positions (n, n_marker, 3) of a file whose axis `up` points up into ground axes (Y up); the
    unit is unchanged.
    """
    if up == "+Y":
        return positions
    return np.ascontiguousarray(positions @ ROTATIONS[up].T)


def up_by_names(names: Sequence[str], positions: NDArray[np.float64]) -> tuple[str, float] | None:
    """Return the axis along which pelvis and trunk markers lie above foot markers, with that height [m].

    positions : (n, n_marker, 3) [m], axes of the file. None if the names or the data do not show it.
    """
    pelvis, trunk, foot = upper_and_lower(names)
    vectors = [
        v for v in (foot_to(pelvis, foot, positions), foot_to(trunk, foot, positions)) if v is not None
    ]
    if not vectors:
        return None
    # The trunk leans and the pelvis sits back: their mean is nearer to the vertical than either.
    vector = np.mean(vectors, axis=0)
    axis = int(np.argmax(np.abs(vector)))
    second = float(np.sort(np.abs(vector))[1])
    height = float(abs(vector[axis]))
    if height < MIN_HEIGHT or height < DOMINANCE * second:
        return None
    return ("+" if vector[axis] > 0 else "-") + AXIS_NAMES[axis], height


def can_tell_up(names: Sequence[str]) -> bool:
    """Return whether there are foot markers and also pelvis or trunk markers among these names, so that
    `up_by_names` can find the axis that points up.
    """
    pelvis, trunk, foot = upper_and_lower(names)
    return bool(len(foot) and (len(pelvis) or len(trunk)))


def up_by_floor(positions: NDArray[np.float64]) -> str | None:
    """Return the axis along which nearly all marker coordinates are above 0, the usual height of the floor;
    if there are several, the one along which the markers are most widely spread.

    positions : (n, n_marker, 3) [m], axes of the file. None if there is no such axis. Axes that point down
        are not considered: standing on the negative side of a laboratory is far more common.
    """
    frames = thin(positions)
    samples = frames[np.isfinite(frames).all(axis=2)]
    if samples.shape[0] == 0:
        return None
    spread = _median_spread(frames)
    spread[np.mean(samples > FLOOR, axis=0) < ABOVE_FLOOR] = -np.inf
    best = int(np.argmax(spread))
    return f"+{AXIS_NAMES[best]}" if np.isfinite(spread[best]) else None


def guess_up(names: Sequence[str], positions: NDArray[np.float64]) -> tuple[str, str]:
    """Guess the up axis from the data (positions in metres, axes of the file); return it, and a note on the
    evidence.
    """
    by_names = up_by_names(names, positions)
    remedy = "give --up if this is wrong"
    if by_names:
        up, height = by_names
        return up, (
            f"the file does not say which axis is up: {up} was used, because pelvis and trunk markers "
            f"lie {height:.2f} m above the foot markers along {up}; {remedy}"
        )
    by_floor = up_by_floor(positions)
    if by_floor:
        return by_floor, (
            f"neither the file nor the marker names show which axis is up; {by_floor} was used, "
            f"because the markers spread widest along {by_floor}, above a floor at 0; {remedy} if "
            "this is wrong"
        )
    return "+Y", (
        f"neither the file nor the data show which axis is up; +Y was used, as is usual; {remedy} if "
        "this is wrong"
    )


def _median_spread(frames: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the median over the frames of the extent of the visible markers along each axis, (3,)."""
    seen: NDArray[np.bool_] = np.asarray(np.isfinite(frames).all(axis=2))
    some = seen.any(axis=1)
    high = np.where(seen[..., None], frames, -np.inf)[some].max(axis=1)
    low = np.where(seen[..., None], frames, np.inf)[some].min(axis=1)
    spread: NDArray[np.float64] = np.median(high - low, axis=0)
    return spread
