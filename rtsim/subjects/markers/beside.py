"""Markers of a segment near the axis of its distal joint. They hardly move relative to the segment below the
joint, so that segment can be checked against them, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.markers.bones import AT_JOINT, rotation
from rtsim.subjects.markers.distances import SharedPoint, joints_of
from rtsim.subjects.subject import Subject, kind_of_segment

Array = NDArray[np.float64]

BESIDE_ERRORS = {("thigh", "shank"): 0.012, ("shank", "foot"): 0.010}
"""Usual distance of such a marker of the first segment from its place on the second [m]."""


class BesideJoint(NamedTuple):
    """A marker of the upper of two segments near their joint, so that it hardly moves relative to the lower
    segment, too.

    place : (3,) - position in the lower segment in the static trial [m]
    error : usual distance of the marker from this position in movement [m]
    """

    proximal: str
    distal: str
    marker: str
    place: Array
    error: float


def beside_joints(subject: Subject) -> tuple[BesideJoint, ...]:
    """Return the markers beside the knees and ankles of a person. A joint whose angles in the static trial
    are not known is left out, as the place of a marker on its lower segment is not known then.
    """
    found = (beside(subject, joint) for joint in joints_of(subject))
    return tuple(one for one in found if one is not None)


def beside(subject: Subject, joint: SharedPoint) -> BesideJoint | None:
    """Return the marker of the upper segment nearest to a joint; None if none is near, or if the pose of the
    lower segment in the static trial is unknown.
    """
    kinds = kind_of_segment(joint.proximal), kind_of_segment(joint.distal)
    standing = subject.segments[joint.distal].in_parent_deg
    away = {
        name: 1e-3 * np.array(x) - joint.in_proximal
        for name, x in subject.segments[joint.proximal].markers_mm.items()
    }
    if kinds not in BESIDE_ERRORS or standing is None or not away:
        return None
    name = min(away, key=lambda marker: float(np.linalg.norm(away[marker])))
    if float(np.linalg.norm(away[name])) > AT_JOINT:
        return None
    place = rotation(*np.radians(standing)).T @ away[name] + joint.in_distal
    return BesideJoint(joint.proximal, joint.distal, name, place, BESIDE_ERRORS[kinds])
