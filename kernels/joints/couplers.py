"""Coordinates (followers) that are functions of other coordinates (drivers), q_f = f(q_d): followers are
eliminated from the unknowns.

With E = dq/dq_d (ones, and the slope f' in the row of a follower) a gradient or a row g becomes E'g. The
Hessian of a Lagrangian becomes E'HE, and f'' l_f is added on the driver's diagonal, where l_f is the
derivative of the Lagrangian along the follower. A coupler comes after the one that gives its driver; as
couplers are eliminated from the last to the first, a follower may drive another one. In place of a
follower there remains an unknown with unit curvature and zero slope, so that its step is zero.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.functions import evaluate
from kernels.compiler.jit import njit


class Couplers(NamedTuple):
    """Coordinates that are functions of others: each coupler states q[coordinate] = f(q[driver]).

    A coordinate whose value is prescribed is stored as a coupler, too, with itself as driver. Its f is then a
    constant (CONSTANT of kernels/algebra/functions) or, in simulations (kernels/dynamics/reduction), a
    function of time.
    """

    coordinate: np.ndarray  # (n_coupler,) int64 - index in q
    dof: np.ndarray  # (n_coupler,) int64 - index in v
    driver: np.ndarray  # (n_coupler,) int64 - index in q
    driver_dof: np.ndarray  # (n_coupler,) int64 - index in v
    function: np.ndarray  # (n_coupler,) int64 - f, by its index in Functions


class CouplerWork(NamedTuple):
    """First and second derivatives of the couplers' functions at the present coordinates; the first n_coupler
    entries are used.
    """

    slope: Annotated[np.ndarray, Floats("n_v")]  # f'
    curvature: Annotated[np.ndarray, Floats("n_v")]  # f''
    pull: Annotated[np.ndarray, Floats("n_v")]  # slope of the Lagrangian along the follower


def new_coupler_work(n_v: int) -> CouplerWork:
    """Allocate a CouplerWork: derivatives of the couplers' functions at the present coordinates."""
    return allocate(CouplerWork, n_v=n_v)


@njit
def place_followers(couplers, functions, q):
    """Set every follower in q : (n_q,) to the value that its driver gives; do nothing if couplers is None."""
    if couplers is None:
        return
    for k in range(couplers.dof.shape[0]):
        q[couplers.coordinate[k]], _, _ = evaluate(functions, couplers.function[k], q[couplers.driver[k]])


@njit
def coupler_slopes(couplers, functions, q, work):
    """Write the first and second derivatives of all coupler functions at q : (n_q,) into work.slope and
    work.curvature.
    """
    if couplers is None:
        return
    for k in range(couplers.dof.shape[0]):
        _, work.slope[k], work.curvature[k] = evaluate(functions, couplers.function[k], q[couplers.driver[k]])


@njit
def fold_vector(couplers, work, x):
    """Replace a gradient or a row of a Jacobian x : (n_v,) by E'x, where E = dq/dq_d contains the slopes of
    the couplers; called after coupler_slopes. Entries of followers become zero.
    """
    if couplers is None:
        return
    for k in range(couplers.dof.shape[0] - 1, -1, -1):
        f, d = couplers.dof[k], couplers.driver_dof[k]
        pulled = x[f]
        x[f] = 0.0
        if d != f:
            x[d] += work.slope[k] * pulled


@njit
def fold_columns(couplers, work, X):
    """Replace each column of X : (n_v, K), a gradient, by E' times it, where E = dq/dq_d contains the slopes
    of the couplers; called after coupler_slopes.
    """
    if couplers is None:
        return
    for k in range(couplers.dof.shape[0] - 1, -1, -1):
        f, d = couplers.dof[k], couplers.driver_dof[k]
        for i in range(X.shape[1]):
            if d != f:
                X[d, i] += work.slope[k] * X[f, i]
            X[f, i] = 0.0


@njit
def unfold_columns(couplers, work, X):
    """Compute the rates of all followers from those of their drivers in X : (n_v, K), each column of which
    holds rates of all coordinates; called after coupler_slopes.
    """
    if couplers is None:
        return
    for k in range(couplers.dof.shape[0]):
        f, d = couplers.dof[k], couplers.driver_dof[k]
        for i in range(X.shape[1]):
            X[f, i] = work.slope[k] * X[d, i] if d != f else 0.0


@njit
def fold_lagrangian(couplers, work, x):
    """Replace the gradient x : (n_v,) of the Lagrangian by E'x, where E = dq/dq_d contains the slopes of the
    couplers.

    Its derivative along each follower is kept in work.pull, for fold_matrix.
    """
    if couplers is None:
        return
    for k in range(couplers.dof.shape[0] - 1, -1, -1):
        f, d = couplers.dof[k], couplers.driver_dof[k]
        work.pull[k] = x[f]
        x[f] = 0.0
        if d != f:
            x[d] += work.slope[k] * work.pull[k]


@njit
def fold_matrix(couplers, work, second_order, H):
    """Replace the Hessian H : (n_v, n_v), lower triangle, by E'HE, called after fold_lagrangian.

    E = dq/dq_d contains the slopes of the couplers. To the diagonal entry of each driver, second_order times
    f'' times the derivative of the Lagrangian along the follower is added.
    """
    if couplers is None:
        return
    n = H.shape[0]
    for k in range(couplers.dof.shape[0] - 1, -1, -1):
        f, d, s = couplers.dof[k], couplers.driver_dof[k], work.slope[k]
        if d != f:
            H[d, d] += s * (2.0 * H[max(d, f), min(d, f)] + s * H[f, f])
            H[d, d] += second_order * work.curvature[k] * work.pull[k]
            for i in range(n):
                if i != d and i != f:
                    H[max(i, d), min(i, d)] += s * H[max(i, f), min(i, f)]
        isolate(f, H)


@njit
def isolate(d, H):
    """Replace row and column d of H : (n_v, n_v), lower triangle, by those of the unit matrix, so that the
    unknown d no longer affects the others.
    """
    for i in range(d):
        H[d, i] = 0.0
    for i in range(d + 1, H.shape[0]):
        H[i, d] = 0.0
    H[d, d] = 1.0
