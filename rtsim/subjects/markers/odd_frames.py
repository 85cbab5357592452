"""Detection of frames in which a marker lies elsewhere on its segment than in most frames of the same trial.

Before a calibration no marker positions on the segments are known, so they are estimated from the frames
themselves. The points of a segment in all frames are aligned with the most typical frame, and their medians
are its shape; markers displaced in less than half of the frames do not change it. Each frame is fitted to
that shape with all points, and without each point in turn. The point without which the fit improves most is
taken to be displaced if the improvement is large enough, as in a run (kernels/faults/calibrated).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.markers.distances import FEWEST, LIMIT

Array = NDArray[np.float64]


def odd_frames(points: Mapping[str, Array], errors: Sequence[float]) -> NDArray[np.int64]:
    """Return for each frame the index in `points` of the point that is displaced, -1 = none, (n,).

    points : name -> (n, 3) [m], one or more; NaN = missing
    errors : typical distance of each point from its place [m]
    """
    x = np.stack(list(points.values()), axis=1)
    odd = np.full(len(x), -1, np.int64)
    seen: NDArray[np.bool_] = np.asarray(np.isfinite(x).all(axis=2))
    judged: NDArray[np.bool_] = np.asarray(seen.sum(axis=1) >= FEWEST)
    if judged.sum() < FEWEST:
        return odd
    x, seen = x[judged], seen[judged]
    weights = seen / np.asarray(errors) ** 2
    shape = usual_shape(np.where(seen[:, :, None], x, 0.0), weights)
    known: NDArray[np.bool_] = np.asarray(np.isfinite(shape).all(axis=1))
    weights, shape = weights * known, np.where(known[:, None], shape, 0.0)
    x = np.where(seen[:, :, None], x, 0.0)
    total = squares_left(x, shape, weights)
    explained = np.zeros(weights.shape)
    for k in np.flatnonzero(known).tolist():
        without = weights.copy()
        without[:, k] = 0.0
        explained[:, k] = np.where(weights[:, k] > 0.0, total - squares_left(x, shape, without), 0.0)
    worst = np.argmax(explained, axis=1)
    beyond = explained[np.arange(len(x)), worst] > LIMIT**2
    odd[judged] = np.where(beyond, worst, -1)
    return odd


def usual_shape(x: Array, weights: Array) -> Array:
    """Return the shape of a segment: medians of the points, aligned with the frame with the most typical
    distances, (n_point, 3) [m]; NaN for points missing in this frame.

    x : (n, n_point, 3) [m]; weights : (n, n_point) [1/m^2], 0 = missing
    """
    seen = weights > 0.0
    pairs = np.array(list(combinations(range(x.shape[1]), 2)))
    apart = np.linalg.norm(x[:, pairs[:, 0]] - x[:, pairs[:, 1]], axis=2)
    both = seen[:, pairs[:, 0]] & seen[:, pairs[:, 1]]
    apart[~both] = np.nan
    whole = np.flatnonzero(seen.sum(axis=1) == seen.sum(axis=1).max())
    often = both[whole].any(axis=0)
    off = np.abs(apart[whole][:, often] - np.nanmedian(apart[:, often], axis=0))
    typical = whole[np.argmin(np.nansum(off, axis=1))]
    there = seen[typical]
    shared = weights * there
    R, x_mean, shape_mean = laid_on(x, x[typical], shared)
    laid = np.einsum("nij,nkj->nki", R, x - x_mean[:, None]) + shape_mean[:, None]
    laid[~(seen & there)] = np.nan
    laid[(shared > 0.0).sum(axis=1) < FEWEST] = np.nan
    shape = np.full(x.shape[1:], np.nan)
    shape[there] = np.nanmedian(laid[:, there], axis=0)
    return shape


def laid_on(x: Array, shape: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Align points with a shape by weighted least squares (Kabsch 1976); return the rotations (n, 3, 3) from
    the points to the shape, and the weighted means (n, 3) of the points and of the shape.

    x : (n, n_point, 3); shape : (n_point, 3); weights : (n, n_point)
    """
    share = weights / np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    x_mean, shape_mean = np.einsum("nk,nki->ni", share, x), share @ shape
    moment = np.einsum("nk,nki,nkj->nij", share, shape - shape_mean[:, None], x - x_mean[:, None])
    u, _, vt = np.linalg.svd(moment)
    u[:, :, 2] *= np.sign(np.linalg.det(u) * np.linalg.det(vt))[:, None]  # a rotation, never a mirroring
    return u @ vt, x_mean, shape_mean


def squares_left(x: Array, shape: Array, weights: Array) -> Array:
    """Return the weighted sum of squared distances of points from their places in the best rigid fit, (n,)
    [1].

    x : (n, n_point, 3); shape : (n_point, 3); weights : (n, n_point), 0 = left out
    """
    R, x_mean, shape_mean = laid_on(x, shape, weights)
    off = np.einsum("nij,nkj->nki", R, x - x_mean[:, None]) - (shape - shape_mean[:, None])
    return np.asarray(np.einsum("nk,nki,nki->n", weights, off, off))
