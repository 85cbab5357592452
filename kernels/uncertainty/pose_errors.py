"""Covariance of a pose, of all tangent coordinates together: by all errors of markers, and by their noise
alone.

A published number has its variance from the optimum itself (kernels/uncertainty/deviation). Other quantities
that depend on the pose, as points, muscles, coordinates and their rates, have derivatives f and the variance
f' C f, with the covariance C = P M P of the tangent coordinates. C changes little from one frame to the next:
it is computed once in EVERY frames, and where other markers are used. It belongs to one pose and is no mean:
the errors of all coordinates are correlated, which is why the position of a foot is as certain as its
markers, and this correlation differs at another pose.
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
    """Covariances of tangent coordinates [rad^2, rad m, m^2], and the state kept from frame to frame for
    their updates.
    """

    covariance: Annotated[np.ndarray, Floats(2, "n_v", "n_v")]  # ALL, NOISE; symmetric
    seen: Annotated[np.ndarray, Integers("n_marker")]  # 1 = it took part in the newest
    wait: Annotated[np.ndarray, Integers(1)]  # frames until the next
    covariance_version: Annotated[np.ndarray, Integers(1)]  # how often it was made anew


def new_pose_errors(n_v: int, n_marker: int) -> PoseErrors:
    """Allocate the PoseErrors of a solution before its first frame."""
    return allocate(PoseErrors, n_v=n_v, n_marker=n_marker)


@njit
def falls_due(weight, errors):
    """Return whether the covariance has to be computed again in this frame.

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
    """Write NaN for the covariance because there is no valid pose; the next frame computes the covariance
    anew.
    """
    errors.covariance[:, :, :] = math.nan
    errors.wait[0] = 0
    errors.covariance_version[0] += 1


@njit
def add_coordinates(first, X):
    """Write the derivatives of all tangent coordinates, an identity matrix, into the columns of X : (n_v, K)
    from `first` on; the others are unchanged.
    """
    for d in range(X.shape[0]):
        for k in range(X.shape[0]):
            X[d, first + k] = 1.0 if k == d else 0.0


@njit
def covary_kinds(M, X, first, row, C_out):
    """Write the covariances of tangent coordinates by ALL errors and by NOISE.

    M : (2, n_v, n_v) - covariances of the gradient, lower triangles
    X : (n_v, K) - sensitivities
    first : int - column of the first tangent coordinate
    row : (K,) - scratch, written
    C_out : (2, n_v, n_v) - written
    """
    for of in range(2):
        covary(M[of], X, first, row, C_out[of])


@njit
def covary(M, X, first, row, C_out):
    """Write the product X' M X for the columns of X from `first` on.

    M : (n_v, n_v) - lower triangle
    X : (n_v, K)
    first : int
    row : (K,) - scratch, written
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
