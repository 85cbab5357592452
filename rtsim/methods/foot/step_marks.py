"""The markers of a foot in a footstep: on which landmarks they are, landmarks that only a static trial shows,
and whether the foot is a right or a left one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.lab_schema import LabMap
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.feet.foot_marks import UP, roles_of, ways
from rtsim.subjects.feet.foot_sole import STRETCH, carry
from rtsim.subjects.markers.labs import side_of
from rtsim.subjects.markers.marker_names import find_markers

Array = NDArray[np.float64]

NEEDED = ("calcaneus", "metatarsal_1", "metatarsal_5")
"""Marks that the frame of a foot needs, the heel first."""
CLEAR = 0.3
"""Cosine of the angle between the line of metatarsals 5 to 1 and the transverse axis of the foot, below which
the side of the foot cannot be determined."""
ASIDE = 0.04
"""Lateral distance between the feet from which it determines which foot is the right one [m]; 0.08 to 0.22
is usual."""
OTHERWISE = "between the two trials, distances of the foot's other markers differ by {:.0f} mm (RMS)"
SAME_SESSION = "take a static trial of this session, and check whether a marker moved"


def foot_markers(trial: MarkerTrial, lab: LabMap, side: str) -> dict[str, int]:
    """Return the column of each marker on a foot among those of a trial, by the landmark on which it is
    ("role", such as "calcaneus"), or by its own name if it is on no landmark.
    """
    role_of = {name: role for role, name in roles_of(lab, side).items()}
    wanted = [*role_of, *(name for name in side_of(lab, side).tracking.foot if name not in role_of)]
    found = find_markers(wanted, trial.names)
    return {role_of.get(name, name): row for name, row in found.items()}


def carried_marks(
    static: MarkerTrial | None, lab: LabMap, labelled: str, mean: Mapping[str, Array], where: str
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Reconstruct landmarks of a foot that only a static trial shows from the foot's other markers.

    Returns positions by landmark (3,) [m], and notes for the user. Each landmark is reconstructed separately;
    landmarks that the frame of the foot needs come first.

    A landmark cannot be reconstructed if the distances between the markers used for it differ from those in
    the static trial. Raises ConfigError if the frame of the foot needs such a landmark; other landmarks are
    then left out.

    labelled : side of the foot by the labels of its markers
    mean : landmark ("calcaneus"), or name of another marker -> (3,) mean position while the foot stands flat
        in the footstep [m]
    """
    if static is None:
        return {}, ()
    marks = roles_of(lab, labelled)
    followed = [role for role in mean if role != "hallux"]
    names, local = [marks.get(role, role) for role in followed], np.array([mean[role] for role in followed])
    lacking = [role for role in (*NEEDED, *marks) if role in marks and role not in mean]
    found: dict[str, Array] = {}
    refused: dict[str, float] = {}
    for role in dict.fromkeys(lacking):
        carried = carry(static, marks[role], names, local)
        if carried is None:
            continue
        if carried.off <= STRETCH:
            found[role] = carried.place
        elif role in NEEDED:
            raise ConfigError(
                f"the position of {role} cannot be taken from {static.source}: "
                + OTHERWISE.format(carried.off),
                where=where, allowed=f"up to {STRETCH:g} mm", remedy=SAME_SESSION,
            )  # fmt: skip
        else:
            refused[role] = carried.off
    notes: list[str] = []
    source = Path(static.source).name
    if found:
        notes.append(f"{', '.join(found)} taken from {source}, positioned by the other markers of the foot")
    if refused:
        off = max(refused.values())
        notes.append(f"{', '.join(refused)} not taken from {source}: {OTHERWISE.format(off)}")
    return found, tuple(notes)


def beside_of(feet: Array, foot: int) -> float:
    """Return how far the other foot is to the right of the foot on a plate, negative = to its left, as the
    median over a footstep [m]; NaN = not visible.

    feet : (n, 2, 2, 3) - heel and tip of the toes of both feet [m]; foot : 0 right, 1 left
    """
    line = feet[:, foot, 1] - feet[:, foot, 0]
    right = np.cross(line, UP)
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    away = feet[:, 1 - foot].mean(axis=1) - feet[:, foot].mean(axis=1)
    offset = (away * right).sum(axis=1)
    seen = offset[np.isfinite(offset)]
    return float(np.median(seen)) if len(seen) else math.nan


def step_axes(
    mean: Mapping[str, Array], labelled: str, where: str, beside: float = math.nan
) -> tuple[Array, str, tuple[str, ...]]:
    """Determine the axes of a footstep (3, 3), as rows, and the side of the foot; also return sentences on
    the side.

    mean : landmark, such as "calcaneus" -> (3,) mean position in the laboratory, Y up, while the foot is flat
        [m]
    labelled : side of the foot by the labels of its markers
    beside : distance of the other foot to the right of this foot [m]; it determines the side if it is large
        enough, otherwise the landmarks do
    """
    forward, to_right = ways(mean, UP)
    across = mean["metatarsal_1"] - mean["metatarsal_5"]
    cosine = float(to_right @ across / max(float(np.linalg.norm(across)), 1e-12))
    if abs(cosine) < CLEAR:
        raise ConfigError(
            "the markers do not tell a right from a left foot: the metatarsals do not lie beside each other",
            where=where,
            remedy="check medial and lateral of the labels, and the lab's marker map",
        )
    side = "left" if (beside if abs(beside) > ASIDE else cosine) > 0.0 else "right"
    notes: tuple[str, ...] = ()
    if side != labelled:
        notes = (f"the markers labelled {labelled} are on a {side} foot; they were used as a {side} foot",)
    y = forward / np.linalg.norm(forward)
    x = to_right * (1.0 if side == "left" else -1.0)
    return np.stack([x, y, UP]), side, notes
