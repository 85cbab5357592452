"""Covariance of all tangent coordinates of a pose: that which all errors of the markers cause, and that of
their noise alone.

The variances of published numbers are computed directly (kernels/uncertainty/deviation). Other quantities
that depend on the pose, such as points, muscles, coordinates and their rates, have derivatives f and the
variance f' C f, with the covariance C = P M P of the tangent coordinates, the covariance M of the objective's
gradient and the inverse P of the Hessian along the hard constraints (kernels/uncertainty/sensitivity). C
changes little from one frame to the next: it is computed once in a fixed number of frames (EVERY), and
whenever other markers are used. It belongs to one pose and is not averaged: errors of the coordinates are so
correlated that the position of a foot is as certain as its markers, and this correlation differs at another
pose.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.compiler.jit import njit

EVERY = 10
"""Frames from one computation of the covariance to the next."""
ALL, NOISE = 0, 1
"""Index of a covariance: by ALL errors of the markers, or by their NOISE alone."""


class PoseErrors(NamedTuple):
    """Covariances of the tangent coordinates [rad^2, rad m, m^2], and the state that decides when they are
    computed again.
    """

    covariance: Annotated[np.ndarray, Floats(2, "n_v", "n_v")]  # ALL, NOISE; symmetric
    seen: Annotated[np.ndarray, Integers("n_marker")]  # 1 = it was used for the newest
    wait: Annotated[np.ndarray, Integers(1)]  # frames until the next
    covariance_version: Annotated[np.ndarray, Integers(1)]  # how often it was computed


def new_pose_errors(n_v: int, n_marker: int) -> PoseErrors:
    """Allocate the PoseErrors of one solution before its first frame."""
    return allocate(PoseErrors, n_v=n_v, n_marker=n_marker)


@njit
def falls_due(weight, errors):
    """Return whether the covariance of the pose has to be computed again in this frame.

    weight : (n_marker,) - weights of the markers in this frame
    errors : PoseErrors - covariances of the coordinates, kept from frame to frame; its fields wait, seen and
        covariance_version are written
    """
    errors.wait[0] -= 1
    for m in range(weight.shape[0]):
        seen = int(weight[m] > 0.0)
        if seen != errors.seen[m]:
            errors.seen[m] = seen
            errors.wait[0] = 0
    if errors.wait[0] > 0:
        return False
    errors.wait[0] = EVERY
    errors.covariance_version[0] += 1
    return True


@njit
def know_nothing(errors):
    """Set the covariances to NaN because there is no valid pose; they are computed again in the next
    frame.
    """
    errors.covariance[:, :, :] = math.nan
    errors.wait[0] = 0
    errors.covariance_version[0] += 1


@njit
def add_coordinates(first, X):
    """Write the derivatives of all tangent coordinates with respect to the pose, an identity matrix, into
    columns first to first + n_v - 1 of X : (n_v, K), which has a column for each of K numbers.
    """
    for d in range(X.shape[0]):
        for k in range(X.shape[0]):
            X[d, first + k] = 1.0 if k == d else 0.0


@njit
def covary_kinds(M, X, first, row, C_out):
    """Write the covariances X' M X of the tangent coordinates: by all errors of the markers, and by their
    noise alone.

    M : (2, n_v, n_v) - covariances of the objective's gradient, by all errors (index ALL) and by noise (index
        NOISE), lower triangles
    X : (n_v, K) - sensitivities of K numbers to this gradient: column k is P f, with the derivatives f of
        number k and P of the module; the numbers from `first` on are the n_v tangent coordinates
    first : int - column of the first tangent coordinate
    row : (K,) - working space
    C_out : (2, n_v, n_v) - covariances of the tangent coordinates, indices ALL and NOISE, written
    """
    for of in range(2):
        covary(M[of], X, first, row, C_out[of])


@njit
def covary(M, X, first, row, C_out):
    """Write the covariance X' M X of the n_v numbers whose sensitivities are the columns of X from `first`
    on.

    M : (n_v, n_v) - covariance of the objective's gradient, lower triangle
    X : (n_v, K) - sensitivities of K numbers to this gradient, one number in each column
    first : int - index of the first of these n_v columns
    row : (K,) - working space
    C_out : (n_v, n_v) - symmetric, written
    """
    n = X.shape[0]
    C_out[:, :] = 0.0
    for i in range(n):
        row[:] = 0.0
        for j in range(n):
            y = M[i, j] if j <= i else M[j, i]
            if y != 0.0:
                for k in range(first, first + n):
                    row[k] += y * X[j, k]
        for a in range(n):
            y = X[i, first + a]
            if y != 0.0:
                for k in range(a + 1):
                    C_out[a, k] += y * row[first + k]
    for a in range(n):
        for k in range(a):
            C_out[k, a] = C_out[a, k]
