"""The markers, joint centres and axes of legs by which rotation errors of bones about their long axes are
detected, and the rotations of these bones in standing.

If its own markers do not determine the pose of a thigh or a shank, the pose follows from three points: the
centre of the joint above, the marker nearest to the joint below, and the wand, which is the marker farthest
from the line between these two. For a shank the marker at the knee replaces the knee centre: it is near the
knee axis, so it hardly moves relative to the shank. If the wand of the shank lies on the line from this
marker to the ankle, the knee centre is used after all, as the thigh gives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.both_sides_schema import SUFFIXES
from rtsim.subjects.calibration.natural import unit
from rtsim.subjects.markers.distances import joints_of
from rtsim.subjects.markers.knee_axes import directions
from rtsim.subjects.subject import Subject, SubjectSegment

Array = NDArray[np.float64]

PELVIS = "pelvis"
LEAST_ARM, LEAST_SHARED = 0.03, 0.04
"""Least distances of a wand from the line of the other two points, and from that of the shared marker for
it to be used; nearer ones say next to nothing of the turn [m]."""
AT_JOINT = 0.09
"""Distance of a marker from the knee's centre within which it is beside the knee [m]."""
LEAST_TURN, LEAST_SHIFT = np.radians(20.0), 0.02
"""Least turn of a thigh against its shank, from standing, that no knee makes [rad], and least shift of a
wand that no skin makes [m]. Of 18 legs of nine undamaged recordings with static trials the mean over half
a second is 14 degrees at the most."""


class LegBones(NamedTuple):
    """One leg of a subject.

    segments : pelvis ("" = none of it is known), thigh, shank
    markers : names of the marker at the knee, the wand of the thigh (its marker farthest from its long axis),
        the marker at the ankle, the wand of the shank, and the marker at the knee if it is used for the
        shank, too; "" = none
    centres : (4, 3) - hip centre in the pelvis and in the thigh, knee centre in the thigh, and in the shank
        the shared marker or the knee centre [m]
    axes : (4, 3) - directions of the thigh upwards, forwards and along the epicondyles, and of the shank
        upwards
    standing : axial rotation of the thigh in the pelvis, and of the shank in the thigh, in the static trial
        [rad]; NaN = not known
    limit : axial rotation of the shank in the thigh, relative to standing, that no knee reaches [rad]
    """

    segments: tuple[str, str, str]
    markers: tuple[str, str, str, str, str]
    centres: Array
    axes: Array
    standing: tuple[float, float]
    limit: float


def legs_of(subject: Subject) -> tuple[LegBones, ...]:
    """Return the legs of a subject whose thigh and shank are known."""
    joints = {(j.proximal, j.distal): j for j in joints_of(subject)}
    found = []
    for suffix in ("", *SUFFIXES.values()):
        names = (PELVIS, f"thigh{suffix}", f"shank{suffix}")
        knee, hip = joints.get(names[1:]), joints.get(names[:2])
        if knee is None:
            continue
        thigh, shank = (subject.segments[name] for name in names[1:])
        start = np.zeros(3)
        on_thigh, arm = wand_of(thigh, start, knee.in_proximal)
        shared, begin = shared_marker(thigh, shank, on_thigh[0], knee.in_proximal)
        on_shank, other = wand_of(shank, begin, 1e-3 * end_of(shank))
        if not LEAST_SHARED <= other < np.inf:  # the line from that marker runs through the wand
            shared, begin = "", start
            on_shank, other = wand_of(shank, begin, 1e-3 * end_of(shank))
        up, across = directions(thigh.segment())
        found.append(
            LegBones(
                segments=(names[0] if hip is not None else "", *names[1:]),
                markers=(*on_thigh, *on_shank, shared),
                centres=np.array([start if hip is None else hip.in_proximal, start, knee.in_proximal, begin]),
                axes=np.array([up, np.cross(up, across), across, directions(shank.segment())[0]]),
                standing=(standing_turn(thigh), standing_turn(shank)),
                limit=max(float(LEAST_TURN), float(np.arctan2(LEAST_SHIFT, min(arm, other)))),
            )
        )
    return tuple(found)


def wand_of(segment: SubjectSegment, above: Array, below: Array) -> tuple[tuple[str, str], float]:
    """Return the names of the marker nearest to the joint below and of the wand, the marker farthest from the
    line from `above` to the first; and the distance of the wand from this line [m]. Without a marker far
    enough from the line both names are "" and the distance is infinite.

    above, below : (3,) - upper end of the line, and the joint below, in the segment [m]
    """
    markers: Mapping[str, Array] = {name: 1e-3 * np.array(x) for name, x in segment.markers_mm.items()}
    if len(markers) < 2:
        return ("", ""), np.inf
    near = min(markers, key=lambda name: float(np.linalg.norm(markers[name] - below)))
    line = unit(above - markers[near])
    arms = {
        name: float(np.linalg.norm(np.cross(line, x - markers[near])))
        for name, x in markers.items()
        if name != near
    }
    wand = max(arms, key=lambda name: arms[name])
    return ((near, wand), arms[wand]) if arms[wand] >= LEAST_ARM else (("", ""), np.inf)


def shared_marker(thigh: SubjectSegment, shank: SubjectSegment, name: str, knee: Array) -> tuple[str, Array]:
    """Return the name of a marker of the thigh near the knee that can be used for the shank, too, and its
    position in the shank (3,) [m]; "" and the knee centre, the origin of the shank, if it is not near.

    The position is that in the static trial, or if the pose there is unknown, that for aligned axes of both
    segments.

    name : marker of the thigh nearest to the knee; knee : (3,) - centre of the knee in the thigh [m]
    """
    if not name or float(np.linalg.norm(away := 1e-3 * np.array(thigh.markers_mm[name]) - knee)) > AT_JOINT:
        return "", np.zeros(3)
    return name, rotation(*np.radians(shank.in_parent_deg or (0.0, 0.0, 0.0))).T @ away


def rotation(about_z: float, about_x: float, about_y: float) -> Array:
    """Return the rotation about z, the new x and the new y [rad], (3, 3)."""
    (c, d, e), (s, t, u) = np.cos([about_z, about_x, about_y]), np.sin([about_z, about_x, about_y])
    first = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    second = np.array([[1.0, 0.0, 0.0], [0.0, d, -t], [0.0, t, d]])
    return np.asarray(first @ second @ np.array([[e, 0.0, u], [0.0, 1.0, 0.0], [-u, 0.0, e]]))


def end_of(segment: SubjectSegment) -> Array:
    """Return the distal end of a segment in its frame, (3,) [mm]."""
    return np.asarray(-1e3 * segment.segment().basis()[:, 1])


def standing_turn(segment: SubjectSegment) -> float:
    """Return the axial rotation of a segment in its parent in the static trial, the last of its angles about
    z, the new x and the new y [rad]; NaN = not known.
    """
    return float("nan") if segment.in_parent_deg is None else float(np.radians(segment.in_parent_deg[2]))
