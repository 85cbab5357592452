"""Check whether the forces of the two feet are exchanged: then the loaded foot swings and the other rests.

If they are exchanged, the sum of all forces is still right. In files with one set of columns per foot, the
centre of pressure may even still be under a foot. But a loaded foot is lower and slower than a swinging one:
in walking forwards and backwards, over ground and on a belt; on stairs it is at least slower. Standing gives
no information, as neither foot swings.
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
"""Single support: load of the foot on the ground at least, of the other foot at most, in body weights."""
SWINGS, FASTER = 0.3, 1.5
"""A foot swings if its ankle moves horizontally faster than the first value [m/s], and faster than the other
ankle by the second factor: choices, between standing with heel rises and very slow walking."""
HALF_S = 0.05
"""Speeds are means over this time before and after a frame [s], so that marker noise hardly affects them."""
LEAST_S = 0.25
"""Time for which each foot has to be the only loaded one while a foot swings [s]; a push-off while the other
foot stands beside the plates is shorter."""
MOSTLY = 0.5
"""Fraction of these frames, for each foot, in which the loaded foot seems to swing, from which exchanged feet
are reported: a choice between the values of correct and exchanged data in docs/kinetics.md."""


def judge_feet(results: Results, mass: float) -> str:
    """Return a sentence if the forces of the two feet seem to be exchanged; "" if not, or if it is not
    known.
    """
    bears, swings = swinging(results, mass)
    step = float(np.median(np.diff(results.times))) if len(results.times) > 1 else 0.0
    told = [swings[bears == foot] for foot in range(len(SUFFIXES))]
    if any(len(rows) * step < LEAST_S or rows.mean() < MOSTLY for rows in told):
        return ""
    return (
        f"the forces of the two feet seem exchanged: in {100 * swings.mean():.0f} % of the frames of "
        "single support the force is that of the foot in swing: check which columns, plates or "
        "external loads belong to which foot"
    )


def swinging(results: Results, mass: float) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Find the n frames of single support in which one foot swings. Return for each frame the foot to which
    the plates assign the load, (n,) 0 = right, 1 = left, and whether this foot is faster and higher than the
    other, as only a foot that swings should be, (n,).
    """
    fields, centres = results.fields, labels_of(results, "joint_centres")
    names = [f"ankle{suffix}" for suffix in SUFFIXES.values()]
    if "plate_shares" not in fields or any(name not in centres for name in names):
        return np.zeros(0, np.int64), np.zeros(0, np.bool_)
    up = np.nan_to_num(fields["plate_forces"][..., 1])[..., None]
    loads = (up * (fields["plate_shares"] == BEARS)).sum(axis=1) / (mass * GRAVITY)
    ankles = fields["joint_centres"][:, [centres.index(name) for name in names]]
    speeds = floor_speeds(ankles, results.times)
    known = np.isfinite(ankles).all(axis=(1, 2)) & np.isfinite(speeds).all(axis=1)
    counted = known & (loads.max(axis=1) > BEARING) & (loads.min(axis=1) < FREE)
    counted &= speeds.max(axis=1) > np.maximum(SWINGS, FASTER * speeds.min(axis=1))
    rows = np.flatnonzero(counted)
    bears, heights = loads[rows].argmax(axis=1), ankles[rows, :, 1]
    k = np.arange(len(rows))
    higher = heights[k, bears] > heights[k, 1 - bears]
    return bears, higher & (speeds[rows].argmax(axis=1) == bears)


def floor_speeds(places: Array, times: Array) -> Array:
    """Compute the horizontal speeds (n, 2) of the ankles (n, 2, 3) at times (n,) [m/s]; NaN at the ends."""
    speeds = np.full(places.shape[:2], np.nan)
    half = max(1, round(HALF_S / float(np.median(np.diff(times))))) if len(times) > 1 else 1
    if len(times) > 2 * half:
        way = (places[2 * half :] - places[: -2 * half])[..., [0, 2]]
        passed = (times[2 * half :] - times[: -2 * half])[:, None]
        speeds[half:-half] = np.linalg.norm(way, axis=2) / passed
    return speeds
