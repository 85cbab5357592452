"""Determination of the leg, right or left, on which markers are, from their arrangement alone, and
mirroring.

Everything is computed for a right leg. A left one is mirrored (Z -> -Z) first. Files may have exchanged
labels or left-handed axes; both look the same, and mirroring corrects both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.markers.sides import EITHER
from rtsim.subjects.calibration.landmarks import (
    DEVICE,
    METATARSALS,
    Positions,
    back_of,
    has_device,
    lacks_pelvis,
)
from rtsim.subjects.calibration.natural import unit

Array = NDArray[np.float64]

MIRROR = np.array([1.0, 1.0, -1.0])
CLEAR = 0.2  # median handedness below which an arrangement is no leg [1]
FLAT = 1e-3  # smallest spread of the markers, relative to the largest, below which they are in one plane [1]
UP = np.array([0.0, 1.0, 0.0])
TAKEN = "was taken, as a"
"""Words in the note on a leg that is on the other side than its labels state."""
OTHER = {"right": "left", "left": "right"}


class Side(NamedTuple):
    """Side of the body on which a leg's markers are, and notes for the user."""

    side: str  # the side the leg is on; a left one has to be mirrored
    notes: tuple[str, ...]


def find_side(positions: Positions, labelled: str, where: str) -> Side:
    """Find the side of the body on which the markers labelled as the leg `labelled` really are.

    positions : role, such as "asis" -> (n, 3) position of its marker in usable frames [m]

    ConfigError where pelvis and leg, or knee and ankle, contradict each other. Without a pelvis, foot and
    ankle determine the side.
    """
    if _in_one_plane(positions):
        raise ConfigError(
            f"the markers of the {labelled} leg and of the pelvis lie in one plane, as in a two-dimensional "
            "recording, and joint angles need three dimensions",
            where=where,
            remedy="give the recording in three dimensions, or a planar model with --model",
        )
    ankle, across_ankle, toes = ankle_and_toes(positions)
    upwards = knee_of(positions) - ankle
    leg = handedness(toes - positions["calcaneus"], upwards, across_ankle)
    alone = lacks_pelvis(positions)
    pelvis = leg if alone else pelvis_handedness(positions, positions["asis"] - ankle)
    if {"epicondyle_medial", "epicondyle_lateral"} <= positions.keys():
        across_knee = positions["epicondyle_lateral"] - positions["epicondyle_medial"]
        if float(np.median(np.sum(unit(across_knee) * unit(across_ankle), axis=-1))) < 0.0:
            raise ConfigError(
                "the medial and lateral markers of knee and ankle point opposite ways",
                where=where,
                remedy="exchange the labels of the wrong pair",
            )
    if alone and abs(leg) < CLEAR:
        raise ConfigError(
            f"the markers of the {labelled} leg do not tell which side it is on (handedness {leg:.2f}, right "
            "+1, left -1)",
            where=where,
            remedy="check whether medial and lateral are exchanged in the labels, and the lab's marker map",
        )
    if min(abs(leg), abs(pelvis)) < CLEAR or leg * pelvis < 0.0:
        raise ConfigError(
            f"the markers of the {labelled} leg and of the pelvis do not agree on which side the leg is "
            f"(handedness {leg:.2f} and {pelvis:.2f}, right +1, left -1)",
            where=where,
            remedy="check right and left, and medial and lateral, of the labels, and the lab's marker map",
        )
    actual = "right" if leg > 0.0 else "left"
    if actual == labelled:
        return Side(actual, ())
    return Side(
        actual,
        (
            f"the markers labelled {labelled} stand on the {actual} of the body: {EITHER}; "
            f"the leg labelled {labelled} {TAKEN} {actual} leg",
        ),
    )


def _in_one_plane(positions: Positions) -> bool:
    """Return whether the markers lie nearly in one plane, in the median over the frames that show all of
    them.
    """
    points = np.stack(list(positions.values()), axis=-2)
    points = points[np.isfinite(points).all(axis=(-2, -1))]  # frames that show all of them
    if not points.size:
        return False
    spread = np.linalg.svd(points - points.mean(axis=-2, keepdims=True), compute_uv=False)
    return float(np.median(spread[..., 2] / spread[..., 0])) < FLAT


def ankle_and_toes(positions: Positions) -> tuple[Array, Array, Array]:
    """Return the ankle (n, 3), a vector from it laterally, and the middle of the forefoot [m].

    Without a medial malleolus, the lateral one replaces the ankle; the lateral direction is then
    perpendicular to the shank and to the line from heel to toes, towards the lateral malleolus.
    """
    lateral = positions["malleolus_lateral"]
    if positions.keys() >= {*METATARSALS}:
        toes = 0.5 * (positions["metatarsal_1"] + positions["metatarsal_5"])
    elif "toe" in positions:
        toes = positions["toe"]
    else:  # the foot of who stands points to where the pelvis faces
        toes = positions["calcaneus"] + 0.5 * (positions["asis"] + positions["asis_opposite"])
        toes = toes - back_of(positions)
    if "malleolus_medial" in positions:
        return 0.5 * (lateral + positions["malleolus_medial"]), lateral - positions["malleolus_medial"], toes
    square = unit(np.cross(toes - positions["calcaneus"], knee_of(positions) - lateral))
    aside = np.sum((lateral - positions["calcaneus"]) * square, axis=-1, keepdims=True)
    return lateral, aside * square, toes


def knee_of(positions: Positions) -> Array:
    """Return the lateral marker of the knee, or the middle of a knee alignment device in its place, (n, 3)
    [m].
    """
    if has_device(positions):
        middle: Array = np.mean([positions[role] for role in DEVICE], axis=0)
        return middle
    return positions["epicondyle_lateral"]


def check_same_side(positions: Positions, labelled: str, side: str, where: str) -> None:
    """Raise ConfigError when the pelvis of a trial (Y up) contradicts the side found in the static trial.

    positions : role, such as "asis" -> (n, 3) position of its marker [m]
    labelled, side : side of the leg by its labels, and by the static trial
    """
    if not shows_pelvis(positions):
        return
    pelvis = pelvis_handedness(positions, UP)
    if abs(pelvis) > 0.5 and (pelvis > 0.0) != (side == "right"):
        raise ConfigError(
            f"the markers labelled {labelled} stand on the {OTHER[side]} of the body, but on its {side} in "
            "the static trial",
            where=where,
            remedy="exchange the labels right and left in one of the two files",
        )


def shows_pelvis(positions: Positions) -> bool:
    """Return whether front and back of the pelvis are marked."""
    known = positions.keys()
    return {"asis", "asis_opposite"} <= known and ({"psis", "psis_opposite"} <= known or "sacrum" in known)


def pelvis_handedness(positions: Positions, upwards: Array) -> float:
    """Return near +1 if the marker labelled as the ASIS of the leg is on the right of the pelvis, near -1 if
    it is on the left.
    """
    asis, opposite = positions["asis"], positions["asis_opposite"]
    return handedness(0.5 * (asis + opposite) - back_of(positions), upwards, asis - opposite)


def handedness(forwards: Array, upwards: Array, sideways: Array) -> float:
    """Return the median over the frames of the cosine between `sideways` and the direction to the right,
    forwards x upwards.
    """
    right = np.cross(forwards, upwards)
    with np.errstate(invalid="ignore", divide="ignore"):
        cosine = np.sum(unit(right) * unit(sideways), axis=-1)
    known = cosine[np.isfinite(cosine)]
    return float(np.median(known)) if known.size else 0.0
