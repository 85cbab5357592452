"""Choice of the markers to track in movement, and their segments, by roles, names and positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.lab_proposal.body_pose import OUTSIDE, WAIST, StandingPose, leg_frames
from rtsim.subjects.lab_proposal.marker_reading import COMPUTED_POINT, OFF_LEGS, NameReading
from rtsim.subjects.lab_proposal.proposed_roles import OTHER, MarkerRole

Array = NDArray[np.float64]

SEGMENT_OF = {
    "asis": "pelvis", "psis": "pelvis", "sacrum": "pelvis",
    "greater_trochanter": "thigh", "thigh_lateral": "thigh", "epicondyle_lateral": "thigh",
    "epicondyle_medial": "thigh",
    "fibula_head": "shank", "tibial_tuberosity": "shank", "shank_lateral": "shank",
    "malleolus_lateral": "shank", "malleolus_medial": "shank",
    "calcaneus": "foot", "metatarsal_1": "foot", "metatarsal_2": "foot", "metatarsal_3": "foot",
    "metatarsal_5": "foot", "toe": "foot",
}  # fmt: skip
"""Role -> segment on which its marker is tracked. The hallux is left out as it moves relative to the foot,
the knee alignment device as it is worn only in static trials."""
KNEE, ANKLE = 0.02, 0.015
"""Markers nearer to the height of knee or ankle, in parts of the stature, may be on either segment."""
BESIDE = (0.09, 0.075)
"""Markers farther from the line of a leg, forwards or sideways, over the stature, are on no leg."""
LOW_SHANK, THIN = 0.06, 0.035
"""Below the first height over the ankle, markers farther from the shank than the second are heel wands."""
HIP = 0.515
"""Height of the top of a thigh, in parts of the stature."""


class FollowedMarker(NamedTuple):
    """A marker that is proposed for tracking in movement, with the segment that it is on.

    segment : name of the segment
    side : side of the segment; "" for the pelvis
    is_certain : whether the role or the name of the marker identifies the segment, not only its position
    """

    marker: str
    segment: str
    side: str
    is_certain: bool


def followed_markers(
    names: Sequence[str],
    readings: Sequence[NameReading],
    roles: Sequence[MarkerRole],
    pose: StandingPose,
    points: Array,
    exchanged: bool,
) -> tuple[list[FollowedMarker], list[str]]:
    """Return the markers to track, with their segments, and notes on omitted ones that could be on a leg.

    names, readings, points : name, meaning of the name, and position (n, 3) [m] of each marker
    roles : roles that the markers have; pose : standing pose of the person
    exchanged : whether right and left labels are exchanged
    """
    x = pose.seen(points)
    by_marker = {role.marker: role for role in roles}
    heights = joint_heights(names, roles, x)
    found, told = [], []
    left_out: dict[str, list[str]] = {}
    for k, (name, reading) in enumerate(zip(names, readings, strict=True)):
        role = by_marker.get(name)
        if role is not None:
            if role.role in SEGMENT_OF:
                segment = SEGMENT_OF[role.role]
                found.append(FollowedMarker(name, segment, "" if segment == "pelvis" else role.side, True))
            continue
        if reading.segment in OFF_LEGS:
            if reading.segment == COMPUTED_POINT:
                left_out.setdefault("the names show that they are computed points, not markers", []).append(
                    name
                )
            continue
        segment, side, why = place_of(k, x, heights)
        side = OTHER[side] if exchanged else side
        if reading.segment and (not segment or reading.segment == segment):
            side = reading.side or side
            if reading.segment == "pelvis" or side:
                found.append(
                    FollowedMarker(name, reading.segment, "" if reading.segment == "pelvis" else side, True)
                )
        elif segment:
            found.append(FollowedMarker(name, segment, side, False))
        elif why:
            left_out.setdefault(why, []).append(name)
    told = [f"not tracked, because {why}: {', '.join(some)}" for why, some in left_out.items()]
    return found, told


def joint_heights(names: Sequence[str], roles: Sequence[MarkerRole], x: Array) -> dict[str, float]:
    """Return the heights of knee and ankle divided by the stature, from the lateral markers of these joints,
    or typical heights without them.

    x : (n, 3) marker coordinates divided by the stature: forwards, up, to the right of the body's middle
    """
    heights = {"knee": 0.277, "ankle": 0.037}
    for joint, wanted in (("knee", "epicondyle_lateral"), ("ankle", "malleolus_lateral")):
        there = [x[names.index(role.marker), 1] for role in roles if role.role == wanted]
        if there:
            heights[joint] = float(np.mean(there))
    return heights


def place_of(k: int, x: Array, heights: Mapping[str, float]) -> tuple[str, str, str]:
    """Return the segment and the side of marker k by its position, and a reason why the segment is unclear.

    If the segment is clear, the reason is ""; if not, segment and side are ""; for a marker far from the legs
    all three are "".

    x : (n, 3) marker coordinates divided by the stature: forwards, up, to the right of the body's middle
    heights : heights of knee and ankle divided by the stature
    """
    side = "right" if x[k, 2] > 0.0 else "left"
    frames = leg_frames(x * np.array([1.0, 1.0, 1.0 if side == "right" else -1.0]))
    height = x[k, 1]
    if height > WAIST[0] - 0.02:
        low, high, aside = WAIST
        return ("pelvis", "", "") if height < high and abs(x[k, 2]) < aside and height > low else ("", "", "")
    if frames is None or abs(x[k, 2]) > OUTSIDE + BESIDE[1]:
        return "", "", ""
    place = frames["leg"][k]
    if height < heights["ankle"] + ANKLE:
        ahead = frames["foot"][k]
        near = -0.05 < ahead[0] < 0.2 and abs(ahead[2]) < 0.06
        if near and height > heights["ankle"] - ANKLE and ahead[0] < 0.075:
            return "", "", "they are at the height of the ankle, and might be on shank or foot"
        return ("foot", side, "") if near else ("", "", "")
    thin = height < heights["ankle"] + LOW_SHANK
    if thin and float(np.hypot(place[0], place[2])) > THIN:
        return "", "", "they are beside the ankle, and might be on shank or foot"
    if abs(place[0]) > BESIDE[0] or abs(place[2]) > BESIDE[1]:
        return "", "", "they are beside the leg, like a hand or a long wand"
    if abs(height - heights["knee"]) < KNEE:
        return "", "", "they are at the height of the knee, and might be on thigh or shank"
    if height > HIP:
        return "", "", "they are at the height of the hip, and might be on thigh or pelvis"
    return ("thigh" if height > heights["knee"] else "shank"), side, ""
