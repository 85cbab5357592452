"""Benchmark of the lengths of all muscles of a model and of all their moment arms, computed inside a
kernel.
"""

from __future__ import annotations

from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

import kernels.path.moment_arms
from kernels.compiler.jit import entry
from rtsim.bench.figures import BenchFigure, say
from rtsim.bench.mechanics.muscled_skeleton import muscled_skeleton
from rtsim.methods.muscles.moment_arms import METHODS, MomentArms
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.roles import roles_of

Array = NDArray[np.float64]

LIMIT_US = 200.0
N_POSE, N_LAP = 64, 200


@entry
def all_pairs(leverage, poses, method, work, arms):
    """Compute the moment arms of all muscles about all angles at several poses, one after the other.

    leverage : Leverage - joint tree, constraints, muscle paths and angles
    poses : (n_pose, n_q) - generalized coordinates [rad, m]
    method : int - code of the method that computes moment arms (kernels.path.moment_arms)
    work : LeverageWork - results and working space, written
    arms : (n_muscle, n_angle) - moment arms at the last pose [m], written
    """
    for k in range(poses.shape[0]):
        kernels.path.moment_arms.moment_arms(leverage, poses[k], method, 1, work, arms)


def run(model: str | None = None, n_lap: int = N_LAP) -> list[BenchFigure]:
    """Return the benchmark results of the built-in skeleton of 54 muscles and 23 coordinates, or of a model;
    model : its file or name; n_lap : timed repetitions over all poses
    """
    spec = load_model(model) if model else muscled_skeleton()
    built = build(spec)
    arms = MomentArms(built, roles_of(spec))
    poses = random_poses(arms, N_POSE)
    found = np.array([arms.at(q) for q in poses])
    n_pair = int((np.abs(found) > 1e-6).any(axis=0).sum())
    n_muscle, n_angle = len(built.names.muscles), len(built.names.angles)
    work, out = kernels.path.moment_arms.new_leverage_work(arms.leverage), np.zeros((n_muscle, n_angle))
    figures = [
        BenchFigure("muscles", float(n_muscle), "1"),
        BenchFigure("angles", float(n_angle), "1"),
        BenchFigure("pairs", float(n_pair), "1"),
    ]
    for name, method in METHODS.items():
        say(f"moment-arms: {name}")
        us = timed(arms, poses, method, work, out, n_lap)
        label = "all_pairs" if name == "force" else f"all_pairs_{name.replace('-', '_')}"
        limit = LIMIT_US if name == "force" else None
        figures += [
            BenchFigure(f"{label}_us", float(np.median(us)), "us", limit, "lower" if limit else ""),
            BenchFigure(f"{label}_p99_us", float(np.percentile(us, 99)), "us"),
        ]
        if name == "force":
            figures.append(BenchFigure("per_muscle_us", float(np.median(us)) / n_muscle, "us"))
    return figures


def random_poses(arms: MomentArms, n: int) -> Array:
    """Return random poses (n, n_q) that satisfy the constraints of the model; each is a small step from the
    one before, as in a motion.
    """
    rng = np.random.default_rng(0)
    model = arms.model
    phase, size = rng.uniform(0.0, 2.0 * np.pi, len(model.coordinates.q)), 0.25
    poses = []
    for k in range(n):
        q = model.q_neutral.copy()
        swing = size * np.sin(phase + 2.0 * np.pi * k / n)
        low, high = model.coordinates.range.T
        q[model.coordinates.q] = np.clip(q[model.coordinates.q] + swing, low, high)
        poses.append(arms.assembled(q))
    return np.array(poses)


def timed(arms: MomentArms, poses: Array, method: int, work: object, out: Array, n_lap: int) -> list[float]:
    """Compute all moment arms at all poses n_lap times; return the mean time of a pose in each repetition
    [us].

    method : code of the method (kernels.path.moment_arms); work, out : working space and results, written
    """
    all_pairs(arms.leverage, poses, method, work, out)
    us = []
    for _ in range(n_lap):
        start = perf_counter_ns()
        all_pairs(arms.leverage, poses, method, work, out)
        us.append(1e-3 * (perf_counter_ns() - start) / len(poses))
    return us
