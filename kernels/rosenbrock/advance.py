"""Many steps in one call, with the results of every so many of them written down."""

from __future__ import annotations

from kernels._jit import entry
from kernels.forces.loads import set_levels
from kernels.rosenbrock.step import ERROR_LARGE, OK, step
from kernels.rosenbrock.trace import N_LARGE, N_PART, STATUS, STEP


@entry
def advance(simulation, tableau, options, start, n_step, every, last, gain, q, v, work, trace):
    """q : (n_q,), v : (n_v,) moved by n_step steps; returns the status of the last step.

    start : time of step 0 [s]; step k begins at start + k options.step, loads (scaled by gain : (n_load,))
    hold over it
    every : a row is written where the number of the step is a multiple of it; 0 = none
    last : 1 = one more row at the end
    Ends early where the status is worse than ERROR_LARGE.
    """
    count = trace.counts
    rest, worst, to_do = options.step, OK, n_step
    while to_do > 0 or last:
        k, whole, halt = count[STEP], rest == options.step, to_do == 0
        if whole:
            set_levels(simulation.forces.loads, gain, start + (k + 0.5) * options.step, work.forces.loads)
        record = halt or (whole and every > 0 and k % every == 0)
        status, error, h = step(simulation, tableau, options, rest, record, halt, q, v, work, trace)
        if halt:
            break
        count[N_PART] += 1
        count[STATUS] = status
        if status > ERROR_LARGE:
            return status
        trace.largest[0] = max(trace.largest[0], error)
        worst = max(worst, status)
        rest -= h
        if rest <= 0.0:
            count[STEP] = k + 1
            count[N_LARGE] += worst
            count[STATUS] = worst
            rest, worst, to_do = options.step, OK, to_do - 1
    return count[STATUS]
