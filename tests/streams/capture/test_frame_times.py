"""The order of a capture system's frames: what is published, with which time, and what is counted."""

from __future__ import annotations

import numpy as np
import pytest

from streams.capture.frame_times import FrameTimes
from streams.capture.records import CaptureFrame

MS = 1_000_000
STEP = 5 * MS
BEGIN = 7_000 * MS
RATE = 200.0
SEEN = np.zeros((1, 3))


class Frames:
    """Frames of 200 Hz into one FrameTimes; each has a content of its own."""

    def __init__(self, **options) -> None:
        self.times = FrameTimes(**options)
        self.placed: list = []

    def put(self, stamp_ns, arrived_ns, number=-1, content=None, age_ns=0, positions=SEEN):
        """Return what becomes of a frame."""
        frame = CaptureFrame(positions, arrived_ns, stamp_ns, number, age_ns)
        placed = self.times.place(frame, content or f"{stamp_ns} {arrived_ns}".encode(), RATE)
        self.placed += [placed] if placed else []
        return placed


@pytest.fixture
def frames():
    put = Frames()
    for k in range(100):
        assert put.put(k * STEP, BEGIN + k * STEP + MS, k)
    return put


def test_time_goes_by_the_stamps(frames):
    """Protects filters: the time of frames has the system's spacing, whenever they came."""
    frames.put(100 * STEP, BEGIN + 100 * STEP + 30 * MS, 100)
    np.testing.assert_allclose(np.diff([time for _, time in frames.placed]), 0.005, atol=1e-9)
    np.testing.assert_allclose(np.diff([t for t, _ in frames.placed]), STEP, atol=2)
    assert not frames.times.counters


def test_a_frame_that_comes_again_is_not_published(frames):
    """Protects seq: the same stamp and the same content is the same frame; another content is not."""
    assert frames.put(100 * STEP, BEGIN + 100 * STEP + MS, 100, b"same")
    assert frames.put(100 * STEP, BEGIN + 100 * STEP + 2 * MS, 101, b"same") is None
    assert frames.put(100 * STEP, BEGIN + 101 * STEP, 101, b"other")
    assert (frames.times.counters["repeated_frames"], frames.times.counters["stuck_stamps"]) == (1, 1)


def test_a_frame_that_comes_again_after_its_successor_is_not_published(frames):
    """Protects times behind a mirrored switch port: a doubled datagram that the next frame has overtaken is
    a repetition, not the system's clock set back."""
    sent = [(k * STEP, BEGIN + k * STEP + MS, k, b"%d" % k) for k in range(100, 105)]
    for stamp, arrived, number, content in sent[:4]:
        assert frames.put(stamp, arrived, number, content)
    late = (sent[2][0], sent[3][1] + MS, *sent[2][2:])
    assert frames.put(*late) is None
    assert frames.put(sent[1][0], sent[3][1] + 2 * MS, *sent[1][2:]) is None
    t_capture, time = frames.put(*sent[4])
    assert (t_capture, time) == (BEGIN + 104 * STEP + MS, pytest.approx(104 * 0.005))
    assert dict(frames.times.counters) == {"repeated_frames": 2}


@pytest.mark.parametrize("numbers", ["go on", "stand still", "none"])
def test_a_clock_that_is_set_back_while_nobody_is_visible_begins_anew(frames, numbers):
    """Protects times of an empty room, whose frames have equal content: stamps that come once more are those
    of a clock that was set back, unless the number is an old one, too."""
    number = {"go on": lambda k: k, "stand still": lambda k: 1, "none": lambda k: -1}[numbers]
    nobody = np.full((1, 3), np.nan)
    for k in range(100, 150):
        back = 20 if k >= 120 else 0
        assert frames.put((k - back) * STEP, BEGIN + k * STEP + MS, number(k), b"nan", positions=nobody)
    np.testing.assert_allclose(np.diff([time for _, time in frames.placed]), 0.005, atol=1e-4)
    assert dict(frames.times.counters) == {"clock_restarts": 1} | (
        {} if numbers != "stand still" else {"stuck_numbers": 48}
    )


def test_a_copy_of_an_empty_frame_is_not_published(frames):
    """Protects times behind a mirrored switch port while nobody is visible: a doubled datagram has the number
    of its original."""
    nobody = np.full((1, 3), np.nan)
    for k in range(100, 110):
        assert frames.put(k * STEP, BEGIN + k * STEP + MS, k, b"nan", positions=nobody)
        if k > 100:
            copy = ((k - 1) * STEP, BEGIN + k * STEP + 2 * MS, k - 1, b"nan")
            assert frames.put(*copy, positions=nobody) is None
    assert dict(frames.times.counters) == {"repeated_frames": 9}


