"""Axis ranges that change rarely: they grow at once and shrink only when most of the axis is empty."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

FILL_LEAST = 0.4  # share of the axis that the data must fill; below it the axis shrinks
MARGIN = 0.06  # free space beyond the data, as a share of their extent

Range = tuple[float, float]


def nice_step(extent: float, n_part: int = 4) -> float:
    """Return the largest of 1, 2 or 5 times a power of ten that fits at least `n_part` times into
    `extent`.
    """
    most = extent / n_part * (1.0 + 1e-9)
    power = 10.0 ** math.floor(math.log10(most))
    return power * max(factor for factor in (1.0, 2.0, 5.0) if factor * power <= most)


def roomy_step(extent: float, n_part: int, size: float, least: float) -> float:
    """Return a step between numbers, 1, 2 or 5 times a power of ten: that of `nice_step`, or a larger one if
    numbers would overlap and the larger step still fits into `extent`.

    size : size of `extent` on the screen; least : smallest distance of two numbers on the screen, both in
        pixels
    """
    step = nice_step(extent, n_part)
    while step / extent * size < least and (wider := nice_step(2.5 * step, 1)) <= extent:
        step = wider
    return step


def nice_range(low: float, high: float, extent_least: float) -> Range:
    """Return a rounded range that contains [low, high] with a margin and is at least `extent_least` long."""
    extent = max(high - low, extent_least)
    centre = 0.5 * (low + high)
    step = nice_step(extent, n_part=10)
    reach = (0.5 + MARGIN) * extent
    return step * math.floor((centre - reach) / step), step * math.ceil((centre + reach) / step)


def held_range(
    current: Range | None, values: NDArray[np.float64], extent_least: float, from_zero: bool = False
) -> Range | None:
    """Return the axis range to show next: the present one while the data are inside it and fill at least the
    fraction FILL_LEAST of it, else a new one around the data.

    Parameters
    ----------
    current : the range shown now, None = none yet
    values : the data in view, any shape; NaN is ignored
    extent_least : smallest useful range, so that noise is not magnified
    from_zero : the range starts at zero (for quantities that are never negative)
    """
    finite = values[np.isfinite(values)]
    if not finite.size:
        return current
    low, high = (0.0 if from_zero else float(finite.min())), float(finite.max())
    if current is not None and current[0] <= low and high <= current[1]:
        filled = max(high - low, extent_least) / (current[1] - current[0])
        if filled >= FILL_LEAST:
            return current
    low_nice, high_nice = nice_range(low, high, extent_least)
    return (0.0 if from_zero else low_nice), high_nice
