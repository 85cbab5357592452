"""Real recordings of five labs with their static trials, and every method run over them.

`python -m tests.rtsim.subjects.recordings [part of a name ...]` prints the table.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.load import load_toml
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.files.markers.markers import read_markers
from rtsim.files.markers.trial import MarkerTrial
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.subjects.calibration.calibration import subject_for
from rtsim.subjects.calibration.trunk import TRUNK
from rtsim.subjects.markers.markers_of import markers_of
from rtsim.subjects.subject import Subject

Array = NDArray[np.float64]

DATA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"
METHODS = ("zero", "minimised", "prescribed", "hinge", "ball", "free")
SIDES = ("right", "left")


class Recording(NamedTuple):
    """A trial, the static trial that goes with it, and the marker map that is to be found."""

    trial: str
    static: str
    lab: str
    walks: bool = True


RECORDINGS = (
    Recording("gait_bmc/walk.trc", "", "bmc"),
    Recording("gait_bmc/walk1.trc", "", "bmc"),
    Recording("gait_bmc/walk2.trc", "", "bmc"),
    Recording("gait_lenhart/overground_17.trc", "gait_lenhart/static1.trc", "lenhart"),
    Recording("gait_mcgill/HC002D_straight.c3d", "gait_mcgill/HC002D_static.c3d", "mcgill"),
    Recording("gait_mcgill/HC030A_straight.c3d", "gait_mcgill/HC030A_static.c3d", "mcgill"),
    Recording("gait_mcgill/HC030A_turn.c3d", "gait_mcgill/HC030A_static.c3d", "mcgill"),
    Recording(
        "gait_opensim/gait2392/subject01_walk1.trc", "gait_opensim/gait2392/subject01_static.trc", "gait2392"
    ),
    Recording("squat_opencap/walking1.trc", "squat_opencap/static1.trc", "opencap"),
    Recording("squat_opencap/squats1.trc", "squat_opencap/static1.trc", "opencap", walks=False),
    Recording("squat_opencap/STS1.trc", "squat_opencap/static1.trc", "opencap", walks=False),
)


class Run(NamedTuple):
    """One method over one trial, a row per frame."""

    converged: NDArray[np.bool_]
    n_open: NDArray[np.int64]
    iterations: NDArray[np.int64]
    rms: Array  # (n,) - of pelvis and leg [m]
    knee_flexion: Array  # (n,) [deg], flexion positive


def lower_limb() -> ModelSpec:
    """The shipped model."""
    return load_toml(find_config("lower_limb", "models"), ModelSpec)


_read_once = functools.cache(read_markers)


def trial_in(path: str) -> MarkerTrial:
    """The trial in a file of the recordings, which is read once; positions of its own for each caller."""
    trial = _read_once(DATA / path)
    return trial._replace(positions=trial.positions.copy())


def read(recording: Recording, n_frame: int = 0) -> tuple[MarkerTrial, MarkerTrial | None]:
    """The trial, thinned to about n_frame frames if given, and its static trial."""
    trial = trial_in(recording.trial)
    step = max(1, len(trial.times) // n_frame) if n_frame else 1
    trial = trial._replace(times=trial.times[::step], positions=trial.positions[::step])
    return trial, trial_in(recording.static) if recording.static else None


def run(spec: ModelSpec, subject: Subject, trial: MarkerTrial, method: str) -> Run:
    """Estimate every frame of a trial."""
    estimator = MultibodyEstimator(spec, subject, method)
    knee = estimator.model.names.joint_angles.index("knee_flexion") // 3
    bodies = estimator.model.names.bodies
    legs = np.array([bodies[b] != TRUNK for b in estimator.model.markers.body])
    rows = []
    for frame, dt in zip(
        markers_of(trial, subject), np.diff(trial.times, prepend=trial.times[0]), strict=True
    ):
        solution, out = estimator.estimate(frame, float(dt)), estimator.outputs
        flexion = np.degrees(estimator.model.joint_signs[knee, 0] * out.angles[knee, 0])
        rms = np.sqrt(np.nanmean(out.residuals[legs] ** 2))
        rows.append((solution.converged, solution.n_open, solution.iterations, rms, flexion))
    converged, n_open, iterations, rms, flexion = np.array(rows, dtype=float).T
    return Run(converged == 1.0, n_open.astype(np.int64), iterations.astype(np.int64), rms, flexion)


def table_row(recording: Recording, side: str, method: str, done: Run) -> str:
    """The row of a run: errors in mm, frames in %, flexion in degrees."""
    flagged = ~done.converged | (done.n_open > 0)
    return (
        f"{Path(recording.trial).name:20s} {side:5s} {method:10s} {len(done.rms):5d} "
        f"{1e3 * done.rms.mean():6.1f} {1e3 * done.rms.max():6.1f} {100.0 * flagged.mean():7.1f} "
        f"{np.median(done.iterations):5.0f} {done.iterations.max():5d} "
        f"{done.knee_flexion.min():7.1f} {done.knee_flexion.max():6.1f}"
    )


def main(parts: list[str]) -> None:
    """Print the table of all recordings, or of those whose names contain one of the parts."""
    print(
        "trial                side  method     frames rms_mm max_mm flagged% it_50 it_max flex_min flex_max"
    )
    spec = lower_limb()
    for recording in RECORDINGS:
        if parts and not any(part in recording.trial for part in parts):
            continue
        trial, static = read(recording)
        for side in SIDES:
            subject = subject_for(trial, static, side=side)
            for method in METHODS:
                print(table_row(recording, side, method, run(spec, subject, trial, method)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
