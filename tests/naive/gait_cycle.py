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


def slow_profile_score(
    strides: dict[str, dict[str, np.ndarray]], means: dict[str, np.ndarray]
) -> dict[str, float]:
    """Gait profile scores of both sides and of the person, number by number (Baker et al. 2009)."""
    sides, singles = {}, {}
    for side in ("right", "left"):
        for name, mean in means.items():
            scores = []
            for row in strides[name][side]:
                scores.append(math.sqrt(sum((row[k] - mean[k]) ** 2 for k in range(101)) / 101.0))
            singles[name, side] = sum(scores) / len(scores)
        own = [singles[name, side] for name in means]
        sides[side] = math.sqrt(sum(x**2 for x in own) / 9.0)
    once = [x for (name, side), x in singles.items() if side == "left" or not name.startswith("pelvis")]
    assert len(once) == 15
    return {**sides, "overall": math.sqrt(sum(x**2 for x in once) / 15.0)}
