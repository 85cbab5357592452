"""Curves over the gait cycle, and gait scores, written out number by number."""

from __future__ import annotations

import math

import numpy as np


def slow_over_cycle(times: np.ndarray, values: np.ndarray, begin: float, end: float) -> np.ndarray:
    """A value at each percent of a cycle, by a straight line between the frames around it."""
    found = []
    for k in range(101):
        t = begin + k / 100.0 * (end - begin)
        value = math.nan
        for i in range(len(times) - 1):
            if times[i] <= t <= times[i + 1]:
                share = (t - times[i]) / (times[i + 1] - times[i])
                value = values[i] if share == 0.0 else (1.0 - share) * values[i] + share * values[i + 1]
                break
        found.append(value)
    return np.array(found)


def slow_mean_and_deviation(strides: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation (n - 1) of the strides that are known at each percent."""
    means, deviations = [], []
    for column in strides.T:
        known = [x for x in column if not math.isnan(x)]
        mean = sum(known) / len(known) if known else math.nan
        means.append(mean)
        if len(known) < 2:
            deviations.append(math.nan)
        else:
            deviations.append(math.sqrt(sum((x - mean) ** 2 for x in known) / (len(known) - 1)))
    return np.array(means), np.array(deviations)
