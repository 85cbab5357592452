"""Rates, latencies and counts in the status strip."""

import math
from typing import Any

import numpy as np
import pytest

from rtsim.monitor.meter import N_FRAME, Meter, quality_of, status_words
from rtsim.monitor.plots.history import Quality
from streams.messages import Status


def test_rate_is_what_was_published(source: Any) -> None:
    """Protects the measured rate: frames that are missing lower it, bursts on the way here do not."""
    meter = Meter()
    assert math.isnan(meter.rate())
    for seq in range(0, 300, 2):
        meter.add(source.add(seq))
    assert meter.rate() == pytest.approx(50.0)


def test_latencies_are_percentiles_in_milliseconds(source: Any) -> None:
    """Protects the latency budget: median and 99th percentile, inside the estimator and end to end."""
    meter = Meter()
    for seq in range(200):
        frame = source.add(seq)
        frame.t_published = frame.t_received + (seq + 1) * 1_000_000
        frame.t_arrived = frame.t_capture + 50_000_000
        meter.add(frame)
    assert meter.latency_inside().p50 == pytest.approx(100.5)
    assert meter.latency_inside().p99 == pytest.approx(np.percentile(np.arange(1, 201), 99))
    assert meter.latency_whole() == pytest.approx((50.0, 50.0))


def test_latency_over_two_clocks_is_unknown(source: Any) -> None:
    """Protects against nonsense: a source on another machine has another clock, so nothing is claimed."""
    meter = Meter()
    frame = source.add(0, t_capture=10**18)
    frame.t_arrived = 5
    meter.add(frame)
    assert math.isnan(meter.latency_whole().p50)
    assert meter.latency_inside().p50 == pytest.approx(2.0)


def test_repeated_frames_have_no_latency(source: Any) -> None:
    """Protects the latency budget: a stale frame carries old stamps, which are no latency."""
    meter = Meter()
    for seq, status in enumerate((0, 4, 4)):
        frame = source.add(seq, status, t_capture=0)
        frame.t_published = frame.t_arrived = frame.t_received + 10**9 * seq + 2_000_000
        meter.add(frame)
    assert meter.latency_inside() == pytest.approx((2.0, 2.0))
    assert meter.latency_whole() == pytest.approx((3.0, 3.0))


def test_meter_forgets_old_frames(source: Any) -> None:
    """Protects long runs: figures are of the last thousand frames, and memory does not grow."""
    meter = Meter()
    for seq in range(N_FRAME + 500):
        frame = source.add(seq)
        slow = 90_000_000 if seq < 500 else 3_000_000
        frame.t_published = frame.t_received + slow
        meter.add(frame)
    assert meter.n_frame == N_FRAME + 500
    assert meter.latency_inside() == pytest.approx((3.0, 3.0))


def test_another_sender_has_other_times(source: Any) -> None:
    """Protects a restart: clocks of two senders are not mixed, counts go on."""
    meter = Meter()
    meter.add(source.add(0, t_capture=10**15))
    meter.restart()
    assert math.isnan(meter.latency_inside().p50)
    meter.add(source.add(0, t_capture=0))
    meter.add(source.add(1, t_capture=10_000_000))
    assert meter.rate() == pytest.approx(100.0)
    assert meter.n_frame == 3


@pytest.mark.parametrize(
    ("status", "quality", "words"),
    [
        (Status.OK, Quality.GOOD, "ok"),
        (Status.LATE, Quality.GOOD, "late"),
        (Status.DEGRADED, Quality.DEGRADED, "degraded"),
        (Status.NOT_CONVERGED | Status.LATE, Quality.UNUSABLE, "late, not converged"),
        (Status.STALE, Quality.MISSING, "stale"),
        (Status.INVALID_INPUT | Status.DEGRADED, Quality.MISSING, "degraded, invalid input"),
    ],
)
def test_status_in_words(status: Status, quality: Quality, words: str) -> None:
    """Protects the reading of a status: old or invalid values are never drawn as if they were new."""
    assert quality_of(int(status)) is quality
    assert status_words(int(status)) == words


def test_late_frames_are_counted(source: Any) -> None:
    """Protects the count of missed deadlines."""
    meter = Meter()
    for seq, status in enumerate((0, 1, 3, 2)):
        meter.add(source.add(seq, status))
    assert (meter.n_frame, meter.n_late) == (4, 2)
