"""Copies of arrays in kernels, by loops: with a slice assignment Numba also compiles its error messages."""

from __future__ import annotations

from kernels.compiler.jit import inlined, njit


@njit
def copy(x, y_out):
    """Copy the vector x : (n,) into y_out : (n,)."""
    for i in range(y_out.shape[0]):
        y_out[i] = x[i]


@njit
def copy_matrix(X, Y_out):
    """Copy the matrix X : (n, m) into Y_out : (n, m)."""
    for i in range(Y_out.shape[0]):
        for j in range(Y_out.shape[1]):
            Y_out[i, j] = X[i, j]


@inlined
def copy_vector(x, y_out):
    """Copy the vector x : (3,) into y_out : (3,)."""
    y_out[0], y_out[1], y_out[2] = x[0], x[1], x[2]


@inlined
def copy_frame(X, Y_out):
    """Copy the rotation matrix or axes X : (3, 3) into Y_out : (3, 3)."""
    Y_out[0, 0], Y_out[0, 1], Y_out[0, 2] = X[0, 0], X[0, 1], X[0, 2]
    Y_out[1, 0], Y_out[1, 1], Y_out[1, 2] = X[1, 0], X[1, 1], X[1, 2]
    Y_out[2, 0], Y_out[2, 1], Y_out[2, 2] = X[2, 0], X[2, 1], X[2, 2]
