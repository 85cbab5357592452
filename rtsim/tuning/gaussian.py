"""A small Gaussian process: cost as a smooth function of a setting, with noise and a drift over the trials.

The model is y = m + f(x) + d t + e, in which f has a Matern 5/2 covariance with a length scale for each
parameter (Rasmussen & Williams 2006, eq. 4.17), d t is a drift along the order of the trials, and e white
noise. Costs are standardised, so that f has the variance 1. Length scales and noise are the most probable
ones under priors: length scales are log-normal as in Hvarfner, Hellsten and Nardi (2024, "Vanilla Bayesian
optimization performs great in high dimensions"), and the priors of noise and drift are constants of this
file.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import minimize

Array = NDArray[np.float64]

ROOT5 = math.sqrt(5.0)
LENGTH_MEAN, LENGTH_SPREAD = math.sqrt(2.0), math.sqrt(3.0)
"""Mean and standard deviation of the logarithm of a length; log(n) / 2 is added to the mean (Hvarfner et
al. 2024)."""
NOISE_MEAN, NOISE_SPREAD = math.log(0.01), 2.0
"""Mean and standard deviation of the logarithm of the noise's variance: our choice, wide, from none to as
much as the costs differ."""
LENGTHS, NOISES = (1e-2, 1e2), (1e-6, 4.0)
"""Bounds of lengths, and of the noise's variance."""
DRIFT = 1.0
"""Standard deviation of the drift from the first trial to the newest, of that of the costs: our choice, as a
drift of a part of the cost is large beside what settings near the best differ."""
STARTS = (0.3, 1.0)
"""Length scales at which the search for the most probable ones begins."""


def matern(a: Array, b: Array, lengths: Array) -> Array:
    """Return the covariance of f between points a : (n_a, n) and b : (n_b, n), (n_a, n_b); lengths : (n,)
    length scales.
    """
    r = distance(a, b, lengths)
    return np.asarray((1.0 + ROOT5 * r + 5.0 / 3.0 * r * r) * np.exp(-ROOT5 * r))


def distance(a: Array, b: Array, lengths: Array) -> Array:
    """Return the distances between points in units of the length scales, (n_a, n_b)."""
    difference = (a[:, None, :] - b[None, :, :]) / lengths
    return np.asarray(np.sqrt(np.einsum("abi,abi->ab", difference, difference)))


def slopes(points: Array, lengths: Array) -> Array:
    """Return the derivatives of the covariance k = `matern` between points with respect to the logarithm of
    each length scale l_i, (n, n_point, n_point).

    dk / d log l_i = 5/3 (1 + sqrt(5) r) exp(-sqrt(5) r) (dx_i / l_i)^2, with the difference dx of two points
    and their distance r in units of the length scales.
    """
    squared = ((points[:, None, :] - points[None, :, :]) / lengths) ** 2
    r = np.sqrt(squared.sum(axis=2))
    return np.asarray(5.0 / 3.0 * ((1.0 + ROOT5 * r) * np.exp(-ROOT5 * r)) * np.moveaxis(squared, 2, 0))


class GaussianProcess(NamedTuple):
    """A Gaussian process fitted to the costs of trials.

    points : (m, n) settings; lengths : (n,) length scales; noise : variance of the noise of the standardised
        costs
    factor : (m, m), lower Cholesky factor of the covariance of the standardised costs; weights : (m,),
        covariance^-1 times (standardised costs - their most probable mean)
    mean : most probable mean of the costs; scale : their standard deviation
    """

    points: Array
    lengths: Array
    noise: float
    factor: Array
    weights: Array
    mean: float
    scale: float

    def predict(self, at: Array) -> tuple[Array, Array]:
        """Return the expected cost without drift and its standard deviation at the points at : (k, n), each
        (k,).
        """
        across = matern(at, self.points, self.lengths)
        spread = solve_triangular(self.factor, across.T, lower=True, check_finite=False)
        left = np.maximum(1.0 - np.einsum("mk,mk->k", spread, spread), 1e-12)
        return self.mean + self.scale * (across @ self.weights), self.scale * np.sqrt(left)


