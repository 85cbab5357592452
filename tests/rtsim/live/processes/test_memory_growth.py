"""Memory of a process that runs: told where it grows, silent where it does not."""

from __future__ import annotations

import math
import sys

import pytest

from rtsim.live.processes.memory_growth import GROWN_MB, SETTLE_S, MemoryGrowth, ResidentMemory


def looked(memory: list[float]) -> list[list[str]]:
    """Sentences of looks once a second."""
    values = iter(memory)
    growth = MemoryGrowth(lambda: next(values))
    return [growth.look(float(second))[1] for second in range(len(memory))]


def test_a_leak_is_told_again_and_again():
    """Protects who wonders why a machine gets slow: told each time that so much has come on top."""
    told = looked([100.0 + 10.0 * second for second in range(100)])
    when = [second for second, said in enumerate(told) if said]
    assert when == [55, 81]
    assert "has grown from 390 to 650 MB within 26 s" in told[55][0]


def test_what_a_start_takes_is_no_leak():
    """Protects against false alarms: kernels and windows fill in the first seconds, steps later are small."""
    start = [100.0 + 50.0 * second for second in range(int(SETTLE_S))]
    assert not any(looked([*start, *[start[-1] + GROWN_MB - 1.0] * 100]))


def test_where_nothing_is_known_nothing_is_told():
    """Protects other systems: no gauge in place of a number that nobody knows."""
    assert MemoryGrowth(lambda: math.nan).look(100.0) == ({}, [])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="by Linux's account")
def test_memory_that_is_taken_is_seen():
    """Protects the gauge itself: 64 MB that are written to are there."""
    read = ResidentMemory()
    before = read()
    kept = bytearray(64_000_000)
    kept[::4096] = b"\x01" * len(kept[::4096])
    assert read() - before == pytest.approx(64.0, abs=16.0)
