"""Benchmark of the cost of reliability: frames with all checks of a live run beside frames without them,
solved alternately.

Without the checks there are no standard deviations, faulty markers are only reported, and missing markers
are not filled in. The shipped walking trial is solved as it is, and with a marker that slides on the skin,
which keeps the fault detection and the deviations busy. Processor time of this thread is measured, which
other programs affect less; decoding and encoding of messages are left out.
"""

from __future__ import annotations

from time import thread_time_ns

import numpy as np
from numpy.typing import NDArray

from rtsim.bench.figures import BenchFigure, say
from rtsim.config.runs.run_schema import MarkerCheck, Uncertainty
from rtsim.live.inputs.sources import load_trial, the_walker
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.load import ONE_LEG, load_model
from rtsim.stages.kinematics import Kinematics
from rtsim.subjects.markers.markers_of import markers_of

RATIO = 1.4
WALK_S = 2.0
SLIDE_M_PER_S = 0.1
"""Speed of the sliding marker [m/s], which never slides far enough to be left out."""
SLIDE_FRAMES = 20


class WalkerFrames:
    """The frames of the shipped walking trial on one leg, with the solver for it, with all checks or without
    them.
    """

    def __init__(self, methods: tuple[str, ...], trusted: bool) -> None:
        subject = the_walker("right")
        trial = load_trial("walker", WALK_S, side="right")
        check = MarkerCheck() if trusted else MarkerCheck(downweight=False, fill_s=0.0)
        self.estimator = MultibodyEstimator(
            load_model(ONE_LEG), subject, methods[0], methods, check=check,
            uncertainty=Uncertainty() if trusted else None,
        )  # fmt: skip
        Kinematics(self.estimator, subject).warm()
        self.clean = markers_of(trial, subject)
        self.dt = 1.0 / trial.rate

    def lap(self, frames: NDArray[np.float64]) -> float:
        """Solve the walk once and return the median processor time of a frame [us]. The first third of the
        walk does not count, as the estimator determines the usual residuals of the markers there.

        frames : (n_frame, n_marker, 3) - marker positions [m]
        """
        self.estimator.restart()
        times = []
        for frame in frames:
            start = thread_time_ns()
            self.estimator.deviate(self.dt, self.estimator.estimate(frame, self.dt))
            times.append(1e-3 * (thread_time_ns() - start))
        return float(np.median(times[len(times) // 3 :]))


def sliding(clean: NDArray[np.float64], dt: float) -> NDArray[np.float64]:
    """Return the clean markers with one that slides to and fro, (n_frame, n_marker, 3) [m]."""
    frames = clean.copy()
    k = np.arange(len(frames)) % (2 * SLIDE_FRAMES)
    frames[:, 0, 1] += SLIDE_M_PER_S * dt * np.minimum(k, 2 * SLIDE_FRAMES - k)
    return frames


def run(methods: tuple[str, ...], seconds: float) -> list[BenchFigure]:
    """Return for every method (knee model) the ratio of the median frame times with and without the checks,
    on the walking trial and on the same with a sliding marker; seconds : how long a method is timed [s]
    """
    own, without = WalkerFrames(methods, True), WalkerFrames(methods, False)
    scenes = {"trust": own.clean, "trust_damaged": sliding(own.clean, own.dt)}
    figures = []
    for method in methods:
        say(f"mbo: method {method}, with and without down-weighting of faulty markers")
        for one in (own, without):
            one.estimator.switch(method)
        for name, frames in scenes.items():
            laps: list[tuple[float, float]] = []
            end = thread_time_ns() + int(0.5e9 * seconds)
            while not laps or thread_time_ns() < end:
                laps.append((own.lap(frames), without.lap(frames)))
            ratio = float(np.median([a / b for a, b in laps]))
            figures.append(BenchFigure(f"ratio.{name}.{method}", ratio, "1", RATIO, "lower"))
    return figures
