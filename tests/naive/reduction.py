"""Equations of motion in the coordinates that couplers leave, in dense NumPy from those of all coordinates.

All coordinates are a function q(q_i, t) of the independent ones and of time; its derivatives along a motion
are differences, so that no chain rule of ours stands in them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.system import System
from kernels.joints.couplers import Couplers
from kernels.joints.tree import Tree
from tests.naive import dynamics
from tests.naive.functions import evaluated
from tests.naive.tree import difference, integrate

Array = NDArray[np.floating]


def placed(couplers: Couplers, tree: Tree, q: Array, time: float) -> Array:
    """Return q (n_q,) with every follower at f of its driver, prescribed coordinates at f of time."""
    q = q.copy()
    for own, driver, f in zip(couplers.coordinate, couplers.driver, couplers.function, strict=True):
        q[own] = evaluated(tree.functions, f, time if own == driver else q[driver])[0]
    return q


def independent(couplers: Couplers, n_v: int) -> Array:
    """Return the dofs (n_i,) that nothing gives."""
    return np.setdiff1d(np.arange(n_v), couplers.dof)


def along(
    couplers: Couplers, tree: Tree, q: Array, time: float, v: Array, v_dot: Array, step: float = 1e-3
) -> tuple[Array, Array]:
    """Return v and v_dot (n_v,) of all coordinates, from those of the independent ones in v and v_dot.

    Differences of order four over time of the tangent from where the motion is now.
    """
    free = independent(couplers, len(v))
    here = placed(couplers, tree, q, time)

    def tangent(s: float) -> Array:
        delta = np.zeros(len(v))
        delta[free] = s * v[free] + 0.5 * s * s * v_dot[free]
        return difference(tree, here, placed(couplers, tree, integrate(tree, here, delta), time + s))

    a, b, c, d = (tangent(s * step) for s in (-2.0, -1.0, 1.0, 2.0))
    return (a - 8.0 * b + 8.0 * c - d) / (12.0 * step), (-a + 16.0 * b + 16.0 * c - d) / (12.0 * step**2)


class Reduced(NamedTuple):
    """E (n_v, n_i) = dq/dq_i, the speeds of all, c (n_v,) their acceleration at zero v_i_dot."""

    E: Array
    v: Array
    c: Array


def reduced(couplers: Couplers, tree: Tree, q: Array, time: float, v: Array) -> Reduced:
    """Return how all coordinates follow the independent ones; E by columns: speeds are linear in v_i."""
    n_v = len(v)
    free, still = independent(couplers, n_v), np.zeros(n_v)
    rest = along(couplers, tree, q, time, still, still)[0]
    E = np.stack([along(couplers, tree, q, time, np.eye(n_v)[d], still)[0] - rest for d in free], axis=-1)
    return Reduced(E, *along(couplers, tree, q, time, v, still))


def accelerations(
    system: System, couplers: Couplers, q: Array, v: Array, tau: Array, wrench: Array, time: float
) -> Array:
    """Return v_dot (n_v,) of E'ME v_i_dot = E'(tau - h - M c)."""
    q = placed(couplers, system.tree, q, time)
    E, v, c = reduced(couplers, system.tree, q, time, v)
    M = dynamics.mass_matrix(system, q)
    left = tau - dynamics.inverse_dynamics(system, q, v, c, wrench)
    return E @ np.linalg.solve(E.T @ M @ E, E.T @ left) + c


def left_over(
    system: System, couplers: Couplers, q: Array, v: Array, v_dot: Array, tau: Array, time: float
) -> Array:
    """Return E'(tau - h - M v_dot) (n_i,) of independent speeds and accelerations; zero along a motion."""
    tree, none = system.tree, np.zeros((len(system.tree.parent), 6))
    q = placed(couplers, tree, q, time)
    E, _, _ = reduced(couplers, tree, q, time, v)
    v, v_dot = along(couplers, tree, q, time, v, v_dot)
    return E.T @ (tau - dynamics.inverse_dynamics(system, q, v, v_dot, none))
