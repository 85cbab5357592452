"""Conversion of a trial to the input of an estimator: the subject's markers, in its order, mirrored for a
left leg.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.markers.marker_names import find_markers
from rtsim.subjects.markers.sides import MIRROR
from rtsim.subjects.subject import Subject


def markers_of(trial: MarkerTrial, subject: Subject) -> NDArray[np.float64]:
    """Return measured markers in the order of subject.marker_names, (n, n_marker, 3), C-contiguous [m].

    NaN = missing, including markers that the trial does not have. A left leg is mirrored (Z -> -Z).
    """
    measured = in_order(trial, subject.marker_names)
    if subject.side == "left":
        measured *= MIRROR
    return measured


def in_order(trial: MarkerTrial, names: tuple[str, ...]) -> NDArray[np.float64]:
    """Return measured markers in the order of `names`, (n, n_marker, 3), C-contiguous [m]; NaN = missing."""
    measured = np.full((len(trial.times), len(names), 3), np.nan)
    for name, index in find_markers(names, trial.names).items():
        measured[:, names.index(name)] = trial.positions[:, index]
    return measured


def tracked_markers(trial: MarkerTrial, wanted: tuple[str, ...]) -> dict[str, str]:
    """Return for each wanted marker that is visible in the trial its name there; for a trial without frames,
    for each that it names.
    """
    found = find_markers(wanted, trial.names)
    seen: NDArray[np.bool_] = np.asarray(np.isfinite(trial.positions).all(axis=2))
    return {n: trial.names[m] for n, m in found.items() if len(trial.times) == 0 or seen[:, m].any()}
