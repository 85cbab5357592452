"""The soak's own arithmetic: slopes of memory, percentiles, and a short run that is interrupted."""

from __future__ import annotations

import sys
import threading

import click
import numpy as np
import pytest

from benchmarks.soak import run
from benchmarks.soak.processes import ProcessAccount, memory_MB
from benchmarks.soak.slope import slope
from rtsim.cli.main import cli

T = np.arange(600.0)


def test_a_straight_line_has_its_slope_and_no_interval():
    """Protects the fit: exact on what is exact."""
    fit = slope(T, 3.0 + 0.25 * T)
    assert fit.value == pytest.approx(0.25, rel=1e-12)
    assert (fit.low, fit.high) == pytest.approx((0.25, 0.25), rel=1e-12)
    for level in (7.0, 52.08984375e6):
        assert slope(T + 0.123, np.full(600, level)) == (0.0, 0.0, 0.0)


def test_the_interval_is_that_of_textbooks_for_independent_noise():
    """Protects the statistics: nothing is correlated here, so ordinary least squares is the twin."""
    noise = np.random.default_rng(1).normal(size=600)
    noise[1::2] = -noise[::2]  # residuals of neighbours are opposed: none is taken for independent twice
    fit = slope(T, noise)
    x = np.stack([np.ones(600), T], axis=1)
    residual = noise - x @ np.linalg.lstsq(x, noise, rcond=None)[0]
    error = np.sqrt(residual @ residual / 598 * np.linalg.inv(x.T @ x)[1, 1])
    assert fit.high - fit.low == pytest.approx(2 * 1.96394 * error, rel=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_steps_of_memory_are_no_leak_and_a_leak_is_one(seed):
    """Protects against both mistakes: pools that come and go in steps, and a leak below them."""
    rng = np.random.default_rng(seed)
    steps = np.repeat(rng.choice([0.0, 0.25], size=60), 10)
    assert slope(T, 100.0 + steps).is_zero
    leak = slope(T, 100.0 + steps + 5.0 / 600.0 * T)
    assert leak.low > 0.0
    assert leak.low < 5.0 / 600.0 < leak.high


def test_intervals_hold_the_truth_as_often_as_stated():
    """Protects the statement of 95 %: of 400 correlated series without a slope few are called growing."""
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(400):
        noise = np.zeros(600)
        for k in range(1, 600):
            noise[k] = 0.8 * noise[k - 1] + rng.normal()
        held += slope(T, noise).is_zero
    assert 0.92 <= held / 400 <= 0.99


def test_too_few_samples_tell_nothing():
    """Protects a run that was interrupted at once."""
    assert np.isnan(slope(T[:9], T[:9]).value)


def test_percentiles_of_the_beginning_and_the_end():
    """Protects the ratio: a loop that gets twice as slow has 2, by the minutes after the start."""
    n = 200 * 600
    received = np.arange(n) * 5_000_000
    inside = np.where(np.arange(n) < n // 2, 500_000, 1_000_000)
    rows = np.zeros((n, 6), np.int64)
    rows[:, run.NUMBER], rows[:, run.RECEIVED], rows[:, run.PUBLISHED] = (
        np.arange(n),
        received,
        received + inside,
    )
    found = {figure.name: figure.value for figure in run.percentiles(rows)}
    assert found["receive_to_publish_us.p99.begin"] == 500.0
    assert found["p99_ratio"] == 2.0
    assert run.percentiles(rows[:0]) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="by Linux's account")
def test_what_is_not_there_is_not_known():
    """Protects figures from processes that have ended: no number in place of none."""
    account = ProcessAccount({"gone": 2**22 + 1})
    account.sample(0.0)
    account.sample(1.0)
    assert np.isnan(memory_MB(2**22 + 1))
    assert len(account.memory_from("gone", 0.0)[0]) == 0


@pytest.mark.parametrize("words", [("soak", "--minutes"), ("capacity", "--seconds")])
def test_a_length_that_is_no_number_is_refused(words):
    """Protects against a bench that ends at once, or in a traceback: no range of numbers refuses nan."""
    with pytest.raises(click.BadParameter, match="nan is no number"):
        cli.main(["bench", *words, "nan"], standalone_mode=False)


@pytest.mark.process
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="by Linux's account")
def test_an_interrupted_soak_says_what_it_has():
    """Protects an hour of measuring: stopped at once, every frame that was sent is accounted for."""
    stop = threading.Event()
    stop.set()
    found = run.run(60.0, stop)
    figures = {figure.name: figure.value for figure in run.figures(found)}
    assert found.interrupted
    assert found.failures == []
    assert figures["results"] > 0
    assert figures["lost"] == figures["lost.skipped"] + figures["lost.turned_away"]
    assert figures["lost.recorder"] == figures["lost.doubled"] == 0.0
