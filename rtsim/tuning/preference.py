"""Pairwise preference: two settings are tried and one of them is preferred; the next pair has the largest
expected benefit.

The worth of a setting is u(x), a Gaussian process of variance 1 as in rtsim/tuning/gaussian.py; setting a is
preferred to b with the probability Phi((u_a - u_b) / (sqrt(2) s)), where s is the noise of a judgement
(Thurstone 1927; Chu and Ghahramani 2005). With the differences z = D u, of covariance C = D K D', this is
Gaussian process classification with all labels one, solved by expectation propagation (Rasmussen & Williams
2006, section 3.6). Laplace's approximation is not used, because clear answers give skewed posteriors whose
modes differ from their means. The presumably best setting is compared with the setting x that has the
largest E max(u_best, u_x) (Astudillo et al. 2023, "qEUBO", with one of the two given).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import minimize
from scipy.special import log_ndtr

from rtsim.tuning.bayesian import FIRST_EACH, expected_improvement
from rtsim.tuning.gaussian import LENGTHS, matern
from rtsim.tuning.search import spread
from rtsim.tuning.trials import highest

Array = NDArray[np.float64]

LENGTH_MEAN, LENGTH_SPREAD = math.log(0.5), 0.5
"""Mean and standard deviation of the logarithm of a length: half the range. Our choice, narrower than that
of costs, as answers tell less; looked at on test functions (tests/rtsim/tuning), not on a device."""
JUDGED_MEAN, JUDGED_SPREAD = math.log(0.3), 1.0
"""Mean and standard deviation of the logarithm of a judgement's noise, in standard deviations of u: our
choice, from sure to guessing."""
JUDGED = (1e-3, 3.0)
"""Bounds of a judgement's noise."""
LEAST = 1e-12
"""Least value of variances that rounding may bring to zero."""
SWEEPS, NEAR, DAMPING = 100, 1e-6, 0.8
"""Settings of the sites' iteration: sweeps at most, change at which it ends, part of each change that is
applied."""
FITTED_EVERY = 4
"""Length scales and noise are fitted anew with every fourth comparison; at first with each."""
ALWAYS_FITTED = 8
STEP = 1e-3
"""Step of the logarithms for numerical derivatives."""
ROOT2 = math.sqrt(2.0)


class Worth(NamedTuple):
    """The worth u of settings, a Gaussian process estimated from the comparisons so far.

    K is the prior covariance of u between the compared settings. The matrix D has a row for each comparison:
    1/(sqrt(2) s) for the preferred setting and -1/(sqrt(2) s) for the other one, where s is the noise of a
    judgement. C = D K D'.

    points : (m, n) settings; lengths : (n,) length scales; rows : (n_pair, m) - matrix D; weights : (n_pair,)
        - K D' weights is the expected worth of the settings
    root : (n_pair,) - square roots of the precisions (tau) of the expectation propagation's factors; factor :
        (n_pair, n_pair), lower Cholesky factor of I + root C root
    """

    points: Array
    lengths: Array
    rows: Array
    weights: Array
    root: Array
    factor: Array

    def predict(self, at: Array) -> tuple[Array, Array]:
        """Return the worth and its standard deviation at the points at : (k, n), each (k,)."""
        across = matern(at, self.points, self.lengths) @ self.rows.T
        part = self._part(across)
        left = np.maximum(1.0 - np.einsum("pk,pk->k", part, part), 1e-12)
        return across @ self.weights, np.sqrt(left)

    def shared(self, at: Array, one: Array) -> Array:
        """Return the covariances (k,) of the worth of each of the settings at : (k, n) with the worth of the
        setting one : (n,).
        """
        points = np.vstack([at, one])
        part = self._part(matern(points, self.points, self.lengths) @ self.rows.T)
        return matern(at, one[None, :], self.lengths)[:, 0] - part[:, :-1].T @ part[:, -1]

    def _part(self, across: Array) -> Array:
        return np.asarray(solve_triangular(self.factor, (across * self.root).T, lower=True))


