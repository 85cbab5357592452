"""Benchmark of the rate at which frames are solved by multi-body optimisation, one after the other on one
thread, including the call from Python.

Each method (knee model) is timed in two ways. First, the kernel alone: it solves the problem of Sancisi et
al. (2017), in which every marker has weight 1 whatever its residual, and computes the muscles. The time runs
from the array of marker positions to the arrays of the solution; the time of the standard deviations is
separate (deviation_p50_us). Second, the whole frame as `rtsim live` processes it, with its usual settings and
without faulty markers: from the bytes of a marker message to those of a result
(`rtsim.bench.runs.live_frames`). The names of these results begin with live_. live_receive_us, live_solve_us
(with the marker input), live_fields_us and live_encode_us are the medians of its stages.

ratio.both is the time of the walker's frames with both legs, relative to the right leg alone
(`rtsim.bench.markers.both_legs`). ratio.trust is the time of frames with detection of marker faults, filling
of gaps and standard deviations, relative to frames without these (`rtsim.bench.markers.trust`).
"""

from __future__ import annotations

import gc
from pathlib import Path
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from rtsim.bench.figures import BenchFigure, say
from rtsim.bench.markers import both_legs, trust
from rtsim.bench.runs.live_frames import STAGES, LiveRows, live_rows
from rtsim.config.runs.run_schema import MarkerCheck, RunConfig, Uncertainty
from rtsim.live.inputs.sources import load_trial
from rtsim.live.processes.serve import prepare
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.load import load_model
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.muscles import MuscleLengths
from rtsim.subjects.markers.markers_of import markers_of

METHODS = ("zero", "minimised", "prescribed")
RATE, P99_US, RESIDUAL = 5000.0, 500.0, 1e-11


def run(data: Path | None = None, seconds: float = 10.0, subject_file: str = "") -> list[BenchFigure]:
    """Return the benchmark results of the three methods (knee models) on the shipped walking trial, or on a
    recording.

    data : marker file of the recording, None = the walking trial; subject_file : file of its subject
    seconds : how long each method is timed in each way [s]
    Whole frames run with the settings that a live run has unless its config says otherwise.
    """
    run = RunConfig(name="bench", source=str(data) if data else "walker", subject=subject_file, side="right")
    trial = load_trial(run.source)
    stages = prepare(run)
    (live, *_) = stages
    assert isinstance(live, Kinematics)
    assert live.subject is not None
    measured = markers_of(trial, live.subject)
    spec = load_model(run.model)
    figures = [
        BenchFigure("markers", float(measured.shape[1]), "1"),
        BenchFigure("frames", float(len(measured)), "1"),
    ]
    # the paper's problem: every marker weighs 1, whatever its residual
    check = MarkerCheck(downweight=False)
    stated = Uncertainty()
    estimator = MultibodyEstimator(spec, live.subject, METHODS[0], METHODS, check=check, uncertainty=stated)
    kernel = Kinematics(estimator, live.subject)
    muscles = MuscleLengths(kernel)
    for stage in (kernel, muscles):
        stage.warm()
    gc.collect()
    gc.disable()
    try:
        for method in METHODS:
            say(f"mbo: {method}")
            estimator.switch(method)
            estimator.restart()
            figures += figures_of(method, *timed(muscles, measured, trial.times, seconds))
            us = timed_deviations(estimator, measured, trial.times)
            figures.append(BenchFigure(f"deviation_p50_us.{method}", float(np.median(us)), "us"))
            say(f"mbo: method {method} with the settings of a live run")
            live.estimator.switch(method)
            figures += live_figures(method, live_rows(stages, trial, seconds))
        figures += both_legs.run(METHODS, seconds)
        figures += trust.run(METHODS, seconds)
    finally:
        gc.enable()
    return figures


def timed(
    muscles: MuscleLengths, measured: NDArray[np.float64], times: NDArray[np.float64], seconds: float
) -> tuple[list[int], list[int], list[float], list[float]]:
    """Solve the frames of a trial again and again for about `seconds` [s]; return the duration [ns],
    iterations, residual and squared marker RMS of each frame.

    muscles : stage of muscle lengths, with the solver; measured : (n_frame, n_marker, 3) - markers [m]
    times : (n_frame,) - times of the frames [s]
    """
    estimator = muscles.kinematics.estimator
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
            muscles.arms.measure()
            durations.append(perf_counter_ns() - start)
            iterations.append(solution.iterations)
            residuals.append(solution.residual if solution.converged else np.inf)
            squares.append(float(estimator.outputs.rms[0]) ** 2)
    return durations, iterations, residuals, squares


def timed_deviations(
    estimator: MultibodyEstimator, measured: NDArray[np.float64], times: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the time to compute the standard deviations of every frame of one pass through the trial,
    (n_frame,) [us].
    """
    durations = []
    for frame, dt in zip(measured, np.diff(times, prepend=times[0]), strict=True):
        own = np.ascontiguousarray(frame)
        solution = estimator.estimate(own, float(dt))
        start = perf_counter_ns()
        estimator.deviate(float(dt), solution)
        durations.append(perf_counter_ns() - start)
    return 1e-3 * np.array(durations)


def figures_of(
    method: str, durations: list[int], iterations: list[int], residuals: list[float], squares: list[float]
) -> list[BenchFigure]:
    """Return the benchmark results of one method for the kernel alone: rate of frames, times, iterations,
    largest residual of the solver and marker RMS.

    durations : time of each frame [ns]; squares : squared marker RMS of each [m^2]
    """
    us = 1e-3 * np.array(durations)
    return [
        *time_figures("", method, us),
        BenchFigure(f"iterations.{method}", float(np.mean(iterations)), "1"),
        BenchFigure(f"residual.{method}", float(np.max(residuals)), "m", RESIDUAL, "lower"),
        BenchFigure(f"marker_rms_mm.{method}", 1e3 * float(np.sqrt(np.mean(squares))), "mm"),
    ]


def live_figures(method: str, rows: LiveRows) -> list[BenchFigure]:
    """Return the benchmark results of one method in whole frames, from the bytes of a marker message to the
    bytes of a result.
    """
    return [
        *time_figures("live_", method, rows.stages.sum(axis=1)),
        *(
            BenchFigure(f"live_{stage}_us.{method}", float(np.median(us)), "us")
            for stage, us in zip(STAGES, rows.stages.T, strict=True)
        ),
        BenchFigure(f"live_iterations.{method}", float(rows.iterations.mean()), "1"),
        BenchFigure(f"live_flagged.{method}", 100.0 * float(np.mean(rows.status != 0)), "% of frames"),
        BenchFigure(f"live_residual.{method}", float(np.nanmax(rows.residual)), "m"),
        BenchFigure(f"live_marker_rms_mm.{method}", 1e3 * float(np.sqrt(np.nanmean(rows.rms**2))), "mm"),
    ]


def time_figures(prefix: str, method: str, us: NDArray[np.float64]) -> list[BenchFigure]:
    """Return the rate of frames, and percentiles of the durations us : (n,) [us]."""
    return [
        BenchFigure(f"{prefix}frames_per_second.{method}", 1e6 / float(us.mean()), "1/s", RATE, "higher"),
        BenchFigure(f"{prefix}p50_us.{method}", float(np.median(us)), "us"),
        BenchFigure(f"{prefix}p99_us.{method}", float(np.percentile(us, 99)), "us", P99_US, "lower"),
        BenchFigure(f"{prefix}max_us.{method}", float(us.max()), "us"),
    ]
