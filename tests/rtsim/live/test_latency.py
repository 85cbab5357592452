"""Percentiles of a histogram against those of the samples."""

from __future__ import annotations

import math
import threading
from fractions import Fraction

import numpy as np
import pytest

from rtsim.live.latency import LOWEST_NS, MOST_NEW, N_BIN, RATIO, LatencyHistogram, StageTimes

PERCENTS = (0.1, 1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 100.0)


def filled(durations: np.ndarray) -> LatencyHistogram:
    histogram = LatencyHistogram()
    for duration in durations:
        histogram.add(int(duration))
    return histogram


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", ["lognormal", "uniform", "two humps", "few"])
def test_percentiles_are_right_to_one_percent(seed, shape):
    """Protects the published figures: within 1 % of the exact percentile, whatever the distribution."""
    rng = np.random.default_rng(seed)
    durations = {
        "lognormal": 1e3 * rng.lognormal(5.0, 1.5, 5000),
        "uniform": rng.uniform(200.0, 5e7, 5000),
        "two humps": np.concatenate([rng.normal(3e5, 1e4, 4000), rng.normal(8e6, 1e5, 60)]),
        "few": rng.uniform(1e5, 1e6, 7),
    }[shape].astype(np.int64)
    histogram = filled(durations)
    for percent in PERCENTS:
        rank = math.ceil(Fraction(str(percent)) * len(durations) / 100)  # exactly, unlike np.percentile
        exact = np.sort(durations)[rank - 1]
        assert histogram.percentile_us(percent) == pytest.approx(1e-3 * exact, rel=0.01)
    assert histogram.n == len(durations)
    assert histogram.largest_ns == durations.max()


def test_percentiles_rise():
    """Protects the order p50 <= p99 <= p99.9 <= max."""
    histogram = filled(np.random.default_rng(0).integers(100, 10**7, 1000))
    values = [histogram.percentile_us(percent) for percent in PERCENTS]
    assert values == sorted(values)
    assert values[-1] <= 1e-3 * histogram.largest_ns


def test_without_samples_there_is_no_percentile():
    """Protects a run without frames: NaN, and no figures at all from the stages."""
    assert math.isnan(LatencyHistogram().percentile_us(50.0))
    assert StageTimes().gauges() == {}


@pytest.mark.parametrize("duration", [-5, 0, 1, 99, 100, 101, 10**11, 10**13, 2**63 - 1])
def test_extremes_are_counted(duration):
    """Protects against clocks that stand still, run back or were asleep: nothing is lost, nothing raises."""
    histogram = filled(np.array([duration]))
    assert histogram.n == 1
    assert histogram.percentile_us(50.0) <= 1e-3 * max(duration, 0)
    assert histogram.percentile_us(50.0) <= 1e-3 * LOWEST_NS * RATIO**N_BIN


def test_the_longest_duration_does_not_hide_the_others():
    """Protects the percentiles from one sleep of an hour."""
    histogram = filled(np.array([*([200_000] * 999), 3600 * 10**9]))
    assert histogram.percentile_us(50.0) == pytest.approx(200.0, rel=0.01)
    assert histogram.percentile_us(99.0) == pytest.approx(200.0, rel=0.01)
    assert histogram.largest_ns == 3600 * 10**9


def test_stages_are_the_differences_of_the_stamps():
    """Protects the meaning of each stage, and microseconds from nanoseconds."""
    times = StageTimes()
    stamps = {"t_capture": 1_000_000, "t_received": 1_300_000, "t_solved": 1_900_000}
    times.add_solved(**stamps)
    times.add_published(**stamps, t_published=2_000_000)
    gauges = times.gauges()
    expected = {
        "capture_to_receive": 300.0,
        "receive_to_solve": 600.0,
        "solve_to_publish": 100.0,
        "receive_to_publish": 700.0,
        "capture_to_publish": 1000.0,
    }
    for stage, value in expected.items():
        assert gauges[f"{stage}_us.max"] == value
        for label in ("p50", "p99", "p99_9"):
            assert gauges[f"{stage}_us.{label}"] == pytest.approx(value, rel=0.01)
    assert len(gauges) == 4 * len(expected)


@pytest.mark.parametrize("t_capture", [5_000_000, -(10**13)])
def test_another_machines_clock_gives_no_figure(t_capture):
    """Protects from differences between two clocks: a capture after publication, or hours before, is none."""
    times = StageTimes()
    times.add_solved(t_capture, 1_300_000, 1_900_000)
    times.add_published(t_capture, 1_300_000, 1_900_000, 2_000_000)
    assert not any(name.startswith("capture") for name in times.gauges())


def test_nothing_is_lost_while_others_ask():
    """Protects the counts: percentiles are asked for by other threads while durations come, more than fit."""
    histogram, over = LatencyHistogram(), threading.Event()

    def ask() -> None:
        while not over.is_set():
            histogram.percentile_us(50.0)

    asking = [threading.Thread(target=ask) for _ in range(2)]
    for thread in asking:
        thread.start()
    durations = np.random.default_rng(0).integers(100, 10**7, 5 * MOST_NEW)
    for duration in durations:
        histogram.add(int(duration))
    over.set()
    for thread in asking:
        thread.join()
    assert histogram.n == len(durations)
    np.testing.assert_array_equal(histogram._sorted(), filled(durations)._sorted())
