"""CMA-ES, the evolution strategy that adapts its covariance (Hansen 2016, arXiv 1604.00772), with the
library `cmaes`.

Only the order of the costs within a generation matters, so a slow drift has little effect. Zhang et al.
(2017) tuned the four parameters of an ankle torque with it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.tuning.trials import Trials

Array = NDArray[np.float64]

SIGMA = 0.3
"""First standard deviation, of the range (Hansen 2016, appendix A: 0.3 (b - a), the mean in the middle)."""


class Cma(Trials):
    """Search for the setting of least cost by CMA-ES; a TuningSearch.

    Parameters
    ----------
    n : number of parameters; seed : seed of all random numbers
    """

    def __init__(self, n: int, seed: int = 0) -> None:
        super().__init__()
        try:
            from cmaes import CMA
        except ImportError:
            raise ConfigError(
                "the package cmaes is not installed", where="CMA-ES",
                remedy="install the extra, as by `pip install -e '.[tune]'`, or choose another method",
            ) from None  # fmt: skip
        bounds = np.tile([0.0, 1.0], (n, 1))
        self._cma = CMA(mean=np.full(n, 0.5), sigma=SIGMA, bounds=bounds, seed=seed)
        self._told: list[tuple[Array, float]] = []

    @property
    def at_once(self) -> int:
        """Number of settings that may be tried now: those of the present generation without a cost yet."""
        return int(self._cma.population_size) - len(self._told)

    def ask(self) -> Array:
        """Return the next setting of the present generation to try, (1, n) in the unit cube."""
        return np.asarray(self._cma.ask())[None, :]

    def tell(self, points: Array, costs: Array) -> None:
        """Store the cost (1,) of a setting (1, n) of the unit cube; the last cost of a generation begins the
        next one.
        """
        super().tell(points, costs)
        self._told.append((np.array(points[0]), float(costs[0])))
        if len(self._told) == self._cma.population_size:
            self._cma.tell(self._told)
            self._told = []

    def best(self) -> Array:
        """Return the mean of the newest search distribution as the best setting, (n,)."""
        return np.clip(np.asarray(self._cma.mean), 0.0, 1.0)
