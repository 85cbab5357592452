"""Solving of a scene by the stage of a live run, frame by frame, without sockets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.damage.persons import RecordedPerson
from benchmarks.damage.scene import Damage, DamagedMarkers
from rtsim.files.markers.trial import MarkerTrial
from rtsim.live.inputs.recorded import RecordingInput
from rtsim.live.result_session import ResultSession

Array = NDArray[np.float64]

ANGLES, STATED = "joint_angles", "joint_angles_deviation"
WEIGHTS, RESIDUALS, RMS = "marker_weights", "marker_residuals", "marker_rms"


class SolvedScene(NamedTuple):
    """The results of every frame of a scene; frames that were not sent are NaN, with status -1.

    labels : names of the angles; markers : names of the markers that have weights
    status : (n_frame,) int64 - bits; angles : (n_frame, n_angle) [rad]; rms : (n_frame,) [m]
    stated : (n_frame, n_angle) - their standard deviations [rad], None where they have none
    weights, residuals : (n_frame, n_marker) [1, m]; residuals are NaN where a marker is missing
    """

    labels: tuple[str, ...]
    markers: tuple[str, ...]
    status: NDArray[np.int64]
    angles: Array
    stated: Array | None
    weights: Array
    residuals: Array
    rms: Array


def solve(person: RecordedPerson, scene: DamagedMarkers, damage: Damage | None = None) -> SolvedScene:
    """Solve all frames of a scene, damaged or not, from a fresh start by the method in use."""
    if damage is None:
        kept, positions, times = np.arange(scene.n_frame), scene.positions, scene.times
    else:
        kept, positions, times = damage.kept, damage.positions, damage.times
    trial = MarkerTrial(scene.names, times[kept], positions[kept], scene.rate, person.trial.source)
    person.stage.reset()
    source = RecordingInput(trial)
    course = ResultSession([person.stage], source.session, person.meta)
    arrays, specs = course.fields.arrays, {spec.name: spec for spec in course.fields.session.fields}
    n = scene.n_frame
    status = np.full(n, -1, np.int64)
    rows = {
        name: np.full((n, arrays[name].size), np.nan)
        for name in (ANGLES, STATED, WEIGHTS, RESIDUALS, RMS)
        if name in arrays
    }
    for k in kept.tolist():
        frame = source.wait(lambda: None)
        assert frame is not None
        status[k] = int(course.run(frame).status)
        person.stage.report()
        for name, kept_rows in rows.items():
            kept_rows[k] = arrays[name].ravel()
    return SolvedScene(
        labels=tuple(specs[ANGLES].labels), markers=tuple(specs[WEIGHTS].labels), status=status,
        angles=rows[ANGLES], stated=rows.get(STATED),
        weights=rows[WEIGHTS], residuals=rows[RESIDUALS], rms=rows[RMS][:, 0],
    )  # fmt: skip
