"""A made-up leg on the shipped model, and markers of states that satisfy its constraints exactly."""

from __future__ import annotations

import copy
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.joints.tree import pose, without_tables
from kernels.markers.marker_cost import model_markers
from kernels.solver.constraints import Roles
from kernels.solver.kkt import CONVERGED, SolverOptions, solve
from kernels.solver.optimality import FrameProblem, Work, new_work
from rtsim.config.load import load_toml
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import MarkerCheck
from rtsim.methods.kinematics.multibody import MultibodyEstimator, Solution
from rtsim.models.model import Model, build
from rtsim.models.roles import roles_of
from rtsim.subjects.subject import Subject, SubjectSegment
from tests.naive.tree import difference

Array = NDArray[np.floating]

DT = 0.01
N_FRAME = 30
METHODS = ("zero", "minimised", "prescribed", "hinge", "ball", "free")
SEGMENTS = ("pelvis", "thigh", "shank", "foot")
SOFT_METHODS = ("zero", "minimised", "prescribed")  # the three of Sancisi et al. 2017
FIRST = 12  # first frame after those that `settled` has followed
# The exact markers are exact for `zero`, and one that is gone is filled in but for the small part of a
# prediction in it; what the others miss of them leaves with a marker [deg].
LEAVES_DEG = {"zero": 1e-4, "minimised": 0.1, "prescribed": 0.5}
# Marker health is learnt in 8 frames instead of 25, so that short trials do.
QUICK = MarkerCheck(n_learn=8)

SUBJECT = Subject(
    name="made up",
    source="invented for the tests: oblique axes in every segment, four or five scattered markers each",
    segments={
        "pelvis": SubjectSegment(
            118.0, 90.0, 90.0, 140.0,
            {
                "P1": (150.0, 5.0, 118.0), "P2": (158.0, -4.0, -121.0),
                "P3": (4.0, 6.0, 48.0), "P4": (-6.0, 0.0, -52.0),
            },
            {"hip_centre": (94.0, -73.0, 84.0)},
        ),
        "thigh": SubjectSegment(
            415.0, 91.5, 90.0, 90.0,
            {
                "T1": (-12.0, -35.0, 82.0), "T2": (61.0, -180.0, 28.0), "T3": (-18.0, -262.0, 64.0),
                "T4": (3.0, -412.0, 52.0), "T5": (-4.0, -418.0, -49.0),
            },
        ),
        "shank": SubjectSegment(
            409.0, 97.0, 82.0, 90.0,
            {
                "S1": (-8.0, -40.0, 50.0), "S2": (40.0, -57.0, -16.0), "S3": (35.0, -190.0, 6.0),
                "S4": (8.0, -415.0, 40.0), "S5": (-7.0, -404.0, -37.0),
            },
        ),
        "foot": SubjectSegment(
            134.0, 77.0, 107.0, 154.0,
            {
                "F1": (-58.0, -54.0, 2.0), "F2": (133.0, -50.0, -39.0),
                "F3": (108.0, -60.0, 40.0), "F4": (60.0, -10.0, 5.0),
            },
        ),
    },
)  # fmt: skip
NAMES = SUBJECT.marker_names


@cache
def lower_limb() -> ModelSpec:
    """Return the shipped model."""
    return load_toml(find_config("lower_limb", "models"), ModelSpec)


@cache
def built(method: str) -> Model:
    """Return the made-up leg with the joints of a method; not to be written to."""
    return build(lower_limb(), SUBJECT, method)


@cache
def roles(method: str) -> Roles:
    """Return what a method asks of the elements; not to be written to."""
    return roles_of(lower_limb(), method, SUBJECT)


def work_of(leg: Model) -> Work:
    """Return working space for a built leg."""
    n_path = leg.elements.path.shape[1]
    return new_work(
        len(leg.names.bodies),
        len(leg.q_neutral),
        leg.n_v,
        len(leg.names.markers),
        len(leg.names.elements),
        n_path,
    )


def rough_coordinates(phase: float) -> Array:
    """Return coordinates (26,) near a leg in swing at a phase [rad]: knee flexion about 10-60 degrees."""
    swing = np.cos(phase)
    pelvis = Rotation.from_euler("YXZ", [6.0 * swing, 3.0, 8.0], degrees=True)
    hip = Rotation.from_euler("ZXY", [20.0 + 15.0 * np.sin(phase), -4.0, 5.0 * swing], degrees=True)
    knee = Rotation.from_euler("ZXY", [-35.0 + 25.0 * swing, 1.0, 3.0], degrees=True)
    ankle = Rotation.from_euler("ZXY", [5.0 - 8.0 * swing, 2.0, 0.0], degrees=True)
    turns = [np.roll(turn.as_quat(), 1) for turn in (pelvis, hip, knee, ankle)]
    return np.concatenate([[0.12 * phase, 0.95, 0.1], turns[0], turns[1], np.zeros(3), turns[2], turns[3]])