def test_a_short_recording_in_a_loop_is_no_repetition():
    """Protects output from a short file in a loop: what comes again as long after is a new frame, with the
    same stamp and content or not."""
    frames = Frames()
    for k in range(300):
        assert frames.put(k % 60 * STEP, BEGIN + k * STEP, k % 60, b"%d" % (k % 60))
    np.testing.assert_allclose(np.diff([time for _, time in frames.placed]), 0.005, atol=1e-4)
    assert dict(frames.times.counters) == {"clock_restarts": 4}


def test_gaps_are_counted_by_stamps(frames):
    """Protects the count of what a system leaves out, whatever its numbers say."""
    frames.put(105 * STEP, BEGIN + 105 * STEP + MS, 100)
    assert frames.times.counters["frames_left_out"] == 5


def test_a_frame_that_was_overtaken_is_left_out(frames):
    """Protects order over a network that changes it: an older number with an older stamp comes too late."""
    frames.put(101 * STEP, BEGIN + 101 * STEP + MS, 101)
    assert frames.put(100 * STEP, BEGIN + 101 * STEP + 2 * MS, 100) is None
    assert frames.times.counters["out_of_order"] == 1


@pytest.mark.parametrize("number", [-1, 1, 0])
def test_a_recording_that_starts_over_goes_on(frames, number):
    """Protects output from a file in a loop: its stamps begin anew, the session's time goes on."""
    for k in range(50):
        assert frames.put(k * STEP, BEGIN + (100 + k) * STEP + MS, number + k, b"%d" % k)
    times = np.array([time for _, time in frames.placed])
    np.testing.assert_allclose(np.diff(times), 0.005, atol=1e-4)
    assert frames.times.counters["clock_restarts"] == 1


def test_without_stamps_arrivals_tell_the_time():
    """Protects systems without a clock: frames are placed when they came, less their age, in order."""
    frames = Frames()
    for k in range(10):
        assert frames.put(None, BEGIN + k * STEP, k, age_ns=2 * MS)
    assert [t for t, _ in frames.placed] == [BEGIN + k * STEP - 2 * MS for k in range(10)]
    frames.put(None, BEGIN + 20 * STEP, 20)
    assert frames.times.counters["frames_left_out"] == 10


def test_stamps_that_stand_still_do_not_hold_frames_up():
    """Protects against a clock that has stopped: the frames go on by their arrival."""
    frames = Frames()
    for k in range(50):
        assert frames.put(123, BEGIN + k * STEP, k)
    np.testing.assert_allclose(np.diff([time for _, time in frames.placed]), 0.005, atol=1e-9)
    assert frames.times.counters["stuck_stamps"] == 49


def test_a_new_connection_keeps_the_clock_where_it_is_the_same(frames):
    """Protects times over a lost connection: the same clock goes on, another one is learnt, and frames that
    the server sends once more are not published once more."""
    frames.times.reconnect()
    assert (
        frames.put(99 * STEP, BEGIN + 140 * STEP, 99, f"{99 * STEP} {BEGIN + 99 * STEP + MS}".encode())
        is None
    )
    t_capture, time = frames.put(150 * STEP, BEGIN + 150 * STEP + 60 * MS, 150)
    assert t_capture == BEGIN + 150 * STEP + MS
    assert time == pytest.approx(0.75)
    frames.times.reconnect()
    t_capture, time = frames.put(3 * STEP, BEGIN + 200 * STEP + 2 * MS, 3)
    assert t_capture == BEGIN + 200 * STEP + 2 * MS
    assert time == pytest.approx(1.0, abs=0.002)
    assert frames.times.counters["clock_restarts"] == 1


def test_a_known_latency_is_taken_off():
    """Protects who measured the delay from exposure to arrival."""
    frames = Frames(latency_ns=4 * MS)
    assert frames.put(0, BEGIN, 0) == (BEGIN - 4 * MS, 0.0)


def test_a_session_begins_at_time_zero(frames):
    """Protects recordings of several sessions: each has its own time."""
    frames.times.begin()
    assert frames.put(100 * STEP, BEGIN + 100 * STEP + MS, 100)[1] == 0.0


def test_any_stamps_and_arrivals_are_survived():
    """Protects against a hostile clock: times increase, and captures are never after their arrival."""
    random = np.random.default_rng(2)
    frames = Frames()
    arrived = BEGIN
    for _ in range(3000):
        arrived += int(random.integers(1, 10 * MS))
        stamp = int(random.choice([0, 2**63 - 1, -(2**63), arrived, arrived + 10**12])) + int(
            random.integers(-5, 5)
        )
        frames.put(stamp, arrived, int(random.integers(-1, 2**32)), age_ns=int(random.integers(0, MS)))
    times = np.array([time for _, time in frames.placed])
    captures = np.array([t for t, _ in frames.placed], dtype=np.float64)
    assert np.all(np.isfinite(times))
    assert np.all(np.diff(times) > 0.0)
    assert np.all(np.diff(captures) > 0.0)
