"""Copies by plain loops: a slice assignment would drag in the text of its error message."""

from __future__ import annotations

from kernels._jit import njit


@njit
def copy(x, y_out):
    """y_out : (n,) = x."""
    for i in range(y_out.shape[0]):
        y_out[i] = x[i]


@njit
def copy_matrix(X, Y_out):
    """Y_out : (n, m) = X."""
    for i in range(Y_out.shape[0]):
        for j in range(Y_out.shape[1]):
            Y_out[i, j] = X[i, j]