class Preference:
    """Search for the preferred setting by comparisons of two settings; a TuningSearch.

    Parameters
    ----------
    n : number of parameters; seed : seed of the candidates among which the next setting is searched
    """

    def __init__(self, n: int, seed: int = 0) -> None:
        self.n, self._rng = n, np.random.default_rng(seed)
        self._first = spread(n, FIRST_EACH * n)
        self._points: list[Array] = []
        self._pairs: list[tuple[int, int]] = []  # the preferred one first
        self._log = np.append(np.zeros(n), JUDGED_MEAN)
        self._worth: Worth | None = None
        self._n_fitted = 0

    @property
    def at_once(self) -> int:
        """Number of comparisons that are proposed at a time, which is 1."""
        return 1

    def ask(self) -> Array:
        """Return the presumably best setting, and the one to compare it with, (2, n)."""
        n_pair = len(self._points) - 1
        if not self._points:
            return self._first[:2].copy()
        held = self._held()
        if n_pair + 1 < len(self._first):
            return np.array([held, self._first[n_pair + 1]])
        return np.array([held, self._rival(held)])

    def tell(self, points: Array, costs: Array) -> None:
        """Add a comparison: of the two settings points : (2, n), the one with the lower of the costs : (2,)
        is preferred. Equal costs count as two comparisons, in each of which another one of the two is
        preferred.
        """
        a, b = (self._index(point) for point in points)
        if a == b:  # a dial with clicks may bring both to one setting, which tells nothing
            return
        if costs[0] <= costs[1]:
            self._pairs.append((a, b))
        if costs[1] <= costs[0]:
            self._pairs.append((b, a))
        self._worth = None

    def best(self) -> Array:
        """Return the point of the unit cube with the largest expected worth, tried or not, (n,)."""
        worth = self._known()
        rng = np.random.default_rng(len(self._pairs))
        return highest(lambda at: worth.predict(at)[0], worth.points, rng)

    def landscape(self, points: Array) -> tuple[Array, Array]:
        """Return the negative worth, so that low is good, and its standard deviation at points : (m, n),
        each (m,).
        """
        worth, deviation = self._known().predict(points)
        return -worth, deviation

    def _index(self, point: Array) -> int:
        for k, known in enumerate(self._points):
            if np.array_equal(known, point):
                return k
        self._points.append(np.array(point, float))
        return len(self._points) - 1

    def _held(self) -> Array:
        """Return, among the settings that were tried, the one with the largest expected worth, (n,)."""
        worth = self._known()
        return np.asarray(worth.points[int(worth.predict(worth.points)[0].argmax())])

    def _rival(self, held: Array) -> Array:
        """Return the setting (n,) to compare with the presumably best setting `held`: the x with the largest
        expected maximum of the two worths, E max(u_held, u_x) = E u_held + E max(0, u_x - u_held).
        """
        worth = self._known()
        mean_held, spread_held = (float(of[0]) for of in worth.predict(held[None, :]))

        def promise(at: Array) -> Array:
            mean, deviation = worth.predict(at)
            variance = deviation**2 + spread_held**2 - 2.0 * worth.shared(at, held)
            return expected_improvement(-mean, np.sqrt(np.maximum(variance, 1e-12)), -mean_held)

        return highest(promise, worth.points, self._rng)

    def _known(self) -> Worth:
        """Return the posterior of the worth of all compared settings."""
        if self._worth is None:
            points, n_pair = np.array(self._points), len(self._pairs)
            if n_pair <= ALWAYS_FITTED or n_pair >= self._n_fitted + FITTED_EVERY:
                self._log, self._n_fitted = likeliest(points, self._pairs, self._log), n_pair
            self._worth = judged(self._log, points, self._pairs)[0]
        return self._worth


def likeliest(points: Array, pairs: list[tuple[int, int]], start: Array) -> Array:
    """Return the most probable logarithms of length scales and judgement noise, (n + 1,), given the
    comparisons.

    points : (m, n) settings; pairs : indices of the compared settings, the preferred one first; start :
        (n + 1,) initial values
    """
    n = points.shape[1]
    bounds = [tuple(np.log(LENGTHS))] * n + [tuple(np.log(JUDGED))]
    found = minimize(
        lambda log: judged(log, points, pairs)[1], start, method="L-BFGS-B", bounds=bounds,
        options={"eps": STEP, "maxiter": 15},
    )  # fmt: skip
    return np.asarray(found.x)


