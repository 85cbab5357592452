"""A test whether a tuned setting differs in cost from the default setting and from zero torque.

The trials are made in blocks. Each block has every condition twice, first in random order and then in
reversed order, as ABC CBA, so that a linear drift affects all conditions equally. For two conditions, the
difference of their means is computed in each block; effect and interval follow from Student's t over the
blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DEFAULT, TUNED, ZERO = "default", "tuned", "zero torque"
CONDITIONS = (DEFAULT, TUNED, ZERO)
COMPARED = ((TUNED, DEFAULT), (TUNED, ZERO), (DEFAULT, ZERO))
LEVEL = 0.95


class Effect(NamedTuple):
    """Difference between the mean costs of two conditions, the first minus the second, with its confidence
    interval.

    share : difference as a percentage of the mean cost of the second condition; low, high : ends of the
        confidence interval of `difference`, in units of the cost
    """

    pair: tuple[str, str]
    difference: float
    low: float
    high: float
    share: float

    @property
    def distinguishable(self) -> bool:
        """Whether the confidence interval excludes zero."""
        return self.low > 0.0 or self.high < 0.0

    @property
    def words(self) -> str:
        """Return the effect as one line of text."""
        first, second = self.pair
        found = f"{self.difference:+.4g} ({self.low:+.4g} to {self.high:+.4g}), {self.share:+.1f} %"
        told = found if self.distinguishable else f"not distinguishable ({found})"
        return f"{first} against {second}: {told}"


def order(n_block: int, seed: int, conditions: Sequence[str] = CONDITIONS) -> list[tuple[str, ...]]:
    """Return the conditions (default, tuned, zero torque) of the trials of each block: all conditions in
    random order, then in reversed order.
    """
    rng = np.random.default_rng(seed)
    halves = [tuple(conditions[k] for k in rng.permutation(len(conditions))) for _ in range(n_block)]
    return [(*half, *half[::-1]) for half in halves]


def effects(blocks: Sequence[Sequence[str]], costs: Sequence[Sequence[float]]) -> list[Effect]:
    """Return the differences between the pairs of conditions in COMPARED; blocks : conditions of the trials
    of each block; costs : their costs. At least two blocks are needed.
    """
    mean = {
        name: np.array(
            [
                np.mean([cost for one, cost in zip(block, row, strict=True) if one == name])
                for block, row in zip(blocks, costs, strict=True)
            ]
        )
        for name in CONDITIONS
    }
    return [effect_of((a, b), mean[a], mean[b]) for a, b in COMPARED]


def effect_of(pair: tuple[str, str], first: Array, second: Array) -> Effect:
    """Return the difference between the mean costs of two conditions, with its confidence interval from the
    differences in the blocks.

    pair : names of the two; first, second : (n_block,) - mean cost of each in every block
    """
    from scipy.stats import t

    differences = first - second
    n = len(differences)
    middle = float(differences.mean())
    half = float(t.ppf(0.5 + 0.5 * LEVEL, n - 1)) * float(differences.std(ddof=1)) / math.sqrt(n)
    level = float(second.mean())
    share = 100.0 * middle / abs(level) if level else math.nan
    return Effect(pair, middle, middle - half, middle + half, share)
