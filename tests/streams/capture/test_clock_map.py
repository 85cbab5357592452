"""The clock of a capture system: whatever its offset, drift, jitter and restarts, stamps become our times."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.stats import theilslopes

from streams.capture.clock_map import BLOCK_NS, ClockMap

MS = 1_000_000
SECOND = 1_000_000_000
HOUR = 3600 * SECOND


def arrivals(
    n_second: float,
    drift_ppm: float,
    offset_ns: int,
    jitter_ms: float = 1.0,
    rate: float = 200.0,
    seed: int = 0,
) -> Iterator[tuple[int, int, int]]:
    """Return (stamp, arrival, when it was captured) of frames, each late by a delay of an exponential kind;
    of one in fifty by 30 ms more, and all of them from second 4 to 5 by 200 ms more."""
    random = np.random.default_rng(seed)
    for k in range(int(n_second * rate)):
        captured = 5 * SECOND + round(k * SECOND / rate)
        stamp = offset_ns + round(captured * (1.0 + 1e-6 * drift_ppm))
        late = random.exponential(jitter_ms) + (30.0 if random.random() < 0.02 else 0.0)
        late += 200.0 if 4.0 <= k / rate < 5.0 else 0.0
        yield stamp, captured + round(late * MS), captured


@pytest.mark.parametrize("drift_ppm", [0.0, 50.0, -50.0, 200.0])
@pytest.mark.parametrize("offset_ns", [0, HOUR, -HOUR, 10**18])
@pytest.mark.parametrize("jitter_ms", [0.1, 1.0, 4.0])
def test_capture_times_are_right_to_a_millisecond_after_ten_seconds(drift_ppm, offset_ns, jitter_ms):
    """Protects t_capture: an hour of offset, a drift and late frames of every kind leave less than 1 ms."""
    clock = ClockMap()
    errors = []
    for k, (stamp, arrived, captured) in enumerate(arrivals(40.0, drift_ppm, offset_ns, jitter_ms)):
        assert not clock.learn(stamp, arrived)
        if k >= 2000:
            errors.append(clock.local_ns(stamp) - captured)
    assert max(np.abs(errors)) < MS
    assert clock.n_restart == 0
    assert clock.gauges()["clock_drift_ppm"] == pytest.approx(-drift_ppm, abs=10.0 * jitter_ms)


def test_the_line_is_the_one_of_theil_and_sen():
    """Protects the fit by another implementation of the same line, through the earliest of half seconds."""
    clock = ClockMap()
    points = list(arrivals(20.0, 50.0, 0, 2.0))
    blocks, start, earliest = [], None, None
    for stamp, arrived, _ in points:
        clock.learn(stamp, arrived)
        if start is None or arrived - start >= BLOCK_NS:
            blocks += [earliest] if earliest else []
            start, earliest = arrived, (stamp, arrived - stamp)
        earliest = min(earliest, (stamp, arrived - stamp), key=lambda point: point[1])
    x, y = np.array(blocks, dtype=float).T
    fit = theilslopes(y - y[0], x - x[-1])
    intercept = np.median(y - y[0] - fit.slope * (x - x[-1])) + y[0]
    stamp = points[-1][0]
    expected = intercept + fit.slope * (stamp - blocks[-1][0])
    assert clock.local_ns(stamp) - stamp == pytest.approx(expected, abs=50.0)


@pytest.mark.parametrize("leap_ns", [-2 * HOUR, 5 * SECOND, HOUR])
def test_a_clock_that_was_set_anew_is_learnt_again(leap_ns):
    """Protects times after a restart of the server: at once where stamps come too early, and within seconds
    where they come too late."""
    clock = ClockMap()
    found = []
    for k, (stamp, arrived, captured) in enumerate(arrivals(20.0, 50.0, HOUR, 1.0)):
        later = stamp + (leap_ns if k >= 2000 else 0)
        if clock.learn(later, arrived):
            found.append(k)
        if k >= 2000 + 500:
            assert abs(clock.local_ns(later) - captured) < 4 * MS
    assert len(found) == clock.n_restart == 1


def test_pairs_of_clocks_outweigh_arrivals():
    """Protects systems that tell their clock: once they do, how late frames arrive changes nothing."""
    clock = ClockMap()
    clock.learn(0, 80 * MS)
    clock.pair(0, 5 * MS)
    for k in range(1, 1000):
        clock.learn(5 * k * MS, 5 * k * MS + 80 * MS)
    assert clock.local_ns(SECOND) == SECOND + 5 * MS
    clock.restart()
    clock.learn(0, 80 * MS)
    assert clock.local_ns(0) == 80 * MS


def test_before_anything_is_known_nothing_is_told():
    """Protects the first frame: there is no time that is made up."""
    clock = ClockMap()
    assert not clock.known
    assert clock.gauges() == {}
    with pytest.raises(LookupError):
        clock.local_ns(1)


def test_stamps_of_any_size_are_survived():
    """Protects against stamps of a hostile server: numbers, not faults."""
    clock = ClockMap()
    for k, stamp in enumerate([0, 2**63 - 1, -(2**63), 1, 2**62, 5] * 200):
        clock.learn(stamp, k * 5 * MS)
        assert isinstance(clock.local_ns(stamp), int)


@pytest.mark.parametrize("drift_ppm", [0.0, 200.0, -450.0])
@pytest.mark.parametrize("offset_ns", [0, -HOUR, 10**18])
def test_our_times_become_stamps_again(drift_ppm, offset_ns):
    """Protects forces that are moved from one sender's clock to another's: the map has an exact inverse."""
    clock = ClockMap()
    with pytest.raises(LookupError):
        clock.stamp_ns(0)
    for stamp, arrived, _ in arrivals(20.0, drift_ppm, offset_ns):
        clock.learn(stamp, arrived)
    for stamp in range(offset_ns, offset_ns + HOUR, HOUR // 7):
        assert abs(clock.stamp_ns(clock.local_ns(stamp)) - stamp) <= 1