def fit(points: Array, costs: Array) -> GaussianProcess:
    """Fit the Gaussian process to trials in their order, with the most probable length scales and noise.

    points : (m, n) - in the unit cube; costs : (m,)
    """
    n = points.shape[1]
    y, _, _ = standardised(costs)
    drift = drift_of(len(y))

    def loss(log: Array) -> tuple[float, Array]:
        return misfit(log, points, y, drift)

    starts = [np.append(np.full(n, math.log(length)), NOISE_MEAN) for length in STARTS]
    bounds = [tuple(np.log(LENGTHS))] * n + [tuple(np.log(NOISES))]
    found = min(
        (minimize(loss, at, jac=True, method="L-BFGS-B", bounds=bounds) for at in starts),
        key=lambda one: float(one.fun),
    )
    return conditioned(points, costs, np.exp(found.x[:n]), math.exp(found.x[n]))


def conditioned(points: Array, costs: Array, lengths: Array, noise: float) -> GaussianProcess:
    """Return the Gaussian process that follows from the costs of trials, in their order, with given length
    scales and noise.

    points : (m, n) - in the unit cube; costs : (m,); lengths : (n,); noise : variance of the standardised
        costs
    """
    y, centre, scale = standardised(costs)
    covariance = matern(points, points, lengths) + drift_of(len(y)) + noise * np.eye(len(y))
    factor = np.asarray(np.linalg.cholesky(covariance), float)
    level, weights = solved(factor, y)
    return GaussianProcess(
        points=points,
        lengths=lengths,
        noise=noise,
        factor=factor,
        weights=weights,
        mean=centre + scale * level,
        scale=scale,
    )


def standardised(costs: Array) -> tuple[Array, float, float]:
    """Return costs (m,) standardised to mean 0 and standard deviation 1, and the mean and standard deviation
    that they had before.
    """
    centre, scale = float(np.mean(costs)), float(np.std(costs))
    scale = scale if scale > 1e-12 * max(1.0, abs(centre)) else 1.0
    return (costs - centre) / scale, centre, scale


def drift_of(n_trial: int) -> Array:
    """Return the covariance of a linear drift along the order of the trials, (n_trial, n_trial)."""
    t = np.linspace(-1.0, 0.0, n_trial)
    return DRIFT**2 * np.outer(t, t)


def solved(factor: Array, y: Array) -> tuple[float, Array]:
    """Return the most probable constant mean, and covariance^-1 (y - mean), (m,); factor : (m, m) Cholesky
    factor of the covariance; y : (m,) standardised costs.
    """
    ones = cho_solve((factor, True), np.ones(len(y)), check_finite=False)
    level = float(ones @ y / ones.sum())
    return level, cho_solve((factor, True), y - level, check_finite=False)


def misfit(log: Array, points: Array, y: Array, drift: Array) -> tuple[float, Array]:
    """Return the negative logarithm of the posterior probability of length scales and noise, and its
    derivatives (n + 1,).

    With the covariance K of the costs y, their most probable mean m and a = K^-1 (y - m), the value is (y -
    m)' a / 2 + log |K| / 2 - log priors. The derivatives of the first two terms are tr((K^-1 - a a') dK) / 2
    (Rasmussen & Williams 2006, eqs 5.8 and 5.9).

    Parameters
    ----------
    log : (n + 1,) - logarithms of the length scales and of the variance of the noise
    points : (m, n) - settings in the unit cube
    y : (m,) - standardised costs
    drift : (m, m) - covariance of the drift
    """
    n, m = points.shape[1], len(y)
    lengths, noise = np.exp(log[:n]), math.exp(log[n])
    covariance = matern(points, points, lengths) + drift + noise * np.eye(m)
    factor = np.asarray(np.linalg.cholesky(covariance), float)
    level, weights = solved(factor, y)
    inverse = cho_solve((factor, True), np.eye(m), check_finite=False)
    away = np.append((log[:n] - LENGTH_MEAN - 0.5 * math.log(n)) / LENGTH_SPREAD,
                     (log[n] - NOISE_MEAN) / NOISE_SPREAD)  # fmt: skip
    value = 0.5 * float((y - level) @ weights) + float(np.log(np.diag(factor)).sum())
    left = inverse - np.outer(weights, weights)
    slope = np.append(0.5 * np.einsum("ab,iab->i", left, slopes(points, lengths)),
                      0.5 * noise * float(np.trace(left)))  # fmt: skip
    return value + 0.5 * float(away @ away), slope + away / np.append(np.full(n, LENGTH_SPREAD), NOISE_SPREAD)
