"""Ticks on a grid of the clock: no drift, and no burst after a stall. And the thread that serves them."""

from __future__ import annotations

import os

import pytest

from rtsim.live.processes.thread_priority import with_priority
from rtsim.live.ticks import Ticks

MS = 1_000_000


def test_ticks_stand_on_a_grid(fake_time):
    """Protects long runs: deadline n is n periods after the start, however long the work between them."""
    ticks = Ticks(300.0)
    start = fake_time.ns
    for n in range(1, 1000):
        due = ticks.wait()
        assert due == start + round(n * 1e9 / 300.0)
        assert 0 <= fake_time.ns - due < 1000
        fake_time.ns += 2 * MS
    assert (ticks.n_due, ticks.n_missed) == (999, 0)


def test_a_stall_is_counted_and_not_made_up_for(fake_time):
    """Protects what hangs on the ticks from a burst: deadlines that passed meanwhile are missed for good."""
    ticks = Ticks(1000.0)
    first = ticks.wait()
    fake_time.ns += round(3.5 * MS)  # those of 1, 2 and 3 ms later pass
    assert ticks.wait() == first + 4 * MS
    assert (ticks.n_due, ticks.n_missed) == (5, 3)
    assert ticks.wait() == first + 5 * MS
    assert ticks.n_missed == 3


def test_a_tick_that_lasts_a_little_too_long_misses_one(fake_time):
    """Protects the count: the next deadline has just passed, the one after it is met."""
    ticks = Ticks(1000.0)
    first = ticks.wait()
    fake_time.ns += MS + 1000
    assert ticks.wait() == first + 2 * MS
    assert ticks.n_missed == 1


@pytest.mark.parametrize("rate", [0.0, -1.0, float("inf"), float("nan")])
def test_a_rate_must_be_one(rate):
    """Protects against a division by zero long after the mistake."""
    with pytest.raises(ValueError, match="positive number of Hz"):
        Ticks(rate)


@pytest.mark.skipif(not hasattr(os, "sched_setscheduler"), reason="no such scheduler")
def test_urgency_ends_with_its_block(monkeypatch):
    """Protects the rest of the process: granted or refused, the thread is afterwards what it was before."""
    before = os.sched_getscheduler(0)
    with with_priority(False) as granted:
        assert not granted
    with with_priority() as granted:
        assert (os.sched_getscheduler(0) == os.SCHED_FIFO) == granted
    assert os.sched_getscheduler(0) == before

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    with with_priority() as granted:
        assert not granted
