"""The constrained Newton solver against the full KKT matrix, SciPy and its own rate of convergence."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.solver.constraints import HARD, OFF, Roles
from kernels.solver.kkt import (
    CONVERGED,
    NON_FINITE,
    NOT_CONVERGED,
    SolverOptions,
    infeasibility,
    merit_penalty,
    solve,
    step_scale,
)
from kernels.solver.optimality import FrameProblem, objective, optimality
from tests.kernels import leg, problems
from tests.kernels.problems import as_in_runs, kernel_step, random_problem, solved, work_for
from tests.naive import kkt, random_models
from tests.naive.tree import difference, integrate

Array = NDArray[np.floating]

SEEDS = range(6)
N_HARD = problems.MODES.count(HARD)
# A tenth of this tolerance is round-off where the multipliers are large.
ON_THE_LEG = SolverOptions(1e-11, 60, 0.5)


def leg_problem(method: str, measured: Array) -> FrameProblem:
    """Return a frame of the made-up leg."""
    built = leg.built(method)
    return FrameProblem(
        built.tree, built.markers, built.elements, leg.roles(method), measured, np.ones(len(measured)),
        np.zeros(built.n_v), built.q_neutral,
    )  # fmt: skip


def gap(problem: FrameProblem, q: Array, other: Array) -> float:
    """Return the largest entry of the tangent step between two states [rad, m]."""
    return float(np.abs(difference(problem.tree, q, other)).max())


@pytest.mark.parametrize("second_order", [0.0, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_step_is_that_of_the_full_kkt_matrix(seed: int, second_order: float) -> None:
    """Protects the step and the multipliers: elimination with H + rho A'A against one dense solve."""
    problem, q = random_problem(seed, noise=0.005)
    rng = np.random.default_rng(seed)
    # near enough to a minimum for a Lagrangian that is convex along the constraints
    q = random_models.moved(rng, problem.tree, q, 0.001)
    multiplier = np.zeros(len(problem.elements.kind))
    multiplier[:N_HARD] = rng.normal(0.0, 0.002, N_HARD)
    definite, delta, mu = kernel_step(problem, q, multiplier, second_order)
    at = kkt.terms(problem, q)
    expected_delta, expected_mu = kkt.newton_step(at, multiplier[:N_HARD], second_order > 0.0)
    assert definite
    np.testing.assert_allclose(delta, expected_delta, atol=1e-10)
    np.testing.assert_allclose(mu, expected_mu, atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_objective_and_optimality_are_the_twins(seed: int) -> None:
    """Protects cost and residual with markers, soft elements, hard elements and held dofs together."""
    problem, q = random_problem(seed)
    rng = np.random.default_rng(seed)
    problem = problem._replace(hold=rng.uniform(0.0, 1.0, len(problem.hold)))
    q = random_models.moved(rng, problem.tree, q, 0.2)
    multiplier = rng.normal(size=len(problem.elements.kind))
    work = work_for(problem)
    at = kkt.terms(problem, q)
    asked = as_in_runs(problem)
    assert objective(asked, q, work) == pytest.approx(at.cost, rel=1e-12)
    n_hard, residual = optimality(asked, multiplier, work)
    assert n_hard == N_HARD
    assert residual == pytest.approx(kkt.optimality(at, multiplier[:N_HARD]), rel=1e-11)
    np.testing.assert_allclose(work.g, at.gradient, atol=1e-11)
    np.testing.assert_allclose(work.phi[:n_hard], at.phi, atol=1e-13)
    np.testing.assert_allclose(work.A[:n_hard], at.rows, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_solution_satisfies_the_conditions_of_a_minimum(seed: int) -> None:
    """Protects the optimum of random problems: stationary, feasible and convex along the constraints."""
    problem, q = random_problem(seed)
    start = random_models.moved(np.random.default_rng(seed), problem.tree, q, 0.15)
    found = solved(problem, start)
    at = kkt.terms(problem, found.q)
    assert found.status == CONVERGED
    assert found.residual <= 1e-12
    assert problems.twin_residual(problem, found) <= 3e-12
    assert found.cost == pytest.approx(at.cost, rel=1e-10)
    assert kkt.reduced_curvature(at, found.multiplier[:N_HARD]).min() > 0.0
    np.testing.assert_array_equal(found.multiplier[N_HARD:], 0.0)


@pytest.mark.compiled
@pytest.mark.parametrize("seed", [0])
def test_solution_is_that_of_scipy(seed: int) -> None:
    """Protects the optimum itself: SLSQP, which shares nothing with the kernels, ends at the same state."""
    problem, q = random_problem(seed)
    start = random_models.moved(np.random.default_rng(seed), problem.tree, q, 0.05)
    found = solved(problem, start)
    slow = kkt.slow_optimum(problem, start)
    assert kkt.cost(problem, slow) == pytest.approx(found.cost, rel=1e-7)
    assert gap(problem, found.q, slow) < 1e-4


def test_feasible_state_of_exact_markers_is_found_again() -> None:
    """Protects the zero-residual case: the state that made the markers comes back to the last digits."""
    problem, q = random_problem(1, noise=0.0)
    start = random_models.moved(np.random.default_rng(60), problem.tree, q, 0.15)
    found = solved(problem, start)
    assert found.status == CONVERGED
    assert found.cost == pytest.approx(0.0, abs=1e-24)
    assert gap(problem, found.q, q) < 1e-11


@pytest.mark.parametrize("method", ["zero", "minimised"])
def test_errors_square_on_the_leg(method: str) -> None:
    """Protects quadratic convergence: near the optimum an error is at most a multiple of the last squared."""
    problem = leg_problem(method, leg.soft_tissue_trial()[4])
    start = leg.exact_trial().q[4]
    best = solved(problem, start, SolverOptions(1e-13, 60, 0.5)).q
    errors = [gap(problem, solved(problem, start, SolverOptions(0.0, n, 0.5)).q, best) for n in range(1, 8)]
    usable = [(a, b) for a, b in pairwise(errors) if 1e-7 < a < 0.02]
    assert len(usable) >= 2
    for before, after in usable:
        assert after < 30.0 * before**2 + 1e-12


@pytest.mark.parametrize("method", ["zero", "minimised", "free"])
def test_few_iterations_follow_a_leg(method: str) -> None:
    """Protects the warm start: one hundredth of a second later the optimum is a few iterations away."""
    soft = leg.soft_tissue_trial()
    problem = leg_problem(method, soft[4])
    first = solved(problem, leg.exact_trial().q[4], ON_THE_LEG)
    q, multiplier = first.q.copy(), first.multiplier.copy()
    status, iterations, *_ = solve(
        as_in_runs(problem._replace(measured=soft[5])), ON_THE_LEG, work_for(problem), q, multiplier
    )
    assert status == CONVERGED
    assert iterations <= 5


@pytest.mark.parametrize("method", ["zero", "minimised", "free"])
def test_bad_starts_recover(method: str) -> None:
    """Protects globalisation: half a radian and half a metre off in all dofs still ends at the optimum.

    Only the isometric knee may end in its other assembly, which costs far more.
    """
    problem = leg_problem(method, leg.soft_tissue_trial()[4])
    best = solved(problem, leg.exact_trial().q[4], ON_THE_LEG)
    rng, n_best = np.random.default_rng(61), 0
    for _ in range(12):
        delta = rng.uniform(-0.5, 0.5, len(problem.hold))
        delta[9:12] *= 0.02  # the knee's own translation is millimetres
        found = solved(problem, integrate(problem.tree, leg.exact_trial().q[4], delta), ON_THE_LEG)
        assert found.status == CONVERGED
        here = gap(problem, found.q, best.q) < 1e-8
        assert here or (method == "zero" and found.cost > 2.0 * best.cost)
        n_best += here
    assert n_best >= 4


def test_indefinite_lagrangian_falls_back_to_gauss_newton() -> None:
    """Protects the step where Newton heads for a saddle: the fallback still lowers the merit to a minimum."""
    problem, q = random_problem(2)
    start = random_models.moved(np.random.default_rng(62), problem.tree, q, 0.8)
    multiplier = np.zeros(len(problem.elements.kind))
    multiplier[:N_HARD] = -50.0
    definite, *_ = kernel_step(problem, start, multiplier, 1.0)
    assert not definite
    status, *_ = solve(
        as_in_runs(problem), SolverOptions(1e-12, 100, 0.5), work_for(problem), start, multiplier
    )
    assert status == CONVERGED
    at = kkt.terms(problem, start)
    assert kkt.optimality(at, multiplier[:N_HARD]) < 1e-11
    assert kkt.reduced_curvature(at, multiplier[:N_HARD]).min() > 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_redundant_rows_still_solve(seed: int) -> None:
    """Protects repeated constraints: every hard element twice gives the same state, multipliers shared."""
    problem, q = random_problem(seed)
    start = random_models.moved(np.random.default_rng(seed), problem.tree, q, 0.1)
    twice = problem._replace(
        elements=type(problem.elements)(*(np.concatenate([a, a]) for a in problem.elements if a is not None)),
        roles=Roles(
            np.concatenate([problem.roles.mode, np.where(problem.roles.mode == HARD, HARD, OFF)]),
            np.tile(problem.roles.weight, 2),
            np.tile(problem.roles.target, 2),
        ),
    )
    once, found = solved(problem, start), solved(twice, start)
    assert found.status == CONVERGED
    assert found.iterations <= once.iterations + 2
    assert gap(problem, found.q, once.q) < 1e-9
    shared = found.multiplier[:N_HARD] + found.multiplier[N_HARD : 2 * N_HARD]
    np.testing.assert_allclose(shared, once.multiplier[:N_HARD], atol=1e-9)


def test_constraint_that_nothing_moves_is_left_alone() -> None:
    """Protects an element within one body: its row is empty, the rest solves, its gap stays."""
    problem, q = random_problem(3)
    elements, roles = problem.elements, problem.roles
    stuck = elements._replace(
        body_b=np.where(np.arange(6) == 5, 3, elements.body_b), n_path=elements.n_path.copy()
    )
    stuck.body_a[5], stuck.n_path[5] = 3, 0
    mode = roles.mode.copy()
    mode[5] = HARD
    found = solved(problem._replace(elements=stuck, roles=roles._replace(mode=mode)), q)
    expected = solved(problem, q)
    assert found.status == NOT_CONVERGED
    assert gap(problem, found.q, expected.q) < 1e-6


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_non_finite_input_is_a_status(bad: float) -> None:
    """Protects against bad numbers in a frame: a status comes back, the state is untouched."""
    problem, q = random_problem(4)
    measured = problem.measured.copy()
    measured[3, 1] = bad
    with np.errstate(all="ignore"):
        found = solved(problem._replace(measured=measured), q)
    assert found.status == NON_FINITE
    np.testing.assert_array_equal(found.q, q)


def test_non_finite_state_is_a_status() -> None:
    """Protects against a spoilt state: NaN coordinates give a status too."""
    problem, q = random_problem(4)
    q[2] = np.nan
    with np.errstate(all="ignore"):
        assert solved(problem, q).status == NON_FINITE


def test_iterations_are_limited_and_said() -> None:
    """Protects the time of a frame: no more iterations than allowed, and the status says so."""
    problem, q = random_problem(5)
    start = random_models.moved(np.random.default_rng(63), problem.tree, q, 0.3)
    enough = solved(problem, start).iterations
    assert enough > 2
    short = solved(problem, start, SolverOptions(1e-12, enough - 1, 0.5))
    assert (short.status, short.iterations) == (NOT_CONVERGED, enough - 1)
    assert solved(problem, start, SolverOptions(1e-12, enough, 0.5)).status == CONVERGED
    nothing = solved(problem, start, SolverOptions(1e-12, 0, 0.5))
    assert (nothing.status, nothing.iterations) == (NOT_CONVERGED, 0)
    np.testing.assert_array_equal(nothing.q, start)


def test_solved_start_needs_no_iteration() -> None:
    """Protects the cheap case: a state and multipliers that are optimal already are left as they are."""
    problem, q = random_problem(5)
    best = solved(problem, q)
    q, multiplier = best.q.copy(), best.multiplier.copy()
    status, iterations, *_ = solve(as_in_runs(problem), ON_THE_LEG, work_for(problem), q, multiplier)
    assert (status, iterations) == (CONVERGED, 0)
    np.testing.assert_array_equal(q, best.q)


def test_impossible_tolerance_ends_at_the_best_state() -> None:
    """Protects the end at round-off: with tolerance 0 the solver stops by itself at the optimum."""
    problem, q = random_problem(0)
    found, best = solved(problem, q, SolverOptions(0.0, 200, 0.5)), solved(problem, q)
    assert found.status == NOT_CONVERGED
    assert found.iterations < 200
    assert found.residual < 1e-12
    assert gap(problem, found.q, best.q) < 1e-11


def test_step_of_one_iteration_is_limited() -> None:
    """Protects far starts from wild first steps: no dof moves farther than max_step in one iteration."""
    problem, q = random_problem(1)
    start = random_models.moved(np.random.default_rng(64), problem.tree, q, 0.5)
    found = solved(problem, start, SolverOptions(1e-12, 1, 0.01))
    assert 0.0 < gap(problem, found.q, start) <= 0.01 + 1e-12


def test_held_dofs_stay_where_nothing_determines_them() -> None:
    """Protects open dofs: a body without visible markers stays at q_hold while the others solve."""
    problem, q = random_problem(2)
    problem = problem._replace(roles=problem.roles._replace(mode=np.zeros(6, np.int64)))
    own = (problem.tree.dof_body == 3) | (problem.tree.dof_body == 4)
    seen = ~np.isin(problem.markers.body, (3, 4))
    held = problem._replace(
        weight=np.where(seen, problem.weight, 0.0),
        measured=np.where(seen[:, np.newaxis], problem.measured, np.nan),
        hold=np.where(own, 0.1, 0.0),
        q_hold=integrate(problem.tree, q, np.where(own, 0.1, 0.0)),
    )
    found = solved(held, q)
    assert found.status == CONVERGED
    np.testing.assert_allclose(difference(problem.tree, held.q_hold, found.q)[own], 0.0, atol=1e-11)


def test_nothing_to_go_by_is_a_status() -> None:
    """Protects a frame with violated constraints and no marker: a singular matrix is a status, not a step."""
    problem, q = random_problem(2)
    start = random_models.moved(np.random.default_rng(65), problem.tree, q, 0.1)
    nothing = problem._replace(
        weight=np.zeros(len(problem.weight)), roles=problem.roles._replace(weight=np.zeros(6))
    )
    found = solved(nothing, start)
    assert (found.status, found.iterations) == (NOT_CONVERGED, 0)
    np.testing.assert_array_equal(found.q, start)


def test_merit_numbers() -> None:
    """Protects the merit function: an exact penalty, and the sum of the violations of hard rows only."""
    mu, phi = np.array([0.5, -2.0, 99.0]), np.array([0.1, -0.2, 99.0])
    assert merit_penalty(mu, 2) == pytest.approx(3.0)
    assert merit_penalty(mu, 0) > 0.0
    assert infeasibility(phi, 2) == pytest.approx(0.3)
    assert step_scale(np.array([0.1, -0.4]), 0.5) == 1.0
    assert step_scale(np.array([0.1, -1.0]), 0.5) == 0.5
