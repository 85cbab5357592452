"""Covariance of a pose: of all its coordinates together, by all errors of markers and by their noise alone.

A number has its variance from the optimum itself (kernels/uncertainty/deviation). What else depends on a
pose, as points, muscles, coordinates and their rates, has slopes f and the variance f' C f, C = P M P the
covariance of the tangent coordinates. C changes little from one frame to the next: it is made anew once in
EVERY frames, and where other markers take part. It is of one pose, and no mean over some: that all
coordinates err together is what makes the place of a foot as certain as its markers, and they do so in
another way at another pose.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.compiler.jit import njit

EVERY = 10
"""Frames from one covariance to the next."""
ALL, NOISE = 0, 1
"""Of which errors of the markers a covariance is."""


class PoseErrors(NamedTuple):
    """Covariances of tangent coordinates [rad^2, rad m, m^2], and what they need from frame to frame."""

    covariance: Annotated[np.ndarray, Floats(2, "n_v", "n_v")]  # ALL, NOISE; symmetric
    seen: Annotated[np.ndarray, Integers("n_marker")]  # 1 = it took part in the newest
    wait: Annotated[np.ndarray, Integers(1)]  # frames until the next
    covariance_version: Annotated[np.ndarray, Integers(1)]  # how often it was made anew


def new_pose_errors(n_v: int, n_marker: int) -> PoseErrors:
    """Allocate a PoseErrors that knows nothing."""
    return allocate(PoseErrors, n_v=n_v, n_marker=n_marker)


@njit
def falls_due(weight, errors):
    """Whether the covariance is to be made anew.

    weight : (n_marker,) - of the frame
    errors : PoseErrors - wait, seen, edition written
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
    """Of a pose that is none: NaN, and the next one is made anew."""
    errors.covariance[:, :, :] = math.nan
    errors.wait[0] = 0
    errors.covariance_version[0] += 1


@njit
def add_coordinates(first, X):
    """X : (n_v, K) - slopes of all tangent coordinates, from column `first` on; the others stay."""
    for d in range(X.shape[0]):
        for k in range(X.shape[0]):
            X[d, first + k] = 1.0 if k == d else 0.0


@njit
def covary_kinds(M, X, first, row, C_out):
    """C_out : (2, n_v, n_v) - as covary, of ALL errors and of NOISE.

    M : (2, n_v, n_v) - lower triangles
    X : (n_v, K)
    first : int
    row : (K,) - written
    C_out : (2, n_v, n_v) - written
    """
    for of in range(2):
        covary(M[of], X, first, row, C_out[of])


@njit
def covary(M, X, first, row, C_out):
    """C_out : (n_v, n_v) = X' M X of the columns of X from `first` on.

    M : (n_v, n_v) - lower triangle
    X : (n_v, K)
    first : int
    row : (K,) - written
    C_out : (n_v, n_v) - written
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
