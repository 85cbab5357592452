"""Lines of the feet for force plates: from the heel to the tip of the toes, from the markers of a
laboratory's set.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.lab_schema import LabMap
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.markers.labs import SIDES, side_of
from rtsim.subjects.markers.marker_names import find_markers

FloatArray = NDArray[np.float64]

FOREFOOT = 0.8
"""Foot markers at least so far from the heel, relative to the farthest, are on the forefoot."""
TOES = 1.3
"""Distance from the heel to the tip of the toes, divided by that to the metatarsal heads."""
MIDDLE = 0.22
"""Distance from the fifth metatarsal alone to the middle of the forefoot, relative to its distance from
the heel."""
UP = np.array([0.0, 1.0, 0.0])


def foot_lines(trial: MarkerTrial, lab: LabMap) -> FloatArray:
    """Return heel and tip of the toes of the right and the left foot, (n, 2, 2, 3) [m]; NaN where not
    visible.

    The forefoot is the mean of the markers there; if only the fifth metatarsal is marked, the middle is
    estimated by a medial shift from it.
    """
    lines = np.full((len(trial.times), 2, 2, 3), np.nan)
    for f, side in enumerate(SIDES):
        table = side_of(lab, side)
        heel_name, fifth = table.calcaneus, table.metatarsal_5
        wanted = list(dict.fromkeys([*table.tracking.foot, table.metatarsal_1, fifth]))
        others = (name for name in wanted if name and name != heel_name)
        found = find_markers([heel_name, *others], trial.names)
        at_heel = found.pop(heel_name, None)
        if at_heel is None or not found:
            continue
        heel, marks = trial.positions[:, at_heel], trial.positions[:, list(found.values())]
        reach = _median(np.linalg.norm((marks - heel[:, None])[..., [0, 2]], axis=2))
        if not np.isfinite(reach).any():
            continue
        fore = reach >= FOREFOOT * np.nanmax(reach)
        names = [name for name, there in zip(found, fore.tolist(), strict=True) if there]
        forefoot = marks[:, fore].mean(axis=1)
        if names == [fifth]:
            forward = (forefoot - heel) * [1.0, 0.0, 1.0]
            forefoot = forefoot + MIDDLE * np.cross(UP, forward) * (1.0 if side == "right" else -1.0)
        lines[:, f, 0], lines[:, f, 1] = heel, heel + TOES * (forefoot - heel)
    return lines


def _median(values: FloatArray) -> FloatArray:
    """Return the median over the frames of (n, n_marker); NaN for a marker that is never visible."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of such a marker
        return np.asarray(np.nanmedian(values, axis=0))
