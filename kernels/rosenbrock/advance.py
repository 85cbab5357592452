"""Many integration steps of a simulation in one call, with results recorded every so many steps."""

from __future__ import annotations

from kernels.compiler.jit import njit
from kernels.dynamics.reduction import set_time
from kernels.forces.generators import keep_activations, set_activations
from kernels.forces.loads import set_levels
from kernels.forces.path_forces import set_excitations
from kernels.rosenbrock.step import ERROR_LARGE, OK, step
from kernels.rosenbrock.trace import N_LARGE, N_PART, STATUS, STEP


@njit
def advance(simulation, tableau, options, plan, gain, q, v, work, trace):
    """Take many time steps; return the status of the last one. A status worse than ERROR_LARGE ends the call
    early.

    simulation : Simulation - bodies, and the force elements between them
    tableau : Tableau - coefficients of the Rosenbrock method
    options : StepOptions - options of the time steps
    plan : (start, n_step, every, last) - time of step 0 [s] (step k begins at start + k options.step; loads
        and excitations are constant over a step); number of steps to take; number of steps from one row of
        the trace to the next, 0 = no rows; 1 = write one more row at the end
    gain : (n_load,) - factor of each load
    q : (n_q,) - generalized coordinates [rad, m], updated
    v : (n_v,) - generalized speeds [rad/s, m/s], updated
    work : SimulationWork - working space, overwritten
    trace : Trace - rows and counts are written
    """
    start, n_step, every, last = plan
    count = trace.counts
    rest, worst, to_do = options.step, OK, n_step
    while to_do > 0 or last:
        k, whole, halt = count[STEP], rest == options.step, to_do == 0
        if whole:
            middle = start + (k + 0.5) * options.step
            set_levels(simulation.forces.loads, gain, middle, work.forces.loads)
            set_excitations(simulation.pulls, middle, work.pulls)
            set_activations(simulation.forces.generators, middle, options.step, work.forces.generators)
        set_time(simulation.couplers, start + (k + 1) * options.step - rest, work.reduction)
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
            keep_activations(simulation.forces.generators, work.forces.generators)
            count[STEP] = k + 1
            count[N_LARGE] += worst
            count[STATUS] = worst
            rest, worst, to_do = options.step, OK, to_do - 1
    return count[STATUS]
