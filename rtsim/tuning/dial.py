"""The manual dial as a search: the operator chooses the next setting, and everything else is as with
other searches.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rtsim.tuning.trials import Trials

Array = NDArray[np.float64]


class Dial(Trials):
    """Search by hand (`rtsim.tuning.search.TuningSearch`).

    Parameters
    ----------
    turned : (n,) - asks the operator for the next setting
    """

    at_once = 1

    def __init__(self, turned: Callable[[], Array]) -> None:
        super().__init__()
        self._turned = turned

    def ask(self) -> Array:
        """(1, n) - the operator's setting."""
        return self._turned()[None, :]

    def best(self) -> Array:
        """(n,) - the setting with the least cost so far."""
        return self.points[int(np.argmin(self.costs))]
