"""Whether each foot has been given the force of the other one: the foot that bears swings, the other rests.

The sum of all forces stays as it is, and the pressure is under a foot all the same, as in files whose points
follow each foot on a belt, or whose columns of two feet are exchanged. But a foot that bears a person is
lower and slower than one that swings past it, forwards, backwards, over ground and on a belt; on stairs it is
slower.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.plates.plate_assignment import BEARS
from rtsim.config.models.both_sides_schema import SUFFIXES
from rtsim.files.recording import Results
from rtsim.methods.plates.plate_check import GRAVITY
from rtsim.methods.plates.plate_residual import labels_of

Array = NDArray[np.float64]

BEARING, FREE = 0.5, 0.05
"""One foot alone bears where it has more than the one, the other less than the other, in body weights."""
LEAST_FRAMES = 20
MOSTLY = 0.5
"""Part of these frames in which the foot that bears is higher and faster, from which it is told: a choice
between 0 to 8 %, which walks on plates and on a belt have, and 79 % with their forces exchanged."""


def judge_feet(results: Results, mass: float) -> str:
    """A sentence where the forces are those of the other feet, "" otherwise, or where it is not known."""
    fields, centres = results.fields, labels_of(results, "joint_centres")
    names = [f"ankle{suffix}" for suffix in SUFFIXES.values()]
    if "plate_shares" not in fields or any(name not in centres for name in names):
        return ""
    if len(results.times) < LEAST_FRAMES:
        return ""
    up = np.nan_to_num(fields["plate_forces"][..., 1])[..., None]
    loads = (up * (fields["plate_shares"] == BEARS)).sum(axis=1) / (mass * GRAVITY)
    ankles = fields["joint_centres"][:, [centres.index(name) for name in names]]
    speeds = np.linalg.norm(np.gradient(ankles, results.times, axis=0), axis=2)
    known = np.isfinite(ankles).all(axis=(1, 2)) & np.isfinite(speeds).all(axis=1)
    single = known & (loads.max(axis=1) > BEARING) & (loads.min(axis=1) < FREE)
    rows = np.flatnonzero(single)
    if len(rows) < LEAST_FRAMES:
        return ""
    bears = loads[rows].argmax(axis=1)
    heights = ankles[rows, :, 1]
    k = np.arange(len(rows))
    swings = heights[k, bears] > heights[k, 1 - bears]
    swings &= speeds[rows][k, bears] > speeds[rows][k, 1 - bears]
    if swings.mean() < MOSTLY:
        return ""
    return (
        f"each foot has the force of the other one: in {100 * swings.mean():.0f} % of the frames in which "
        "one foot bears the person, that foot is the one that swings: check which columns, plates or "
        "external loads belong to which foot"
    )
