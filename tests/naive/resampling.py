"""The mean of a linear interpolant over a span, by the trapezoidal rule on all its corners."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def interval_mean(times: Array, values: Array, start: float, stop: float) -> Array:
    """(n_value,) of values (n, n_value) at times (n,) s, both ends within them."""
    if stop == start:
        return np.array([np.interp(start, times, column) for column in values.T])
    corners = np.unique(np.concatenate([[start, stop], times[(times > start) & (times < stop)]]))
    return np.array([np.trapezoid(np.interp(corners, times, c), corners) for c in values.T]) / (stop - start)
