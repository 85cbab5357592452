"""Bayesian optimisation: the next setting is the one with the largest expected improvement.

It begins with fixed points, like the six of Ding et al. (2018, Science Robotics 3, eaar5438) for two
parameters. Then it uses a Gaussian process of all costs so far, and augmented expected improvement (Huang,
Allen, Notz and Zeng 2006, J Global Optimization 34, 441-466), which equals that of Jones, Schonlau and Welch
(1998) if costs have no noise. Without the augmentation a noisy search would stay at a setting that was good
by chance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from rtsim.tuning.gaussian import conditioned
from rtsim.tuning.search import spread
from rtsim.tuning.trials import Trials, highest

Array = NDArray[np.float64]

FIRST_EACH = 3
"""First points for each parameter (Ding et al. 2018: six for two)."""


class Bayesian(Trials):
    """Search for the setting of least cost by Bayesian optimisation with a Gaussian process; a TuningSearch.

    Parameters
    ----------
    n : number of parameters; seed : seed of the candidates among which the next setting is searched
    together : number of settings that may be tried at the same time after the first points
    """

    def __init__(self, n: int, seed: int = 0, together: int = 1) -> None:
        super().__init__()
        self._rng, self._together = np.random.default_rng(seed), together
        self._first = spread(n, FIRST_EACH * n)
        self._asked: list[Array] = []
        self._n_asked = 0

    @property
    def at_once(self) -> int:
        """Number of settings that may be tried together: the initial points that are left, then
        `together`.
        """
        left = len(self._first) - self._n_asked
        return left if left > 0 else self._together

    def ask(self) -> Array:
        """Return the next setting to try, (1, n) in the unit cube; more may be requested before its cost is
        known.
        """
        at_first = self._n_asked < len(self._first)
        point = self._first[self._n_asked] if at_first else self._most_promising()
        self._n_asked += 1
        self._asked.append(point)
        return point[None, :].copy()

    def tell(self, points: Array, costs: Array) -> None:
        """Store the cost (1,) of a setting (1, n)."""
        super().tell(points, costs)
        del self._asked[:1]

    def best(self) -> Array:
        """Return the setting with the lowest cost expected by the Gaussian process, (n,)."""
        process = self.process()
        return highest(lambda at: -process.predict(at)[0], process.points, self._rng_of_best())

    def _most_promising(self) -> Array:
        """Return the setting with the largest expected improvement, (n,). Settings that were proposed but
        have no cost yet count with their expected costs.
        """
        process = self.process()
        if self._asked:
            at = np.array(self._asked)
            costs = np.append(self.costs, process.predict(at)[0])
            points = np.vstack([process.points, at])
            process = conditioned(points, costs, process.lengths, process.noise)
        mean, deviation = process.predict(process.points)
        least = float(mean[int((mean + deviation).argmin())])  # the one that is most surely low
        noise = process.scale * np.sqrt(process.noise)

        def promise(at: Array) -> Array:
            mean, deviation = process.predict(at)
            new = 1.0 - noise / np.hypot(deviation, noise)
            return expected_improvement(mean, deviation, least) * new

        return highest(promise, process.points, self._rng)

    def _rng_of_best(self) -> np.random.Generator:
        """Return a random generator separate from that of the settings, so that asking for the best does not
        change later settings.
        """
        return np.random.default_rng(len(self.costs))


def expected_improvement(mean: Array, deviation: Array, least: float) -> Array:
    """Return by how much normally distributed costs are expected to be below `least`, (m,), where a cost
    above it counts as 0; mean, deviation : (m,) each, of the costs
    """
    z = (least - mean) / deviation
    density = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    return np.asarray((least - mean) * ndtr(z) + deviation * density)
