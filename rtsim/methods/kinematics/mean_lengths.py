"""Mean ligament lengths of a subject over a movement: the targets of the method `minimised`, in which the
ligaments of the knee deviate from these lengths as little as possible.

Source: Sancisi et al. (2017), section 2.2.6. The method with isometric ligaments gives the flexion of the
knee in every frame; from it the polynomials of eq. 1 give the experimental lengths, which are averaged over
the frames.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.files.markers.markers import read_markers
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.subjects.markers.markers_of import markers_of
from rtsim.subjects.subject import Subject

MOVES = np.radians(20.0)
"""Range of knee flexion from which a trial is a movement, not a static trial."""


def with_mean_lengths(spec: ModelSpec, subject: Subject, trial_path: Path, run: RunConfig) -> Subject:
    """Add ligament_mean_mm, the mean lengths over a movement, to the subject.

    The subject is returned unchanged in three cases: fewer than half of the frames are solved, the knee
    hardly moves (a static trial), or the markers are keypoints of a video, which contain no information on
    ligaments.
    """
    if subject.keypoints:
        return subject
    trial = read_markers(trial_path, up=run.up or None, units=run.units or None, person=run.person)
    estimator = MultibodyEstimator(
        spec=spec, subject=subject, method="zero", methods=(), solver=run.solver, check=run.markers
    )
    measured = markers_of(trial, subject)
    lengths, flexion = [], []
    for frame, dt in zip(measured, np.diff(trial.times, prepend=trial.times[0]), strict=True):
        if estimator.estimate(np.ascontiguousarray(frame), float(dt)).converged:
            lengths.append(experimental_lengths(estimator))
            flexion.append(estimator.flexion)
    if len(lengths) < 0.5 * len(measured):
        return subject
    names = estimator.model.names.elements
    mean, moves = np.mean(lengths, axis=0), np.ptp(flexion, axis=0) >= MOVES
    table = {names[e]: float(1e3 * mean[e]) for e in estimator.model.reported.ligaments if moves[e]}
    return msgspec.structs.replace(subject, ligament_mean_mm=table)


def experimental_lengths(estimator: MultibodyEstimator) -> NDArray[np.float64]:
    """Return the ligament lengths (n_element,) [m] at the knee flexion of the last frame, by the polynomials
    of Sancisi et al. (2017, eq. 1); NaN for contacts with planes.
    """
    model = estimator.model
    theta = np.degrees(estimator.flexion)
    powers = theta[:, None] ** np.arange(1, model.lengths.polynomial.shape[1] + 1)
    return model.lengths.neutral * (1.0 + np.sum(model.lengths.polynomial * powers, axis=1))
