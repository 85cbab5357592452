"""Trials of a tuning, settings with numeric costs, and the Gaussian process that models the cost as a
function of the setting.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rtsim.tuning.gaussian import GaussianProcess, conditioned, fit

Array = NDArray[np.float64]

ALWAYS_FITTED, THEN_EVERY = 40, 10
"""Up to the first number of trials, length scales and noise are fitted anew after each trial; later after
every tenth."""
CANDIDATES = 500
"""Number of random points of the cube at which a function is evaluated, for each parameter."""
AROUND, ROUNDS, FIRST_RADIUS, SHRINK = 50, 4, 0.1, 0.3
"""Local search: number of points around the best one, for each parameter; number of rounds; first radius;
factor of the radius from round to round."""


class Trials:
    """Settings that were tried, in their order, with their costs.

    Attributes
    ----------
    points, costs : settings and costs of the trials
    """

    def __init__(self) -> None:
        self.points: list[Array] = []
        self.costs: list[float] = []
        self._process: GaussianProcess | None = None
        self._n_fitted = 0

    def tell(self, points: Array, costs: Array) -> None:
        """Store the costs (n_point,) of settings (n_point, n)."""
        self.points += [np.array(point, float) for point in points]
        self.costs += [float(cost) for cost in costs]

    def landscape(self, points: Array) -> tuple[Array, Array]:
        """Return the cost that a Gaussian process of all trials expects, and its standard deviation, at
        points : (m, n) of the unit cube, each (m,).
        """
        return self.process().predict(points)

    def process(self) -> GaussianProcess:
        """Return a Gaussian process fitted to all trials; at least one trial is needed."""
        n, known = len(self.costs), self._process
        if known is not None and len(known.points) == n:
            return known
        points, costs = np.array(self.points), np.array(self.costs)
        if known is None or n <= ALWAYS_FITTED or n >= self._n_fitted + THEN_EVERY:
            self._process, self._n_fitted = fit(points, costs), n
        else:
            self._process = conditioned(points, costs, known.lengths, known.noise)
        return self._process


def highest(promise: Callable[[Array], Array], tried: Array, rng: np.random.Generator) -> Array:
    """Return the point of the unit cube at which a function is largest, (n,): the best of many random points,
    improved by a local search.

    promise : the function, (m, n) points -> (m,) values
    tried : (m, n) - points that are considered besides the random ones
    rng : generator of the random points
    """
    n = tried.shape[1]
    at = np.vstack([rng.random((CANDIDATES * n, n)), tried])
    values = promise(at)
    best, most, radius = at[int(values.argmax())], float(values.max()), FIRST_RADIUS
    for _ in range(ROUNDS):
        near = np.clip(best + radius * rng.standard_normal((AROUND * n, n)), 0.0, 1.0)
        values = promise(near)
        if values.max() > most:
            best, most = near[int(values.argmax())], float(values.max())
        radius *= SHRINK
    return np.asarray(best)
