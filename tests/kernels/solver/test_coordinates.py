"""Coordinate tasks and ranges in the solver: conditions of an optimum, release, and dofs at their bounds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.algebra.functions import CONSTANT
from kernels.joints.couplers import Couplers
from kernels.joints.kinds import CHAIN, HINGE, SLIDER
from kernels.joints.tree import Tree
from kernels.solver.coordinates import (
    AT_LOWER,
    AT_UPPER,
    FREE_TO_MOVE,
    CoordinateRanges,
    CoordinateTargets,
    clamp,
    find_bounds,
    set_tasks,
)
from kernels.solver.kkt import CONVERGED, SolverOptions
from kernels.solver.optimality import FrameProblem, objective, optimality
from rtsim.models.packing.tree import build_functions, constant
from tests.kernels.problems import as_in_runs, open_dofs, random_problem, solved, work_for
from tests.naive.tree import slices

Array = NDArray[np.floating]

SEEDS = range(5)
OPTIONS = SolverOptions(1e-11, 60, 0.5)


def scalar_dofs(tree: Tree) -> list[tuple[int, int]]:
    """Return (index in q, dof) of every coordinate that is its own tangent."""
    return [
        (slices(tree, b)[0].start + k, int(tree.v_start[b]) + k)
        for b, kind in enumerate(tree.kind)
        if kind in (HINGE, SLIDER, CHAIN)
        for k in range(tree.v_start[b + 1] - tree.v_start[b])
    ]


def limits_of(tree: Tree, low: list[float], high: list[float]) -> CoordinateRanges:
    """Return ranges of the scalar coordinates of a tree, in their order."""
    places = np.array(scalar_dofs(tree), np.int64)
    return CoordinateRanges(
        places[:, 0].copy(), places[:, 1].copy(), np.array(low, float), np.array(high, float)
    )


def limited(seed: int) -> tuple[FrameProblem, Array, CoordinateRanges]:
    """Return a problem whose best hinge and slider lie beyond a bound, or not, by the seed's turn."""
    problem, q = random_problem(seed, noise=0.01)
    best = solved(problem, q, OPTIONS).q
    at = [best[c] for c, _ in scalar_dofs(problem.tree)]
    gap = (0.02, -0.02) if seed % 2 else (-0.02, 0.02)
    if seed == 4:
        gap = (0.01, 0.01)  # both above their lower bounds, which bind neither
    low = [x + g if g > 0.0 and seed != 4 else x - 0.5 for x, g in zip(at, gap, strict=True)]
    high = [x + g if g < 0.0 else x + 0.5 for x, g in zip(at, gap, strict=True)]
    limits = limits_of(problem.tree, low, high)
    return problem._replace(roles=problem.roles._replace(limits=limits)), q, limits


def conditions(problem: FrameProblem, found: object) -> tuple[Array, Array]:
    """Return the slope of the Lagrangian along every dof, and which bound each is at, from the kernels."""
    work, problem = work_for(problem), as_in_runs(problem)
    objective(problem, found.q, work)
    optimality(problem, found.multiplier, work)
    return work.lagrangian.copy(), work.bound.copy()


@pytest.mark.parametrize("seed", SEEDS)
def test_ranges_are_kept_and_certified_by_the_sign_of_the_multiplier(seed: int) -> None:
    """Protects the active set: inside, stationary but at bounds, and pressed outwards there."""
    problem, q, limits = limited(seed)
    found = solved(problem, q, OPTIONS)
    assert found.status == CONVERGED
    x = found.q[limits.coordinate]
    assert (x >= limits.lower).all()
    assert (x <= limits.upper).all()
    slope, bound = conditions(problem, found)
    assert (np.count_nonzero(bound) == 2) == (seed != 4)
    for d, side in enumerate(bound):
        if side == FREE_TO_MOVE:
            assert abs(slope[d]) < 1e-10
        else:
            assert slope[d] * side < -1e-4  # not by rounding


