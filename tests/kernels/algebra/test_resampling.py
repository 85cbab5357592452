"""Samples at the times of another stream: twin, stated delay, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.algebra.resampling import (
    EARLY,
    GAP,
    TAKEN,
    WAITING,
    forget_samples,
    hold_samples,
    mean_between,
    new_held,
    wrenches_at,
)
from tests.naive.resampling import interval_mean

LONGEST = 0.02


def taken(held, start: float, stop: float) -> tuple[int, np.ndarray]:
    y = np.empty(held.values.shape[1])
    return mean_between(held, start, stop, LONGEST, y), y


@pytest.mark.parametrize("rate", [450.0, 1000.0, 2000.0, 100.0])
def test_means_are_those_of_the_twin(rate):
    """Protects the integral at every phase of samples and frames, spans shorter than a step included."""
    rng = np.random.default_rng(1)
    times = np.cumsum(rng.uniform(0.7, 1.3, 400)) / rate
    values = rng.normal(size=(400, 6))
    held = new_held(512, 6)
    assert hold_samples(times, values, held) == 0
    for _ in range(200):
        start = rng.uniform(times[0], times[-2])
        stop = min(start + rng.choice([0.0, 1e-4, 0.005, 0.01]), times[-1])
        status, y = taken(held, start, stop)
        assert status == TAKEN
        np.testing.assert_allclose(y, interval_mean(times, values, start, stop), rtol=0, atol=1e-11)


@pytest.mark.parametrize(("before", "after"), [(0.01, 0.0), (0.005, 0.005), (0.0, 0.0)])
def test_the_delay_is_the_stated_one(before, after):
    """Law: of a signal that grows with time, a span hands over the value at its middle."""
    times = np.arange(450) / 450.0
    held = new_held(512, 2)
    hold_samples(times, np.column_stack([3.0 * times - 1.0, np.ones(450)]), held)
    delay = 0.5 * (before - after)
    for t in 0.02 + np.arange(90) / 100.0:
        status, y = taken(held, t - before, t + after)
        assert status == TAKEN
        np.testing.assert_allclose(y, [3.0 * (t - delay) - 1.0, 1.0], rtol=0, atol=1e-12)


def test_a_mean_over_a_period_removes_it():
    """Law: a whole number of periods averages out, so that hum above the frame rate does not fold back."""
    times = np.arange(2000) / 2000.0
    held = new_held(2048, 1)
    hold_samples(times, np.sin(2.0 * np.pi * 200.0 * times)[:, None], held)
    for t in 0.1 + np.arange(50) / 100.0:
        assert abs(taken(held, t - 0.01, t)[1][0]) < 1e-12
    assert max(abs(taken(held, t, t)[1][0]) for t in 0.10125 + np.arange(5) / 100.0) > 0.9


def test_what_is_not_there_is_named():
    """Protects from extrapolation: before the first sample, after the newest, and across a gap is nothing."""
    held = new_held(64, 1)
    assert taken(held, 0.0, 0.0)[0] == WAITING
    hold_samples(np.array([1.0, 1.01, 1.02, 1.06, 1.07]), np.ones((5, 1)), held)
    for start, stop, status in (
        (0.99, 1.005, EARLY), (1.0, 1.02, TAKEN), (1.02, 1.02, TAKEN), (1.01, 1.05, GAP), (1.03, 1.03, GAP),
        (1.06, 1.07, TAKEN), (1.06, 1.0701, WAITING), (1.08, 1.08, WAITING),
    ):  # fmt: skip
        found, y = taken(held, start, stop)
        assert found == status, (start, stop)
        assert np.isfinite(y).all() == (status == TAKEN)
    forget_samples(held)
    assert taken(held, 1.0, 1.0)[0] == WAITING


def test_a_missing_sample_is_missing_in_the_mean():
    """Protects from a plate that fails for a moment: NaN in what it touches, and in nothing else."""
    held = new_held(64, 2)
    values = np.ones((10, 2))
    values[5, 0] = np.nan
    hold_samples(np.arange(10) * 0.01, values, held)
    np.testing.assert_array_equal(taken(held, 0.041, 0.045)[1], [np.nan, 1.0])
    np.testing.assert_array_equal(taken(held, 0.02, 0.04)[1], [1.0, 1.0])
    np.testing.assert_array_equal(taken(held, 0.06, 0.06)[1], [1.0, 1.0])


def test_samples_out_of_order_are_left_out_and_the_oldest_give_way():
    """Protects the order of time and the bound of memory: copies, latecomers and times that are none."""
    held = new_held(8, 1)
    times = np.array([0.0, 0.01, 0.01, 0.005, np.nan, np.inf, 0.02])
    assert hold_samples(times, np.arange(7.0)[:, None], held) == 4
    assert taken(held, 0.02, 0.02)[1][0] == 6.0
    hold_samples(0.03 + 0.01 * np.arange(20), np.arange(20.0)[:, None], held)
    assert held.ends[1] == 8
    assert taken(held, 0.1, 0.1)[0] == EARLY
    assert taken(held, 0.22, 0.22)[1][0] == pytest.approx(19.0)


def test_wrenches_of_plates_are_the_means_at_one_time() -> None:
    """Protects what a frame reads: force and moment of each plate, NaN without samples, the first's slack."""
    held, force, moment, work = new_held(8, 12), np.zeros((2, 3)), np.zeros((2, 3)), np.zeros(12)
    assert wrenches_at(held, LONGEST, 2e-6, work, 0.0, force, moment) == WAITING
    assert np.isnan([force, moment]).all()
    times, values = 0.5 + 0.01 * np.arange(5), np.random.default_rng(0).normal(size=(5, 12))
    hold_samples(times, values, held)
    for t in (0.513, 0.5, 0.5 - 1e-6, 0.54):
        assert wrenches_at(held, LONGEST, 2e-6, work, t, force, moment) == TAKEN
        wanted = taken(held, max(t, 0.5), max(t, 0.5))[1].reshape(2, 2, 3)
        np.testing.assert_array_equal(wanted, np.stack([force, moment], axis=1))
    assert wrenches_at(held, LONGEST, 2e-6, work, 0.499, force, moment) == EARLY
    assert np.isnan([force, moment]).all()
