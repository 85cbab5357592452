"""Two legs on one pelvis: branches that never meet in the factor, and the solution of one leg."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels import kkt as kernel
from kernels.kkt import CONVERGED, Options
from kernels.linear import cholesky_upper, solve_upper, solve_upper_transposed
from tests.kernels import leg, two_legs

Array = NDArray[np.floating]

OPTIONS = Options(1e-11, 60, 0.5)


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
    status, *_ = kernel.solve(
        one.tree, one.markers, one.elements, roles, measured, weight, hold, q.copy(), OPTIONS,
        leg.work_of(one), q, multiplier,
    )  # fmt: skip
    assert status == CONVERGED
    there, multipliers = two_legs.both(start), np.zeros(len(legs.elements.kind))
    status, _, residual, _ = kernel.solve(
        legs.tree, legs.markers, legs.elements, legs.roles, two_legs.both_markers(one, measured),
        np.ones(len(legs.markers.body)), np.zeros(len(legs.tree.dof_body)), there.copy(), OPTIONS, legs.work,
        there, multipliers,
    )  # fmt: skip
    assert status == CONVERGED
    assert residual <= 1e-11
    np.testing.assert_allclose(there, two_legs.both(q), atol=1e-8)


def test_rows_of_one_leg_stop_before_the_other() -> None:
    """Protects the pattern: pelvis with all, each leg with itself, also after the factorisation."""
    legs = two_legs.two_legs(leg.built("zero"), leg.roles("zero"))
    kernel.coupled_dofs(legs.tree, legs.elements, legs.roles, legs.work.stop)
    np.testing.assert_array_equal(legs.work.stop, [30] * 6 + [18] * 12 + [30] * 12)


@pytest.mark.parametrize("seed", range(4))
def test_factor_and_solutions_keep_the_pattern(seed: int) -> None:
    """Protects cholesky_upper and its solutions against dense ones, for two branches of a root."""
    rng = np.random.default_rng([seed, 90])
    stop = np.array([10] * 3 + [6] * 3 + [10] * 4, np.int64)
    n = len(stop)
    U = np.triu(rng.normal(size=(n, n))) + 3.0 * np.eye(n)
    for i in range(n):
        U[i, stop[i] :] = 0.0
    A = U @ U.T
    factor = np.triu(A)
    for i in range(n):
        np.testing.assert_allclose(factor[i, stop[i] :], 0.0, atol=1e-14)
    assert cholesky_upper(factor, n, stop, 0.0)
    np.testing.assert_allclose(np.triu(factor), U, atol=1e-12)
    for first, last in ((0, n - 1), (3, 5), (6, 8), (1, 4)):
        b = np.zeros(n)
        b[first : last + 1] = rng.normal(size=last + 1 - first)
        x = b.copy()
        solve_upper(factor, stop, first, last, x)
        np.testing.assert_allclose(x, np.linalg.solve(U, b), atol=1e-12)
        solve_upper_transposed(factor, n, stop, x)
        np.testing.assert_allclose(x, np.linalg.solve(A, b), atol=1e-11)
    assert not cholesky_upper(np.triu(A - 100.0 * np.eye(n)), n, stop, 0.0)
