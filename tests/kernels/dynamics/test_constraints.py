"""Hard constraints as rows: values, Jacobian and bias against differences of the values along motions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.dynamics.constrained import drift
from kernels.dynamics.constraints import (
    Constraints,
    ConstraintWork,
    add_transposed,
    constraint_bias,
    constraint_rows,
    factor_rows,
    new_constraint_work,
    point_motion,
)
from kernels.dynamics.motion import new_velocities, velocities
from kernels.joints.tree import Tree
from kernels.solver.constraints import AZIMUTH, ELEVATION, HARD, Roles
from tests.naive.constrained import bias, first_along, rates_along, rows, values
from tests.naive.constraints import value
from tests.naive.differences import second_along_finer
from tests.naive.mechanisms import (
    Mechanism,
    couplers,
    dirty,
    moved,
    not_rolling,
    point,
    posed,
    random_mechanism,
    twice,
)
from tests.naive.random_models import elements_between
from tests.naive.tree import state

Array = NDArray[np.floating]

SEEDS = range(3)
N_ROW = 10


def some_state(seed: int) -> tuple[Mechanism, Array, Array]:
    """Return a mechanism, coordinates off its constraints, and random speeds."""
    rng = np.random.default_rng([seed, 5])
    some = random_mechanism(seed)
    q = moved(some.tree, some.q, rng.normal(0.0, 0.3, some.n_v))
    return some, q, rng.normal(0.0, 1.0, some.n_v)


def evaluated(tree: Tree, constraints: Constraints, q: Array, v: Array) -> tuple[int, ConstraintWork]:
    """Return the number of rows and the work after value, row and bias, on dirty working space."""
    work = dirty(new_constraint_work(constraints, len(v)))
    at, speeds, along = posed(tree, q), new_velocities(len(tree.parent)), np.zeros((len(tree.parent), 6))
    velocities(tree, at, v, speeds)
    drift(tree, speeds.bias, along)
    n = constraint_rows(tree, constraints, at, q, work)
    constraint_bias(tree, constraints, at, speeds.body, along, q, v, work)
    return n, work


@pytest.mark.parametrize("seed", SEEDS)
def test_values_and_rows_are_those_of_the_definitions(seed: int) -> None:
    """Protects Phi and G of all elements and couplers, and their order, without any rule of the tree."""
    some, q, v = some_state(seed)
    n, work = evaluated(some.tree, some.constraints, q, v)
    assert n == N_ROW
    np.testing.assert_allclose(work.value[:n], values(some.tree, some.constraints, q), rtol=0, atol=1e-13)
    np.testing.assert_allclose(work.row[:n], rows(some.tree, some.constraints, q), rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_bias_is_the_second_derivative_along_a_motion(seed: int) -> None:
    """Protects the bias twice: second differences of Phi, and differences of G v at constant v."""
    some, q, v = some_state(seed)
    tree, constraints = some.tree, some.constraints
    n, work = evaluated(tree, constraints, q, v)
    np.testing.assert_allclose(work.bias[:n], bias(tree, constraints, q, v), rtol=0, atol=1e-7)

    def rates(there: Array) -> Array:
        return evaluated(tree, constraints, there, v)[1].row[:n] @ v

    np.testing.assert_allclose(work.bias[:n], first_along(rates, tree, q, v), rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_bias_is_quadratic_in_the_speeds(seed: int) -> None:
    """Protects the bias from terms of the wrong order: twice the speeds give four times the bias."""
    some, q, v = some_state(seed)
    n, once = evaluated(some.tree, some.constraints, q, v)
    _, doubled = evaluated(some.tree, some.constraints, q, -2.0 * v)
    np.testing.assert_allclose(doubled.bias[:n], 4.0 * once.bias[:n], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_bias_of_angles_is_the_second_derivative_along_a_motion(seed: int) -> None:
    """Protects the bias of angles between bodies and against ground, twice as that of the others."""
    some, q, v = some_state(seed)
    tree, rng = some.tree, np.random.default_rng([seed, 7])
    pairs = ((3, 6), (8, 0), (9, 4), (4, -1), (-1, 7))
    kinds, n = (AZIMUTH, ELEVATION) * 5, 10
    elements = elements_between(rng, tree, kinds, tuple(pair for pair in pairs for _ in range(2)))
    target = rng.uniform(-1.0, 1.0, n)
    constraints = not_rolling(elements, Roles(np.full(n, HARD), np.ones(n), target), couplers(tree, ()))

    def values_at(there: Array) -> Array:
        at = state(tree, there)
        return np.array([value(at, elements, e, target[e]) for e in range(n)])

    def rates(there: Array) -> Array:
        return evaluated(tree, constraints, there, v)[1].row[:n] @ v

    _, work = evaluated(tree, constraints, q, v)
    np.testing.assert_allclose(work.value[:n], values_at(q), atol=1e-13)
    np.testing.assert_allclose(work.row[:n] @ v, first_along(values_at, tree, q, v), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(work.bias[:n], first_along(rates, tree, q, v), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(work.bias[:n], second_along_finer(values_at, tree, q, v), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_drift_accelerates_the_points_of_all_bodies(seed: int) -> None:
    """Protects drift and point_motion: velocity and acceleration of points, by differences of positions."""
    some, q, v = some_state(seed)
    tree, rng = some.tree, np.random.default_rng([seed, 6])
    n_body = len(tree.parent)
    points = rng.uniform(-0.3, 0.3, (n_body + 1, 3))  # the last one in ground

    def places(there: Array) -> Array:
        at = posed(tree, there)
        return np.array([point(at, b, points[b]) for b in range(-1, n_body)])

    velocity, acceleration = rates_along(places, tree, q, v, np.zeros(some.n_v))
    at, speeds, along = posed(tree, q), new_velocities(n_body), np.full((n_body, 6), np.nan)
    velocities(tree, at, v, speeds)
    drift(tree, speeds.bias, along)
    for b in range(-1, n_body):
        found = np.full((2, 3), np.nan)
        point_motion(at, speeds.body, along, b, places(q)[b + 1], found[0], found[1])
        np.testing.assert_allclose(found[0], velocity[b + 1], rtol=0, atol=1e-9)
        np.testing.assert_allclose(found[1], acceleration[b + 1], rtol=0, atol=1e-7)


def test_a_row_written_twice_is_dropped_once() -> None:
    """Protects the factor of G G': of a dependent set as many rows are dropped as there are too many."""
    some, q, v = some_state(0)
    doubled = twice(some.constraints)
    n, work = evaluated(some.tree, doubled, q, v)
    assert n == 2 * N_ROW
    work.compliance[:] = 0.0
    assert factor_rows(n, work.row, work.reach, work.compliance, work.kernel) == N_ROW
    # (G G')^+ G v by the factor: what it takes from v is what the rows see, once
    seen, left = work.row[:n] @ v, v.copy()
    add_transposed(n, work.row, work.kernel, seen, -1.0, left)
    np.testing.assert_allclose(work.row[:n] @ left, 0.0, atol=1e-9)
    G = rows(some.tree, some.constraints, q)
    np.testing.assert_allclose(left, v - np.linalg.pinv(G) @ (G @ v), rtol=0, atol=1e-8)


