"""The slope of a series whose noise is not white, and its significance.

Memory of a process goes in steps: samples of a second are far from independent, and the interval of ordinary
least squares would call every step a leak. The interval is that of Santer et al. (2000, J. Geophys. Res.
105, 7337-7356, equations 3 to 6): the number of independent samples follows from the autocorrelation of the
residuals at one step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

FEWEST = 10
"""Samples, below which there is no slope."""
FEWEST_INDEPENDENT = 3.0
"""Least number of independent samples that is assumed of any series: so the interval is wide, and finite."""
CONFIDENCE = 0.95


class Slope(NamedTuple):
    """A slope, and the ends of its interval [units of the values per unit of time]; NaN without samples."""

    value: float
    low: float
    high: float

    @property
    def is_zero(self) -> bool:
        """Return whether the slope does not differ significantly from zero."""
        return bool(self.low <= 0.0 <= self.high)


def slope(times: NDArray[np.float64], values: NDArray[np.float64]) -> Slope:
    """Return the least squares slope of values (n,) over evenly spaced times (n,), with its 95 % interval."""
    n = len(times)
    if n < FEWEST or n != len(values):
        return Slope(np.nan, np.nan, np.nan)
    if np.ptp(values) == 0.0:
        return Slope(0.0, 0.0, 0.0)  # without the rounding errors of a mean
    t = times - times.mean()
    spread = float(t @ t)
    if spread <= 0.0:
        return Slope(np.nan, np.nan, np.nan)
    value = float(t @ values) / spread
    residuals = values - values.mean() - value * t
    total = float(residuals @ residuals)
    if total <= 1e-24 * max(1.0, float(values @ values)):
        return Slope(value, value, value)
    r = max(0.0, float(residuals[1:] @ residuals[:-1]) / total)
    independent = max(FEWEST_INDEPENDENT, n * (1.0 - r) / (1.0 + r))
    error = np.sqrt(total / (independent - 2.0) / spread)
    half = float(student.ppf(0.5 + 0.5 * CONFIDENCE, independent - 2.0) * error)
    return Slope(value, value - half, value + half)
