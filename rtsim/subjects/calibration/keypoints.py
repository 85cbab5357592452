"""Calibration of a leg from keypoints, as markerless camera systems give them: joint centres only.

Halpe's keypoints are hip, knee and ankle centres, heel and toes, and the neck. Landmarks are placed around
them such that segments get the axes that follow from joint centres: flexion axes are parallel to the line
through the hips, and the pelvis has the inclination of the trunk. Assumptions in place of measurements are
reported, and the model gets simple joints (`rtsim/subjects/plain_joints.py`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.calibration.landmarks import Positions
from rtsim.subjects.calibration.natural import unit

Array = NDArray[np.float64]

PLACES = {
    "asis": (0.3, 0.4, 0.65), "asis_opposite": (0.3, 0.4, -0.65),
    "psis": (-0.6, 0.4, 0.25), "psis_opposite": (-0.6, 0.4, -0.25),
}  # fmt: skip
"""Positions relative to the middle of the hips, divided by the distance between the hips: forwards, along the
trunk, outwards."""
KNEE, ANKLE = 0.5, 0.35
"""Assumed widths of knee and ankle divided by the hip distance; only the directions of the axes matter."""
NOTES = (
    "keypoints are joint centres only. Flexion angles are measured, about axes parallel to the line "
    "between the hips. Rotation of the hip and adduction and rotation of the knee are fixed. "
    "Inversion and rotation of the ankle use axes of the same kind as flexion. Results have no joint "
    "contacts, ligaments and muscles",
    "no marker on the pelvis: the pelvis is assumed to lean like the line from the hips to the neck, "
    "so hip flexion is the angle between thigh and trunk",
)


def landmarks_about(known: Positions) -> dict[str, Array]:
    """Return landmarks of a right or a left leg, such as "epicondyle_lateral", placed around the keypoints of
    a markerless system; both (n, 3) [m].
    """
    hip, opposite = known["hip_centre"], known["hip_centre_opposite"]
    middle, across = 0.5 * (hip + opposite), hip - opposite
    width = np.linalg.norm(across, axis=-1, keepdims=True)
    up = unit(known["neck"] - middle)
    outwards = unit(across - np.sum(across * up, axis=-1, keepdims=True) * up)
    forwards = np.cross(up, outwards)
    toes = 0.5 * (known["metatarsal_1"] + known["metatarsal_5"])
    ahead = float(np.median(np.sum((toes - known["calcaneus"]) * forwards, axis=-1)))
    forwards = np.copysign(1.0, ahead) * forwards  # a left leg's, where `outwards` is to the left
    found = {
        role: middle + width * (x * forwards + y * up + z * outwards) for role, (x, y, z) in PLACES.items()
    }
    for joint, upper, share, names in (
        ("knee_centre", hip, KNEE, ("epicondyle_lateral", "epicondyle_medial")),
        ("ankle_centre", known["knee_centre"], ANKLE, ("malleolus_lateral", "malleolus_medial")),
    ):
        along = unit(upper - known[joint])
        beside = unit(outwards - np.sum(outwards * along, axis=-1, keepdims=True) * along)
        half = 0.5 * share * width * beside
        found |= dict(zip(names, (known[joint] + half, known[joint] - half), strict=True))
    return found
