"""Determination of the up axis of a file. The axis that the file states is only one piece of evidence, as it
may describe a view on a screen.

Some programs write the axis that is vertical on their screen, or none. Further evidence: pelvis and trunk
are above the feet, markers are above the level force plates, and the lowest markers are on a floor at 0. The
first criterion fails for a person who lies or does a handstand, so the file's statement is overruled only if
a second criterion contradicts it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.files.markers.axes import ABOVE_FLOOR, AXIS_NAMES, FLOOR, up_by_names
from rtsim.files.markers.landmarks import thin
from rtsim.files.markers.trial import RawTrial

Array = NDArray[np.float64]
LEVEL = 0.9
"""Smallest component along an axis of a plate's unit normal for the normal to count as parallel to it."""
ON_FLOOR = 0.15
"""Largest height of the lowest markers of a person who stands on a floor at height 0 [m]."""
LOWEST = 1.0
"""Percentile of the heights that counts as the lowest, as single samples may be wrong."""


class Upright(NamedTuple):
    """The axis of a file that was taken as up.

    axis : the axis with its sign, such as "+Z"
    notes : sentences on the choice of the axis
    doubted : another axis along which the person seems to stand upright; "" = none
    """

    axis: str
    notes: tuple[str, ...]
    doubted: str = ""


def judge(raw: RawTrial, positions: Array, scale: float, declared: str) -> Upright:
    """Determine which axis of a file points up, from the axis `declared` in it and from the data; return the
    axis and notes on the choice.

    positions : (n, n_marker, 3) in the axes of the file [m]
    scale : metres per unit of the file
    """
    told = f"up axis: {declared}, as the file states ({raw.up_key})"
    by_names = up_by_names(raw.names, positions)
    by_plates = up_by_plates(scale * raw.surfaces, positions) if raw.surfaces is not None else ""
    standing = by_names[0] if by_names else ""
    seen = standing or by_plates
    if seen in ("", declared):
        return Upright(declared, (told,))
    on_floor = stands_on(positions, seen) and not stands_on(positions, declared)
    reasons = []
    if by_names:
        reasons.append(
            f"pelvis and trunk markers lie {by_names[1]:.2f} m above the foot markers along {seen}"
        )
    if by_plates == seen:
        reasons.append(f"the markers lie above the force plates along {seen}")
    if on_floor:
        reasons.append(f"the lowest markers are on a floor at 0 along {seen}, not along {declared}")
    head_down = seen[1] == declared[1] and not stands_on(positions, declared)
    if by_plates != declared and (len(reasons) > 1 or head_down):
        against = f"the file states the up axis {declared} ({raw.up_key}), but {' and '.join(reasons)}"
        taken = f"{seen} was used as the up axis; give --up={declared} if the file is right"
        return Upright(seen, (f"check the up axis: {against}: {taken}",))
    return Upright(declared, (told, *doubt_up(raw, positions, declared, "the file", "give --up")), standing)


def doubt_up(raw: RawTrial, positions: Array, axis: str, who: str, remedy: str) -> list[str]:
    """Return notes for the user if the person's body is not upright along the axis that is stated to point
    up.

    positions : (n, n_marker, 3) in the axes of the file [m]
    axis : the stated axis with its sign, such as "+Z"
    who : origin of the statement, for the notes
    remedy : advice, for the notes
    """
    seen = up_by_names(raw.names, positions)
    if not seen or seen[0] == axis:
        return []
    return [
        f"check the up axis: {who} states {axis}, but pelvis and trunk markers lie {seen[1]:.2f} m "
        f"from the foot markers along {seen[0]}; {remedy} if the person was upright"
    ]


def up_by_plates(surfaces: Array, positions: Array) -> str:
    """Return the axis normal to the force plates along which the markers lie above them; "" if it is
    unclear.

    surfaces : (n_plate, 4, 3) corners [m]
    positions : (n, n_marker, 3) [m]; both in the axes of the file
    """
    along = surfaces[:, 0] + surfaces[:, 3] - surfaces[:, 1] - surfaces[:, 2]
    across = surfaces[:, 0] + surfaces[:, 1] - surfaces[:, 2] - surfaces[:, 3]
    normal = np.cross(along, across)
    length = np.linalg.norm(normal, axis=1)
    if not len(surfaces) or not (length > 0.0).all():
        return ""
    cosine = np.abs(normal / length[:, None]).min(axis=0)
    axis = int(np.argmax(cosine))
    if cosine[axis] < LEVEL:
        return ""
    level, heights = surfaces[:, :, axis], seen_samples(positions)[:, axis]
    if not heights.size:
        return ""
    above = float(np.mean(heights > level.min() + FLOOR)) >= ABOVE_FLOOR
    below = float(np.mean(heights < level.max() - FLOOR)) >= ABOVE_FLOOR
    return ("+" if above else "-") + AXIS_NAMES[axis] if above != below else ""


def stands_on(positions: Array, axis: str) -> bool:
    """Return whether the lowest markers are on a floor at height 0 if `axis` points up."""
    heights = seen_samples(positions)[:, AXIS_NAMES.index(axis[1])] * (-1.0 if axis[0] == "-" else 1.0)
    return bool(heights.size) and FLOOR <= float(np.percentile(heights, LOWEST)) <= ON_FLOOR


def seen_samples(positions: Array) -> Array:
    """Return all visible marker positions in frames evenly spread over the trial, (n, 3) [m]."""
    frames = thin(positions)
    samples: Array = frames[np.isfinite(frames).all(axis=2)]
    return samples
