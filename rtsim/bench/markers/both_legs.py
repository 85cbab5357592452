"""Benchmark of solving both legs, relative to the right leg alone: frames of the shipped walking trial,
solver and muscles, with one leg and with both in turn.
"""

from __future__ import annotations

from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from rtsim.bench.figures import BenchFigure, say
from rtsim.config.runs.run_schema import MarkerCheck
from rtsim.live.inputs.sources import load_trial, the_walker
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.load import ONE_LEG, load_model, model_for
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.muscles import MuscleLengths
from rtsim.subjects.markers.markers_of import markers_of

RATIO, RESIDUAL = 2.2, 1e-11
LAP_S = 1.0


class SolvedLegs:
    """The frames of the shipped walking trial, and the solver for one leg or for both."""

    def __init__(self, side: str, methods: tuple[str, ...]) -> None:
        subject = the_walker(side)
        trial = load_trial("walker", LAP_S, side=side)
        spec = load_model(model_for(ONE_LEG, subject.side))
        check = MarkerCheck(downweight=False)
        self.estimator = MultibodyEstimator(spec, subject, methods[0], methods, check=check)
        kinematics = Kinematics(self.estimator, subject)
        self.muscles = MuscleLengths(kinematics)
        for stage in (kinematics, self.muscles):
            stage.warm()
        self.frames = [np.ascontiguousarray(frame) for frame in markers_of(trial, subject)]
        self.dt = 1.0 / trial.rate

    def lap(self) -> tuple[NDArray[np.float64], float]:
        """Solve all frames of the walk once; return the time of each frame [us] and the largest residual of
        the solver [m].
        """
        self.estimator.restart()
        times, residuals = [], []
        for frame in self.frames:
            start = perf_counter_ns()
            solution = self.estimator.estimate(frame, self.dt)
            self.muscles.arms.measure()
            times.append(1e-3 * (perf_counter_ns() - start))
            residuals.append(solution.residual if solution.converged else np.inf)
        return np.array(times), max(residuals)


def run(methods: tuple[str, ...], seconds: float) -> list[BenchFigure]:
    """Return for every method (knee model) the median time of a frame with both legs divided by that with one
    leg, and the solver's residual with both; seconds : how long each method is timed [s]
    """
    one, two = SolvedLegs("right", methods), SolvedLegs("both", methods)
    figures = []
    for method in methods:
        say(f"mbo: {method}, both legs")
        for legs in (one, two):
            legs.estimator.switch(method)
        times: tuple[list, list] = ([], [])
        residual, end = 0.0, perf_counter_ns() + int(1e9 * seconds)
        while not times[0] or perf_counter_ns() < end:
            times[0].append(one.lap()[0])
            us, largest = two.lap()
            times[1].append(us)
            residual = max(residual, largest)
        alone, both = (float(np.median(laps)) for laps in times)
        figures += [
            BenchFigure(f"both_p50_us.{method}", both, "us"),
            BenchFigure(f"ratio.both.{method}", both / alone, "1", RATIO, "lower"),
            BenchFigure(f"both_residual.{method}", residual, "m", RESIDUAL, "lower"),
        ]
    return figures
