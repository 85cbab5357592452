"""Tuning by hand as a search: the operator chooses each next setting, as with a dial; everything else works
as in other searches.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rtsim.tuning.trials import Trials

Array = NDArray[np.float64]


class Dial(Trials):
    """Search by hand: the operator chooses each setting; a TuningSearch.

    Parameters
    ----------
    turned : function that asks the operator for the next setting, (n,)
    """

    at_once = 1

    def __init__(self, turned: Callable[[], Array]) -> None:
        super().__init__()
        self._turned = turned

    def ask(self) -> Array:
        """Ask the operator for the next setting and return it, (1, n) in the unit cube."""
        return self._turned()[None, :]

    def best(self) -> Array:
        """Return the setting with the least cost so far, (n,)."""
        return self.points[int(np.argmin(self.costs))]
