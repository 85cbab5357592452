"""Tick labels along an axis of a figure: their positions and texts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rtsim.monitor.plots.scaling import nice_step


def ticks(limits: tuple[float, float], n_part: int) -> list[float]:
    """Return the positions of ticks on an axis: round numbers between two limits, some `n_part` intervals."""
    step = nice_step(limits[1] - limits[0], n_part)
    first, last = math.ceil(limits[0] / step - 1e-9), math.floor(limits[1] / step + 1e-9)
    return [step * i for i in range(first, last + 1)]


def tick_texts(values: Sequence[float]) -> list[str]:
    """Return texts of numbers, with as many decimals as needed to distinguish them."""
    step = min(np.diff(values), default=1.0)
    largest = max((abs(value) for value in values), default=0.0)
    if largest >= 1e6 or 0.0 < largest < 1e-4:
        return [f"{value:.3g}".replace("-", "−") for value in values]
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0.0 else 1
    return [f"{value:z.{digits}f}".replace("-", "−") for value in values]
