"""A made-up person who stands, in metres, by landmarks: an adult of 1.75 m with a fat right knee."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rtsim.files.markers.trial import MarkerTrial

LEG = {
    "asis": (0.10, 0.97, 0.125), "psis": (-0.06, 1.01, 0.045), "greater_trochanter": (0.02, 0.92, 0.165),
    "epicondyle_lateral": (0.03, 0.50, 0.145), "epicondyle_medial": (0.03, 0.49, 0.045),
    "fibula_head": (-0.005, 0.44, 0.14), "tibial_tuberosity": (0.065, 0.43, 0.09),
    "malleolus_lateral": (0.0, 0.085, 0.13), "malleolus_medial": (0.015, 0.095, 0.05),
    "calcaneus": (-0.07, 0.03, 0.09), "metatarsal_1": (0.13, 0.03, 0.045), "metatarsal_5": (0.11, 0.02, 0.15),
}  # fmt: skip
"""Role -> forwards, up, outwards."""
TRUNK = {"head_front": (0.1, 1.72, 0.07), "shoulder": (0.0, 1.45, 0.19), "elbow": (-0.02, 1.12, 0.27),
         "wrist": (0.06, 0.86, 0.29)}  # fmt: skip
MIDDLE = {"neck": (-0.08, 1.5, 0.0), "breast": (0.12, 1.3, 0.0)}
SHORT = {
    "asis": "ASI", "psis": "PSI", "greater_trochanter": "GT", "epicondyle_lateral": "KNE",
    "epicondyle_medial": "KNM", "fibula_head": "HF", "tibial_tuberosity": "TT", "malleolus_lateral": "ANK",
    "malleolus_medial": "MED", "calcaneus": "HEE", "metatarsal_1": "MT1", "metatarsal_5": "MT5",
    "head_front": "FHD", "shoulder": "SHO", "elbow": "ELB", "wrist": "WRA", "neck": "C7", "breast": "STRN",
}  # fmt: skip
SIGNS = {"right": 1.0, "left": -1.0}


def places(sides: tuple[str, ...] = ("right", "left")) -> dict[tuple[str, str], np.ndarray]:
    """(role, side) -> (3,) [m]; a person with one leg marked has the whole pelvis."""
    found = {(role, ""): np.array(place) for role, place in MIDDLE.items()}
    for side, sign in SIGNS.items():
        for role, place in {**LEG, **TRUNK}.items():
            if side in sides or role in ("asis", "psis", *TRUNK):
                found[role, side] = np.array(place) * (1.0, 1.0, sign)
    return found


def trial_of(
    found: Mapping[tuple[str, str], np.ndarray],
    names: Mapping[tuple[str, str], str] | None = None,
    n_frame: int = 50,
    heading: float = 0.7,
) -> MarkerTrial:
    """A static trial of them, turned about the vertical [rad]; names : short ones where none are given."""
    c, s = np.cos(heading), np.sin(heading)
    turn = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    points = np.array(list(found.values())) @ turn.T + (1.0, 0.0, -2.0)
    sway = 0.001 * np.sin(np.arange(n_frame))[:, None, None]
    labels = [names[slot] if names else f"{slot[1][:1].upper()}{SHORT[slot[0]]}" for slot in found]
    return MarkerTrial(tuple(labels), 0.01 * np.arange(n_frame), points + sway, 100.0, "still.trc")


def unnamed(found: Mapping[tuple[str, str], np.ndarray]) -> dict[tuple[str, str], str]:
    """Names that say nothing, in an order that says nothing either."""
    order = np.random.default_rng(5).permutation(len(found))
    return {slot: f"Q{k:02d}z" for slot, k in zip(found, order.tolist(), strict=True)}
