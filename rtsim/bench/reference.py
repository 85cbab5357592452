"""One fixed kernel that every benchmark times in its own run, so that results from two machines can be
compared.

A solve of SIZE linear equations: copy the matrix, Cholesky factors, two triangular solves, in plain loops
like those of the kernels; about 6000 operations on doubles, a microsecond or a few on one thread, all of it
in the first cache. Data are fixed, and every solve starts from the result of the one before, so that the
compiler cannot leave any out. A time divided by reference_us depends far less on the machine than the time
itself.

The kernel, its data and SIZE never change: any change needs a new VERSION, which is printed with the
results; results of two versions are not compared. This kernel shares no code with `kernels`, whose loops may
get faster.
"""

from __future__ import annotations

import math
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import entry

VERSION = "cholesky-24, version 1"
SIZE = 24
N_SOLVE, N_BATCH = 100, 1000  # a tenth of a second together


@entry
def repeat_solve(A, b, L, x, n_solve):
    """n_solve times x : (n,) <- A^-1 (b + x / 2), A : (n, n), by Cholesky factors in L : (n, n)."""
    n = A.shape[0]
    for _ in range(n_solve):
        for i in range(n):
            x[i] = b[i] + 0.5 * x[i]
            for j in range(i + 1):
                L[i, j] = A[i, j]
        for j in range(n):
            s = L[j, j]
            for k in range(j):
                s -= L[j, k] * L[j, k]
            d = math.sqrt(s)
            L[j, j] = d
            inverse = 1.0 / d
            for i in range(j + 1, n):
                s = L[i, j]
                for k in range(j):
                    s -= L[i, k] * L[j, k]
                L[i, j] = s * inverse
        for i in range(n):
            s = x[i]
            for k in range(i):
                s -= L[i, k] * x[k]
            x[i] = s / L[i, i]
        for i in range(n - 1, -1, -1):
            x[i] /= L[i, i]
            for k in range(i):
                x[k] -= L[i, k] * x[i]


def problem() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The matrix (SIZE, SIZE), symmetric and positive definite, and the right side (SIZE,)."""
    k = np.arange(SIZE)
    A = 1.0 / (1.0 + abs(k[:, None] - k[None, :])) + 2.0 * np.eye(SIZE)
    return A, np.cos(k)


def time_solves(n_batch: int = N_BATCH) -> NDArray[np.float64]:
    """Time solves; return the microseconds of one solve in each batch, (n_batch,), the mean over N_SOLVE
    solves in one call.
    """
    A, b = problem()
    L, x = np.zeros_like(A), np.zeros_like(b)
    repeat_solve(A, b, L, x, N_SOLVE)
    us = np.empty(n_batch)
    for i in range(n_batch):
        start = perf_counter_ns()
        repeat_solve(A, b, L, x, N_SOLVE)
        us[i] = 1e-3 * (perf_counter_ns() - start) / N_SOLVE
    return us
