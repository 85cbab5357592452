"""Tuning by hand as a search: the operator chooses each next setting, as with a dial; everything else works
as in other searches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from rtsim.tuning.trials import Trials

Array = NDArray[np.float64]


class Dial(Trials):
    """Search by hand: the operator chooses each setting; a TuningSearch.

    Parameters
    ----------
    turned : function that asks the operator for the next setting, (n,)
    known : (n,) each - settings of earlier trials, for which nobody is asked again, in their order
    """

    at_once = 1

    def __init__(self, turned: Callable[[], Array], known: Iterable[Array] = ()) -> None:
        super().__init__()
        self._turned, self._known = turned, deque(known)

    def ask(self) -> Array:
        """Return the next setting, (1, n) in the unit cube: of an earlier trial, or else the operator's."""
        return (self._known.popleft() if self._known else self._turned())[None, :]

    def best(self) -> Array:
        """Return the setting with the least cost so far, (n,)."""
        return self.points[int(np.argmin(self.costs))]
