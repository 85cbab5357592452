"""Common interface of all searches for the best setting of a device: they propose settings, and receive their
costs.

A setting is a value of every tuned parameter. Here settings are points of the unit cube; the caller knows the
names, units and ranges of the parameters.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class TuningSearch(Protocol):
    """Interface of a tuning method. Two searches with the same arguments and the same costs propose the same
    settings.

    Attributes
    ----------
    at_once : number of settings that may be requested before the cost of any of them is reported
    """

    @property
    def at_once(self) -> int: ...

    def ask(self) -> Array:
        """Return the next setting to try, (n_point, n); for a comparison, its two settings."""
        ...

    def tell(self, points: Array, costs: Array) -> None:
        """Report the costs : (n_point,) of proposed points : (n_point, n), in the order of the proposals.

        In a comparison only the order of the two costs matters; equal costs mean no preference.
        """
        ...

    def best(self) -> Array:
        """Return the setting with the presumably least cost so far, (n,)."""
        ...

    def landscape(self, points: Array) -> tuple[Array, Array]:
        """Return the expected cost and its standard deviation at points : (m, n), each (m,)."""
        ...


def spread(n: int, n_point: int) -> Array:
    """Return fixed points that fill the cube evenly, (n_point, n): the Sobol sequence without its first
    point, a corner.
    """
    from scipy.stats import qmc

    return np.asarray(qmc.Sobol(n, scramble=False).random_base2(max(1, int(n_point).bit_length())))[
        1 : n_point + 1
    ]
