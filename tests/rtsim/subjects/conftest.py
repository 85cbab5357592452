"""A made-up person with bmc markers, whole and by name, in any place and on any side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.markers.labs import load_lab

Array = NDArray[np.float64]
N_FRAME = 12

# right leg of a standing person, X forwards, Y up, Z to the right [m]
LANDMARKS = {
    "asis": (0.10, 1.00, 0.12),
    "asis_opposite": (0.10, 1.00, -0.12),
    "psis": (-0.06, 1.02, 0.05),
    "psis_opposite": (-0.06, 1.02, -0.05),
    "greater_trochanter": (0.03, 0.92, 0.18),
    "epicondyle_lateral": (0.03, 0.49, 0.13),
    "epicondyle_medial": (0.03, 0.48, 0.03),
    "fibula_head": (0.01, 0.42, 0.12),
    "tibial_tuberosity": (0.07, 0.41, 0.08),
    "malleolus_lateral": (0.00, 0.07, 0.12),
    "malleolus_medial": (0.02, 0.08, 0.05),
    "calcaneus": (-0.06, 0.03, 0.08),
    "metatarsal_1": (0.14, 0.02, 0.05),
    "metatarsal_5": (0.11, 0.01, 0.13),
}
OTHERS = {
    "R.Iliac.Crest": (0.02, 1.08, 0.14),
    "L.Iliac.Crest": (0.02, 1.08, -0.14),
    "R.MT2": (0.15, 0.03, 0.08),
}


def turned(points: Array, n_frame: int) -> Array:
    """(n_frame, n, 3) - the points while the person, rigid, turns about the vertical and moves."""
    frames = []
    for k in range(n_frame):
        c, s = np.cos(0.3 * k), np.sin(0.3 * k)
        rotation = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
        frames.append(points @ rotation.T + [0.1 * k, 0.02 * k, -0.05 * k])
    return np.array(frames)


@pytest.fixture
def person() -> Callable[..., MarkerTrial]:
    """Build a trial of the person's right leg; markers can be left out, or the whole be mirrored."""

    def build(
        without: tuple[str, ...] = (),
        mirrored: bool = False,
        label: str = "right",
        n_frame: int = N_FRAME,
        size: float = 1.0,
        **moved: tuple[float, float, float],
    ) -> MarkerTrial:
        table = load_lab("bmc").right if label == "right" else load_lab("bmc").left
        points = {table.roles[role]: moved.get(role, x) for role, x in LANDMARKS.items()}
        exchanged = {"R": "L", "L": "R"}
        for name, x in OTHERS.items():
            points[name if label == "right" else exchanged[name[0]] + name[1:]] = x
        names = tuple(name for name in points if name not in without)
        positions = turned(size * np.array([points[name] for name in names]), n_frame)
        if mirrored:
            positions = positions * [1.0, 1.0, -1.0]
        return MarkerTrial(names, np.arange(n_frame) / 100.0, positions, 100.0, "person.trc")

    return build
