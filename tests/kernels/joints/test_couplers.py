"""Followers eliminated: folds against the chain rule and differences; solutions keep the couplers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.joints.couplers import (
    Couplers,
    coupler_slopes,
    fold_lagrangian,
    fold_matrix,
    fold_vector,
    new_coupler_work,
    place_followers,
    unfold_columns,
)
from kernels.joints.tree import Tree, new_pose, pose
from kernels.markers.marker_cost import (
    ModelMarkers,
    marker_gradient,
    marker_hessian,
    marker_moments,
    new_marker_work,
)
from kernels.solver.constraints import Roles
from kernels.solver.kkt import CONVERGED, SolverOptions
from kernels.solver.optimality import FrameProblem
from tests.kernels.problems import open_dofs, solved
from tests.naive import constraints, couplers, differences, markers, random_models
from tests.naive.tree import slices, state

Array = NDArray[np.floating]

SEEDS = range(4)
SPLINE, PARABOLA, STRAIGHT, NUMBER = 3, 2, 1, 0  # rows of random_models.FUNCTIONS
# (body, its coordinate), the same of the driver, function: along a branch, across branches and between roots;
# a follower that drives another one; two of one driver; a prescribed one.
FOLLOWS = (
    ((2, 1), (3, 0), SPLINE),
    ((4, 1), (2, 1), PARABOLA),
    ((8, 2), (4, 1), STRAIGHT),
    ((6, 0), (3, 0), PARABOLA),
    ((9, 0), (9, 0), NUMBER),
)


def coupled(tree: Tree) -> Tree:
    """Return the chained tree with followers, drivers first."""
    places = [[(slices(tree, b)[0].start + k, tree.v_start[b] + k) for b, k in row[:2]] for row in FOLLOWS]
    columns = np.array([[*own, *driver] for own, driver in places], np.int64).T.copy()
    return tree._replace(couplers=Couplers(*columns, np.array([f for *_, f in FOLLOWS], np.int64)))


def some_tree(seed: int) -> tuple[Tree, Array, np.random.Generator]:
    """Return a coupled tree and coordinates that keep its couplers."""
    rng = np.random.default_rng([seed, 70])
    tree = coupled(random_models.chained_tree(rng))
    return (
        tree,
        couplers.placed(tree.couplers, tree.functions, random_models.random_coordinates(rng, tree)),
        rng,
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_followers_are_placed_drivers_first(seed: int) -> None:
    """Protects the places of followers, of those that drive others too."""
    tree, _, rng = some_tree(seed)
    q = random_models.random_coordinates(rng, tree)
    expected = couplers.placed(tree.couplers, tree.functions, q)
    place_followers(tree.couplers, tree.functions, q)
    np.testing.assert_allclose(q, expected, atol=1e-14)
    assert q[tree.couplers.coordinate[-1]] == pytest.approx(0.3)  # prescribed


@pytest.mark.parametrize("seed", SEEDS)
def test_folds_are_the_chain_rule(seed: int) -> None:
    """Protects vectors and matrices without followers: E'g, and E'HE with the curvature of the couplers."""
    tree, q, rng = some_tree(seed)
    n_v = len(tree.dof_body)
    gradient, H = rng.normal(size=n_v), rng.normal(size=(n_v, n_v))
    H = H + H.T
    expected, expected_H = couplers.reduced(tree.couplers, tree.functions, q, gradient, H)
    work = new_coupler_work(n_v)
    coupler_slopes(tree.couplers, tree.functions, q, work)
    row, lower = gradient.copy(), np.tril(H)
    fold_vector(tree.couplers, work, row)
    fold_lagrangian(tree.couplers, work, gradient)
    fold_matrix(tree.couplers, work, 1.0, lower)
    np.testing.assert_allclose(row, expected, atol=1e-13)
    np.testing.assert_allclose(gradient, expected, atol=1e-13)
    np.testing.assert_allclose(lower, np.tril(expected_H), atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_unfolded_rates_are_the_transpose_of_the_fold(seed: int) -> None:
    """Protects the rates of followers, of those that drive others too: g . E x = E'g . x."""
    tree, q, rng = some_tree(seed)
    n_v = len(tree.dof_body)
    row, X = rng.normal(size=n_v), rng.normal(size=(n_v, 2))
    work = new_coupler_work(n_v)
    coupler_slopes(tree.couplers, tree.functions, q, work)
    full = X.copy()
    unfold_columns(tree.couplers, work, full)
    assert (full[tree.couplers.dof] != X[tree.couplers.dof]).all()
    expected = row @ full
    fold_vector(tree.couplers, work, row)
    np.testing.assert_allclose(row @ X, expected, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_folded_marker_terms_are_the_differences_of_the_cost(seed: int) -> None:
    """Protects the curvature of couplers: differences of the cost alone along what is left to move."""
    tree, q, rng = some_tree(seed)
    placed, n_v = random_models.random_markers(rng, tree), len(tree.dof_body)
    n_marker = len(placed.body)
    measured = markers.model_markers(tree, placed, q) + rng.normal(0.0, 0.2, (n_marker, 3))
    weight = rng.uniform(0.2, 3.0, n_marker)

    def cost(there: Array) -> Array:
        kept = couplers.placed(tree.couplers, tree.functions, there)
        return np.array(markers.cost(tree, placed, kept, measured, weight))

    at, work = new_pose(len(tree.parent), n_v, len(tree.chains.dof)), new_coupler_work(n_v)
    terms, gradient, H = new_marker_work(n_marker, len(tree.parent)), np.zeros(n_v), np.zeros((n_v, n_v))
    pose(tree, q, at)
    marker_moments(tree, placed, at, measured, weight, terms)
    marker_gradient(tree, at, terms, gradient)
    marker_hessian(tree, at, terms, 1.0, H)
    coupler_slopes(tree.couplers, tree.functions, q, work)
    fold_lagrangian(tree.couplers, work, gradient)
    fold_matrix(tree.couplers, work, 1.0, H)
    np.testing.assert_allclose(gradient, differences.first_derivative(cost, tree, q), atol=1e-7)
    H = np.tril(H) + np.tril(H, -1).T
    np.testing.assert_array_equal(np.diag(H)[tree.couplers.dof], 1.0)
    for u in differences.random_directions(np.random.default_rng(32), tree):
        u[tree.couplers.dof] = 0.0
        second = differences.second_along_finer(cost, tree, q, u)
        assert u @ H @ u == pytest.approx(second, abs=1e-6)


def coupled_problem(seed: int, noise: float) -> tuple[FrameProblem, Array]:
    """Return markers of a coupled tree, one soft and two hard elements, and the state that made them."""
    tree, q, rng = some_tree(seed)
    body = np.repeat(np.arange(len(tree.parent)), 4).astype(np.int64)
    placed = ModelMarkers(body, rng.uniform(-0.3, 0.3, (len(body), 3)))
    kinds, bodies = (1, 0, 1), ((7, 3), (9, 2), (3, -1))
    elements = random_models.elements_between(rng, tree, kinds, bodies)
    at = state(tree, q)
    value = np.array([constraints.value(at, elements, e, 0.0) for e in range(3)])
    target = np.where(elements.kind == 1, np.sqrt(np.abs(value)), value)
    roles = Roles(np.array([2, 2, 1], np.int64), np.array([0.0, 0.0, 3.0]), target)
    measured = markers.model_markers(tree, placed, q) + rng.normal(0.0, noise, (len(body), 3))
    n_v = len(tree.dof_body)
    return FrameProblem(
        tree, placed, elements, roles, measured, rng.uniform(0.5, 2.0, len(body)), np.zeros(n_v), q.copy()
    ), q


@pytest.mark.parametrize("seed", SEEDS)
def test_solution_keeps_the_couplers_and_no_motion_lowers_the_cost(seed: int) -> None:
    """Protects the solver with followers, functions and hard elements: stationary where it may move."""
    problem, q = coupled_problem(seed, 0.003)
    tree = problem.tree
    start = random_models.moved(np.random.default_rng(seed), tree, q, 0.03)
    found = solved(problem, start, SolverOptions(1e-11, 60, 0.5))
    assert found.status == CONVERGED
    np.testing.assert_allclose(found.q, couplers.placed(tree.couplers, tree.functions, found.q), atol=1e-14)

    def lagrangian(there: Array) -> Array:
        kept = couplers.placed(tree.couplers, tree.functions, there)
        at = state(tree, kept)
        values = [constraints.value(at, problem.elements, e, problem.roles.target[e]) for e in range(3)]
        cost = markers.cost(tree, problem.markers, kept, problem.measured, problem.weight)
        return np.array(cost + 1.5 * values[2] ** 2 + found.multiplier[:2] @ values[:2])

    slope = differences.first_derivative(lagrangian, tree, found.q)
    np.testing.assert_allclose(slope, 0.0, atol=2e-8)


def test_exact_markers_give_back_the_state_that_made_them() -> None:
    """Protects the solver with followers on a problem whose solution is known."""
    problem, q = coupled_problem(1, 0.0)
    start = random_models.moved(np.random.default_rng(71), problem.tree, q, 0.05)
    found = solved(problem, start, SolverOptions(1e-11, 60, 0.5))
    assert found.status == CONVERGED
    np.testing.assert_allclose(found.q, q, atol=1e-9)


def test_a_follower_is_never_open() -> None:
    """Protects occlusion: without any marker every dof is open but for the followers."""
    problem, q = coupled_problem(2, 0.0)
    tree, hold = problem.tree, np.zeros(len(problem.tree.dof_body))
    roles = problem.roles._replace(mode=np.zeros(3, np.int64))
    n_open = open_dofs(problem._replace(roles=roles, weight=np.zeros(len(problem.weight)), hold=hold), q)
    assert n_open == len(hold) - len(FOLLOWS)
    np.testing.assert_array_equal(hold[tree.couplers.dof], 0.0)
    assert (np.delete(hold, tree.couplers.dof) > 0.0).all()


def test_a_driver_that_only_its_follower_shows_is_not_open() -> None:
    """Protects the fold of curvatures: markers on the follower's body alone determine the driver."""
    problem, q = coupled_problem(3, 0.0)
    tree, n_v = problem.tree, len(problem.tree.dof_body)
    driver = tree.couplers.driver_dof[0]
    weight = np.where(problem.markers.body == 3, 0.0, problem.weight)
    hold = np.zeros(n_v)
    roles = problem.roles._replace(mode=np.zeros(3, np.int64))
    problem = problem._replace(roles=roles, weight=weight, hold=hold)
    open_dofs(problem, q)
    assert hold[driver] == 0.0
    open_dofs(problem._replace(tree=tree._replace(couplers=None)), q)
    assert hold[driver] > 0.0
