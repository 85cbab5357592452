"""Deviation of a gait from norms: gait variable scores, movement analysis profile, gait profile score.

Source: Baker et al. (2009), Gait Posture 30:265-269. The score of a variable is the root mean square, over
the cycle, of its difference from the mean of the norms. The movement analysis profile consists of the nine
scores of each side. The gait profile score of a side is the root mean square of its nine scores. The gait
profile score of the person is that of fifteen scores: all nine of the left side, and the six of the right
side that do not concern the pelvis.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.files.norms.norm_set import NormSet
from rtsim.files.norms.variables import NAMES
from rtsim.files.tables.legs import SIDES

FloatArray = NDArray[np.float64]
PELVIS = "pelvis"


class GaitScores(NamedTuple):
    """Scores of one person [deg].

    profile : side -> variable -> score, the mean over strides
    deviations : side -> variable -> standard deviation of the score over strides (n - 1)
    sides : side -> gait profile score
    overall : score of the person; NaN = not all of its variables are known
    """

    profile: dict[str, dict[str, float]]
    deviations: dict[str, dict[str, float]]
    sides: dict[str, float]
    overall: float


def variable_score(curve: FloatArray, mean: FloatArray) -> float:
    """Return the root mean square of the difference of two curves (101,); NaN where one is not known."""
    return math.sqrt(float(np.mean((curve - mean) ** 2)))


def scores_of(strides: Mapping[str, Mapping[str, FloatArray]], norms: NormSet) -> GaitScores:
    """Return the gait scores of a person against the mean curves of norms.

    strides : variable -> side -> (n_stride, 101) angles [deg], with the signs and zeros of the norms; strides
        with gaps are not counted
    """
    profile: dict[str, dict[str, float]] = {}
    deviations: dict[str, dict[str, float]] = {}
    for side in SIDES:
        for name in NAMES:
            rows = strides.get(name, {}).get(side)
            if rows is None or name not in norms.curves:
                continue
            known = [row for row in rows if np.isfinite(row).all()]
            found = [variable_score(row, norms.curves[name].mean) for row in known]
            if found:
                profile.setdefault(side, {})[name] = sum(found) / len(found)
                spread = float(np.std(found, ddof=1)) if len(found) > 1 else math.nan
                deviations.setdefault(side, {})[name] = spread
    sides = {side: rms([own.get(name, math.nan) for name in NAMES]) for side, own in profile.items()}
    right, left = (profile.get(side, {}) for side in SIDES)
    once = [left.get(name, math.nan) for name in NAMES]
    once += [right.get(name, math.nan) for name in NAMES if not name.startswith(PELVIS)]
    return GaitScores(profile, deviations, sides, rms(once))


def rms(numbers: Sequence[float]) -> float:
    """Return the root mean square of gait scores."""
    return math.sqrt(sum(x * x for x in numbers) / len(numbers))
