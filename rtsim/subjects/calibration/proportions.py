"""Checks of a person's proportions: segments relative to each other and to the stature, and left relative to
right.

Between joint centres the thigh has 0.245 and the shank 0.246 of the stature (Drillis and Contini 1966, as in
Winter 2009, Biomechanics and Motor Control of Human Movement, fig. 4.1; from memory).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.subjects.calibration.landmarks import Positions

Array = NDArray[np.float64]

RATIOS = {
    ("thigh", "shank"): ((0.8, 1.3), (0.55, 1.8)),
    ("foot", "shank"): ((0.2, 0.5), (0.1, 0.8)),
}
"""Usual and possible ranges of ratios of lengths; nine persons have 0.95 to 1.21 and 0.28 to 0.38."""
LEG_TO_STATURE = ((0.42, 0.56), (0.33, 0.7))
"""Usual and possible range of (thigh + shank) / stature: 0.49 on average, 0.48 and 0.50 of two persons."""
HEIGHT = "Height"
"""Name of the person's height in a C3D file [m]."""
PAIRED = {"thigh": (0.08, 0.3), "shank": (0.08, 0.3), "foot": (0.15, 0.4)}
"""Relative difference of a length between the legs above which it is unusual, and impossible [1]. The nine
persons have up to 0.022, 0.041 and 0.08."""
SKEW = (0.035, 0.1)
"""Difference of the distances from the ASIS to the back of the pelvis on both sides, unusual and impossible
from there on [m]: at most 0.020 of the nine."""
REMEDY = "check the labels, the lab's marker map and the positions of the markers"


def check_ratios(lengths: Mapping[str, float], where: str) -> list[str]:
    """Return notes on pairs of segments with an unusual ratio of lengths; ConfigError for impossible ratios.

    lengths : segment -> length [m]
    """
    notes = []
    for (a, b), (usual, possible) in RATIOS.items():
        ratio = lengths[a] / lengths[b]
        said = f"the {a} is {1e3 * lengths[a]:.0f} mm long and the {b} {1e3 * lengths[b]:.0f} mm"
        if not possible[0] <= ratio <= possible[1]:
            raise ConfigError(
                f"{said}, a ratio of {ratio:.2f}", where=where, allowed=f"{possible[0]:g} to {possible[1]:g}",
                remedy=REMEDY,
            )  # fmt: skip
        if not usual[0] <= ratio <= usual[1]:
            notes.append(
                f"check {a} and {b}: {said}, a ratio of {ratio:.2f} (usual: {usual[0]:g} to "
                f"{usual[1]:g}): is a marker in the wrong place?"
            )
    return notes


def stored_stature(stored: Mapping[str, float]) -> float:
    """Return the stature of the person as stored with a trial [m]; 0 = not known, as in files without an
    entry.
    """
    return stored.get(HEIGHT, 0.0)


def check_stature(lengths: Mapping[str, float], stature: float, where: str) -> list[str]:
    """Return notes if the length of thigh plus shank is unusual for the stature; ConfigError if it is
    impossible.

    lengths : segment -> length [m]; stature : [m]
    """
    leg = lengths["thigh"] + lengths["shank"]
    usual, possible = LEG_TO_STATURE
    said = f"thigh and shank together are {1e3 * leg:.0f} mm long, {leg / stature:.2f} of the stature of "
    said += f"{1e3 * stature:.0f} mm"
    if not possible[0] <= leg / stature <= possible[1]:
        raise ConfigError(
            said, where=where, allowed=f"{possible[0]:g} to {possible[1]:g}",
            remedy="correct the stature, or check the unit of the file and the labels",
        )  # fmt: skip
    if usual[0] <= leg / stature <= usual[1]:
        return []
    return [f"check the stature: {said} (usual: {usual[0]:g} to {usual[1]:g})"]


def check_legs(right: Mapping[str, float], left: Mapping[str, float], where: str) -> list[str]:
    """Return notes on segments whose lengths [m] differ between the legs; ConfigError for impossible
    differences.
    """
    notes = []
    for name, (unusual, impossible) in PAIRED.items():
        if name not in right:
            continue
        a, b = right[name], left[name]
        apart = abs(a - b) / min(a, b)
        said = f"the {name} is {1e3 * a:.0f} mm long on the right and {1e3 * b:.0f} mm on the left"
        if apart > impossible:
            raise ConfigError(
                said, where=where, allowed=f"a difference of up to {100 * impossible:.0f} %", remedy=REMEDY
            )
        if apart > unusual:
            notes.append(
                f"check the legs: {said} (usual difference: up to {100 * unusual:.0f} %): is a marker in "
                "the wrong place?"
            )
    return notes


def check_skew(known: Positions, where: str) -> list[str]:
    """Return notes on a pelvis whose two ASIS are not equally far from its back, each measured to the PSIS of
    its own side, or to the sacrum; ConfigError for an impossible difference.

    known : landmark, such as "asis" -> (n, 3) position of its marker [m]
    """
    if not {"asis", "asis_opposite"} <= known.keys():
        return []
    back = ("psis", "psis_opposite") if {"psis", "psis_opposite"} <= known.keys() else ("sacrum", "sacrum")
    own, other = (
        float(np.median(np.linalg.norm(known[a] - known[b], axis=1)))
        for a, b in zip(("asis", "asis_opposite"), back, strict=True)
    )
    to = "PSIS" if back[0] == "psis" else "sacrum"
    said = (
        f"the distance from {to} to the ASIS of its own side is {1e3 * own:.0f} mm, to the ASIS of the "
        f"other side {1e3 * other:.0f} mm"
    )
    unusual, impossible = SKEW
    if abs(own - other) > impossible:
        raise ConfigError(
            f"the pelvis is not symmetric: {said}",
            where=where, allowed=f"a difference of up to {1e3 * impossible:.0f} mm",
            remedy=REMEDY,
        )  # fmt: skip
    if abs(own - other) > unusual:
        return [
            f"check the pelvis: {said} (usual difference: up to {1e3 * unusual:.0f} mm): is a marker in "
            "the wrong place?"
        ]
    return []
