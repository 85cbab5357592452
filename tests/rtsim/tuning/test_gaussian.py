"""The Gaussian process of costs: its twin, its slopes, what it makes of noise and drift."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rtsim.tuning.gaussian import conditioned, drift_of, fit, matern, misfit, slopes, standardised

RNG = np.random.default_rng(1)
POINTS = RNG.random((12, 2))
COSTS = 3.0 + POINTS[:, 0] ** 2 - POINTS[:, 1] + 0.1 * RNG.standard_normal(12)
LENGTHS = np.array([0.4, 0.9])


def test_the_covariance_is_matern_5_2() -> None:
    """Protects the formula against its closed form, pair by pair."""
    found = matern(POINTS, POINTS, LENGTHS)
    for i in (0, 5):
        for j in (1, 5):
            r = math.hypot(*((POINTS[i] - POINTS[j]) / LENGTHS))
            expected = (1.0 + math.sqrt(5.0) * r + 5.0 * r * r / 3.0) * math.exp(-math.sqrt(5.0) * r)
            assert found[i, j] == pytest.approx(expected, rel=1e-12)
    assert np.linalg.eigvalsh(found).min() > 0.0


def test_slopes_are_those_of_differences() -> None:
    """Protects the search for lengths and noise: covariance and posterior have the slopes that are told."""
    y, _, _ = standardised(COSTS)
    log, step = np.array([-0.8, 0.2, -3.0]), 1e-6
    _, told = misfit(log, POINTS, y, drift_of(12))
    of_covariance = slopes(POINTS, np.exp(log[:2]))
    for k in range(3):
        more, less = (log + sign * step * np.eye(3)[k] for sign in (1.0, -1.0))
        by_differences = misfit(more, POINTS, y, drift_of(12))[0] - misfit(less, POINTS, y, drift_of(12))[0]
        assert told[k] == pytest.approx(by_differences / (2.0 * step), rel=1e-5, abs=1e-6)
        if k < 2:
            changed = [matern(POINTS, POINTS, np.exp(at[:2])) for at in (more, less)]
            assert of_covariance[k] == pytest.approx((changed[0] - changed[1]) / (2.0 * step), abs=1e-7)


def test_predictions_are_those_of_the_textbook() -> None:
    """Protects mean and deviation against the plain formulas with an inverse."""
    process = conditioned(POINTS, COSTS, LENGTHS, 0.01)
    y, centre, scale = standardised(COSTS)
    inverse = np.linalg.inv(matern(POINTS, POINTS, LENGTHS) + drift_of(12) + 0.01 * np.eye(12))
    level = inverse.sum(axis=0) @ y / inverse.sum()
    at = RNG.random((5, 2))
    across = matern(at, POINTS, LENGTHS)
    mean, deviation = process.predict(at)
    assert mean == pytest.approx(centre + scale * (level + across @ inverse @ (y - level)), rel=1e-9)
    left = 1.0 - np.einsum("ij,jk,ik->i", across, inverse, across)
    assert deviation == pytest.approx(scale * np.sqrt(left), rel=1e-6)


def test_noise_and_drift_are_told_from_the_cost() -> None:
    """Protects noisy searches: a smooth cost is found beneath noise and a drift over trials."""
    rng = np.random.default_rng(3)
    points = rng.random((60, 1))
    true = np.cos(3.0 * points[:, 0])
    drifted = true + np.linspace(0.0, 1.0, 60) + 0.1 * rng.standard_normal(60)
    process = fit(points, drifted)
    at = np.linspace(0.1, 0.9, 9)[:, None]
    mean, _ = process.predict(at)
    expected = np.cos(3.0 * at[:, 0])
    assert np.abs((mean - mean.mean()) - (expected - expected.mean())).max() < 0.12
    assert 0.05 < math.sqrt(process.noise) * process.scale < 0.2


def test_costs_that_are_all_the_same_are_taken() -> None:
    """Protects a search whose first settings do not differ."""
    process = fit(POINTS, np.full(12, 7.0))
    assert process.predict(POINTS)[0] == pytest.approx(np.full(12, 7.0))
