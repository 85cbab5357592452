"""Constrained least squares of markers and elements: the full KKT system, dense, from the slow twins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from kernels.solver.constraints import HARD, SOFT
from kernels.solver.optimality import FrameProblem
from tests.naive import constraints, markers
from tests.naive.tree import difference, integrate, state

Array = NDArray[np.floating]


class Terms(NamedTuple):
    """Objective, hard constraints and their derivatives by tangent steps."""

    cost: float
    gradient: Array  # (n_v,)
    gauss_newton: Array  # (n_v, n_v)
    curvature: Array  # (n_v, n_v), of the objective
    phi: Array  # (n_hard,)
    rows: Array  # (n_hard, n_v)
    row_curvature: Array  # (n_hard, n_v, n_v)


def cost(problem: FrameProblem, q: Array) -> float:
    """Return the objective at q."""
    at, roles = state(problem.tree, q), problem.roles
    total = markers.cost(problem.tree, problem.markers, q, problem.measured, problem.weight)
    for e in map(int, np.flatnonzero(roles.mode == SOFT)):
        total += 0.5 * roles.weight[e] * constraints.value(at, problem.elements, e, roles.target[e]) ** 2
    gap = difference(problem.tree, problem.q_hold, q)
    return total + 0.5 * float(problem.hold @ gap**2)


def hard_values(problem: FrameProblem, q: Array) -> Array:
    """Return Phi (n_hard,) at q."""
    at, roles = state(problem.tree, q), problem.roles
    hard = map(int, np.flatnonzero(roles.mode == HARD))
    return np.array([constraints.value(at, problem.elements, e, roles.target[e]) for e in hard])


def terms(problem: FrameProblem, q: Array) -> Terms:
    """Return everything at q; the hold counts as if its gap grew by the step itself, as in the kernel."""
    at, roles, n_v = state(problem.tree, q), problem.roles, len(problem.tree.dof_body)
    gradient, gauss_newton, rest = markers.derivatives(
        problem.tree, problem.markers, q, problem.measured, problem.weight
    )
    gradient = gradient + problem.hold * difference(problem.tree, problem.q_hold, q)
    gauss_newton = gauss_newton + np.diag(problem.hold)
    rows, row_curvature = np.zeros((0, n_v)), np.zeros((0, n_v, n_v))
    for e, mode in enumerate(roles.mode):
        row, second = constraints.derivatives(at, problem.elements, e)
        if mode == HARD:
            rows = np.vstack([rows, row])
            row_curvature = np.concatenate([row_curvature, second[np.newaxis]])
        elif mode == SOFT:
            value = constraints.value(at, problem.elements, e, roles.target[e])
            gradient = gradient + roles.weight[e] * value * row
            gauss_newton = gauss_newton + roles.weight[e] * np.outer(row, row)
            rest = rest + roles.weight[e] * value * second
    return Terms(
        cost(problem, q),
        gradient,
        gauss_newton,
        gauss_newton + rest,
        hard_values(problem, q),
        rows,
        row_curvature,
    )


def newton_step(at: Terms, multiplier: Array, second_order: bool) -> tuple[Array, Array]:
    """Return the step (n_v,) and the new multipliers (n_hard,) of the full KKT system."""
    H = at.gauss_newton
    if second_order:
        H = at.curvature + np.tensordot(multiplier, at.row_curvature, axes=1)
    n = len(at.phi)
    matrix = np.block([[H, at.rows.T], [at.rows, np.zeros((n, n))]])
    solution = np.linalg.solve(matrix, -np.concatenate([at.gradient, at.phi]))
    return solution[: len(H)], solution[len(H) :]


def optimality(at: Terms, multiplier: Array) -> float:
    """Return |(g + A' multiplier, Phi)|."""
    return float(np.linalg.norm(np.concatenate([at.gradient + at.rows.T @ multiplier, at.phi])))


def reduced_curvature(at: Terms, multiplier: Array) -> Array:
    """Return the eigenvalues of the Lagrangian's Hessian along the constraints: all positive at a minimum."""
    H = at.curvature + np.tensordot(multiplier, at.row_curvature, axes=1)
    _, sizes, directions = np.linalg.svd(at.rows)
    free = directions[int(np.sum(sizes > 1e-9)) :]
    return np.linalg.eigvalsh(free @ H @ free.T)


def slow_optimum(problem: FrameProblem, q: Array) -> Array:
    """Return the coordinates of the optimum by SciPy's SLSQP, in tangent steps from q."""
    tree, n_v = problem.tree, len(problem.tree.dof_body)

    def objective(delta: Array) -> tuple[float, Array]:
        moved = integrate(tree, q, delta)
        step = 1e-6 * np.eye(n_v)
        slope = [
            (cost(problem, integrate(tree, q, delta + e)) - cost(problem, integrate(tree, q, delta - e)))
            / 2e-6
            for e in step
        ]
        return cost(problem, moved), np.array(slope)

    found = minimize(
        objective,
        np.zeros(n_v),
        jac=True,
        method="SLSQP",
        constraints={"type": "eq", "fun": lambda delta: hard_values(problem, integrate(tree, q, delta))},
        options={"maxiter": 200, "ftol": 1e-14},
    )
    return integrate(tree, q, found.x)
