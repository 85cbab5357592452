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


def slow_mean_and_deviation(strides: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Mean and standard deviation (n - 1), and over which strides: those known at most points, and of these
    as many as are known at the same ones (the first such where as many are known at others)."""
    known = [tuple(k for k, x in enumerate(row) if not math.isnan(x)) for row in strides]
    farthest = max((len(points) for points in known), default=0)
    groups: dict[tuple[int, ...], list[int]] = {}
    for n, points in enumerate(known):
        if points and len(points) == farthest:
            groups.setdefault(points, []).append(n)
    chosen = max(groups.values(), key=len, default=[])
    means, deviations = [], []
    for k in range(101):
        values = [strides[n][k] for n in chosen if not math.isnan(strides[n][k])]
        mean = sum(values) / len(values) if values else math.nan
        means.append(mean)
        if len(values) < 2:
            deviations.append(math.nan)
        else:
            deviations.append(math.sqrt(sum((x - mean) ** 2 for x in values) / (len(values) - 1)))
    return np.array(means), np.array(deviations), chosen


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
