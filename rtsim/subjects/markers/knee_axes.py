"""A check whether both knees flex about the lines through their epicondyles. A marker placed too far
forwards or backwards rotates the axis of one knee, and hardly changes a distance.

The flexion axis of a knee in a trial is the mean direction of the axes of its rotations between frames, in
the thigh (finite helical axes; Woltring et al. 1985, J Biomech 18, 379-389). Skin motion and the shape of
the condyles rotate it by up to 14 degrees from the line through the epicondyles, but equally in both knees.
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
FEWEST, MOST = 50, 80  # least number of pairs of frames, largest number of frames
SEEN = 0.5  # least fraction of the frames in which a marker that is used is visible [1]
UNLIKE = 12.0  # [deg] between both knees: 0 to 6.5 on eight trials of five persons in four labs


def notes_on_knee_axes(person: Subject, trial: MarkerTrial) -> list[str]:
    """Return notes if the flexion axes of the two knees in a trial lie differently relative to the lines
    through the epicondyles.

    This needs both legs, at least three tracked markers on thighs and shanks, and knees that flex.
    """
    turned = {side: axis_turned(person, trial, side) for side in SUFFIXES}
    right, left = turned["right"], turned["left"]
    if right is None or left is None or abs(right - left) < UNLIKE:
        return []
    return [
        "check the epicondyle markers: when the knees bend, the functional axis of the right knee is "
        f"rotated by {right:.0f} degrees from the line through its epicondyle markers, that of the "
        f"left knee by {left:.0f} (positive: outer end forwards). With equal marker placement these "
        "angles differ by at most 7 degrees, so a marker might be too far forwards or backwards"
    ]


def axis_turned(person: Subject, trial: MarkerTrial, side: str) -> float | None:
    """Return the angle by which the knee axis is rotated about the thigh's long axis from the line through
    the epicondyles, positive = lateral end forwards [deg]; None if it cannot be determined.
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
    """Return the rotations of a segment in ground in the frames of a trial, (n, 3, 3), fitted to its markers
    (Kabsch 1976, Acta Cryst A 32, 922-923). NaN where a marker that is usually visible is missing, or with
    fewer than 3 markers.

    is_left : whether the segment is of a left leg, whose markers in the trial are mirrored before the fit
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
    """Return unit vectors towards the hip, and along the epicondyles laterally, in the frame of a thigh."""
    cosines = np.cos([thigh.alpha, thigh.beta, thigh.gamma])
    along = np.array([cosines[2], np.sin(thigh.gamma), 0.0])
    y = (cosines[0] - cosines[1] * cosines[2]) / along[1]
    across = np.array([cosines[1], y, np.sqrt(max(0.0, 1.0 - cosines[1] ** 2 - y**2))])
    return along, across
