"""Benchmark of the accuracy and speed of fitting the contact of a foot, on synthetic steps, and on real ones
if there are any.

Synthetic steps have the size of those in the thesis (Brown 2017, section 5.3: 100 unknowns, pressure in 15
frames of 39 x 16 cells) and known parameters. Every search starts within 10 % of the initial guess, which
differs from the true parameters by a tenth to a fifth. seconds.* are the times of one search. Which
parameters the data determine follows from the singular values of the derivatives with respect to the
parameters, with the motion correction free to adapt (`rtsim.methods.foot.foot_fit.determined`). determined.*
is the number of parameters with almost no component in weakly determined directions; off.* is the greatest
error among them, relative to the parameter, or to its scale if that is larger.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.bench.figures import BenchFigure, say
from rtsim.methods.foot.foot_fit import (
    WEAK,
    FootProblem,
    determined,
    fit_foot,
    outcome,
    search,
    validate_foot,
)
from rtsim.methods.foot.foot_misfit import Errors, Weights
from rtsim.methods.foot.foot_model import marked_alike, with_toes
from rtsim.methods.foot.foot_parameters import SCALE, guess, guesses, nearest_form
from rtsim.methods.foot.foot_trial import FootTrial
from rtsim.methods.foot.rolling_foot import SyntheticStep, known_step, true_parameters
from rtsim.methods.foot.walked_steps import walked_steps

Array = NDArray[np.float64]

KINDS = {
    "with_pressure": (Weights(), 10.0),
    "force_only": (Weights(pressure=0.0), 1.0),
    "friction": (Weights(friction=1.0, spin=1.0), 11.0),
}
"""Kind of fit -> weights, and longest duration of a search [s]; in the thesis (Brown 2017) 164, 10, 180 s."""
VALIDATE_S = 5.0
"""Longest duration of a validation [s]; in the thesis 82 s."""
PRESSURE_RMS, OTHER_STEP, DETERMINED = 0.2, 0.03, 0.01
CALIBRATION, OTHERS = (0.034, 0.032), (0.049, 0.066)
"""Relative errors of normal force and centre of pressure in the thesis (table 5.7), for fitted and for other
steps; they are the limits here."""
N_START = 3
NOISE = 0.01
LOOSE = 0.01
"""Largest squared component of a parameter's unit vector in weakly determined directions, up to which it
counts as determined."""


class BestFit(NamedTuple):
    """The best result of several searches for the contact parameters of a foot: parameters, RMS error of the
    pressure, greatest error of a parameter that the data determine, and number of these; and the median
    duration of a search.
    """

    parameters: Array
    seconds: float  # median duration of a search
    pressure: float  # RMS error of the pressure by eq. 5.56 of Brown (2017)
    off: float
    n_determined: int


def run(data: Path | None = None) -> list[BenchFigure]:
    """Return the benchmark results of fitting the contact parameters of a foot to synthetic steps.

    data : folder that contains the data set gait_bmc, whose recorded steps are fitted as well; None = leave
        these out
    """
    truth = true_parameters(0)
    step, other = known_step(truth, 1), known_step(truth, 2, seconds=0.65)
    figures = []
    for name, (weights, most) in KINDS.items():
        say(f"foot-fit: {name}")
        found = find(known_step(truth, 1, friction=True) if weights.rubs else step, weights)
        figures.append(BenchFigure(f"seconds.{name}", found.seconds, "s", most, "lower"))
        figures.append(BenchFigure(f"determined.{name}", float(found.n_determined), "1"))
        most_off = DETERMINED if name == "with_pressure" else None
        figures.append(BenchFigure(f"off.{name}", found.off, "1", most_off, "lower" if most_off else ""))
        if name == "with_pressure":
            figures.append(BenchFigure("rms.pressure", found.pressure, "1", PRESSURE_RMS, "lower"))
    say("foot-fit: 1 % noise")
    weights = Weights()
    noisy = find(known_step(truth, 1, noise=NOISE), weights)
    begin = perf_counter()
    errors = validate_foot([other.trial], weights, noisy.parameters).errors[0]
    figures.append(BenchFigure("seconds.validate", perf_counter() - begin, "s", VALIDATE_S, "lower"))
    figures.append(BenchFigure("rms.other_step.normal", errors.normal, "1", OTHER_STEP, "lower"))
    figures.append(BenchFigure("rms.other_step.cop", errors.cop, "1", OTHER_STEP, "lower"))
    return figures if data is None else figures + real_figures(data)


def find(known: SyntheticStep, weights: Weights) -> BestFit:
    """Search for the parameters of the contacts of a foot from several initial guesses; return the best
    result.

    known : synthetic step whose true parameters are known; weights : weights of the terms of the cost, which
        decide what is fitted (force, centre of pressure, pressure, friction)
    """
    trial = known.trial
    around = guess(trial.frame)
    seconds, best, least = [], None, np.inf
    for start in guesses(around, N_START, 1):
        problem = FootProblem([trial], weights, around)
        begin = perf_counter()
        result = search(problem, problem.start(start))
        seconds.append(perf_counter() - begin)
        if result.cost < least:
            least, best = result.cost, problem
    assert best is not None
    parameters, _ = best.split(best.best[1])
    values, directions, kept = determined(best, best.best[1], np.zeros(len(best.scale), bool))
    weak = directions[values < WEAK * values[0]]
    names = best.free[kept[(weak**2).sum(axis=0) < LOOSE]]
    off = np.abs(nearest_form(parameters, known.parameters) - known.parameters)[names]
    off /= np.maximum(np.abs(known.parameters), SCALE)[names]
    errors = outcome(best, np.zeros(1), 0, True).errors[0]
    return BestFit(
        parameters,
        float(np.median(seconds)),
        errors.pressure,
        float(off.max()),
        len(names),
    )


def real_figures(data: Path) -> list[BenchFigure]:
    """Fit the contacts of a foot to recorded footsteps, and return the benchmark results.

    The recordings walk1 and walk2 of the data set gait_bmc, a folder in `data`, have one step on each force
    plate. Every step is fitted alone, and compared with the others of its recording. Steps of the same foot
    are then fitted together, and compared with those of the other foot, mirrored. The thesis (Brown 2017) had
    one foot only.
    """
    figures = []
    for name in ("walk1", "walk2"):
        steps = walked_steps(data / "gait_bmc" / f"{name}.trc").steps
        for plate, step in steps.items():
            say(f"foot-fit: fitting {name}, {plate}, {step.side} foot")
            figures += real_fit(f"{name}.{plate}", [step], {k: s for k, s in steps.items() if k != plate})
        for side in ("right", "left"):
            together = {plate: step for plate, step in steps.items() if step.side == side}
            if len(together) > 1:
                say(f"foot-fit: fitting {len(together)} footsteps of the {side} foot together, {name}")
                others = {plate: step for plate, step in steps.items() if step.side != side}
                figures += real_fit(f"{name}.{'+'.join(together)}", [*together.values()], others)
    return figures


def real_fit(key: str, steps: list[FootTrial], others: dict[str, FootTrial]) -> list[BenchFigure]:
    """Fit one set of contact parameters to several footsteps at once, and predict other footsteps with it;
    return the errors of the fit and of the predictions as benchmark results.

    key : beginning of their names; others : the steps to be predicted, by the name of their force plate
    """
    toes = steps[0].frame.toe_origin, steps[0].frame.toe_axes
    steps = [step._replace(frame=with_toes(step.frame, *toes)) for step in steps]
    weights, around = Weights(pressure=0.0), guess(steps[0].frame)
    fit = fit_foot(steps, weights, guesses(around, N_START, 0), around)
    figures = []
    for k, errors in enumerate(fit.errors):
        figures += pair(f"{key}.fitted{f'.{k + 1}' if k else ''}", errors, CALIBRATION)
    for plate, other in others.items():
        moved = other._replace(frame=with_toes(other.frame, *toes))
        lifted = not marked_alike(other, steps[0])
        held = validate_foot([moved], weights, fit.parameters, lifted=lifted)
        figures += pair(f"{key}.on.{plate}", held.errors[0], OTHERS)
    return figures


def pair(key: str, errors: Errors, most: tuple[float, float]) -> list[BenchFigure]:
    """Return two benchmark results: the relative errors of a foot's computed normal force and of its centre
    of pressure; key : beginning of their names; most : limits of the two
    """
    return [
        BenchFigure(f"{key}.normal", errors.normal, "1", most[0], "lower"),
        BenchFigure(f"{key}.cop", errors.cop, "1", most[1], "lower"),
    ]
