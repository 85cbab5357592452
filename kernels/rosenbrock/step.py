"""One Rosenbrock step of a simulation, or one substep of a step that is split because friction changes fast
within it (kernels/forces/kinks).

The embedded error, the difference from a second method of lower order, shows whether the step was small
enough. If sliding reverses within a step, the embedded error is far larger than the true error; it is then a
warning and not an estimate of the error.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from kernels.algebra.copying import copy
from kernels.algebra.linear import cholesky, solve_lower, solve_lower_transposed
from kernels.compiler.jit import inlined, njit
from kernels.dynamics.reduction import add_onset, follow, follow_jerks
from kernels.forces.kinks import part_length, sticks
from kernels.joints.tree import integrate
from kernels.rosenbrock.holds import hold_jerk
from kernels.rosenbrock.inner import (
    begin_inner,
    end_inner,
    fold_fibres,
    follow_stage,
    keep_inner,
    next_inner,
    push_stage,
    pushes,
)
from kernels.rosenbrock.local import local_rate
from kernels.rosenbrock.model import acceleration, linearise
from kernels.rosenbrock.projection import close
from kernels.rosenbrock.stages import factor, next_stage, stage_solve
from kernels.rosenbrock.trace import write_row

OK, ERROR_LARGE, SINGULAR, NON_FINITE, UNHELD = 0, 1, 2, 3, 4
"""Status of a step: after the first two the state has advanced, after the others it is still that of the
start."""
SLOW = 0.01
"""Speed [m/s, rad/s] that is added to the speed relative to which the embedded error is stated, so that slow
motion is not judged relative to its speed alone."""


class StepOptions(NamedTuple):
    """Settings of a simulation's time steps: length, treatment of reversing friction, and tolerance of the
    embedded error.
    """

    step: float  # [s]
    secant: int  # 1 = secant slope where friction would reverse within the step, 0 = exact slope
    split: int  # largest number of substeps of a step where friction reverses, 1 = never split
    fraction: float  # largest change of a sliding speed within a substep, relative to that speed [1]
    floor: float  # the same, relative to the transition velocity; the larger one counts [1]
    tolerance: float  # embedded error relative to the speed above which a step counts as too large [1]


@inlined
def part(options, simulation, rest, v, work):
    """Return the length [s] of the next substep of a time step that is split where friction changes fast.

    A substep is so short that sliding speeds change little within it, judged by the derivatives at its start;
    it is the rest of the step if steps are not split.

    options : StepOptions - options of the time steps
    simulation : Simulation - bodies, and the force elements between them
    rest : float - remaining time of the step [s]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    work : SimulationWork - working space, overwritten
    """
    if options.split <= 1:
        return rest
    forces, stages, jerk = simulation.forces, work.stages, work.stages.row[0]
    n_v = v.shape[0]
    for d in range(n_v):
        jerk[d] = 0.0
    if sticks(forces, work.forces):
        find_jerk(v, work.v_dot, stages, jerk)
        hold_jerk(simulation.holds, work.dynamics.M, work.holds, v, work.v_dot, jerk)
        add_onset(simulation.couplers, work.reduction, 1.0, jerk)
        follow_jerks(simulation.couplers, work.reduction, v, work.v_dot, jerk)
    pose = work.dynamics.pose
    h = part_length(
        forces, pose.twist, pose.position[0], jerk, options.fraction, options.floor, rest, work.forces
    )
    return min(rest, max(h, options.step / options.split))


@njit
def find_jerk(v, v_dot, stages, jerk_out):
    """Compute the jerk M^-1 (tau_q v + tau_v v_dot), the time derivative of v_dot along the motion, into
    jerk_out : (n_v,).

    v, v_dot : (n_v,) - generalized speeds and accelerations
    stages : StageWork - M, tau_q and tau_v are read; S is overwritten
    """
    n_v = v.shape[0]
    for i in range(n_v):
        total = 0.0
        for j in range(n_v):
            total += stages.tau_q[i, j] * v[j] + stages.tau_v[i, j] * v_dot[j]
            stages.S[i, j] = stages.M[i, j]
        jerk_out[i] = total
    if cholesky(stages.S, n_v, 0.0):
        solve_lower(stages.S, n_v, jerk_out)
        solve_lower_transposed(stages.S, n_v, jerk_out)


@inlined
def step(simulation, tableau, options, rest, record, halt, q, v, work, trace):
    """Advance q and v by one step, or by its next substep; return (status, error, length).

    The error is the largest embedded error of a speed, divided by that speed plus SLOW. If it is above the
    tolerance, the status is ERROR_LARGE. The length [s] is that of the step or substep that was done;
    it is 0 if the state has not advanced.

    simulation : Simulation - bodies, and the force elements between them
    tableau : Tableau - coefficients of the Rosenbrock method
    options : StepOptions - options of the time steps
    rest : float - remaining time of the step [s]
    record : bool - whether to write a row of the trace at the start of the step
    halt : bool - whether to return after writing that row, with length 0
    q : (n_q,) - generalized coordinates [rad, m], updated
    v : (n_v,) - generalized speeds [rad/s, m/s], updated
    work : SimulationWork - working space, overwritten
    trace : Trace - its next row is written where record is true
    """
    tree, couplers, stages = simulation.system.tree, simulation.couplers, work.stages
    start, state, rate = work.state[0], work.state[1], work.state[2]
    n_v, n_stage, h, i, error = v.shape[0], tableau.m.shape[0], rest, 0, 0.0
    theta, stage_v, v_dot = state[:n_v], state[n_v:], rate[n_v:]
    follow(couplers, tree.functions, 0.0, work.reduction, q, v)
    begin(v, work)
    while True:
        if i == 0 or i == n_stage or tableau.same[i] == 0:
            if i > 0 and i < n_stage and not finite(theta):
                return NON_FINITE, math.inf, 0.0
            integrate(tree, q, theta, 1.0, work.q)
            ahead = h * tableau.c[i] if i < n_stage else h
            follow(couplers, tree.functions, ahead, work.reduction, work.q, stage_v)
            if i == n_stage:
                break
            acceleration(simulation, work.q, stage_v, i == 0, work, v_dot)
            local_rate(tree, theta, stage_v, rate)
        if i == 0:
            copy(v_dot, work.v_dot)
            linearise(simulation, q, v, work.v_dot, rest if options.secant else 0.0, work)
            if record:
                write_row(couplers, q, v, work, trace)
            if halt:
                return OK, 0.0, 0.0
            h = part(options, simulation, rest, v, work)
            if not factor_stages(tree, v, 1.0 / (h * tableau.g), work):
                return (SINGULAR if finite(work.v_dot) else NON_FINITE), math.inf, 0.0
        solve_stage(simulation, tableau, i, h, v, work)
        i += 1
        if i < n_stage:
            move_on(tableau, i, h, work)
        else:
            error = weigh(tableau, h, start, work.v_dot, stages, state)
            if not (end_inner(tableau, work.inner) and finite(state)):
                return NON_FINITE, math.inf, 0.0
    if not close(simulation.holds, simulation, h, work.q, stage_v, work):
        return UNHELD, error, 0.0
    move(stage_v, q, v, work)
    return (ERROR_LARGE if error > options.tolerance else OK), error, h


@inlined
def move(stage_v, q, v, work):
    """Accept a step: copy the state at its end from work.q and stage_v : (n_v,) to q : (n_q,) and v : (n_v,),
    and keep the muscles' inner states.
    """
    keep_inner(work.inner)
    copy(stage_v, v)
    copy(work.q, q)


@inlined
def begin(v, work):
    """Set the states of the first stage, of motion and muscles, to those at the start of the step.

    v : (n_v,) - generalized speeds [rad/s, m/s]
    work : SimulationWork - its state, stages and inner are written
    """
    stand(v, work.state[0], work.state[1], work.stages.past)
    begin_inner(work.inner)


@inlined
def factor_stages(tree, v, shift, work):
    """Factorise the matrix of the stages, from which the inner states of muscles are eliminated; return False
    if it is singular.

    tree : Tree - joint tree of the bodies
    v : (n_v,) - generalized speeds at the start of the step [rad/s, m/s]
    shift : float - 1/(h g), with the step h and the diagonal g of the method [1/s]
    work : SimulationWork - its stages are written
    """
    fold_fibres(work.inner, work.pulls, shift, work.stages.tau_q)
    return factor(tree, v, shift, work.stages, work.holds)


@inlined
def move_on(tableau, i, h, work):
    """Compute the states of the motion and of the muscles at stage i from the earlier stages.

    tableau : Tableau - coefficients of the Rosenbrock method
    i : int - index of the stage
    h : float - length of the step [s]
    work : SimulationWork - its state, stages and inner are written
    """
    next_stage(tableau, i, 1.0 / h, work.state[0], work.stages, work.state[1])
    next_inner(tableau, i, 1.0 / h, work.inner)


@inlined
def solve_stage(simulation, tableau, i, h, v, work):
    """Solve stage i of the motion and of the muscles' inner states, once the rates at the stage are known.

    simulation : Simulation - bodies, and the force elements between them
    tableau : Tableau - coefficients of the Rosenbrock method
    i : int - index of the stage
    h : float - length of the step [s]
    v : (n_v,) - generalized speeds at the start of the step [rad/s, m/s]
    work : SimulationWork - its stages and inner are written
    """
    tree, stages, inner, n_v = simulation.system.tree, work.stages, work.inner, v.shape[0]
    shift, onset = 1.0 / (h * tableau.g), h * tableau.gamma[i]
    add_onset(simulation.couplers, work.reduction, onset, stages.past[n_v:])
    push_stage(inner, work.pulls, i, shift, onset)
    stage_solve(tree, i, shift, v, work.state[2], pushes(inner), stages, work.holds)
    follow_stage(inner, work.pulls, i, shift, stages.u[i, :n_v])


@inlined
def stand(v, start_out, state_out, past_out):
    """Write the local state at the start of a step, theta = 0 and the speeds v : (n_v,), into start_out and
    state_out : (2 n_v,), and zeros into past_out : (2 n_v,).
    """
    n_v = v.shape[0]
    for d in range(n_v):
        start_out[d], start_out[n_v + d], state_out[d], state_out[n_v + d] = 0.0, v[d], 0.0, v[d]
        past_out[d], past_out[n_v + d] = 0.0, 0.0


@inlined
def weigh(tableau, h, start, v_dot, stages, state_out):
    """Compute the state at the end of the step as a weighted sum of stages; return the largest embedded error
    of a speed, divided by that speed plus SLOW.

    For a method without an embedded one, the difference from an explicit Euler step is taken as the error.

    tableau : Tableau - coefficients of the Rosenbrock method
    h : float - length of the step [s]
    start : (2 n_v,) - theta and v at the start
    v_dot : (n_v,) - generalized accelerations at the start [rad/s^2, m/s^2]
    stages : StageWork - its u is read
    state_out : (2 n_v,) - theta and v at the end of the step
    """
    error, n_v, u = 0.0, v_dot.shape[0], stages.u
    for k in range(start.shape[0]):
        y, difference = start[k], 0.0
        for i in range(tableau.m.shape[0]):
            y += tableau.m[i] * u[i, k]
            difference += tableau.e[i] * u[i, k]
        state_out[k] = y
        if k >= n_v:
            if not tableau.embedded:
                difference = y - start[k] - h * v_dot[k - n_v]
            error = max(error, abs(difference) / (SLOW + abs(y)))
    return error


@njit
def finite(x):
    """Return whether all entries of x : (n,) and their squares are finite numbers.

    A rotation angle is computed from squares; it cannot be if these overflow.
    """
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i]
    return total < math.inf
