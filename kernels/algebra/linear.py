"""Small dense linear algebra in place: Cholesky and LU factors, and the solution of equations with them.

Plain loops are faster than BLAS calls at these sizes (n up to about 40), and allocate nothing.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit


@njit
def cholesky(A, n, pivot_floor):
    """Replace the lower triangle of A : (n, n) by L of A = L L'; return False at a pivot <= pivot_floor."""
    for j in range(n):
        s = A[j, j]
        for k in range(j):
            s -= A[j, k] * A[j, k]
        if not s > pivot_floor:  # also catches NaN
            return False
        d = math.sqrt(s)
        A[j, j] = d
        inverse = 1.0 / d
        for i in range(j + 1, n):
            s = A[i, j]
            for k in range(j):
                s -= A[i, k] * A[j, k]
            A[i, j] = s * inverse
    return True


@njit
def cholesky_leaves_first(A, n, pivot_floor):
    """Factorise A = L'L : (n, n), from the last row to the first; the lower triangle of A is replaced by L,
    with the inverses of L's diagonal entries on the diagonal.

    For the mass matrix of a joint tree the dofs of its leaves are thus eliminated before those of its root;
    entries that couple two branches stay zero, and are skipped (Featherstone 2008, Rigid Body Dynamics
    Algorithms, section 6.5). Return False at a pivot <= pivot_floor.
    """
    for j in range(n - 1, -1, -1):
        if not A[j, j] > pivot_floor:  # also catches NaN
            return False
        inverse = 1.0 / math.sqrt(A[j, j])
        A[j, j] = inverse
        for i in range(j):
            A[j, i] *= inverse
        for i in range(j):
            y = A[j, i]
            if y != 0.0:
                for k in range(i + 1):
                    A[i, k] -= y * A[j, k]
    return True


@njit
def solve_towards_root(L, last, x):
    """Solve L' y = x in place for x : (n,) that is zero after index `last`, with the factor L of A = L'L from
    `cholesky_leaves_first`.
    """
    for j in range(last, -1, -1):
        if x[j] != 0.0:
            y = x[j] * L[j, j]
            x[j] = y
            for i in range(j):
                x[i] -= L[j, i] * y


@njit
def solve_towards_leaves(L, n, x):
    """Solve L y = x in place for x : (n,), with the factor L of A = L'L from `cholesky_leaves_first`."""
    for i in range(n):
        s = x[i]
        for k in range(i):
            s -= L[i, k] * x[k]
        x[i] = s * L[i, i]


@njit
def columns_towards_root(L, n, X):
    """Solve L' Y = X in place for all columns of X : (n, K) at once, with the factor L of A = L'L from
    `cholesky_leaves_first`.
    """
    for j in range(n - 1, -1, -1):
        d = L[j, j]
        for k in range(X.shape[1]):
            X[j, k] *= d
        for i in range(j):
            y = L[j, i]
            if y != 0.0:
                for k in range(X.shape[1]):
                    X[i, k] -= y * X[j, k]


@njit
def columns_towards_leaves(L, n, X):
    """Solve L Y = X in place for all columns of X : (n, K) at once, with the factor L of A = L'L from
    `cholesky_leaves_first`.
    """
    for i in range(n):
        for j in range(i):
            y = L[i, j]
            if y != 0.0:
                for k in range(X.shape[1]):
                    X[i, k] -= y * X[j, k]
        d = L[i, i]
        for k in range(X.shape[1]):
            X[i, k] *= d


@njit
def columns_of_cholesky(L, n, X):
    """Solve L L' Y = X in place for the first n rows of X : (m, K).

    L : (m, m) is the factor of `cholesky` or `cholesky_drop`.
    """
    for i in range(n):
        for j in range(i):
            y = L[i, j]
            for k in range(X.shape[1]):
                X[i, k] -= y * X[j, k]
        d = 1.0 / L[i, i]
        for k in range(X.shape[1]):
            X[i, k] *= d
    for i in range(n - 1, -1, -1):
        d = 1.0 / L[i, i]
        for k in range(X.shape[1]):
            X[i, k] *= d
        for j in range(i):
            y = L[i, j]
            for k in range(X.shape[1]):
                X[j, k] -= y * X[i, k]