@pytest.mark.parametrize("seed", SEEDS)
def test_solution_at_bounds_is_that_of_prescribed_coordinates(seed: int) -> None:
    """Protects the solution with ranges: fixing what ended at a bound there, by couplers, changes nothing."""
    problem, q, limits = limited(seed)
    found = solved(problem, q, OPTIONS)
    _, bound = conditions(problem, found)
    at = [k for k, d in enumerate(limits.dof) if bound[d] != FREE_TO_MOVE]
    own, dof = limits.coordinate[at], limits.dof[at]
    fixed = problem.tree._replace(
        functions=build_functions([constant(found.q[c]) for c in own]),
        couplers=Couplers(own, dof, own, dof, np.arange(len(at), dtype=np.int64)),
    )
    assert (fixed.functions.kind == CONSTANT).all()
    roles = problem.roles._replace(limits=None)
    again = solved(problem._replace(tree=fixed, roles=roles), q, OPTIONS)
    np.testing.assert_allclose(again.q, found.q, atol=1e-9)
    assert again.cost == pytest.approx(found.cost, rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_coordinate_that_starts_at_a_bound_is_released(seed: int) -> None:
    """Protects the release: from a bound that does not bind, to the optimum without ranges."""
    problem, q = random_problem(seed, noise=0.01)
    best = solved(problem, q, OPTIONS)
    places = scalar_dofs(problem.tree)
    low = [best.q[c] - 0.05 for c, _ in places]
    limits = limits_of(problem.tree, low, [x + 1.0 for x in low])
    start = best.q.copy()
    for (c, _), x in zip(places, low, strict=True):
        start[c] = x
    found = solved(problem._replace(roles=problem.roles._replace(limits=limits)), start, OPTIONS)
    assert found.status == CONVERGED
    np.testing.assert_allclose(found.q, best.q, atol=1e-9)


@pytest.mark.parametrize("off", [0.05, -0.05])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_range_without_width_holds_its_coordinate(seed: int, off: float) -> None:
    """Protects a hinge that is clamped to one angle: it converges there, wherever the markers draw it."""
    problem, q = random_problem(seed, noise=0.01)
    best = solved(problem, q, OPTIONS)
    at = [best.q[c] + off for c, _ in scalar_dofs(problem.tree)]
    limits, start = limits_of(problem.tree, at, at), q.copy()
    start[limits.coordinate] = at
    found = solved(problem._replace(roles=problem.roles._replace(limits=limits)), start, OPTIONS)
    assert found.status == CONVERGED
    np.testing.assert_array_equal(found.q[limits.coordinate], at)


def test_ranges_that_bind_nothing_change_nothing() -> None:
    """Protects the solver without ranges: wide ones give the same steps."""
    problem, q = random_problem(1)
    limits = limits_of(problem.tree, [-50.0, -50.0], [50.0, 50.0])
    plain = solved(problem, q, OPTIONS)
    found = solved(problem._replace(roles=problem.roles._replace(limits=limits)), q, OPTIONS)
    assert found.iterations == plain.iterations
    np.testing.assert_array_equal(found.q, plain.q)


@pytest.mark.parametrize("seed", SEEDS)
def test_tasks_draw_coordinates_to_their_targets(seed: int) -> None:
    """Protects coordinate tasks: weight (q - target) balances the rest, and a heavy one wins."""
    problem, q = random_problem(seed)
    tree, places = problem.tree, scalar_dofs(problem.tree)
    coordinate, dof = (np.array(column, np.int64) for column in zip(*places, strict=True))
    target = q[coordinate] + 0.05
    gaps = []
    for weight in (0.0, 10.0, 1e5):
        hold, q_hold = np.zeros(len(tree.dof_body)), q.copy()
        set_tasks(CoordinateTargets(coordinate, dof, np.full(len(dof), weight), target), 1.0, hold, q_hold)
        np.testing.assert_array_equal(np.flatnonzero(hold), dof if weight else [])
        found = solved(problem._replace(hold=hold, q_hold=q_hold), q, SolverOptions(1e-9, 60, 0.5))
        assert found.status == CONVERGED
        gaps.append(np.abs(found.q[coordinate] - target).max())
    assert gaps[0] > gaps[1] > 50.0 * gaps[2]


def test_bounds_are_told_by_side() -> None:
    """Protects clamp and find_bounds at, inside and beyond both bounds."""
    limits = CoordinateRanges(
        np.arange(4, dtype=np.int64), np.arange(4, dtype=np.int64), np.full(4, -1.0), np.full(4, 1.0)
    )
    q, bound = np.array([-2.0, 0.0, 1.0, 3.0]), np.zeros(4, np.int64)
    clamp(limits, q)
    np.testing.assert_array_equal(q, [-1.0, 0.0, 1.0, 1.0])
    find_bounds(limits, q, bound)
    np.testing.assert_array_equal(bound, [AT_LOWER, FREE_TO_MOVE, AT_UPPER, AT_UPPER])


def test_what_a_task_or_a_bound_determines_is_not_open() -> None:
    """Protects the count of open dofs: without markers, all are but those with a task or at a bound."""
    problem, q = random_problem(2)
    tree, n_v = problem.tree, len(problem.tree.dof_body)
    (_, d_task), (c_bound, d_bound) = scalar_dofs(tree)
    limits = CoordinateRanges(
        *(np.array([x]) for x in (c_bound, d_bound)), np.array([q[c_bound]]), np.array([9.0])
    )
    roles = problem.roles._replace(limits=limits, mode=np.zeros(len(problem.roles.mode), np.int64))
    hold = np.zeros(n_v)
    hold[d_task] = 10.0
    n_open = open_dofs(problem._replace(roles=roles, weight=np.zeros(len(problem.weight)), hold=hold), q)
    assert n_open == n_v - 2
    assert hold[d_task] == 10.0
    assert hold[d_bound] > 0.0  # it may leave its bound, and nothing else would stop it


def test_weights_of_markers_multiply() -> None:
    """Protects the weight of each marker: half of it with twice the frame's weight is the same problem."""
    problem, q = random_problem(3)
    own = np.random.default_rng(3).uniform(0.2, 5.0, len(problem.weight))
    weighted = problem._replace(markers=problem.markers._replace(weight=own), weight=problem.weight / own)
    plain, found = solved(problem, q, OPTIONS), solved(weighted, q, OPTIONS)
    np.testing.assert_allclose(found.q, plain.q, atol=1e-10)
    assert found.cost == pytest.approx(plain.cost, rel=1e-12)
    absent = problem.markers._replace(weight=np.where(np.arange(len(own)) == 4, 0.0, own))
    dropped = np.where(np.arange(len(own)) == 4, 0.0, own)
    np.testing.assert_allclose(
        solved(problem._replace(markers=absent, weight=np.ones(len(own))), q, OPTIONS).q,
        solved(problem._replace(weight=dropped), q, OPTIONS).q,
        atol=1e-12,
    )
