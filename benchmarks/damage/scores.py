"""Comparison of a damaged scene with the clean one: errors of the angles, and the reported status.

A frame counts if it was sent, the recording determines every segment, the clean run calls it ok, and both
have angles; if the recording itself has large gaps, the clean run is no reference. A frame is wrong for
errors from WRONG_DEG on, and right below RIGHT_DEG; in between, either status is accepted.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.damage.scene import Damage, DamagedMarkers
from benchmarks.damage.solving import SolvedScene
from rtsim.units import DEGREES
from streams.messages import Status

Array = NDArray[np.float64]

WRONG_DEG, RIGHT_DEG = 5.0, 2.0
FLEXIONS = ("hip_flexion", "knee_flexion", "ankle_dorsiflexion")
DOUBTS = int(Status.UNCERTAIN | Status.SUSPECT)
"""Bits that say that numbers may be wrong."""


class Score(NamedTuple):
    """Counts of frames and errors of one case; for the flexions unless stated otherwise.

    unflagged_deg : largest error in frames called ok, from the first damaged one on; worst : number of that
        frame
    unflagged_all_deg : the same for all angles
    n_damaged : number of damaged frames; n_wrong, n_missed : number of damaged frames that are wrong, and
        that are wrong but called ok
    n_wrong_after, n_missed_after : the same after its end
    n_needless : frames of the damage that are right, but called uncertain or suspect
    recovery_s : from the end of the damage until all frames are right and ok; NaN where it lasts
    recovered : whether that was so at the end of the scene
    stated_ratio : largest deviation over the stated standard deviation on frames called ok; NaN without
    """

    unflagged_deg: float
    worst: int
    unflagged_all_deg: float
    n_damaged: int
    n_wrong: int
    n_missed: int
    n_wrong_after: int
    n_missed_after: int
    n_needless: int
    recovery_s: float
    recovered: bool
    stated_ratio: float


def is_flexion(label: str) -> bool:
    """Return whether an angle is a flexion of hip, knee or ankle, on either side."""
    return label.startswith(FLEXIONS)


def deviations(damaged: SolvedScene, clean: SolvedScene) -> Array:
    """Return |damaged - clean| by the shorter way around the circle, (n_frame, n_angle) [rad]; NaN where one
    of them is.
    """
    apart = damaged.angles - clean.angles
    return np.abs((apart + math.pi) % (2.0 * math.pi) - math.pi)


def largest(values: Array) -> Array:
    """Return the largest value of each row, ignoring NaN, (n_frame,); NaN where all are."""
    filled = np.where(np.isfinite(values), values, -np.inf).max(axis=1, initial=-np.inf)
    return np.where(np.isfinite(filled), filled, np.nan)


def score(
    damaged: SolvedScene, clean: SolvedScene, damage: Damage, scene: DamagedMarkers, *, told: bool = False
) -> Score:
    """The score of a case.

    scene : the scene without damage; told : whether the damage was reported before the first frame, and so
        for all frames
    """
    flexions = np.array([is_flexion(label) for label in clean.labels])
    apart = deviations(damaged, clean)
    off = DEGREES * largest(apart[:, flexions])
    off_all = DEGREES * largest(apart)
    counts = scene.determined & (clean.status == 0) & np.isfinite(off)
    frame = np.arange(len(off))
    ok = counts & (damaged.status == 0) & (not told)
    inside = counts & (frame >= damage.first) & (frame < damage.stop)
    after = counts & (frame >= damage.stop)
    since = ok & (frame >= damage.first)
    wrong = counts & (off > WRONG_DEG)
    doubted = counts & (damaged.status & DOUBTS != 0)
    worst = int(np.argmax(np.where(since, off, -1.0))) if since.any() else -1
    recovery, recovered = recovery_of(after, ok & (off < RIGHT_DEG), damage.stop, scene.rate)
    return Score(
        unflagged_deg=float(off[worst]) if since.any() else 0.0,
        worst=worst,
        unflagged_all_deg=float(off_all[since].max()) if since.any() else 0.0,
        n_damaged=int(inside.sum()),
        n_wrong=int((inside & wrong).sum()),
        n_missed=int((inside & wrong & ok).sum()),
        n_wrong_after=int((after & wrong).sum()),
        n_missed_after=int((after & wrong & ok).sum()),
        n_needless=int((inside & doubted & (off < RIGHT_DEG)).sum()),
        recovery_s=recovery,
        recovered=recovered,
        stated_ratio=stated_ratio(damaged, apart, since, flexions),
    )


def recovery_of(
    after: NDArray[np.bool_], good: NDArray[np.bool_], stop: int, rate: float
) -> tuple[float, bool]:
    """Return the time from frame `stop` until all later frames that count are good [s], and whether the last
    frame is good.
    """
    counted = np.flatnonzero(after)
    if not counted.size:
        return math.nan, True
    bad = counted[~good[counted]]
    last = int(bad[-1]) + 1 if bad.size else stop
    return (last - stop) / rate, bool(good[counted[-1]])


def stated_ratio(
    damaged: SolvedScene, apart: Array, frames: NDArray[np.bool_], flexions: NDArray[np.bool_]
) -> float:
    """Return the largest error relative to the stated standard deviation in these frames; NaN where none is
    stated.
    """
    if damaged.stated is None:
        return math.nan
    stated = damaged.stated[frames][:, flexions]
    usable = np.isfinite(apart[frames][:, flexions]) & (stated > 0.0)
    if not usable.any():
        return math.nan
    return float((apart[frames][:, flexions][usable] / stated[usable]).max())
