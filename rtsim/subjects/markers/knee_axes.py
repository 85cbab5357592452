"""Whether both knees bend about the lines through their epicondyles in the same way: a marker there that
was placed too far forwards or backwards turns the axis of one knee, and hardly changes a distance.

The axis about which a knee bends in a trial is the one nearest to those of the rotations between its frames,
seen in the thigh (finite helical axes; Woltring et al. 1985, J Biomech 18, 379-389). Skin and the shape of
the condyles turn it by up to 14 degrees from the line through the epicondyles, but both knees alike.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.both_sides_schema import SUFFIXES
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.calibration.natural import Segment
from rtsim.subjects.markers.markers_of import in_order
from rtsim.subjects.markers.sides import MIRROR
from rtsim.subjects.subject import Subject, SubjectSegment

Array = NDArray[np.float64]

BENDS = np.radians(25.0)  # rotation between two frames that shows an axis
FEWEST, MOST = 50, 80  # pairs of frames that are needed, frames that are looked at
SEEN = 0.5  # part of the frames in which a marker is seen that is used
UNLIKE = 12.0  # [deg] between both knees: 0 to 6.5 on eight trials of five persons in four labs


def notes_on_knee_axes(person: Subject, trial: MarkerTrial) -> list[str]:
    """A sentence where the axes of both knees of a trial lie otherwise to the lines through the epicondyles.

    Needs both legs, three followed markers or more on thighs and shanks, and knees that bend.
    """
    turned = {side: axis_turned(person, trial, side) for side in SUFFIXES}
    right, left = turned["right"], turned["left"]
    if right is None or left is None or abs(right - left) < UNLIKE:
        return []
    return [
        f"check the epicondyles: as the knees bend, the axis of the right one is turned by {right:.0f} "
        f"degrees from the line through its epicondyles, that of the left one by {left:.0f} (outer end "
        "forwards); where markers are placed alike they differ by 7 at most: one may be too far forwards or "
        "backwards"
    ]


def axis_turned(person: Subject, trial: MarkerTrial, side: str) -> float | None:
    """Angle [deg] by which the knee's axis is turned about the thigh's long axis from the line through the
    epicondyles, its outer end forwards; None where it is not seen.
    """
    thigh, shank = (person.segments.get(f"{kind}{SUFFIXES[side]}") for kind in ("thigh", "shank"))
    if thigh is None or shank is None:
        return None
    turns = [rotations(segment, trial, side == "left") for segment in (thigh, shank)]
    relative = np.swapaxes(turns[0], 1, 2) @ turns[1]
    relative = relative[np.isfinite(relative).all(axis=(1, 2))]
    relative = relative[np.linspace(0, len(relative) - 1, min(len(relative), MOST)).astype(np.int64)]
    along, across = directions(thigh.segment())
    first, second = np.triu_indices(len(relative), 1)
    between = relative[first] @ np.swapaxes(relative[second], 1, 2)
    angle = np.arccos(np.clip(0.5 * (np.trace(between, axis1=1, axis2=2) - 1.0), -1.0, 1.0))
    bent = angle > BENDS
    if bent.sum() < FEWEST:
        return None
    skew = between - np.swapaxes(between, 1, 2)
    axes = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1)[bent]
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    axis = np.linalg.eigh((axes * angle[bent, None]).T @ axes)[1][:, 2]
    axis *= np.sign(axis @ across)
    forwards = np.cross(along, across)
    return float(np.degrees(np.arctan2(axis @ forwards, axis @ np.cross(forwards, along))))


def rotations(segment: SubjectSegment, trial: MarkerTrial, is_left: bool) -> Array:
    """(n, 3, 3) - of a segment in ground, mirrored for a left one, by the best fit of its markers (Kabsch
    1976, Acta Cryst A 32, 922-923); NaN where one is missing that is mostly seen, or these are fewer than 3.
    """
    mirror = np.array(MIRROR) if is_left else np.ones(3)
    seen = mirror * in_order(trial, tuple(segment.markers_mm))
    used = np.flatnonzero(np.isfinite(seen[:, :, 0]).mean(axis=0) >= SEEN)
    result = np.full((len(seen), 3, 3), np.nan)
    seen = seen[:, used]
    known = np.isfinite(seen).all(axis=(1, 2))
    if len(used) < 3 or not known.any():
        return result
    local = 1e-3 * mirror * np.array(list(segment.markers_mm.values()))[used]
    local = local - local.mean(axis=0)
    found = seen[known] - seen[known].mean(axis=1, keepdims=True)
    left, _, right = np.linalg.svd(np.swapaxes(found, 1, 2) @ local)
    flips = np.ones((len(left), 3))
    flips[:, 2] = np.sign(np.linalg.det(left @ right))
    result[known] = (left * flips[:, None, :]) @ right
    return result


def directions(thigh: Segment) -> tuple[Array, Array]:
    """Unit vectors towards the hip, and along the epicondyles outwards, in the frame of a thigh."""
    cosines = np.cos([thigh.alpha, thigh.beta, thigh.gamma])
    along = np.array([cosines[2], np.sin(thigh.gamma), 0.0])
    y = (cosines[0] - cosines[1] * cosines[2]) / along[1]
    across = np.array([cosines[1], y, np.sqrt(max(0.0, 1.0 - cosines[1] ** 2 - y**2))])
    return along, across