def judged(log: Array, points: Array, pairs: list[tuple[int, int]]) -> tuple[Worth, float]:
    """Return the worth of settings for given length scales and judgement noise, and the negative logarithm of
    the posterior probability of these lengths and this noise.

    Parameters
    ----------
    log : (n + 1,) - logarithms of the length scales, and of the noise of a judgement
    points : (m, n) - settings
    pairs : indices of the two points of each comparison, the preferred one first
    """
    n = points.shape[1]
    lengths, noise = np.exp(log[:n]), math.exp(log[n])
    rows = np.zeros((len(pairs), len(points)))
    every = np.arange(len(pairs))
    for k, sign in ((0, 1.0), (1, -1.0)):
        rows[every, [pair[k] for pair in pairs]] += sign / (ROOT2 * noise)
    weights, root, factor, misfit = propagated(rows @ matern(points, points, lengths) @ rows.T)
    away = np.append((log[:n] - LENGTH_MEAN) / LENGTH_SPREAD, (log[n] - JUDGED_MEAN) / JUDGED_SPREAD)
    return Worth(
        points=points, lengths=lengths, rows=rows, weights=weights, root=root, factor=factor
    ), misfit + 0.5 * float(away @ away)


def propagated(covariance: Array) -> tuple[Array, Array, Array, float]:
    """Compute, by expectation propagation, the posterior of m differences of worth z, all of which were
    judged positive.

    covariance : (m, m) - prior covariance C of z

    Each factor Phi(z_i) of the likelihood, with the normal distribution function Phi, is approximated by
    exp(nu z_i - tau z_i^2 / 2), called a site; all sites are updated at once, with damping. Return weights
    (m,) such that C weights is the mean of z; the square roots of the sites' tau (m,), called root; the
    Cholesky factor of I + root C root; and the negative logarithm of the evidence (Rasmussen & Williams 2006,
    eq. 3.65).
    """
    m = len(covariance)
    tau, nu = np.zeros(m), np.zeros(m)
    value = math.inf
    for _ in range(SWEEPS):
        root = np.sqrt(tau)
        bordered = np.eye(m) + root[:, None] * covariance * root
        factor = np.asarray(np.linalg.cholesky(bordered), float)
        part = solve_triangular(factor, root[:, None] * covariance, lower=True, check_finite=False)
        posterior = covariance - part.T @ part
        mean, variance = posterior @ nu, np.maximum(np.diag(posterior), LEAST)
        tau_left = np.maximum(1.0 / variance - tau, 1e-12)  # without the site's own
        mean_left = (mean / variance - nu) / tau_left
        wide = np.sqrt(1.0 + 1.0 / tau_left)
        z = mean_left / wide
        likely = log_ndtr(z)
        before, value = (
            value,
            -float(
                likely.sum()
                + 0.5 * np.log1p(tau / tau_left).sum()
                - np.log(np.diag(factor)).sum()
                + 0.5 * nu @ (mean - nu / (tau + tau_left))
                + 0.5 * (mean_left * tau_left / (tau + tau_left)) @ (tau * mean_left - 2.0 * nu)
            ),
        )
        if abs(value - before) < NEAR:
            break
        ratio = np.exp(-0.5 * z * z - likely) / math.sqrt(2.0 * math.pi)
        mean_new = mean_left + ratio / (tau_left * wide)
        variance_new = 1.0 / tau_left - ratio * (z + ratio) / (tau_left * wide) ** 2
        tau += DAMPING * (np.maximum(1.0 / variance_new - tau_left, 1e-12) - tau)
        nu += DAMPING * (mean_new / variance_new - tau_left * mean_left - nu)
    weights = nu - root * cho_solve((factor, True), root * (covariance @ nu), check_finite=False)
    return weights, root, factor, value
