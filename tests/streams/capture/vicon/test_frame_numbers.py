"""The clock that Vicon's frame numbers make: lateness, pauses, restarts."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from streams.capture.frame_times import FrameTimes
from streams.capture.records import CaptureFrame
from streams.capture.vicon.frame_numbers import FrameNumbers

MS = 1_000_000
PERIOD = 10 * MS
BEGIN = 7_000 * MS


class Numbers:
    """Frames of 100 Hz through FrameNumbers and FrameTimes, as a connection and its relay use them."""

    def __init__(self) -> None:
        self.numbers, self.times = FrameNumbers(), FrameTimes()
        self.numbers.period_ns = PERIOD
        self.placed: list = []
        self.kept: deque = deque()
        self.longest_kept_ns = 0

    def put(self, number: int, arrived_ns: int) -> None:
        self.kept.append((number, arrived_ns))
        for stamp_ns in self.numbers.stamps_ns(number, arrived_ns):
            self.place(*self.kept.popleft(), stamp_ns, arrived_ns)

    def place(self, number: int, arrived_ns: int, stamp_ns: int | None, now_ns: int) -> None:
        frame = CaptureFrame(np.zeros((1, 3)), arrived_ns, stamp_ns, number)
        placed = self.times.place(frame, b"%d %d" % (number, arrived_ns), 100.0)
        assert placed is not None
        self.placed.append(placed)
        self.longest_kept_ns = max(self.longest_kept_ns, now_ns - arrived_ns)

    def off_ms(self) -> np.ndarray:
        """Return how far `t_capture` and `time` are from one frame in 10 ms, as (n, 2) [ms]."""
        k = np.arange(len(self.placed))
        t_capture, time = np.array(self.placed).T
        return np.column_stack([1e-6 * (t_capture - BEGIN) - 10.0 * k, 1e3 * time - 10.0 * k])


@pytest.mark.parametrize("held_ms", [300, 600, 1500, 4000])
@pytest.mark.parametrize("first", [1, 200])
def test_frames_that_were_held_up_are_dated_by_their_numbers(held_ms, first):
    """Protects times over a network or a machine that holds frames up and then delivers all at once."""
    run, last = Numbers(), first + held_ms // 10
    for k in range(last + 400):
        run.put(k, BEGIN + PERIOD * (last if first <= k < last else k))
    np.testing.assert_allclose(run.off_ms(), 0.0, atol=0.01)
    assert run.times.counters["frames_left_out"] == 0
    assert run.numbers.counters["frame_numbers_anew"] == 0
    assert run.numbers.counters["late_frames"] == max(0, held_ms - 500) // 10


def test_a_slow_recovery_is_no_pause():
    """Protects times where frames that were held up come a little faster than they are made, with jitter."""
    run, random = Numbers(), np.random.default_rng(3)
    arrived = BEGIN
    for k in range(3500):
        on_time = BEGIN + k * PERIOD
        held = BEGIN + 2080 * PERIOD + (k - 2000) * 17 * MS // 2 + int(random.integers(0, 8 * MS))
        arrived = max(arrived + 1, on_time, held if k >= 2000 else 0)
        run.put(k, arrived)
    np.testing.assert_allclose(run.off_ms(), 0.0, atol=0.01)
    assert run.numbers.counters["frame_numbers_anew"] == 0


def test_frames_that_a_late_server_leaves_out_are_no_leap():
    """Protects times where the server drops what it could not send: the numbers go on with the clock."""
    run = Numbers()
    for k in range(600):
        if not 202 <= k < 290:
            run.put(k, BEGIN + PERIOD * (k + 90 if 200 <= k < 202 else k))
    times = np.array([time for _, time in run.placed])
    np.testing.assert_allclose(times[200:204], [2.0, 2.01, 2.9, 2.91], atol=1e-9)
    assert times[-1] == pytest.approx(5.99)
    assert (run.times.counters["frames_left_out"], run.numbers.counters["frame_numbers_anew"]) == (88, 0)


@pytest.mark.parametrize("paused_ms", [600, 5_000, 10_000])
def test_numbers_that_paused_are_joined_by_arrival_from_the_first_frame_on(paused_ms):
    """Protects times and speeds where the server pauses and its numbers go on: the gap stands where the pause
    was, not in the motion that follows, for which frames are kept back a quarter of a second."""
    run = Numbers()
    for k in range(400):
        run.put(k, BEGIN + PERIOD * k + (paused_ms * MS if k >= 200 else 0))
    off = run.off_ms()
    assert len(off) == 400
    np.testing.assert_allclose(off[:200], 0.0, atol=0.01)
    np.testing.assert_allclose(off[200:], paused_ms, atol=0.01)
    assert run.numbers.counters == {"frame_numbers_anew": 1}
    assert run.longest_kept_ns == 250 * MS


def test_a_late_first_frame_after_a_pause_shifts_no_other():
    """Protects the join from the jitter of one frame: it goes by the earliest arrival after the pause."""
    run = Numbers()
    for k in range(400):
        late_ms = 8 if k == 200 else 0
        run.put(k, BEGIN + PERIOD * k + ((5_000 + late_ms) * MS if k >= 200 else 0))
    np.testing.assert_allclose(run.off_ms()[200:], 5_000, atol=0.01)


def test_frames_are_not_kept_back_for_ever():
    """Protects the relay where frames stand still, or have no numbers, or come seldom after a late one."""
    numbers = FrameNumbers()
    numbers.period_ns = PERIOD
    n_dated = [len(numbers.stamps_ns(k, BEGIN + k * PERIOD)) for k in range(3)]
    assert n_dated == [1, 1, 1]
    late_ns = BEGIN + 3_000 * MS
    assert numbers.stamps_ns(3, late_ns) == []
    assert numbers.kept_until_ns == late_ns + 500 * MS
    n_dated = [len(numbers.stamps_ns((3, -1)[k % 2], late_ns + k * PERIOD)) for k in range(1, 60)]
    assert n_dated == [0] * 49 + [51] + [1] * 9
    other = FrameNumbers()
    other.period_ns = PERIOD
    other.stamps_ns(0, BEGIN)
    assert other.stamps_ns(1, late_ns) == []
    assert other.release_ns() == [PERIOD]
    assert other.stamps_ns(2, late_ns + PERIOD) == [2 * PERIOD]
    assert other.counters == {"late_frames": 2}


@pytest.mark.parametrize("anew", [0, 150, 5_000, 1_000_000])
def test_numbers_that_begin_anew_or_leap_are_joined_by_arrival(anew):
    """Protects times where a recording starts over, or numbers leap far ahead of the clock."""
    run = Numbers()
    for k in range(400):
        run.put(k if k < 200 else anew + k - 200, BEGIN + PERIOD * k)
    np.testing.assert_allclose(run.off_ms(), 0.0, atol=0.01)
    assert run.numbers.counters["frame_numbers_anew"] == 1


def test_numbers_that_run_slower_than_the_clock_stay_a_clock():
    """Protects speeds in a recording that plays at half its speed: its times are those of the recording."""
    numbers = FrameNumbers()
    numbers.period_ns = PERIOD
    stamps = [numbers.stamps_ns(k, BEGIN + 2 * k * PERIOD) for k in range(1000)]
    assert stamps == [[k * PERIOD] for k in range(1000)]
    assert not numbers.counters


def test_any_numbers_and_arrivals_are_survived():
    """Protects against a hostile server: stamps increase, whatever the numbers are."""
    random, numbers = np.random.default_rng(4), FrameNumbers()
    numbers.period_ns = PERIOD
    arrived, stamps = BEGIN, []
    for _ in range(5000):
        arrived += int(random.choice([0, MS, 10 * MS, 700 * MS, 10_000 * MS]))
        number = int(random.choice([-1, 0, 7, 8, 9, 2**32 - 1, random.integers(0, 2**32)]))
        stamps += numbers.stamps_ns(number, arrived)
    stamps += numbers.release_ns()
    assert len(stamps) == 5000
    assert np.all(np.diff([stamp for stamp in stamps if stamp is not None]) > 0)
