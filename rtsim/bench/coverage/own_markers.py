"""Coverage of standard deviations for models that bring their own markers: how often the true coordinate is
within the stated interval.

Markers are drawn at random for each motion, four on every body; the truth is an exact pose of the model.
There are three cases: skin motion as for the synthetic walkers, most of it shared by the markers of a body;
independent errors of each marker of the same size, while the estimator assumes shared skin motion; and the
same errors with an estimator that assumes independent ones (`rigid_part = 0`).
"""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.bench.coverage.run import LEARNING, CoverageCount, add, figures_of, new_tally
from rtsim.bench.coverage.skin import SIZE_MM, draw_course, draw_noise, draw_skin
from rtsim.bench.coverage.truth import N_ROUND, Told
from rtsim.bench.figures import BenchFigure
from rtsim.bench.mechanics.moment_arms import random_poses
from rtsim.bench.progress import counted
from rtsim.config.models.marker_schema import Marker
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.run_schema import MarkerCheck, Uncertainty
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.methods.muscles.moment_arms import MomentArms
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.roles import roles_of
from rtsim.subjects.subject import kind_of_segment

Array = NDArray[np.float64]
Generator = np.random.Generator

CASES = {"skin": Uncertainty(), "alone": Uncertainty(), "alone_told": Uncertainty(rigid_part=0.0)}
N_MARKER, REACH_MM = 4, 120.0
"""Number of markers of a body, and their largest distance from its origin along each axis [mm]."""
N_FRAME, DT, CYCLE_S = 250, 0.01, 1.2
KINDS = {"femur": "thigh", "tibia": "shank", "calcn": "foot", "toes": "foot"}
OTHER_MM = 5.0
SHARES = ((0.8, 0.5), (0.5, 0.3))
"""For each of two further poses: frequency of the motion towards it [Hz], and how far it goes (1 = all)."""


def run(path: Path, n_motion: int, seed: int = 1) -> list[BenchFigure]:
    """Return the benchmark results (coverage of every coordinate) for a model file and n_motion random
    motions.
    """
    base, rng = load_model(str(path)), np.random.default_rng(seed)
    tallies: dict[str, CoverageCount] = {}
    names: tuple[str, ...] = ()
    for _ in counted(f"coverage: computing motions of {base.name}", range(n_motion), n_motion):
        names = count(rng, marked(rng, base), tallies)
    return figures_of(tallies, list(names))


def marked(rng: Generator, spec: ModelSpec) -> ModelSpec:
    """Return the model with random markers on every body in place of its own markers."""
    markers = tuple(
        Marker(
            name=f"{body.name}_{k}",
            segment=body.name,
            offset_mm=tuple(rng.uniform(-REACH_MM, REACH_MM, 3).tolist()),
        )
        for body in spec.bodies
        for k in range(N_MARKER)
    )
    return msgspec.structs.replace(spec, markers=markers)


def count(rng: Generator, spec: ModelSpec, tallies: dict[str, CoverageCount]) -> tuple[str, ...]:
    """Simulate one random motion, estimate it in each of the three cases of marker errors, and add it to the
    coverage counts `tallies` of these cases; return the names of the coordinates.
    """
    truth, exact, rotations = truth_of(rng, spec)
    noise = draw_noise(rng, exact.shape)
    for case, stated in CASES.items():
        estimator = estimator_of(spec, stated)
        offsets = draw_errors(rng, estimator, alone=case != "skin")
        told = tell(estimator, exact + np.einsum("fmij,fmj->fmi", rotations, offsets) + noise)
        tally = tallies.setdefault(case, new_tally(truth.shape[1]))
        add(truth[LEARNING:], told, np.arange(LEARNING, N_FRAME), tally)
    return tuple(estimator.model.coordinates.names)


def estimator_of(spec: ModelSpec, stated: Uncertainty) -> MultibodyEstimator:
    """Return the estimator of a model with the settings of a live run; stated : the assumed marker errors."""
    return MultibodyEstimator(spec, None, next(iter(spec.methods)), check=MarkerCheck(), uncertainty=stated)


def truth_of(rng: Generator, spec: ModelSpec) -> tuple[Array, Array, Array]:
    """Return a motion between three random poses: its coordinates (n_frame, n), the exact markers (n_frame,
    n_marker, 3) [m], and the rotations (n_frame, n_marker, 3, 3) of the bodies of the markers.
    """
    arms, estimator = MomentArms(build(spec), roles_of(spec)), estimator_of(spec, Uncertainty())
    first, *others = list(random_poses(arms, 3))
    time, body = DT * np.arange(N_FRAME), estimator.model.markers.body
    ways = [most * (0.5 - 0.5 * np.cos(2.0 * np.pi * (rate * time + rng.uniform()))) for rate, most in SHARES]
    q = np.zeros((N_FRAME, len(first)))
    rotations: list[Array] = []
    markers = np.zeros((N_FRAME, len(body), 3))
    for f in range(N_FRAME):
        there = first + sum(way[f] * (other - first) for way, other in zip(ways, others, strict=True))
        places = arms.body_places(there)
        markers[f] = [
            places[m.segment][1] + places[m.segment][0] @ (1e-3 * np.array(m.offset_mm)) for m in spec.markers
        ]
    for _ in range(N_ROUND):
        estimator.restart()
        rotations = []
        for f in range(N_FRAME):
            estimator.estimate(np.ascontiguousarray(markers[f]), DT)
            q[f], markers[f] = estimator.q, estimator.outputs.markers
            rotations.append(estimator.pose[1][body])
    return q[:, estimator.model.coordinates.q], markers, np.array(rotations)


def draw_errors(rng: Generator, estimator: MultibodyEstimator, alone: bool) -> Array:
    """Draw errors of all markers in the frames of their bodies, (n_frame, n_marker, 3) [m].

    alone : whether the errors of the markers of a body are independent, instead of skin motion
    """
    model = estimator.model
    body = model.markers.body
    phase = np.asarray(2.0 * math.pi * DT / CYCLE_S * np.arange(N_FRAME), np.float64)
    found = np.zeros((N_FRAME, len(body), 3))
    for b in np.unique(body):
        own = np.flatnonzero(body == b)
        kind = kind_of_segment(model.names.bodies[b])
        size = 1e-3 * SIZE_MM.get(KINDS.get(kind, kind), OTHER_MM)
        if alone:
            found[:, own] = size * draw_course(rng, phase, 3 * len(own)).reshape(N_FRAME, -1, 3)
        else:
            found[:, own] = draw_skin(rng, model.markers.position[own], size, phase)
    return found


def tell(estimator: MultibodyEstimator, measured: Array) -> Told:
    """Estimate all frames, beginning without any previous pose; return the estimated coordinates with their
    standard deviations.

    measured : (n_frame, n_marker, 3) - marker positions [m]
    """
    coordinates, deviations = estimator.model.coordinates, estimator.deviations
    assert deviations is not None
    estimator.restart()
    numbers, stated, uncertain = [], [], []
    for frame in measured:
        solution = estimator.estimate(np.ascontiguousarray(frame), DT)
        estimator.deviate(DT, solution)
        numbers.append(estimator.q[coordinates.q])
        of_dofs = deviations.coordinates
        stated.append(of_dofs[coordinates.dof] if solution.converged else np.full(len(numbers[0]), math.nan))
        uncertain.append(bool(deviations.uncertain.any()))
    return Told(np.array(numbers), np.array(stated), np.array(uncertain), 0)
