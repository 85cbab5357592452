"""A process of the benchmark, which solves the first frames of the walker by each method and writes the
results.

python -m benchmarks.agreement.solve FILE N_FRAME N_THREAD
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.run_schema import RunConfig
from rtsim.live.inputs.sources import load_trial, subject_if_any
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.load import load_model
from rtsim.subjects.anatomy import for_person
from rtsim.subjects.markers.markers_of import markers_of
from rtsim.subjects.subject import Subject

RUN = RunConfig(name="agreement", source="walker", side="right")
METHODS = ("zero", "minimised", "prescribed")


def main(path: Path, n_frame: int, n_thread: int) -> None:
    """Write, of each method, `angles` (n_frame, n_joint, 3) and `residuals` (n_frame, n_marker)."""
    with ThreadPoolExecutor(n_thread) as pool:
        found = list(pool.map(lambda method: solved(method, n_frame), METHODS))
    numbers: dict[str, Any] = {
        f"{method}.{name}": rows
        for method, part in zip(METHODS, found, strict=True)
        for name, rows in part.items()
    }
    np.savez(path, **numbers)


def solved(method: str, n_frame: int) -> dict[str, NDArray[np.float64]]:
    """Return angles [rad] and residuals of markers [m] of the walker's first frames, with a new estimator."""
    estimator, subject = walker_estimator(method)
    frames, times = walker_frames(subject, n_frame)
    angles, residuals = [], []
    for frame, dt in zip(frames, np.diff(times, prepend=times[0]), strict=True):
        assert estimator.estimate(frame, float(dt)).converged
        angles.append(estimator.outputs.angles.copy())
        residuals.append(estimator.outputs.residuals.copy())
    return {"angles": np.array(angles), "residuals": np.array(residuals)}


def walker_estimator(method: str) -> tuple[MultibodyEstimator, Subject]:
    """Return an estimator of the synthetic walker's right leg by a method, and the walker."""
    spec = load_model(RUN.model)
    subject = subject_if_any(RUN, spec)
    assert subject is not None
    return MultibodyEstimator(for_person(spec, subject), subject, method, (method,)), subject


def walker_frames(subject: Subject, n_frame: int) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """Return the markers of the walker's first frames, (n_marker, 3) [m] each, and their times [s]."""
    trial = load_trial(RUN.source)
    frames = [np.ascontiguousarray(frame) for frame in markers_of(trial, subject)[:n_frame]]
    return frames, trial.times[:n_frame]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
