"""How fast frames are solved, one after the other on one thread, the crossing from Python included."""

from __future__ import annotations

import gc
from pathlib import Path
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from rtsim.bench.figures import Figure, say
from rtsim.config.run_schema import MarkerCheck
from rtsim.live.sources import load_trial
from rtsim.live.warm_up import warm_up
from rtsim.methods.multibody import MultibodyEstimator
from rtsim.models.load import load_model
from rtsim.models.markers_of import markers_of
from rtsim.models.subject import Subject

METHODS = ("zero", "minimised", "prescribed")
RATE, P99_US, RESIDUAL = 5000.0, 500.0, 1e-11


def run(data: Path | None = None, seconds: float = 10.0) -> list[Figure]:
    """Figures of the three methods on the synthetic walker, or on a trial with natural coordinates (.npz)."""
    subject, measured, times = load(data)
    spec = load_model("lower_limb")
    figures = [Figure("markers", float(measured.shape[1]), "1"), Figure("frames", float(len(measured)), "1")]
    # the paper's problem: every marker weighs 1, whatever its residual
    check = MarkerCheck(downweight=False)
    estimator = MultibodyEstimator(spec, subject, METHODS[0], METHODS, check=check)
    warm_up(estimator, subject)
    gc.collect()
    gc.disable()
    try:
        for method in METHODS:
            say(f"mbo: {method}")
            estimator.switch(method)
            estimator.restart()
            figures += figures_of(method, *timed(estimator, measured, times, seconds))
    finally:
        gc.enable()
    return figures


def load(data: Path | None) -> tuple[Subject, NDArray[np.float64], NDArray[np.float64]]:
    """Subject, measured markers (n, n_marker, 3) [m] in its order, and times [s]."""
    from rtsim.config.run_schema import Run
    from rtsim.live.sources import resolve_subject

    source = str(data) if data else "walker"
    subject = resolve_subject(Run(name="bench", source=source))
    trial = load_trial(source)
    return subject, markers_of(trial, subject), trial.times


def timed(
    estimator: MultibodyEstimator, measured: NDArray[np.float64], times: NDArray[np.float64], seconds: float
) -> tuple[list[int], list[int], list[float], list[float]]:
    """Durations [ns], iterations, residuals and squared RMS of every frame, over laps of about `seconds`."""
    frames = [np.ascontiguousarray(frame) for frame in measured]
    steps = [float(dt) for dt in np.diff(times, prepend=times[0])]
    durations: list[int] = []
    iterations: list[int] = []
    residuals: list[float] = []
    squares: list[float] = []
    end = perf_counter_ns() + int(1e9 * seconds)
    while perf_counter_ns() < end:
        for frame, dt in zip(frames, steps, strict=True):
            start = perf_counter_ns()
            solution = estimator.estimate(frame, dt)
            durations.append(perf_counter_ns() - start)
            iterations.append(solution.iterations)
            residuals.append(solution.residual if solution.converged else np.inf)
            squares.append(float(estimator.outputs.rms[0]) ** 2)
    return durations, iterations, residuals, squares


def figures_of(
    method: str, durations: list[int], iterations: list[int], residuals: list[float], squares: list[float]
) -> list[Figure]:
    """The figures of one method."""
    us = 1e-3 * np.array(durations)
    return [
        Figure(f"frames_per_second.{method}", 1e6 / float(us.mean()), "1/s", RATE, "higher"),
        Figure(f"p50_us.{method}", float(np.median(us)), "us"),
        Figure(f"p99_us.{method}", float(np.percentile(us, 99)), "us", P99_US, "lower"),
        Figure(f"max_us.{method}", float(us.max()), "us"),
        Figure(f"iterations.{method}", float(np.mean(iterations)), "1"),
        Figure(f"residual.{method}", float(np.max(residuals)), "m", RESIDUAL, "lower"),
        Figure(f"marker_rms_mm.{method}", 1e3 * float(np.sqrt(np.mean(squares))), "mm"),
    ]
