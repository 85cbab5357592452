"""Two legs on one pelvis: branches that never meet in the factor, and the solution of one leg."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.algebra.linear import cholesky_leaves_first, solve_towards_leaves, solve_towards_root
from kernels.solver.kkt import CONVERGED, SolverOptions, solve
from kernels.solver.kkt_step import build_hessian
from kernels.solver.optimality import FrameProblem, objective, optimality
from tests.kernels import leg, two_legs
from tests.kernels.problems import as_in_runs

Array = NDArray[np.floating]

OPTIONS = SolverOptions(1e-11, 60, 0.5)


@pytest.mark.parametrize("method", ["zero", "minimised", "free"])
def test_both_legs_alike_are_one_leg_whose_pelvis_weighs_half(method: str) -> None:
    """Protects two branches: the same markers on both sides give the angles of one leg on both sides."""
    one, roles = leg.built(method), leg.roles(method)
    legs = two_legs.two_legs(one, roles)
    measured, start = leg.soft_tissue_trial()[4], leg.exact_trial().q[4]
    hold = np.zeros(one.n_v)
    # one pelvis stands for two: its markers weigh half in the single leg
    weight = np.where(one.markers.body > 0, 1.0, 0.5)
    q, multiplier = start.copy(), np.zeros(len(one.names.elements))
    problem = FrameProblem(one.tree, one.markers, one.elements, roles, measured, weight, hold, q.copy())
    status, *_ = solve(as_in_runs(problem), OPTIONS, leg.work_of(one), q, multiplier)
    assert status == CONVERGED
    there, multipliers = two_legs.both(start), np.zeros(len(legs.elements.kind))
    problem = FrameProblem(
        legs.tree, legs.markers, legs.elements, legs.roles, two_legs.both_markers(one, measured),
        np.ones(len(legs.markers.body)), np.zeros(len(legs.tree.dof_body)), there.copy(),
    )  # fmt: skip
    status, _, residual, _ = solve(as_in_runs(problem), OPTIONS, legs.work, there, multipliers)
    assert status == CONVERGED
    assert residual <= 1e-11
    np.testing.assert_allclose(there, two_legs.both(q), atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_factor_and_solutions_keep_branches_apart(seed: int) -> None:
    """Protects the factor from the leaves and its solutions against dense ones: a root with two branches."""
    rng = np.random.default_rng([seed, 90])
    n = 10
    L = np.tril(rng.normal(size=(n, n)), -1) + np.diag(rng.uniform(1.0, 3.0, n))
    L[6:, 3:6] = 0.0  # rows 0 to 2 are the root, 3 to 5 a branch, the rest another one
    A = L.T @ L
    factor = np.tril(A) + np.triu(np.full((n, n), np.nan), 1)
    np.testing.assert_allclose(A[6:, 3:6], 0.0, atol=1e-14)
    factor[6:, 3:6] = 0.0
    assert cholesky_leaves_first(factor, n, 0.0)
    np.testing.assert_allclose(np.tril(factor, -1), np.tril(L, -1), atol=1e-12)
    np.testing.assert_array_equal(factor[6:, 3:6], 0.0)
    np.testing.assert_allclose(np.diag(factor), 1.0 / np.diag(L), atol=1e-12)
    for first, last in ((0, n - 1), (3, 5), (6, 8), (1, 4)):
        b = np.zeros(n)
        b[first : last + 1] = rng.normal(size=last + 1 - first)
        x = b.copy()
        solve_towards_root(factor, last, x)
        np.testing.assert_allclose(x, np.linalg.solve(L.T, b), atol=1e-12)
        solve_towards_leaves(factor, n, x)
        np.testing.assert_allclose(x, np.linalg.solve(A, b), atol=1e-11)
    assert not cholesky_leaves_first(np.tril(A - 100.0 * np.eye(n)), n, 0.0)


def test_hessian_of_two_legs_has_nothing_between_them() -> None:
    """Protects what the factor skips: exact zeros between the legs, with hard rows and curvatures added."""
    model = leg.built("zero")
    legs = two_legs.two_legs(model, leg.roles("zero"))
    q, work = two_legs.both(leg.exact_trial().q[4]), legs.work
    hold, multiplier = np.zeros(len(legs.tree.dof_body)), np.full(len(legs.elements.kind), 0.01)
    measured = two_legs.both_markers(model, leg.soft_tissue_trial()[4])
    weight = np.ones(len(legs.markers.body))
    problem = FrameProblem(legs.tree, legs.markers, legs.elements, legs.roles, measured, weight, hold, q)
    problem = as_in_runs(problem)
    objective(problem, q, work)
    n_hard, _ = optimality(problem, multiplier, work)
    assert n_hard == 2 * 7
    assert build_hessian(problem, multiplier, n_hard, 1.0, work)
    np.testing.assert_array_equal(work.H[18:, 6:18], 0.0)
    assert np.count_nonzero(work.H[18:, :6]) == 12 * 6
