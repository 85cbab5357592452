"""Gait cycles for the figures of Sancisi et al. (2017): five synthetic persons in place of its five subjects,
or a recording.

The persons are the shipped walker scaled to five statures, with the paper's mean and deviation of 1.74 (0.09)
m, each with different joint angles. Their bones move as in the knee model whose ligament lengths are
prescribed by the paper's eq. 1, polynomials of the flexion measured in vitro; their markers move relative to
the bones by soft tissue artefacts of the size measured with bone pins (`rtsim.bench.coverage.skin`). Each
cycle has 131 frames at 100 Hz.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.bench.coverage.skin import SIZE_MM, draw_noise, draw_skin
from rtsim.bench.coverage.truth import truth_of
from rtsim.bench.coverage.walkers import draw_angles
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.run_schema import RunConfig, Uncertainty
from rtsim.errors import ConfigError
from rtsim.live.inputs.sources import load_trial, resolve_subject, the_walker
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.load import ONE_LEG, load_model
from rtsim.papers.item import ItemInput
from rtsim.subjects.anatomy import Anatomy
from rtsim.subjects.made_up.walker import body_poses
from rtsim.subjects.markers.markers_of import markers_of
from rtsim.subjects.subject import Subject, SubjectSegment

Array = NDArray[np.float64]

N_PERSON, SEED = 5, 2017
MEAN_STATURE, DEVIATION, OF_WALKER = 1.74, 0.09, 1.75
"""Mean and standard deviation of the stature of the paper's subjects (section 2.5), and stature of the
shipped walker [m]."""
N_FRAME, RATE = 131, 100.0
LONGEST = 1000
"""Largest number of frames of a recording, for which 400 runs take minutes."""


class MarkerCycle(NamedTuple):
    """Markers of a person's right leg, and the person.

    measured : (n_frame, n_marker, 3) positions in the subject's order, in ground, Y up, NaN = not visible
        [m]
    dt : time between frames [s]
    """

    name: str
    subject: Subject
    measured: Array
    dt: float


def cycles_of(given: ItemInput) -> tuple[MarkerCycle, ...]:
    """Return the gait cycles from which a figure or table is computed: those of the synthetic persons, or the
    recording that the user gives.
    """
    if given.recording is None:
        return made_up_cycles()
    return (recorded_cycle(given.recording, given.static),)


@cache
def made_up_cycles() -> tuple[MarkerCycle, ...]:
    """Return one gait cycle of each of the five synthetic persons; they are the same at every call and in
    every process.
    """
    spec, walker = load_model(ONE_LEG), the_walker()
    rng = np.random.default_rng(SEED)
    return tuple(draw_cycle(rng, spec, walker, k + 1) for k in range(N_PERSON))


def draw_cycle(rng: np.random.Generator, spec: ModelSpec, walker: Subject, number: int) -> MarkerCycle:
    """Draw one person at random, with stature, joint angles and soft tissue artefacts; return the markers of
    a gait cycle.

    walker : the person who is scaled to the drawn stature; number : of the person, for the name
    """
    subject = in_size(walker, rng.normal(MEAN_STATURE, DEVIATION) / OF_WALKER)
    phase = 2.0 * math.pi * np.arange(N_FRAME) / (N_FRAME - 1)
    rotations, origins = body_poses(spec, Anatomy(spec, subject), phase, draw_angles(rng))
    places = np.stack(
        [
            rotations[name] @ (1e-3 * np.array(local)) + origins[name]
            for name, segment in subject.segments.items()
            for local in segment.markers_mm.values()
        ],
        axis=1,
    )
    skin = np.concatenate(
        [
            draw_skin(rng, 1e-3 * np.array(list(segment.markers_mm.values())), 1e-3 * SIZE_MM[name], phase)
            for name, segment in subject.segments.items()
        ],
        axis=1,
    )
    estimator = MultibodyEstimator(spec, subject, "prescribed", uncertainty=Uncertainty())
    true = truth_of(estimator, places, 1.0 / RATE)
    moved = true.markers + np.einsum("fmij,fmj->fmi", true.rotations, skin) + draw_noise(rng, skin.shape)
    return MarkerCycle(f"person {number}", subject, moved, 1.0 / RATE)


def in_size(subject: Subject, factor: float) -> Subject:
    """Return the subject scaled by a factor: all lengths are multiplied by it."""

    def segment_in_size(segment: SubjectSegment) -> SubjectSegment:
        markers, points = (
            {name: (factor * x, factor * y, factor * z) for name, (x, y, z) in places.items()}
            for places in (segment.markers_mm, segment.points_mm)
        )
        length = factor * segment.length_mm
        return msgspec.structs.replace(segment, length_mm=length, markers_mm=markers, points_mm=points)

    segments = {name: segment_in_size(segment) for name, segment in subject.segments.items()}
    return msgspec.structs.replace(subject, name="made up", segments=segments)


@cache
def recorded_cycle(path: Path, static: Path | None) -> MarkerCycle:
    """Read a recording from its first to its last frame. The person is calibrated from the static trial or
    the movement, or stored in the file, as in natural coordinates (.npz).

    ConfigError for a file that cannot be read, or that is too long for hundreds of runs.
    """
    trial = load_trial(str(path))
    if len(trial.times) > LONGEST:
        raise ConfigError(
            f"{path} has {len(trial.times)} frames",
            where="--recording",
            allowed=f"at most {LONGEST} frames",
            remedy="cut one gait cycle out of the recording",
        )
    run = RunConfig(name="paper", source=str(path), static=str(static or ""), model=ONE_LEG, side="right")
    subject = resolve_subject(run)
    return MarkerCycle(path.name, subject, markers_of(trial, subject), 1.0 / trial.rate)
