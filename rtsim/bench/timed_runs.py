"""Timing of a simulation alone: the same run again and again, each in one call of a kernel."""

from __future__ import annotations

import gc
from time import perf_counter
from typing import NamedTuple

import numpy as np

from kernels.compiler.jit import bind
from kernels.rosenbrock.advance import advance
from kernels.rosenbrock.trace import N_PART
from rtsim.simulation.simulator import Simulator


class Timing(NamedTuple):
    """Times of identical simulation runs: shortest and median time of a run [s], and its number of steps."""

    best: float  # [s]
    median: float  # [s]
    n_step: int
    n_part: int  # number of steps, or of the parts of steps if they are split


def time_runs(simulator: Simulator, n_step: int, n_run: int) -> Timing:
    """Time n_run runs of n_step steps, each from the simulator's present state, which is kept; the overhead
    of the call, some 3 us, is included.
    """
    s, trace = simulator, simulator.trace(1)
    q, v = s.q.copy(), s.v.copy()
    plan = float(s.start_time), n_step, 0, 0
    arguments = (s.simulation, s.method.tableau, s.options, plan, s.gain, q, v, s.work, trace)
    kernel = bind(advance, arguments)
    taken = np.empty(n_run)
    gc.disable()
    try:
        for i in range(n_run):
            q[:], v[:], trace.counts[:] = s.q, s.v, 0
            start = perf_counter()
            kernel(*arguments)
            taken[i] = perf_counter() - start
    finally:
        gc.enable()
    return Timing(float(taken.min()), float(np.median(taken)), n_step, int(trace.counts[N_PART]))
