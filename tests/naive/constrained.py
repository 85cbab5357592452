"""Constraints, constrained dynamics and couplings in dense NumPy, from poses of the bodies alone.

Constraint values follow their definitions point by point; every derivative is a difference along the
coordinates' manifold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.constraints import Constraints
from kernels.dynamics.inverse import inverse_dynamics
from kernels.dynamics.mass import mass_matrix
from kernels.dynamics.system import System, new_dynamics_work
from kernels.joints.tree import Pose, Tree
from kernels.solver.constraints import HARD, SPHERE_ON_PLANE, Elements
from tests.naive.functions import evaluated
from tests.naive.mechanisms import moved, point, posed

Array = NDArray[np.floating]


def first_along(f: Callable[[Array], Array], tree: Tree, q: Array, u: Array, step: float = 1e-3) -> Array:
    """Return df along u (n_v,), error O(step^4)."""
    a, b, c, d = (f(moved(tree, q, u, s * step)) for s in (-2.0, -1.0, 1.0, 2.0))
    return (a - 8.0 * b + 8.0 * c - d) / (12.0 * step)


def gradient(f: Callable[[Array], Array], tree: Tree, q: Array, step: float = 1e-3) -> Array:
    """Return df (..., n_v) dof by dof, error O(step^4)."""
    return np.stack([first_along(f, tree, q, u, step) for u in np.eye(len(tree.dof_body))], axis=-1)


def rates_along(
    f: Callable[[Array], Array], tree: Tree, q: Array, v: Array, v_dot: Array, step: float = 1e-3
) -> tuple[Array, Array]:
    """Return df/dt and d2f/dt2 at t = 0 of a motion with these speeds and accelerations, error O(step^4)."""
    a, b, o, c, d = (f(moved(tree, q, s * v + 0.5 * s * s * v_dot)) for s in step * np.arange(-2.0, 3.0))
    return (a - 8.0 * b + 8.0 * c - d) / (12.0 * step), (
        -a + 16.0 * b - 30.0 * o + 16.0 * c - d
    ) / (12.0 * step**2)  # fmt: skip


def element_ends(at: Pose, elements: Elements, e: int) -> tuple[Array, Array, Array]:
    """Return both end points (3,) m and the normal (3,) of element e, in ground."""
    b = elements.body_b[e]
    normal = elements.normal_b[e] if b < 0 else at.rotation[b] @ elements.normal_b[e]
    return (
        point(at, elements.body_a[e], elements.point_a[e]),
        point(at, b, elements.point_b[e]),
        normal,
    )


def values(tree: Tree, constraints: Constraints, q: Array) -> Array:
    """Return Phi of the hard elements, then of the couplers."""
    at, elements, tied = posed(tree, q), constraints.elements, constraints.couplers
    phi = []
    for e in np.flatnonzero(constraints.roles.mode == HARD):
        a, b, n = element_ends(at, elements, e)
        target = constraints.roles.target[e]
        plane = elements.kind[e] == SPHERE_ON_PLANE
        phi.append((a - b) @ n - target if plane else (a - b) @ (a - b) - target**2)
    for k in range(len(tied.dof)):
        driven = evaluated(tree.functions, tied.function[k], q[tied.driver[k]])[0]
        phi.append(q[tied.coordinate[k]] - driven)
    return np.array(phi)


def rows(tree: Tree, constraints: Constraints, q: Array) -> Array:
    """Return G (n_row, n_v) by differences."""
    return gradient(lambda there: values(tree, constraints, there), tree, q)


def bias(tree: Tree, constraints: Constraints, q: Array, v: Array) -> Array:
    """Return Phi-double-dot (n_row,) at constant speeds."""
    return rates_along(lambda there: values(tree, constraints, there), tree, q, v, np.zeros(len(v)))[1]


def mass(system: System, q: Array) -> Array:
    """Return the whole mass matrix (n_v, n_v)."""
    n_v = len(system.tree.dof_body)
    M = np.zeros((n_v, n_v))
    mass_matrix(system, q, new_dynamics_work(system.tree), M)
    return np.tril(M) + np.tril(M, -1).T


def inverse(system: System, q: Array, v: Array, v_dot: Array, wrench: Array) -> Array:
    """Return tau (n_v,) of a motion without constraints."""
    tau = np.zeros(len(v))
    inverse_dynamics(system, q, v, v_dot, wrench, new_dynamics_work(system.tree), tau)
    return tau


class Motion(NamedTuple):
    """What constrained dynamics gives."""

    v_dot: Array
    multiplier: Array


def dynamics(
    system: System, constraints: Constraints, q: Array, v: Array, tau: Array, wrench: Array
) -> Motion:
    """Return the solution of [M G'; G 0] [v_dot; -lambda] = [tau - h; -bias]."""
    tree, n_v = system.tree, len(v)
    G = rows(tree, constraints, q)
    K = np.block([[mass(system, q), G.T], [G, np.zeros((len(G), len(G)))]])
    applied = tau - inverse(system, q, v, np.zeros(n_v), wrench)
    x = np.linalg.solve(K, np.concatenate([applied, -bias(tree, constraints, q, v)]))
    return Motion(x[:n_v], -x[n_v:])


def coupling_of_paper(G: Array, g: Array, u0: Array) -> Array:
    """Return C (n_v,): u0 projected onto G u = 0 by least squares, then scaled to g . C = 1."""
    u1 = u0 - np.linalg.lstsq(G, G @ u0, rcond=1e-10)[0] if len(G) else u0
    return u1 / (g @ u1)


def soft_coupling(hard: Array, soft: Array, compliance: Array, g: Array, u0: Array) -> Array:
    """Return the minimiser of |u - u0|^2 / 2 + sum (soft u)^2 / (2 c), hard u = 0, g . u = 1, by its KKT."""
    n_v, held = len(g), np.vstack([hard, g])
    H = np.eye(n_v) + soft.T @ (soft / compliance[:, np.newaxis])
    K = np.block([[H, held.T], [held, np.zeros((len(held), len(held)))]])
    return np.linalg.solve(K, np.concatenate([u0, np.zeros(len(hard)), [1.0]]))[:n_v]


def within_constraints(tree: Tree, constraints: Constraints, q: Array, v: Array) -> Array:
    """Return the speeds nearest to v (n_v,) that the constraints allow."""
    G = rows(tree, constraints, q)
    return v - np.linalg.pinv(G, rcond=1e-9) @ (G @ v)
