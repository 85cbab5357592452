"""Common interface of all searches: they propose settings, and receive their costs.

Settings are points of the unit cube here; their names, units and ranges belong to those who ask.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class TuningSearch(Protocol):
    """A method of tuning. Two searches with the same arguments and the same costs propose the same settings.

    Attributes
    ----------
    at_once : this many settings may be asked for before any of them is told
    """

    @property
    def at_once(self) -> int: ...

    def ask(self) -> Array:
        """(n_point, n) - the next setting to be tried; of a comparison, the two of it."""
        ...

    def tell(self, points: Array, costs: Array) -> None:
        """Give the search the costs : (n_point,) of proposed points : (n_point, n), in the order of asking.

        Of a comparison only counts which of the two costs is the lower one; equal ones are no preference.
        """
        ...

    def best(self) -> Array:
        """(n,) - the setting that is thought to cost least by now."""
        ...

    def landscape(self, points: Array) -> tuple[Array, Array]:
        """Expected cost and its standard deviation, each (m,), at points : (m, n)."""
        ...


def spread(n: int, n_point: int) -> Array:
    """(n_point, n) - fixed points that fill the cube evenly: the Sobol sequence, its corner left out."""
    from scipy.stats import qmc

    return np.asarray(qmc.Sobol(n, scramble=False).random_base2(max(1, int(n_point).bit_length())))[
        1 : n_point + 1
    ]
