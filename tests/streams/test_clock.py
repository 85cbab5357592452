"""Pacing: deadlines do not drift, and a stall makes no burst."""

import re
import time
from pathlib import Path

import pytest

from streams.clock import STALL_NS, Pacer, now_ns, sleep_until_ns


def test_sleep_never_returns_early():
    """Protects deadlines from being met too soon, with the real clock."""
    due = now_ns() + 3_000_000
    sleep_until_ns(due)
    assert now_ns() >= due
    sleep_until_ns(due)  # a deadline in the past returns at once


def test_ticks_do_not_drift(fake_time):
    """Protects long runs: tick n comes at start + n / rate, however late the ticks before it were."""
    pacer = Pacer(300.0)
    for n in range(2000):
        late = pacer.wait()
        assert 0 <= late < 1000
        assert abs(fake_time.ns - (pacer.start_ns + n * 1e9 / 300.0)) < 1000
        fake_time.ns += 2_000_000  # the work of the loop
    assert pacer.n_resync == 0


def test_short_delay_is_caught_up(fake_time):
    """Protects the mean rate: a delay below the stall limit does not move later deadlines."""
    pacer = Pacer(100.0)
    pacer.wait()
    fake_time.ns += 50_000_000
    for _ in range(6):
        pacer.wait()
    assert pacer.n_resync == 0
    assert fake_time.ns - pacer.start_ns < 61_000_000


def test_stall_makes_no_burst(fake_time):
    """Protects receivers: after a stall the frames keep their spacing instead of coming all at once."""
    pacer = Pacer(100.0)
    pacer.wait()
    fake_time.ns += 10 * STALL_NS
    pacer.wait()
    resumed = fake_time.ns
    pacer.wait()
    assert pacer.n_resync == 1
    assert abs(fake_time.ns - resumed - 10_000_000) < 2000


@pytest.mark.parametrize("rate", [0.0, -1.0, float("inf"), float("nan")])
def test_impossible_rates_are_refused(rate):
    """Protects against a loop that never or always ticks."""
    with pytest.raises(ValueError, match="positive"):
        Pacer(rate)


def test_one_clock_in_code_documents_and_clients():
    """Protects latencies: who stamps uses the clock of the protocol, which ticks finely everywhere."""
    root = Path(__file__).resolve().parents[2]
    rough = re.compile(r"monotonic_ns")
    for folder in ("streams", "rtsim", "kernels"):
        for path in (root / folder).rglob("*.py"):
            assert not rough.search(path.read_text(encoding="utf-8")), path
    assert not rough.search((root / "README.md").read_text(encoding="utf-8"))
    assert "perf_counter_ns" in (root / "docs" / "protocol.md").read_text(encoding="utf-8")
    assert now_ns is time.perf_counter_ns
