"""Positions of the anatomical landmarks of a synthetic person who stands, for pictures that show where the
markers of a marker map belong.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.lab_proposal.landmark_places import ANKLE_AHEAD, HIP_ASIDE, MIDDLE, PLACES
from rtsim.subjects.lab_proposal.proposed_roles import REGIONS

Array = NDArray[np.float64]

STATURE = 1.75
"""Stature of the person [m]."""
HIPS_AHEAD = 0.02
"""Distance of the hips in front of the ankles, divided by the stature."""
OUTSIDE = {"thigh_lateral": (0.0, 0.40, 0.055), "shank_lateral": (0.0, 0.16, 0.045)}
"""Positions along a leg, divided by the stature, of roles without a typical position."""
DRAWN = (*PLACES, *(role for role in REGIONS if role in OUTSIDE))


def standing_landmarks() -> dict[tuple[str, str], Array]:
    """Return the landmarks of the person by name, such as "calcaneus", and side ("" = both): positions (3,)
    forwards, up, and to the right of the middle of the ankles [m].
    """
    found: dict[tuple[str, str], Array] = {}
    for role in DRAWN:
        place = PLACES[role].mean if role in PLACES else OUTSIDE[role]
        frame = PLACES[role].frame if role in PLACES else "leg"
        forwards, up, outwards = place
        if frame == "leg":
            forwards, outwards = forwards + HIPS_AHEAD * up / PLACES["asis"].mean[1], outwards + HIP_ASIDE
        elif frame == "foot":
            forwards, outwards = forwards - ANKLE_AHEAD, outwards + HIP_ASIDE
        else:
            forwards += HIPS_AHEAD
        for side, sign in (("", 0.0),) if role in MIDDLE else (("right", 1.0), ("left", -1.0)):
            found[role, side] = STATURE * np.array([forwards, up, sign * outwards])
    return found