@njit
def cholesky_drop(A, n, relative_floor, reach=None):
    """Replace the lower triangle of a positive semidefinite A : (n, n) by L of A = L L', skipping rows that
    depend linearly on earlier ones; return how many were skipped.

    A pivot that is not above relative_floor times its diagonal entry marks such a row: its pivot becomes
    infinite, so that its unknown in a solve is zero. The loops are not shared with `cholesky`, as a common
    kernel for one column would make that a tenth slower at n = 12.

    reach : (n,) - further factor of this limit for each row; None = 1
    """
    n_dropped = 0
    for j in range(n):
        s = A[j, j]
        floor = relative_floor * s
        if reach is not None:
            floor *= reach[j]
        for k in range(j):
            s -= A[j, k] * A[j, k]
        if not s > floor:
            n_dropped += 1
            A[j, j] = math.inf
            for i in range(j + 1, n):
                A[i, j] = 0.0
            continue
        d = math.sqrt(s)
        A[j, j] = d
        inverse = 1.0 / d
        for i in range(j + 1, n):
            s = A[i, j]
            for k in range(j):
                s -= A[i, k] * A[j, k]
            A[i, j] = s * inverse
    return n_dropped


@njit
def solve_lower(L, n, x):
    """Replace x : (n,) by L^-1 x, with L : (n, n) lower triangular."""
    for i in range(n):
        s = x[i]
        for k in range(i):
            s -= L[i, k] * x[k]
        x[i] = s / L[i, i]


@njit
def solve_lower_transposed(L, n, x):
    """Replace x : (n,) by L'^-1 x, with L : (n, n) lower triangular."""
    for i in range(n - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]


@njit
def inner_product(a, b):
    """Return the inner product a . b of two vectors : (n,)."""
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i] * b[i]
    return s


@njit
def lu(A, n, pivot_out):
    """Replace A : (n, n) by its LU factors with partial pivoting; return False where it is singular.

    The diagonal holds the inverses of the pivots; the row exchanges are written into pivot_out : (n,) int64.
    """
    for k in range(n):
        p, largest = k, abs(A[k, k])
        for i in range(k + 1, n):
            if abs(A[i, k]) > largest:
                p, largest = i, abs(A[i, k])
        if not (largest > 0.0 and largest < math.inf):  # also catches NaN
            return False
        pivot_out[k] = p
        if p != k:
            for j in range(n):
                A[k, j], A[p, j] = A[p, j], A[k, j]
        inverse = 1.0 / A[k, k]
        A[k, k] = inverse
        for i in range(k + 1, n):
            factor = A[i, k] * inverse
            A[i, k] = factor
            if factor != 0.0:
                for j in range(k + 1, n):
                    A[i, j] -= factor * A[k, j]
    return True


@njit
def lu_solve(A, n, pivot, x):
    """Replace x : (n,) by A^-1 x, with the factors and row exchanges of `lu`."""
    for k in range(n):
        p = pivot[k]
        if p != k:
            x[k], x[p] = x[p], x[k]
    for i in range(1, n):
        s = x[i]
        for k in range(i):
            s -= A[i, k] * x[k]
        x[i] = s
    for i in range(n - 1, -1, -1):
        s = x[i]
        for k in range(i + 1, n):
            s -= A[i, k] * x[k]
        x[i] = s * A[i, i]


@njit
def invert(L, n, A_out):
    """Write the inverse of L L', which is symmetric, into A_out : (n, n)."""
    for k in range(n):
        for i in range(n):
            A_out[k, i] = 1.0 if i == k else 0.0
        solve_lower(L, n, A_out[k])
        solve_lower_transposed(L, n, A_out[k])
