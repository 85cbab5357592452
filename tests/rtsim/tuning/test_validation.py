"""Whether a difference is one: mirrored order, intervals, and the words for none."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.tuning.validation import CONDITIONS, effects, order


def test_blocks_are_mirrored_and_drift_cancels() -> None:
    """Protects comparisons from drift: each block is its own mirror, and an even drift makes no effect."""
    blocks = order(8, 3)
    assert all(block == block[::-1] and set(block) == set(CONDITIONS) for block in blocks)
    assert len(set(blocks)) > 2
    drift = [[0.1 * (6 * b + k) for k in range(6)] for b in range(8)]
    assert all(effect.difference == pytest.approx(0.0, abs=1e-12) for effect in effects(blocks, drift))


def test_an_effect_is_told_with_its_interval_or_as_none() -> None:
    """Protects whoever reads it: a real difference has its sign, one within noise is said to be none."""
    rng, blocks = np.random.default_rng(0), order(6, 1)
    means = {"default": 10.0, "tuned": 8.0, "zero torque": 10.1}
    costs = [[means[name] + 0.4 * rng.standard_normal() for name in block] for block in blocks]
    found = {effect.pair: effect for effect in effects(blocks, costs)}
    tuned = found["tuned", "default"]
    assert tuned.distinguishable
    assert tuned.low < -2.0 < tuned.high < 0.0
    assert "tuned against default: -" in tuned.words
    assert "not distinguishable" in found["default", "zero torque"].words


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Protects the level: of 2000 comparisons without any effect 5 % are told to have one, within 1.5 %."""
    rng, blocks = np.random.default_rng(7), order(4, 0)
    n = sum(effects(blocks, rng.standard_normal((4, 6)).tolist())[0].distinguishable for _ in range(2000))
    assert 0.035 < n / 2000 < 0.065
