"""Checks of a foot's markers by their positions: which direction is right, the order of the metatarsal
heads, and the labelled side.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.lab_schema import LabMap
from rtsim.subjects.markers.labs import SIDES, side_of
from rtsim.subjects.markers.marker_names import find_markers

Array = NDArray[np.float64]

ROLES = ("calcaneus", "metatarsal_1", "metatarsal_2", "metatarsal_3", "metatarsal_5", "hallux")
UP = np.array([0.0, 1.0, 0.0])
"""Upward direction of the laboratory."""


def ways(marks: Mapping[str, Array], up: Array) -> tuple[Array, Array]:
    """Return the forward and the rightward direction of a foot along the ground, (3,) each; the first has the
    length from heel to forefoot [m], the second is a unit vector.

    marks : landmark, such as "calcaneus" -> (3,) position of its marker [m]; up : (3,) upward unit vector

    The labels of the first and the fifth metatarsal may be exchanged.
    """
    forward = 0.5 * (marks["metatarsal_1"] + marks["metatarsal_5"]) - marks["calcaneus"]
    forward = forward - up * (up @ forward)
    right = np.cross(forward, up)
    return forward, right / max(float(np.linalg.norm(right)), 1e-12)


def in_order(mean: Mapping[str, Array], medial: Array) -> tuple[dict[str, str], tuple[str, ...]]:
    """Find exchanged labels of the markers on the metatarsal heads, by their order from medial to lateral.

    Returns landmark -> label of the marker that is really there ("metatarsal_1" -> "metatarsal_5" if these
    labels are exchanged), and notes for the user.

    mean : landmark, such as "metatarsal_1" -> (3,) position of the marker with that label [m]
    medial : (3,) unit vector that points medially
    """
    heads = [role for role in ROLES if role.startswith("metatarsal") and role in mean]
    labelled = sorted(heads, key=lambda role: -float(mean[role] @ medial))
    exchanged = [(role, other) for role, other in zip(heads, labelled, strict=True) if role != other]
    notes: tuple[str, ...] = ()
    if exchanged:
        said = ", ".join(f"{role} is labelled {other}" for role, other in exchanged)
        notes = (
            "the labels of two metatarsal markers are swapped; the markers were assigned by their positions: "
            f"{said}",
        )
    return {**{role: role for role in mean}, **dict(exchanged)}, notes


def labelled_side(lab: LabMap, names: Collection[str], otherwise: str) -> str:
    """Return the side whose foot has most of these markers by their labels; `otherwise` if both have equally
    many.

    The side of a leg follows from the arrangement of its markers; its labels may state the other side.
    """
    n_right, n_left = (
        len(find_markers({*roles_of(lab, side).values(), *side_of(lab, side).tracking.foot}, list(names)))
        for side in SIDES
    )
    return otherwise if n_right == n_left else SIDES[int(n_left > n_right)]


def markers_of(lab: LabMap, side: str, names: Collection[str]) -> dict[str, str]:
    """Return landmark -> marker for the markers in `names` from which the frame of a foot follows, such as
    that on "calcaneus".
    """
    roles = {role: name for role, name in roles_of(lab, side).items() if role != "hallux"}
    found = find_markers(list(roles.values()), list(names))
    return {role: name for role, name in roles.items() if name in found}


def roles_of(lab: LabMap, side: str) -> dict[str, str]:
    """Return landmark -> marker for all markers of a map on the foot of a side, that on "calcaneus", the
    heel, first.
    """
    table = side_of(lab, side).roles
    return {role: table[role] for role in ROLES if role in table}
