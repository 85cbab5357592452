"""Inner states of muscles (activation, fibre length) in a Rosenbrock step, eliminated from the equations of
the motion.

The rates of activation a and fibre length x of a muscle depend on a, x and the path's length L only. With s =
1/(h gamma) for the step h and the diagonal gamma of the method, right-hand sides r and the path's gradient g
= dL/dq, a stage u (kernels/rosenbrock/stages) is therefore
  u_a = r_a / (s - a_a),   u_x = w + c g . u_q,   w = (r_x + x_a u_a) / (s - x_x),   c = x_L / (s - x_x),
where a_a, x_a, x_x and x_L are derivatives of the rates: x_a is that of dx/dt with respect to a. In the
equation of motion the muscles' part becomes the stiffness -g F_x c g', with the muscle force F, and a force
that is known before the stage is solved (Hairer, Wanner 1996, IV.7, eliminated block by block).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.compiler.jit import inlined, njit
from kernels.forces.path_forces import A_BY_A, BY_OWN, X_BY_A, X_BY_L, X_BY_X
from kernels.joints.couplers import fold_vector
from kernels.rosenbrock.stages import combine
from kernels.rosenbrock.tableau import MAX_STAGES


class Inner(NamedTuple):
    """Inner states of muscles in a step: first all activations, then all fibre lengths. n_state is 2 n_pull,
    where n_pull is the number of muscles and ligaments; entries of ligaments, and fibre lengths with a rigid
    tendon, do not change.
    """

    # at the start of the step: the state between steps [1], [m]
    now: Annotated[np.ndarray, Floats("n_state")]
    state: Annotated[np.ndarray, Floats("n_state")]  # of a stage
    rate: Annotated[np.ndarray, Floats("n_state")]  # there [1/s], [m/s]
    past: Annotated[np.ndarray, Floats("n_state")]
    u: Annotated[np.ndarray, Floats(MAX_STAGES, "n_state")]
    given: Annotated[np.ndarray, Floats("n_pull")]  # dL/dt by prescribed coordinates alone [m/s]
    push: Annotated[np.ndarray, Floats("n_v")]  # generalized forces by the inner states of a stage


def new_inner(n_pull: int, n_v: int) -> Inner:
    """Allocate an Inner for n_pull muscles and ligaments: their inner states in a step."""
    return allocate(Inner, n_state=2 * n_pull, n_pull=n_pull, n_v=n_v)


@njit
def begin_inner(inner):
    """Set the muscles' inner states of the first stage to those at the start of the step; do nothing if inner
    is None.
    """
    if inner is None:
        return
    for k in range(inner.now.shape[0]):
        inner.state[k], inner.past[k] = inner.now[k], 0.0


@njit
def reduce_gradients(couplers, coupler_work, v, inner, pulls):
    """Reduce the gradients of all path lengths to the independent coordinates.

    Also write inner.given, the lengthening speed of each path that comes from coordinates given as functions
    of time.

    couplers : Couplers - None where no coordinate is given
    coupler_work : CouplerWork - slopes of the couplers at the start of the step
    v : (n_v,) - generalized speeds [rad/s, m/s]
    inner : Inner - its given is written; None where there are no muscles
    pulls : PathForceWork - its gradient is written
    """
    if inner is None or couplers is None:
        return
    for m in range(inner.given.shape[0]):
        g, given = pulls.gradient[m], 0.0
        for d in range(v.shape[0]):
            given += g[d] * v[d]
        fold_vector(couplers, coupler_work, g)
        for d in range(v.shape[0]):
            given -= g[d] * v[d]
        inner.given[m] = given


@njit
def fold_fibres(inner, pulls, shift, tau_q):
    """Add to tau_q the change of the muscle forces with q that arises because fibre lengths follow the path
    lengths within a stage.

    inner : Inner - None where there are no muscles
    pulls : PathForceWork - its slope and gradient are read
    shift : float - 1/(h g), with the step h and the diagonal g of the method [1/s]; 0 = fibres are in
        equilibrium
    tau_q : (n_v, n_v) - derivative of the generalized forces with respect to q
    """
    if inner is None:
        return
    for m in range(inner.given.shape[0]):
        slope, g = pulls.slope[m], pulls.gradient[m]
        if slope[X_BY_L] != 0.0:
            c = slope[BY_OWN] * slope[X_BY_L] / (shift - slope[X_BY_X])
            for i in range(g.shape[0]):
                if g[i] != 0.0:
                    for j in range(g.shape[0]):
                        tau_q[i, j] -= g[i] * c * g[j]


@njit
def push_stage(inner, pulls, i, shift, onset):
    """Compute inner.u[i], the inner states' part of stage i, without the effect of the displacements u_q of
    this stage, which `follow_stage` adds; and inner.push, the generalized forces that result from it.

    inner : Inner - its push and u[i] are written; None where there are no muscles
    pulls : PathForceWork - its slope and gradient are read
    i : int - index of the stage
    shift : float - 1/(h g), with the step h and the diagonal g of the method [1/s]
    onset : float - h gamma_i, the factor of the partial derivatives of the rates with respect to time [s]
    """
    if inner is None:
        return
    u, n = inner.u[i], inner.given.shape[0]
    for d in range(inner.push.shape[0]):
        inner.push[d] = 0.0
    for m in range(n):
        slope, g = pulls.slope[m], pulls.gradient[m]
        own = (inner.rate[m] + inner.past[m]) / (shift - slope[A_BY_A])
        u[m] = own
        if slope[X_BY_L] != 0.0:
            r = inner.rate[n + m] + inner.past[n + m] + onset * slope[X_BY_L] * inner.given[m]
            own = (r + slope[X_BY_A] * own) / (shift - slope[X_BY_X])
            u[n + m] = own
        else:
            u[n + m] = 0.0
        for d in range(g.shape[0]):
            inner.push[d] -= g[d] * slope[BY_OWN] * own


@njit
def follow_stage(inner, pulls, i, shift, u_q):
    """Add the effect of the motion on the muscles' inner states to inner.u[i].

    inner : Inner - its u[i] is updated; None where there are no muscles
    pulls : PathForceWork - its slope and gradient are read
    i : int - index of the stage
    shift : float - 1/(h g), with the step h and the diagonal g of the method [1/s]
    u_q : (n_v,) - displacement part of stage i of the motion
    """
    if inner is None:
        return
    n = inner.given.shape[0]
    for m in range(n):
        slope, g, way = pulls.slope[m], pulls.gradient[m], 0.0
        if slope[X_BY_L] != 0.0:
            for d in range(g.shape[0]):
                way += g[d] * u_q[d]
            inner.u[i, n + m] += slope[X_BY_L] * way / (shift - slope[X_BY_X])


@njit
def next_inner(tableau, i, inverse_h, inner):
    """Compute the muscles' inner states at stage i (inner.state), and what earlier stages add to its
    right-hand side (inner.past).

    tableau : Tableau - coefficients of the Rosenbrock method
    i : int - index of the stage
    inverse_h : float - 1/h [1/s]
    inner : Inner - written; None where there are no muscles
    """
    if inner is None:
        return
    combine(tableau.a[i], tableau.C[i], i, inverse_h, inner.now, inner.u, inner.past, inner.state)


@njit
def end_inner(tableau, inner):
    """Compute the muscles' inner states at the end of the step; return whether they are finite (True without
    muscles).

    tableau : Tableau - coefficients of the Rosenbrock method
    inner : Inner - its state is written; None where there are no muscles
    """
    if inner is None:
        return True
    total = 0.0
    for k in range(inner.now.shape[0]):
        y = inner.now[k]
        for i in range(tableau.m.shape[0]):
            y += tableau.m[i] * inner.u[i, k]
        inner.state[k] = y
        total += y * y
    return total < np.inf


@njit
def keep_inner(inner):
    """Accept a step: the muscles' inner states at its end become those at the start of the next step; do
    nothing if inner is None.
    """
    if inner is None:
        return
    for k in range(inner.now.shape[0]):
        inner.now[k] = inner.state[k]


@inlined
def pushes(inner):
    """Return inner.push, the generalized forces that the muscles' inner states add to the equations of a
    stage; None without muscles.
    """
    if inner is None:
        return None
    return inner.push
