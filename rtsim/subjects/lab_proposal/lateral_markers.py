"""Choice of the lateral markers of thigh and shank, if a joint centre needs one because there is no medial
marker, and no name identifies it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.lab_proposal.body_pose import StandingPose, leg_frames
from rtsim.subjects.lab_proposal.proposed_roles import OTHER, REGIONS, UNSURE, MarkerRole
from rtsim.subjects.lab_proposal.proposed_segments import FollowedMarker

Array = NDArray[np.float64]
ASIDE = 0.055
"""Usual distance of such a marker (on skin or a wand) from the line of the leg, divided by the stature."""
NEEDED_WITHOUT = {
    "thigh_lateral": ("thigh", "epicondyle_medial"),
    "shank_lateral": ("shank", "malleolus_medial"),
}
"""Role -> its segment, and the landmark that makes it unnecessary if it is marked."""


def lateral_roles(
    names: Sequence[str],
    roles: Sequence[MarkerRole],
    followed: Sequence[FollowedMarker],
    pose: StandingPose,
    points: Array,
    exchanged: bool,
) -> list[MarkerRole]:
    """Return the roles thigh_lateral and shank_lateral for legs that need them, each with the only marker
    that comes into question, or with the most probable of several.

    names, points : names and positions (n, 3) [m] of all markers; roles : roles that were found already
    followed : tracked markers with their segments; pose : standing pose of the person
    exchanged : whether right and left labels are exchanged
    """
    x = pose.seen(points)
    found = []
    for side in ("right", "left"):
        known = {role.role for role in roles if role.side == side}
        stands = OTHER[side] if exchanged else side
        frames = leg_frames(x * np.array([1.0, 1.0, 1.0 if stands == "right" else -1.0]))
        if frames is None:
            continue
        for role, (segment, medial) in NEEDED_WITHOUT.items():
            if medial in known or role in known:
                continue
            taken = {r.marker for r in roles}
            places = {
                f.marker: frames["leg"][names.index(f.marker)]
                for f in followed
                if f.segment == segment and f.side == side and f.marker not in taken
            }
            low, high = REGIONS[role]
            able = {
                name: place
                for name, place in places.items()
                if (place >= low).all() and (place <= high).all()
            }
            if not able:
                continue
            best = min(able, key=lambda name: float(np.hypot(able[name][0], able[name][2] - ASIDE)))
            others = sorted(able.keys() - {best})
            why = f"its name is not known; no other marker is on the outside of the {segment}"
            if others:
                why = (
                    f"the name of this marker is not known; {', '.join(others)} on the {segment} might be on "
                    "this landmark as well"
                )
            found.append(MarkerRole(best, role, side, UNSURE, why))
    return found
