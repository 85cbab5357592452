"""Joint angles theta(q), and the motion of the whole system when one of them changes.

The coupling vector C of an angle contains the speeds of all dofs for theta-dot = 1 that satisfy the velocity
constraints: v = C theta-dot (Sherman, Seth, Delp 2010, eq. 13). Dofs that no constraint couples to the angle
stay at rest. The paper starts from the motion u0 with theta-dot = 1 in which only the angle changes, and
projects it onto the constraints by least squares. With the constraint rows G, the compliances c and the
gradient g of the angle this is

    minimise 1/2 |u - u0|^2 + 1/2 sum (G_i u)^2 / c_i  subject to  G u = 0 (c = 0),  g . u = 1,

so that u = P (u0 + mu g) with the projector P x = x - G' (G G' + diag c)^-1 G x and a number mu. Rows with a
compliance c > 0 are soft constraints, such as a ligament that should keep its length.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.algebra.copying import copy
from kernels.algebra.functions import evaluate
from kernels.algebra.linear import inner_product
from kernels.compiler.jit import njit
from kernels.dynamics.constraints import add_transposed

OK, UNDETERMINED, LOCKED = 0, 1, 2
STATUS_NAMES = ("ok", "no coordinate determines the angle here", "the constraints hold the angle fixed")
STUCK = 1e-12
"""Square of the part of the gradient that must remain after the projection for the angle to move [1]."""


class Angles(NamedTuple):
    """Definitions of all angles: each angle is theta = sum of weight * f(q) over its terms, and each term has
    one coordinate q and one function f.
    """

    start: np.ndarray  # (n_angle + 1,) int64 - first term of each angle
    coordinate: np.ndarray  # (n_term,) int64 - index in q
    dof: np.ndarray  # (n_term,) int64 - index in v
    function: np.ndarray  # (n_term,) int64 - index of f; -1 = the coordinate itself
    weight: np.ndarray  # (n_term,)


class AngleWork(NamedTuple):
    """Values, gradients, coupling vectors and statuses of all angles, and working space."""

    value: Annotated[np.ndarray, Floats("n_angle")]  # theta
    gradient: Annotated[np.ndarray, Floats("n_angle", "n_v")]  # derivative of theta along each dof
    alone: Annotated[np.ndarray, Floats("n_angle", "n_v")]  # u0: motion that changes this angle alone
    coupling: Annotated[np.ndarray, Floats("n_angle", "n_v")]  # C: dof speeds at theta-dot = 1
    status: Annotated[np.ndarray, Integers("n_angle")]  # OK, UNDETERMINED or LOCKED
    projected: Annotated[np.ndarray, Floats("n_v")]
    multiplier: Annotated[np.ndarray, Floats("n_row_max")]


def new_angle_work(n_angle: int, n_v: int, n_row: int) -> AngleWork:
    """Allocate an AngleWork for up to n_row constraint rows."""
    return allocate(AngleWork, n_angle=n_angle, n_v=n_v, n_row_max=n_row)


@njit
def angle_value(tree, angles, a, q, gradient_out):
    """Return the value theta of angle a, and write its gradient.

    tree : Tree - the joint tree
    angles : Angles - terms of all angles
    a : int - index of the angle
    q : (n_q,) - generalized coordinates [rad, m]
    gradient_out : (n_v,) - derivative of theta along each dof, written
    """
    for d in range(gradient_out.shape[0]):
        gradient_out[d] = 0.0
    theta = 0.0
    for k in range(angles.start[a], angles.start[a + 1]):
        value, slope, _ = evaluate(tree.functions, angles.function[k], q[angles.coordinate[k]])
        theta += angles.weight[k] * value
        gradient_out[angles.dof[k]] += angles.weight[k] * slope
    return theta


@njit
def place_angles(tree, angles, q, work):
    """Write theta, its gradient and the motion u0 of all angles into work (value, gradient, alone).

    u0 is the smallest motion that changes the angle at unit rate, g / |g|^2 with the gradient g.

    tree : Tree - the joint tree; angles : Angles; q : (n_q,) - generalized coordinates [rad, m]; work :
        AngleWork.
    """
    for a in range(angles.start.shape[0] - 1):
        g = work.gradient[a]
        work.value[a] = angle_value(tree, angles, a, q, g)
        square = 0.0
        for d in range(g.shape[0]):
            square += g[d] * g[d]
        for d in range(g.shape[0]):
            work.alone[a, d] = g[d] / square if square > 0.0 else 0.0


@njit
def couplings(n, row, factor, work):
    """Compute, for every joint angle, how the whole system moves when the angle changes at unit rate and the
    constraints hold.

    The speeds of all dofs in this motion, the coupling vector of the angle, are written into work.coupling.
    The status in work.status is OK, UNDETERMINED (no dof changes the angle) or LOCKED (the constraints hold
    the angle fixed).

    n : int - number of constraint rows
    row : (n, n_v) - the constraint rows G
    factor : (n, n) - Cholesky factor of G G' + diag c with the compliances c of the rows, from factor_rows
    work : AngleWork - value, gradient and alone as written by place_angles; the results are written
    """
    for a in range(work.value.shape[0]):
        work.status[a] = coupling(n, row, factor, work.gradient[a], work.alone[a], work, work.coupling[a])


@njit
def coupling(n, row, factor, g, alone, work, C_out):
    """Write the coupling vector of one angle, the speeds of all dofs at unit rate of the angle; return a
    status.

    The status is OK, UNDETERMINED (no dof changes the angle) or LOCKED (the constraints hold it fixed).

    n : int - number of constraint rows
    row : (n, n_v) - constraint rows
    factor : (n, n) - factor of G G' + diag c, from factor_rows
    g : (n_v,) - gradient of the angle
    alone : (n_v,) - motion u0 of the angle alone
    work : AngleWork - results of all angles, and working space, written
    C_out : (n_v,) - coupling vector, written; zeros for an angle that the constraints keep fixed (LOCKED)
    """
    square = inner_product(g, g)
    copy(alone, C_out)
    if not square > 0.0:
        return UNDETERMINED
    copy(g, work.projected)
    held = project(n, row, factor, work.multiplier, work.projected)
    if project(n, row, factor, work.multiplier, C_out) or held:
        left = inner_product(g, work.projected)
        if left > STUCK * square:
            combine((1.0 - inner_product(g, C_out)) / left, work.projected, 1.0, C_out)
            return OK
    else:  # nothing else moves with the angle
        left = inner_product(g, C_out)
        if left * left > STUCK * square * inner_product(C_out, C_out):
            combine(0.0, g, 1.0 / left, C_out)
            return OK
    combine(0.0, g, 0.0, C_out)
    return LOCKED


@njit
def combine(a, x, b, y):
    """Replace the vector y : (n_v,) by a x + b y."""
    for d in range(y.shape[0]):
        y[d] = a * x[d] + b * y[d]


@njit
def project(n, row, factor, x, u):
    """Replace u by its projection P u onto the constraints; return whether any row of G u was not 0, so that
    u changed.

    n : int - number of constraint rows
    row : (n, n_v) - constraint rows G
    factor : (n, n) - factor of G G' + diag c, from factor_rows
    x : (n_row,) - working space
    u : (n_v,) - motion, changed
    """
    noticed = False
    for k in range(n):
        x[k] = inner_product(row[k], u)
        noticed = noticed or x[k] != 0.0
    if noticed:
        add_transposed(n, row, factor, x, -1.0, u)
    return noticed
