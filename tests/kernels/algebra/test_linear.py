"""In-place Cholesky factors, triangular solves, products and copies against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.algebra import copying, linear, spatial

Array = NDArray[np.floating]

SIZES = (1, 2, 5, 18, 40)


def definite(rng: np.random.Generator, n: int) -> Array:
    """Return a positive definite (n, n)."""
    A = rng.normal(size=(n, n))
    return A @ A.T + 0.1 * np.eye(n)


def semidefinite(rng: np.random.Generator, n: int, dependent: list[int]) -> Array:
    """Return B B' (n, n) whose given rows are sums of the rows before them."""
    B = rng.normal(size=(n, n))
    for i in dependent:
        B[i] = rng.normal(size=i) @ B[:i]
    return B @ B.T


@pytest.mark.parametrize("n", SIZES)
def test_cholesky_is_numpys(n: int) -> None:
    """Protects the factor, and that the upper triangle is neither read nor written."""
    A = definite(np.random.default_rng(n), n)
    L = np.tril(A) + np.triu(np.full((n, n), np.nan), 1)
    assert linear.cholesky(L, n, 0.0)
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(A), rtol=1e-12, atol=1e-12)
    assert np.isnan(L[np.triu_indices(n, 1)]).all()


@pytest.mark.parametrize("n", SIZES)
def test_triangular_solves_are_numpys(n: int) -> None:
    """Protects L^-1 x and L'^-1 x, together A^-1 x."""
    rng = np.random.default_rng(100 + n)
    A, x = definite(rng, n), rng.normal(size=n)
    L = np.linalg.cholesky(A)
    y = x.copy()
    linear.solve_lower(L, n, y)
    np.testing.assert_allclose(y, np.linalg.solve(L, x), atol=1e-11)
    linear.solve_lower_transposed(L, n, y)
    np.testing.assert_allclose(y, np.linalg.solve(A, x), atol=1e-9)


def test_only_the_leading_block_is_touched() -> None:
    """Protects working spaces larger than the problem of a frame."""
    rng = np.random.default_rng(1)
    A = definite(rng, 6)
    expected = A.copy()
    expected[:4, :4] = np.tril(np.linalg.cholesky(A[:4, :4])) + np.triu(A[:4, :4], 1)
    assert linear.cholesky(A, 4, 0.0)
    np.testing.assert_allclose(A, expected, atol=1e-13)


@pytest.mark.parametrize("bad", [-1.0, 0.0, np.nan])
def test_cholesky_refuses_what_is_not_definite(bad: float) -> None:
    """Protects the sign that a step does not head for a minimum, NaN included."""
    A = definite(np.random.default_rng(2), 5)
    A[3, 3] = bad
    assert not linear.cholesky(A, 5, 0.0)


def test_cholesky_refuses_a_pivot_at_its_floor() -> None:
    """Protects the pivot floor: a pivot equal to it is refused, one above it is taken."""
    assert not linear.cholesky(np.diag([4.0, 1e-3]), 2, 1e-3)
    assert linear.cholesky(np.diag([4.0, 1.001e-3]), 2, 1e-3)


@pytest.mark.parametrize("dependent", [[], [3], [4], [2, 4], [1, 2, 3, 4]])
def test_cholesky_drop_solves_with_dependent_rows_at_zero(dependent: list[int]) -> None:
    """Protects redundant constraints: dependent unknowns are zero, the others solve a consistent system."""
    rng = np.random.default_rng(len(dependent))
    A = semidefinite(rng, 5, dependent)
    b = A @ rng.normal(size=5)
    L, x = A.copy(), b.copy()
    assert linear.cholesky_drop(L, 5, 1e-12) == len(dependent)
    linear.solve_lower(L, 5, x)
    linear.solve_lower_transposed(L, 5, x)
    np.testing.assert_array_equal(x[dependent], 0.0)
    np.testing.assert_allclose(A @ x, b, atol=1e-9)


def test_cholesky_drop_of_nothing_and_of_a_zero_row() -> None:
    """Protects an empty problem, and a constraint that no dof moves."""
    assert linear.cholesky_drop(np.zeros((2, 2)), 0, 1e-13) == 0
    A, x = np.diag([4.0, 0.0, 9.0]), np.array([2.0, 1.0, 3.0])
    assert linear.cholesky_drop(A, 3, 1e-13) == 1
    linear.solve_lower(A, 3, x)
    linear.solve_lower_transposed(A, 3, x)
    np.testing.assert_allclose(x, [0.5, 0.0, 1.0 / 3.0], atol=1e-15)


def test_cholesky_drop_is_relative_to_the_size_of_a_row() -> None:
    """Protects small constraints (m^2) beside large ones: scaling a row changes nothing about it."""
    A = definite(np.random.default_rng(3), 3)
    scale = np.diag([1.0, 1e-7, 1e3])
    L = scale @ A @ scale
    assert linear.cholesky_drop(L, 3, 1e-12) == 0


def test_copies() -> None:
    """Protects the two copies that every kernel uses."""
    rng = np.random.default_rng(4)
    x, X, y, Y = rng.normal(size=5), rng.normal(size=(3, 4)), np.zeros(5), np.zeros((3, 4))
    copying.copy(x, y)
    copying.copy_matrix(X, Y)
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(Y, X)


@pytest.mark.parametrize("n", SIZES)
def test_products_are_numpys(n: int) -> None:
    """Protects the sums over all numbers of a vector, and over three or six."""
    a, b = np.random.default_rng(n).normal(size=(2, max(n, 6)))
    assert linear.inner_product(a[:n], b[:n]) == pytest.approx(a[:n] @ b[:n], abs=1e-13)
    assert spatial.dot(a, b) == pytest.approx(a[:3] @ b[:3], abs=1e-14)
    assert spatial.power(a, b) == pytest.approx(a[:6] @ b[:6], abs=1e-14)
