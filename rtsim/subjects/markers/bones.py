"""Legs for detecting rotation errors of bones about their long axes: the markers, centres and axes used, and
their standing pose.

If its own markers do not determine a thigh or shank, its pose follows from the centre of the joint above,
its marker nearest to the joint below, and its wand, the marker farthest from the line between these two. For
a shank the marker at the knee replaces the knee centre: it is near the knee axis, so it hardly moves
relative to the shank. If the shank's wand lies on the line from this marker to the ankle, the shank uses the
knee centre from the thigh, and the wand of the thigh determines its rotation, too.
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
    markers : names of the marker at the knee, the wand of the thigh, the marker at the ankle, the wand of
        the shank, and the marker shared by thigh and shank; "" = none
    centres : (4, 3) - hip centre in the pelvis and in the thigh, knee centre in the thigh, and in the shank
        the shared marker or the knee centre [m]
    axes : (4, 3) - directions of the thigh upwards, forwards and along the epicondyles, and of the shank
        upwards
    standing : axial rotation of the thigh in the pelvis, and of the shank in the thigh, in the static trial
        [rad]; NaN = not known
    limit : axial rotation from standing that no knee reaches [rad]
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
    """Return the marker nearest to the joint below and the wand, and the wand's distance from the segment's
    line [m]. Without a wand both names are "".

    above, below : (3,) - start of the segment's line, and the joint below, in the segment [m]
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
    """Return the marker at the knee that thigh and shank share, "" if there is none, and its position in the
    shank, or else that of the knee centre, (3,) [m].

    The position is for the static trial's pose; if that is unknown, for aligned axes of both segments.

    name : name of the marker of the thigh that is nearest; knee : (3,) - centre of the knee in the thigh [m]
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
    """Return the rotation of a segment about its new y axis in its parent in the static trial [rad]; NaN =
    not known.
    """
    return float("nan") if segment.in_parent_deg is None else float(np.radians(segment.in_parent_deg[2]))