def markers_at(leg: Model, q: Array) -> Array:
    """Return the model markers (n_marker, 3) m at coordinates q."""
    work = work_of(leg)
    pose(leg.tree, q, work.pose)
    model_markers(leg.markers, work.pose, work.marker.model)
    return work.marker.model


class Trial(NamedTuple):
    """A stretch of swing: coordinates (n_frame, n_q), exact markers (n_frame, n_marker, 3) m, DT apart."""

    q: Array
    markers: Array


@cache
def exact_trial(n_frame: int = N_FRAME) -> Trial:
    """Return states on every constraint of `zero`, each solved once from markers off by millimetres."""
    leg = built("zero")
    work, hold, tree = work_of(leg), np.zeros(leg.n_v), without_tables(leg.tree)
    off = np.random.default_rng(40).normal(0.0, 0.004, (len(NAMES), 3))
    states, markers = [], []
    for frame in range(n_frame):
        q, multiplier = rough_coordinates(1.0 + 0.06 * frame), np.zeros(len(leg.names.elements))
        measured = markers_at(leg, q) + off
        problem = FrameProblem(
            tree, leg.markers, leg.elements, roles("zero"), measured, np.ones(len(NAMES)), hold, q.copy()
        )
        status, *_ = solve(problem, SolverOptions(1e-11, 60, 0.5), work, q, multiplier)
        assert status == CONVERGED
        states.append(q)
        markers.append(markers_at(leg, q))
    return Trial(np.array(states), np.array(markers))


@cache
def soft_tissue_trial(n_frame: int = N_FRAME) -> Array:
    """Return the exact markers moved by millimetres that change slowly, (n_frame, n_marker, 3) m."""
    exact = exact_trial(n_frame).markers
    shift = np.random.default_rng(41).normal(0.0, 0.003, (2, *exact.shape[1:]))
    phase = 0.06 * np.arange(n_frame)[:, np.newaxis, np.newaxis]
    return exact + shift[0] * np.cos(phase) + shift[1] * np.sin(phase)


class Frame(NamedTuple):
    """What an estimator said about one frame."""

    solution: Solution
    angles: Array  # (n_joint, 3) degrees
    q: Array
    markers: Array
    residuals: Array
    weight: Array
    swap_with: NDArray[np.int64]


def estimator(method: str, methods: tuple[str, ...] = (), check: MarkerCheck = QUICK) -> MultibodyEstimator:
    """Return an estimator of the made-up leg."""
    return MultibodyEstimator(lower_limb(), SUBJECT, method, methods, check=check)


def follow_frame(running: MultibodyEstimator, measured: Array, dt: float = DT) -> Frame:
    """Estimate one frame and keep a copy of what it said."""
    solution = running.estimate(np.ascontiguousarray(measured), dt)
    out, health = running.outputs, running.health
    return Frame(
        solution,
        np.degrees(out.angles),
        running.q.copy(),
        out.markers.copy(),
        out.residuals.copy(),
        health.weight.copy(),
        health.swap_with.copy(),
    )


def follow(running: MultibodyEstimator, measured: Array) -> list[Frame]:
    """Estimate frames DT apart; the first has no time before it."""
    return [follow_frame(running, frame, DT if k else 0.0) for k, frame in enumerate(measured)]


@cache
def uninterrupted(method: str, soft: bool = False) -> tuple[Frame, ...]:
    """Return the frames of the whole trial, of exact markers or moved by soft tissue, without any fault."""
    return tuple(follow(estimator(method), soft_tissue_trial() if soft else exact_trial().markers))


def indices(*names: str) -> list[int]:
    """Return the rows of markers by name, or by a segment's name."""
    chosen: list[str] = []
    for name in names:
        chosen += list(SUBJECT.segments[name].markers_mm) if name in SUBJECT.segments else [name]
    return [NAMES.index(name) for name in chosen]


@cache
def _settled(method: str, n_frame: int, soft: bool) -> MultibodyEstimator:
    running = estimator(method)
    follow(running, (soft_tissue_trial() if soft else exact_trial().markers)[:n_frame])
    return running


def settled(method: str, n_frame: int = FIRST, soft: bool = False) -> MultibodyEstimator:
    """Return an estimator of its own that has followed the first frames of the trial without any fault."""
    return copy.deepcopy(_settled(method, n_frame, soft))


def angle_gap(frame: Frame, expected: Frame) -> float:
    """Return the largest difference of a joint angle [deg]."""
    return float(np.abs(frame.angles - expected.angles).max())


def state_gap(running: MultibodyEstimator, frame: Frame, expected: Frame) -> float:
    """Return the largest tangent entry between two frames [rad, m]."""
    return float(np.abs(difference(running.model.tree, frame.q, expected.q)).max())


def hidden(frame: int, *names: str) -> Array:
    """Return the exact markers of a frame with some, or those of some segments, occluded."""
    measured = exact_trial().markers[frame].copy()
    measured[indices(*names)] = np.nan
    return measured
