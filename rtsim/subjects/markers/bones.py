"""Legs as their bones turn about their long axes: markers, centres and axes that tell, and how they stood.

A thigh or shank whose own markers do not fix it is placed by the joint's centre above, its marker nearest to
the joint below, and the one of the others that is farthest from the line of both, its wand. A shank takes the
marker at the knee for its centre: that is near the knee's axis, so that it stays where it stood in the shank.
Where the shank's wand is on the line from there to the ankle, it takes the knee's centre by the thigh, and
the wand of the thigh turns it, too.
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
    markers : at the knee, wand of the thigh, at the ankle, wand of the shank, the one that thigh and shank
        share; "" where there is none
    centres : (4, 3) - of the hip in the pelvis and in the thigh, of the knee in the thigh; and in the shank
        of the shared marker, or of the knee [m]
    axes : (4, 3) - of the thigh upwards, to its front, along the epicondyles; of the shank upwards
    standing : turn of the thigh in the pelvis, and of the shank in the thigh, in the static trial [rad];
        NaN = not known
    limit : turn from standing that no knee makes [rad]
    """

    segments: tuple[str, str, str]
    markers: tuple[str, str, str, str, str]
    centres: Array
    axes: Array
    standing: tuple[float, float]
    limit: float


def legs_of(subject: Subject) -> tuple[LegBones, ...]:
    """The legs of a subject whose thigh and shank are known."""
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
    """The marker nearest to the joint below, and the wand; its arm [m]. None has a name where no wand is.

    above, below : (3,) - where its line begins, and the joint below, in it [m]
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
    """The marker at the knee, "" without one, and where the shank has it, or else the knee's centre (3,)
    [m]; as the person stood, or where that is not known with the axes of both segments in line.

    name : name of the marker of the thigh that is nearest; knee : (3,) - centre of the knee in the thigh [m]
    """
    if not name or float(np.linalg.norm(away := 1e-3 * np.array(thigh.markers_mm[name]) - knee)) > AT_JOINT:
        return "", np.zeros(3)
    return name, rotation(*np.radians(shank.in_parent_deg or (0.0, 0.0, 0.0))).T @ away


def rotation(about_z: float, about_x: float, about_y: float) -> Array:
    """(3, 3) - axes turned about z, the new x and the new y [rad]."""
    (c, d, e), (s, t, u) = np.cos([about_z, about_x, about_y]), np.sin([about_z, about_x, about_y])
    first = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    second = np.array([[1.0, 0.0, 0.0], [0.0, d, -t], [0.0, t, d]])
    return np.asarray(first @ second @ np.array([[e, 0.0, u], [0.0, 1.0, 0.0], [-u, 0.0, e]]))


def end_of(segment: SubjectSegment) -> Array:
    """(3,) - where a segment ends, in it [mm]."""
    return np.asarray(-1e3 * segment.segment().basis()[:, 1])


def standing_turn(segment: SubjectSegment) -> float:
    """Turn of a segment about the new y axis in its parent in the static trial [rad]; NaN = not known."""
    return float("nan") if segment.in_parent_deg is None else float(np.radians(segment.in_parent_deg[2]))
