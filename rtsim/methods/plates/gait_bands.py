"""Published peaks of joint moments, by kind and speed of gait: docs/kinetics.md has their sources."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.files.forces.force_trial import THRESHOLD
from rtsim.files.recording import Results
from rtsim.methods.plates.plate_check import GRAVITY
from rtsim.models.named_feet import feet_of
from rtsim.subjects.markers.labs import SIDES

Array = NDArray[np.float64]
Ends = tuple[float, float]

SLOW, FREE, FAST, RUNS = "slow", "free", "fast", "runs"


class PeakRange(NamedTuple):
    """Published range of the peaks of an internal joint moment per body mass [N m/kg], of adults and of
    children, by kind of gait ("slow", "free", "fast" walking, "runs").
    """

    angle: str  # joint angle about whose axis the moment acts
    muscles: str  # muscle group that produces the moment, which decreases the angle
    adults: dict[str, Ends]
    children: dict[str, Ends]


BANDS = (
    PeakRange(
        "ankle_dorsiflexion", "ankle plantarflexors",
        {SLOW: (0.8, 1.8), FREE: (1.2, 1.8), FAST: (1.2, 2.3), RUNS: (1.5, 4.5)},
        {SLOW: (0.7, 1.7), FREE: (0.75, 1.7), FAST: (0.75, 2.0), RUNS: (1.2, 4.5)},
    ),
    PeakRange(
        "knee_flexion", "knee extensors",
        {SLOW: (0.0, 1.0), FREE: (0.3, 1.0), FAST: (0.3, 1.6), RUNS: (1.0, 4.5)},
        {SLOW: (0.0, 0.83), FREE: (0.0, 0.83), FAST: (0.0, 1.13), RUNS: (0.7, 4.5)},
    ),
)  # fmt: skip
CHILD_M = 1.55
"""Persons below this stature are compared with the ranges of children [m]."""
LEG = 0.53
"""Height of the hip over the stature (Drillis and Contini 1966)."""
AT_EASE = (0.363, 0.5)
"""Range of free walking speeds, divided by sqrt(gravity times height of the hip) (Schwartz et al. 2008)."""
BOTH, LEAPS = 0.02, 1.5
"""Running is assumed if both feet are loaded in less than this fraction of the frames, and if the peak load
of a foot is above this multiple of the weight."""


def band_of(angle: str, gait: str, stature: float) -> tuple[str, Ends] | None:
    """Return the muscle group that produces a joint moment, with its side, and the range of the moment's
    published peaks [N m/kg] in a kind of gait. Return None if no range is published.

    angle : name of the joint angle about which the moment acts; stature : [m], 0 = unknown
    gait : "slow", "free" or "fast" walking, or "runs"
    """
    band = next((b for b in BANDS if angle.startswith(b.angle)), None)
    if band is None:
        return None
    return band.muscles + angle.removeprefix(band.angle), (
        band.children if 0.0 < stature < CHILD_M else band.adults
    )[gait]


def gait_of(results: Results, mass: float, stature: float) -> tuple[str, float]:
    """Return the kind of gait of a person ("slow", "free" or "fast" walking, or "runs") by the loads of the
    feet and the speed, and the speed over the ground or the belt [m/s], NaN if it is not known.
    """
    loads = results.fields["foot_loads"]
    known = np.isfinite(loads).all(axis=1) & (loads.sum(axis=1) > 0.5 * mass * GRAVITY)
    both = float((loads[known].min(axis=1) > THRESHOLD).mean()) if known.any() else 1.0
    speed = speed_of(results)
    if both < BOTH and np.nanmax(loads) > LEAPS * mass * GRAVITY:
        return RUNS, speed
    if not (stature > 0.0 and speed > 0.0):
        return FREE, speed
    relative = speed / np.sqrt(GRAVITY * LEG * stature)
    return SLOW if relative < AT_EASE[0] else FAST if relative > AT_EASE[1] else FREE, speed


def speed_of(results: Results) -> float:
    """Return the speed of walking or running over the ground or on a belt [m/s]: the median speed of the root
    relative to the foot on the ground, while this is the only one; NaN = unknown.
    """
    places, loads = results.fields["segment_positions"], results.fields["foot_loads"]
    names = next((tuple(s.labels) for s in results.session.fields if s.name == "segment_positions"), ())
    if len(results.times) < 2 or len(names) != places.shape[1]:
        return float("nan")
    found = []
    own = str(results.session.meta.get("side", ""))
    for foot, side in feet_of(names, own if own in SIDES else "right"):
        k = SIDES.index(side)
        if loads.shape[1] != len(SIDES):  # whoever bears the plates is stated
            continue
        alone = (loads[:, k] > THRESHOLD) & (np.nan_to_num(loads[:, 1 - k], nan=np.inf) < THRESHOLD)
        past = (places[:, 0] - places[:, foot])[:, [0, 2]]
        speed = np.linalg.norm(np.gradient(past, results.times, axis=0), axis=1)[alone]
        found += speed[np.isfinite(speed)].tolist()
    return float(np.median(found)) if found else float("nan")
