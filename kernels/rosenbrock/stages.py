"""The linear algebra of a step of a second-order system: one factorisation, one solve per stage.

With y = (theta, v), theta-dot = f(theta, v) and M v-dot = tau, a Rosenbrock stage
(I/(h g) - J) u = (theta-dot, v-dot) + sum C u/h (Hairer, Wanner 1996, IV.7) is solved for its velocity part
alone: with B = (I/(h g) - df/dtheta)^-1,
(M/(h g) - tau_v - tau_q B) u_v = M r_v + tau_q B r_q,  u_q = B (r_q + u_v),
half the unknowns of the whole system. tau_q, tau_v are the derivatives of tau - (M v-dot + bias) at fixed v-dot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels._jit import inlined
from kernels.linear import lu, lu_solve
from kernels.rosenbrock.local import local_solve
from kernels.rosenbrock.tableau import MAX_STAGES


class StageWork(NamedTuple):
    """Matrices and stages of one step."""

    M: np.ndarray  # (n_v, n_v) - mass matrix at the step's start, lower triangle
    tau_q: np.ndarray  # (n_v, n_v)
    tau_v: np.ndarray  # (n_v, n_v)
    S: np.ndarray  # (n_v, n_v) - LU factors
    pivot: np.ndarray  # (n_v,) int64
    u_q: np.ndarray  # (MAX_STAGES, n_v)
    u_v: np.ndarray  # (MAX_STAGES, n_v)
    row: np.ndarray  # (3, n_v)


def new_stage_work(n_v: int) -> StageWork:
    """Allocate a StageWork."""
    square = (n_v, n_v)
    return StageWork(
        np.zeros(square),
        np.zeros(square),
        np.zeros(square),
        np.zeros(square),
        np.zeros(n_v, np.int64),
        np.zeros((MAX_STAGES, n_v)),
        np.zeros((MAX_STAGES, n_v)),
        np.zeros((3, n_v)),
    )


@inlined
def factor(tree, v, shift, work):
    """work.S = LU of M shift - tau_v - tau_q B, shift = 1/(h g); False where it is singular."""
    n = v.shape[0]
    S, M, column = work.S, work.M, work.row[0]
    for i in range(n):
        local_solve(tree, v, shift, -1.0, work.tau_q[i], column)
        for j in range(n):
            m = M[i, j] if i >= j else M[j, i]
            S[i, j] = shift * m - work.tau_v[i, j] - column[j]
    return lu(S, n, work.pivot)


@inlined
def stage_state(tableau, i, v, work, theta_out, v_out):
    """theta_out, v_out : (n_v,) - where stage i > 0 evaluates the motion."""
    for d in range(v.shape[0]):
        x, y = 0.0, v[d]
        for j in range(i):
            x += tableau.a[i, j] * work.u_q[j, d]
            y += tableau.a[i, j] * work.u_v[j, d]
        theta_out[d], v_out[d] = x, y


@inlined
def stage_solve(tree, tableau, i, h, v, rate, v_dot, work):
    """work.u_q[i], work.u_v[i] : (n_v,) from theta-dot and v-dot at the stage's state; v at the step's start."""
    n = v.shape[0]
    shift = 1.0 / (h * tableau.g)
    r_q, r_v, p, u = work.row[0], work.row[1], work.row[2], work.u_v[i]
    for d in range(n):
        x, y = 0.0, 0.0
        for j in range(i):
            x += tableau.C[i, j] * work.u_q[j, d]
            y += tableau.C[i, j] * work.u_v[j, d]
        r_q[d], r_v[d] = rate[d] + x / h, v_dot[d] + y / h
    local_solve(tree, v, shift, 1.0, r_q, p)
    for d in range(n):
        x = 0.0
        for k in range(n):
            m = work.M[d, k] if d >= k else work.M[k, d]
            x += m * r_v[k] + work.tau_q[d, k] * p[k]
        u[d] = x
    lu_solve(work.S, n, work.pivot, u)
    local_solve(tree, v, shift, 1.0, u, work.u_q[i])
    for d in range(n):
        work.u_q[i, d] += p[d]
