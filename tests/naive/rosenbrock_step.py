"""A Rosenbrock step of springs and bodies in all its unknowns: whole Jacobian by differences, dense solves.

The state is y = (theta, v): the tangent step theta from the step's start, and the speeds. Rotations are
R exp(theta~), so that w = J theta-dot with J the integral of exp(-s theta~) over s from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from kernels.dynamics.system import System
from kernels.forces.assembly import ForceElements
from kernels.joints.tree import Tree
from kernels.rosenbrock.tableau import RosenbrockMethod, lower
from tests.naive import rosenbrock
from tests.naive.dynamics import inverse_dynamics, mass_matrix
from tests.naive.ligament import line_force
from tests.naive.tree import TURNING, State, integrate, state

Array = NDArray[np.floating]


def skew(x: Array) -> Array:
    """Return the matrix (3, 3) of x cross."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def right_jacobian(theta: Array) -> Array:
    """Return J (3, 3), w = J theta-dot, as a block of a matrix exponential."""
    both = np.zeros((6, 6))
    both[:3, :3], both[:3, 3:] = -skew(theta), np.eye(3)
    return expm(both)[:3, 3:]


def rotations(tree: Tree) -> list[slice]:
    """Return where the angular velocities of balls and free joints are in v."""
    stops = [int(tree.v_start[b + 1]) for b, kind in enumerate(tree.kind) if kind in TURNING]
    return [slice(stop - 3, stop) for stop in stops]


def local_rate(tree: Tree, theta: Array, v: Array) -> Array:
    """Return theta-dot (n_v,)."""
    rate = v.copy()
    for own in rotations(tree):
        rate[own] = np.linalg.solve(right_jacobian(theta[own]), v[own])
    return rate


def spring_forces(system: System, forces: ForceElements, q: Array, v: Array) -> Array:
    """Return tau (n_v,) of springs and lines by virtual work; nothing else may act."""
    assert len(forces.contacts.pair) == len(forces.frictions.pair) == 0
    at, tau, lines, springs = state(system.tree, q), np.zeros(len(v)), forces.lines, forces.springs
    for law, pair, point_a, point_b, parameter in zip(
        lines.law, lines.pair, lines.point_a, lines.point_b, lines.parameter, strict=True
    ):
        ends = (int(forces.pairs.body_a[pair]), point_a), (int(forces.pairs.body_b[pair]), point_b)
        (a, Ja), (b, Jb) = ((at.point(body, x), end_derivative(at, body, x)) for body, x in ends)
        length = float(np.linalg.norm(a - b))
        by_q = (a - b) @ (Ja - Jb) / length
        tau -= line_force(int(law), parameter, length, float(by_q @ v)) * by_q
    stretch = q[springs.coordinate] - springs.rest
    np.subtract.at(tau, springs.dof, springs.stiffness * stretch + springs.damping * v[springs.dof])
    np.add.at(tau, springs.dof, springs.moment)
    return tau


def end_derivative(at: State, body: int, x: Array) -> Array:
    """Return dx (3, n_v) of a point of a body, zero for ground."""
    return np.zeros((3, len(at.tree.dof_body))) if body < 0 else at.point_derivatives(body, x)[0]


def motion(system: System, forces: ForceElements, start: Array) -> Callable[[Array], Array]:
    """Return f, the rate of y = (theta, v), theta from the coordinates `start` (n_q,)."""
    n_v = len(system.tree.dof_body)
    none = np.zeros((len(system.tree.parent), 6))

    def f(y: Array) -> Array:
        theta, v = y[:n_v], y[n_v:]
        q = integrate(system.tree, start, theta)
        bias = inverse_dynamics(system, q, v, np.zeros(n_v), none)
        v_dot = np.linalg.solve(mass_matrix(system, q), spring_forces(system, forces, q, v) - bias)
        return np.concatenate([local_rate(system.tree, theta, v), v_dot])

    return f


def jacobian(f: Callable[[Array], Array], y: Array, step: float = 2e-4) -> Array:
    """Return f'(y) by central differences of order four."""
    weights = {1: 8.0 / 12.0, 2: -1.0 / 12.0}
    columns = [
        sum(w * (f(y + k * step * e) - f(y - k * step * e)) for k, w in weights.items()) / step
        for e in np.eye(len(y))
    ]
    return np.stack(columns, axis=-1)


def step(
    f: Callable[[Array], Array], J: Array, tree: Tree, method: RosenbrockMethod, q: Array, v: Array, h: float
) -> tuple[Array, Array]:
    """Return q and v after one step of h [s] of a motion f with the Jacobian J."""
    alpha, gamma, b, b_hat = method.published
    y = np.concatenate([np.zeros_like(v), v])
    weights = None if b_hat is None else np.array(b_hat)
    y, _ = rosenbrock.step(f, J, y, h, lower(alpha), lower(gamma), np.array(b), weights)
    return integrate(tree, q, y[: len(v)]), y[len(v) :]
