"""Linear algebra of one Rosenbrock step of a second-order system: one factorisation per step, one linear
solution per stage.

With y = (theta, v), theta-dot = f(theta, v) and M v-dot = tau, a stage u = (u_q, u_v) of a Rosenbrock method
with the step h, the diagonal g and the Jacobian J, (I/(h g) - J) u = (theta-dot, v-dot) + sum C u/h (Hairer,
Wanner 1996, IV.7), is solved for its velocity part u_v alone. With r = (r_q, r_v) the right-hand side and B =
(I/(h g) - df/dtheta)^-1,
  (M/(h g) - tau_v - tau_q B) u_v = M r_v + tau_q B r_q,  u_q = B (r_q + u_v),
which has half the unknowns of the whole system. tau_q and tau_v are the derivatives of tau - (M v-dot + bias)
with respect to theta and v at fixed v-dot.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.compiler.jit import inlined
from kernels.rosenbrock.holds import factor_bordered, solve_bordered
from kernels.rosenbrock.local import local_solve
from kernels.rosenbrock.tableau import MAX_STAGES


class StageWork(NamedTuple):
    """Matrices and stages of one Rosenbrock step."""

    M: Annotated[np.ndarray, Floats("n_v", "n_v")]  # mass matrix at the step's start
    tau_q: Annotated[np.ndarray, Floats("n_v", "n_v")]
    tau_v: Annotated[np.ndarray, Floats("n_v", "n_v")]
    S: Annotated[np.ndarray, Floats("n_v", "n_v")]  # LU factors
    pivot: Annotated[np.ndarray, Integers("n_v")]
    u: Annotated[np.ndarray, Floats(MAX_STAGES, "2 * n_v")]  # u_q, then u_v
    past: Annotated[np.ndarray, Floats("2 * n_v")]  # sum C u/h of the stages before
    row: Annotated[np.ndarray, Floats(3, "n_v")]


def new_stage_work(n_v: int) -> StageWork:
    """Allocate a StageWork: matrices and stages of one Rosenbrock step."""
    return allocate(StageWork, n_v=n_v)


@inlined
def factor(tree, v, shift, work, held):
    """Compute the LU factors of the matrix of all stages, M shift - tau_v - tau_q B (module docstring);
    return False if it is singular.

    tree : Tree - joint tree of the bodies
    v : (n_v,) - generalized speeds at the start of the step [rad/s, m/s]
    shift : float - 1/(h g), with the step h and the diagonal g of the method [1/s]
    work : StageWork - its M, tau_q and tau_v are read, its S and pivot are written
    held : HoldWork - rows of the constraints, which border the matrix; None = there are none
    """
    n = v.shape[0]
    S, M, column = work.S, work.M, work.row[0]
    for i in range(n):
        local_solve(tree, v, shift, -1.0, work.tau_q[i], column)
        for j in range(n):
            S[i, j] = shift * M[i, j] - work.tau_v[i, j] - column[j]
    return factor_bordered(tree, v, shift, work, held)


@inlined
def next_stage(tableau, i, inverse_h, start, work, state_out):
    """Compute the state at stage i, and what earlier stages add to the right-hand side of this stage.

    tableau : Tableau - coefficients of the Rosenbrock method
    i : int - index of the stage
    inverse_h : float - 1/h [1/s]
    start : (2 n_v,) - theta and v at the start of the step
    work : StageWork - past, the contribution of earlier stages, is written
    state_out : (2 n_v,) - theta and v at the stage
    """
    combine(tableau.a[i], tableau.C[i], i, inverse_h, start, work.u, work.past, state_out)


@inlined
def combine(a, C, i, inverse_h, start, u, past_out, state_out):
    """Compute, over the stages u before stage i, the state start + sum a u and the contribution sum C u/h.

    a, C : (MAX_STAGES,) - row i of the tableau
    i : int - index of the stage
    inverse_h : float - 1/h [1/s]
    start : (n,) - state at the start of the step
    u : (MAX_STAGES, n) - stages
    past_out : (n,) - sum C u/h
    state_out : (n,) - state at the stage, start + sum a u
    """
    for k in range(start.shape[0]):
        x, y = start[k], 0.0
        for j in range(i):
            x += a[j] * u[j, k]
            y += C[j] * u[j, k]
        state_out[k], past_out[k] = x, y * inverse_h


@inlined
def stage_solve(tree, i, shift, v, rate, push, work, held):
    """Solve the linear equations of stage i, with the rates at its state, and write the stage into work.u[i].

    tree : Tree - joint tree of the bodies
    i : int - index of the stage
    shift : float - 1/(h g), with the step h and the diagonal g of the method [1/s]
    v : (n_v,) - generalized speeds at the start of the step [rad/s, m/s]
    rate : (2 n_v,) - theta-dot and v-dot at the stage
    push : (n_v,) - generalized forces that inner states of muscles add (kernels/rosenbrock/inner); None =
        there are none
    work : StageWork - after factor and next_stage; its field u[i] is written
    held : HoldWork - rows of the constraints; None = there are none
    """
    n = v.shape[0]
    r_q, r_v, p = work.row[0], work.row[1], work.row[2]
    u_q, u_v = work.u[i, :n], work.u[i, n:]
    for d in range(n):
        r_q[d], r_v[d] = rate[d] + work.past[d], rate[n + d] + work.past[n + d]
    local_solve(tree, v, shift, 1.0, r_q, p)
    for d in range(n):
        x, M, K = 0.0, work.M[d], work.tau_q[d]
        for k in range(n):
            x += M[k] * r_v[k] + K[k] * p[k]
        u_v[d] = x
    add_push(push, u_v)
    solve_bordered(shift, work, held, u_v)
    local_solve(tree, v, shift, 1.0, u_v, u_q)
    for d in range(n):
        u_q[d] += p[d]


@inlined
def add_push(push, x):
    """Add push : (n_v,), generalized forces, to x : (n_v,); do nothing if push is None."""
    if push is not None:
        for d in range(x.shape[0]):
            x[d] += push[d]
