"""Runs a simulation in chunks of steps, so that it can be observed and stopped between them, and returns its
results.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.path.muscle_path import STATUS_NAMES
from kernels.rosenbrock.step import ERROR_LARGE, NON_FINITE, OK, UNHELD
from kernels.rosenbrock.trace import N_LARGE, N_PART, RECORDED, Trace
from rtsim.errors import ConfigError, ModelError
from rtsim.simulation.simulator import Simulator

Array = NDArray[np.float64]

CHUNK = 1000
"""Steps between two looks at whether to stop."""
LARGE_PART = 0.1
"""Part of the steps that may have a large error before the step counts as too large for the model."""


MOST_STEPS = 1_000_000_000
ROUNDING = 1e-9


@dataclass(frozen=True)
class SimulatedRun:
    """Rows of results of a simulation, and how it went.

    times : (n_row,) - times of the rows [s]; trace : their results
    n_asked, n_done : number of requested and completed steps; n_large : steps with a large error
    status : status of the last step (kernels/rosenbrock/step)
    n_part : number of integration steps, where a step that was split counts as its parts
    wall : time of the computation [s]
    stopped : whether it was stopped on request
    """

    trace: Trace
    times: Array
    n_asked: int
    n_done: int
    status: int
    n_large: int
    n_part: int
    wall: float
    stopped: bool

    @property
    def failed(self) -> bool:
        """Whether a step has no result."""
        return self.status > ERROR_LARGE

    @property
    def too_large(self) -> bool:
        """Whether the time step was too large for the model."""
        return self.n_large > LARGE_PART * max(self.n_done, 1)


def run(
    simulator: Simulator,
    n_step: int,
    every: int = 1,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda n_done: None,
) -> SimulatedRun:
    """Run n_step steps of a simulator from its present state, with a row of results after every `every` steps
    and one at the end.

    stop : called between chunks of steps, returns whether to stop; progress : called after each chunk with
        the number of steps done
    """
    first = simulator.n_step
    trace = simulator.trace(n_step // every + 2)
    status, wall, stopped = OK, 0.0, False
    while simulator.n_step < first + n_step and status <= ERROR_LARGE and not stopped:
        n_chunk = min(CHUNK, first + n_step - simulator.n_step)
        start = time.perf_counter()
        status = simulator.run(n_chunk, every, trace)
        wall += time.perf_counter() - start
        progress(simulator.n_step - first)
        stopped = stop()
    if status <= ERROR_LARGE:
        simulator.run(0, 0, trace, last=True)
    n_row = int(trace.counts[RECORDED])
    steps = every * (-(-first // every) + np.arange(n_row, dtype=float))
    if status <= ERROR_LARGE:
        steps[-1] = simulator.n_step
    n_done = simulator.n_step - first
    return SimulatedRun(
        trace=trace._replace(**{name: getattr(trace, name)[:n_row] for name in trace._fields[:-2]}),
        times=simulator.start_time + steps * simulator.options.step,
        n_asked=n_step,
        n_done=n_done,
        status=status,
        n_large=int(trace.counts[N_LARGE]),
        n_part=int(trace.counts[N_PART]) - (status > ERROR_LARGE),
        wall=wall,
        stopped=stopped and n_done < n_step,
    )


def whole_steps(simulator: Simulator) -> int:
    """Return the number of whole steps in the duration of a simulation. They do not go beyond the duration,
    because a motion from a file may end there.
    """
    settings = simulator.settings
    n_step = settings.duration_s / (1e-3 * settings.step_ms)
    if not 1.0 - ROUNDING <= n_step <= MOST_STEPS:
        raise ConfigError(
            f"a duration of {settings.duration_s:g} s has {n_step:.3g} steps of {settings.step_ms:g} ms",
            where=f"{simulator.model.name}: simulation",
            allowed=f"1 to {MOST_STEPS} steps",
            remedy="change --duration or --step",
        )
    return max(1, math.floor(n_step * (1.0 + ROUNDING)))


def warm_up(simulator: Simulator) -> SimulatedRun:
    """Run zero steps of a simulator and write one row of results, for the start. This compiles the kernels of
    a run; ModelError if the forces at the start are not finite.
    """
    done = run(simulator, 0)
    if not np.isfinite(done.trace.v_dot).all():
        check_paths(simulator, "at the start")
        raise ModelError(
            "the forces at the start are not finite numbers",
            where=simulator.model.name,
            remedy="correct the neutral values of the coordinates, the masses or the elements of the model",
        )
    return done


def check_paths(simulator: Simulator, when: str) -> None:
    """Raise ModelError for the first muscle or ligament whose path around wrapping surfaces was not found;
    when : the time in words"""
    if simulator.work.pulls is None:
        return
    names = (*simulator.model.names.pulling, *simulator.model.names.wrapping)
    for name, status in zip(names, simulator.work.pulls.path.status, strict=True):
        if status:
            raise ModelError(
                f"the path of {name} was not found {when}: {STATUS_NAMES[status]}",
                where=simulator.model.name,
                remedy="move the points of the path out of the surface around which the path wraps, or make "
                "this surface smaller",
            )


def fault_of(status: int, simulator: Simulator) -> tuple[str, str]:
    """Return two texts: why a step had no result, and what may help besides a shorter step; status : of the
    step (kernels/rosenbrock/step)
    """
    if status == UNHELD:
        return (
            f"the constraint {simulator.widest} can no longer be satisfied: the mechanism is locked or has "
            "come apart",
            "check the distances that constraints keep between points, and the prescribed motions",
        )
    what = (
        "the state is no longer a finite number"
        if status == NON_FINITE
        else "the integration step has no solution"
    )
    return what, "look for forces of the model that grow without limit"


def check_run(done: SimulatedRun, simulator: Simulator, kept: str = "") -> None:
    """Raise ModelError, with the time and a remedy, if a step had no result or many steps had a large error.

    kept : end of the error message, which says what happens to the results
    """
    step_ms, name = 1e3 * simulator.options.step, simulator.model.name
    shorter = f"shorten the step of {step_ms:g} ms (--step or simulation.step_ms)"
    if done.failed:
        check_paths(simulator, f"at {simulator.time:.6g} s")
        what, remedy = fault_of(done.status, simulator)
        raise ModelError(
            f"{what} at {simulator.time:.6g} s", where=name, remedy=f"{shorter}, or {remedy}{kept}"
        )
    if done.too_large:
        raise ModelError(
            f"the estimated integration error is large in {done.n_large} of {done.n_done} time steps",
            where=name,
            allowed=f"a large error in at most {LARGE_PART:.0%} of the time steps",
            remedy=shorter + kept,
        )
