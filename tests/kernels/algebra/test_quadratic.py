"""Small quadratic programs: what they find fulfils the conditions of an optimum, whatever the rows."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.algebra.quadratic import SOLVED, new_quadratic, solve_quadratic


def solved(H, h, G, b):
    """The answer and its multipliers."""
    program, work = new_quadratic(len(h), len(b))
    for into, values in zip(program, (H, h, G, b), strict=True):
        into[:] = values
    assert solve_quadratic(program, work) == SOLVED
    return work.y, work.multiplier


@pytest.mark.parametrize("seed", range(12))
def test_conditions_of_an_optimum_hold(seed):
    """Protects the answer: stationary, inside all rows, multipliers only of rows that are closed."""
    rng = np.random.default_rng(seed)
    n, m = 6, 300
    L = rng.normal(size=(n, n))
    H, h, G = L @ L.T + 0.1 * np.eye(n), 5.0 * rng.normal(size=n), rng.normal(size=(m, n))
    b = rng.uniform(0.0, 2.0, m) - G @ rng.normal(size=n)
    y, z = solved(H, h, G, b)
    assert H @ y + h - G.T @ z == pytest.approx(np.zeros(n), abs=1e-8)
    assert (G @ y + b).min() > -1e-10
    assert z.min() >= 0.0
    assert abs(z * (G @ y + b)).max() < 1e-8


def test_without_rows_in_the_way_it_is_the_free_minimum():
    """Protects the simplest case: far from every row the answer is that of the linear equations."""
    H, h = np.diag([2.0, 4.0]), np.array([-2.0, 4.0])
    y, _ = solved(H, h, np.array([[1.0, 0.0]]), np.array([100.0]))
    assert y == pytest.approx([1.0, -1.0], abs=1e-8)


def test_rows_that_are_there_many_times_do_no_harm():
    """Protects fits, whose neighbouring frames say the same: copies of a row share its multiplier."""
    G, b = np.tile([[1.0, 0.0]], (200, 1)), np.full(200, -2.0)
    y, z = solved(np.eye(2), np.zeros(2), G, b)
    assert y == pytest.approx([2.0, 0.0], abs=1e-7)
    assert z.sum() == pytest.approx(2.0, abs=1e-6)


def test_a_program_without_an_answer_is_told():
    """Protects callers: rows that contradict each other are not solved in silence."""
    program, work = new_quadratic(1, 2)
    program.H[0, 0], program.G[:, 0], program.b[:] = 1.0, (1.0, -1.0), (-1.0, -1.0)
    assert solve_quadratic(program, work) != SOLVED
