"""The frames of a trial as an estimator takes them: a subject's markers, in order, of a right leg."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.markers.marker_names import find_markers
from rtsim.subjects.markers.sides import MIRROR
from rtsim.subjects.subject import Subject


def markers_of(trial: MarkerTrial, subject: Subject) -> NDArray[np.float64]:
    """(n, n_marker, 3) C-contiguous - measured markers [m] in the order of subject.marker_names.

    NaN = missing, also markers that the trial does not have. A left leg is mirrored (Z -> -Z).
    """
    measured = in_order(trial, subject.marker_names)
    if subject.side == "left":
        measured *= MIRROR
    return measured


def in_order(trial: MarkerTrial, names: tuple[str, ...]) -> NDArray[np.float64]:
    """(n, n_marker, 3) C-contiguous - measured markers [m] in the order of names; NaN = missing."""
    measured = np.full((len(trial.times), len(names), 3), np.nan)
    for name, index in find_markers(names, trial.names).items():
        measured[:, names.index(name)] = trial.positions[:, index]
    return measured


def tracked_markers(trial: MarkerTrial, wanted: tuple[str, ...]) -> dict[str, str]:
    """Map a marker of the lab map to its name in the trial, where it has data of it (or no frames)."""
    found = find_markers(wanted, trial.names)
    seen: NDArray[np.bool_] = np.asarray(np.isfinite(trial.positions).all(axis=2))
    return {n: trial.names[m] for n, m in found.items() if len(trial.times) == 0 or seen[:, m].any()}
