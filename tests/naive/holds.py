"""Motion under constraints that a simulation holds, in dense NumPy: accelerations, and the way back.

All is made of the bodies' poses by differences: E and c of tests/naive/reduction, G and its bias of
tests/naive/constrained. Dependent rows are no matter to a pseudo-inverse.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.constraints import Constraints
from kernels.dynamics.system import System
from kernels.joints.couplers import Couplers
from tests.naive import dynamics
from tests.naive.constrained import bias, rows, values
from tests.naive.reduction import placed, reduced
from tests.naive.tree import integrate

Array = NDArray[np.floating]

RANK = 1e-8
"""Part of the largest singular value below which a direction counts as held by nothing."""
N_ROUND = 20


class Held(NamedTuple):
    """A system with coordinates that others give, and constraints without couplers."""

    system: System
    couplers: Couplers
    constraints: Constraints


def accelerations(some: Held, q: Array, v: Array, tau: Array, time: float = 0.0) -> Array:
    """Return v_dot (n_v,): that without constraints, and its least change in the metric of the masses."""
    system, tree = some.system, some.system.tree
    none, q = np.zeros((len(tree.parent), 6)), placed(some.couplers, tree, q, time)
    E, v, c = reduced(some.couplers, tree, q, time, v)
    A = rows(tree, some.constraints, q)
    M = E.T @ dynamics.mass_matrix(system, q) @ E
    left = E.T @ (tau - dynamics.inverse_dynamics(system, q, v, c, none))
    free = np.linalg.solve(M, left)
    lacking = -bias(tree, some.constraints, q, v) - A @ c - A @ E @ free
    return E @ (free + way_of(M, A @ E) @ lacking) + c


def way_of(M: Array, A: Array) -> Array:
    """Return M^-1 A' (A M^-1 A')^+ : (n, n_row)."""
    root = np.linalg.cholesky(M)
    return np.linalg.solve(root.T, np.linalg.pinv(np.linalg.solve(root, A.T).T, rcond=RANK))


def put(some: Held, q: Array, v: Array, time: float = 0.0, most: float = 0.3) -> tuple[Array, Array]:
    """Return q and v on the constraints: Newton's steps, each the shortest in the metric of the masses where
    the way began and cut where a dof would move by more than `most`, then the speeds nearest in it."""
    tree = some.system.tree
    q = placed(some.couplers, tree, q, time)
    free = np.setdiff1d(np.arange(len(v)), some.couplers.dof)
    E = reduced(some.couplers, tree, q, time, v).E
    M = E.T @ dynamics.mass_matrix(some.system, q) @ E
    for _ in range(N_ROUND):
        E = reduced(some.couplers, tree, q, time, v).E
        A = rows(tree, some.constraints, q) @ E
        step = np.zeros(len(v))
        step[free] = -way_of(M, A) @ values(tree, some.constraints, q)
        step *= most / max(most, float(np.abs(step).max()))
        q = placed(some.couplers, tree, integrate(tree, q, step), time)
    E, v, _ = reduced(some.couplers, tree, q, time, v)
    G = rows(tree, some.constraints, q)
    return q, v - E @ way_of(M, G @ E) @ (G @ v)