def test_only_hard_elements_are_rows() -> None:
    """Protects the roles: with all elements off or soft only the couplers are left."""
    some, q, v = some_state(1)
    roles = some.constraints.roles._replace(mode=np.where(some.constraints.roles.mode == HARD, 0, 1))
    n, work = evaluated(some.tree, some.constraints._replace(roles=roles), q, v)
    assert n == len(some.constraints.couplers.dof)
    all_rows = evaluated(some.tree, some.constraints, q, v)[1]
    np.testing.assert_array_equal(work.row[:n], all_rows.row[N_ROW - n : N_ROW])
    np.testing.assert_array_equal(work.bias[:n], all_rows.bias[N_ROW - n : N_ROW])


def test_rows_of_rounding_become_zero_and_rows_of_nan_stay() -> None:
    """Protects the floor of a row: it hides what no dof changes, but no error in the geometry."""
    some, q, v = some_state(2)
    elements = some.constraints.elements
    for offset, hidden in ((1e-15, True), (1e-9, False), (np.nan, False)):
        # a rod between points that all but coincide: dPhi is twice the gap times a lever
        at, b, point_b = posed(some.tree, q), elements.body_b[3], elements.point_b.copy()
        there = point(at, elements.body_a[3], elements.point_a[3])
        point_b[3] = at.rotation[b].T @ (there - at.position[b]) + offset
        moved_end = some.constraints._replace(elements=elements._replace(point_b=point_b))
        row = evaluated(some.tree, moved_end, q, v)[1].row[2]
        assert row.any() != hidden
        assert np.isnan(row).any() == np.isnan(offset)
