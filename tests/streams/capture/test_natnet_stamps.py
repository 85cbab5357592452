"""Stamps of Motive's frames: one that is damaged is none, a clock that was set anew is known by three."""

from __future__ import annotations

import pytest

from benchmarks.adapters.doubles.natnet import NatNetDouble
from streams.capture.natnet.stamps import StampCheck
from tests.streams.capture.relays import NAMES, SECOND, relayed, sent, until

STEP = SECOND // 200


@pytest.mark.parametrize("leap", [1 << 61, -3000 * SECOND, 2 * SECOND])
def test_damaged_stamps_are_not_believed_and_end_nothing(leap):
    """Protects a connection: frames whose stamps are damaged, each in its way, are no new server."""
    check = StampCheck()
    for k in range(100):
        damaged = k % 3 == 1
        stamp = 5000 * SECOND + k * STEP + damaged * (leap + (-1) ** k * 7 * k * SECOND)
        assert check.believed(stamp, k * STEP) == (not damaged)
    assert check.leap_ns == 0
    assert check.frame_ns(0.0) in (STEP, 2 * STEP)


@pytest.mark.parametrize("leap_s", [-4000, 3600])
def test_a_clock_that_was_set_anew_is_known_by_three_frames(leap_s):
    """Protects capture times after a restart: the new clock is told, and by how much it leapt."""
    check = StampCheck()
    for k in range(10):
        assert check.believed(5000 * SECOND + k * STEP, k * STEP)
    found = [
        check.believed((5000 + leap_s) * SECOND + k * STEP, k * STEP) or check.leap_ns for k in (10, 11, 12)
    ]
    assert found == [0, 0, leap_s * SECOND + 3 * STEP]


def test_a_stamp_that_stands_still_over_a_pause_is_believed():
    """Protects systems in pause: the same stamp again is no leap, however late it comes."""
    check = StampCheck()
    assert check.believed(SECOND, 0)
    assert check.believed(SECOND, 100 * SECOND)


@pytest.mark.parametrize("held_s", [1, 2, 5])
@pytest.mark.parametrize("lost", [False, True])
def test_frames_that_were_held_up_are_no_restart(held_s, lost):
    """Protects a connection over a network or a machine that holds frames up and then delivers all at once,
    or only the first of them: their stamps are right, however late they come."""
    check = StampCheck()
    for k in range(1000 + 200 * held_s):
        arrived = max(k, 400 + 200 * held_s) if k > 400 else k
        if not (lost and 410 < k < 400 + 200 * held_s):
            assert check.believed(5000 * SECOND + k * STEP, arrived * STEP)
    assert check.leap_ns == 0


def test_a_clock_that_stood_still_is_checked_again():
    """Protects times after a long pause of the stamps: one that leaps then is damaged, as ever."""
    check = StampCheck()
    assert check.believed(5000 * SECOND, 0)
    for k in range(100):
        assert check.believed(5000 * SECOND + k * STEP, 20 * SECOND + k * STEP)
    assert not check.believed(5005 * SECOND, 20 * SECOND + 100 * STEP)


def test_a_damaged_stamp_costs_no_connection():
    """Protects a measurement: a frame with another stamp is published, and the server is not left for it."""
    double = NatNetDouble(list(NAMES), 200.0)
    double.start()
    try:
        with relayed(double) as run:
            for k in range(30):
                sent(double, k, **({"stamp_ns": 7 * k * SECOND} if k % 10 == 5 else {}))
            until(lambda: run.take() == 30, "all frames")
            assert run.relay.counters["connections"] == 1
            assert [frame[1] for frame in run.frames] == list(range(30))
    finally:
        double.stop()


def seen(check: StampCheck, steps_ns: list[int], rate: float, began: int = 5000 * SECOND) -> list[str]:
    """Frames with these steps between their stamps, which arrive at once; what is told of the rate."""
    stamp, told = began, []
    for step in steps_ns:
        stamp += step
        assert check.believed(stamp, stamp)
        if sentence := check.contradiction(rate, stamp):
            told.append(sentence)
    return told


def test_force_samples_of_a_faster_rate_do_not_overlap_the_next_frame():
    """Protects force samples between a change of Motive's rate and its answer to the next question: the
    period of a frame is that of the stamps."""
    check = StampCheck()
    seen(check, [SECOND // 120] * 30, 120.0)
    assert check.frame_ns(120.0) == round(1e9 / 120.0)
    seen(check, [SECOND // 240] * 30, 120.0, began=5001 * SECOND)
    assert check.frame_ns(120.0) == SECOND // 240
    assert check.frame_ns(0.0) == SECOND // 240


@pytest.mark.parametrize(
    "steps_ns",
    [[STEP] * 24 + [9 * STEP], [STEP, STEP, 2 * STEP], [2 * STEP], [STEP // 10, 2 * STEP - STEP // 10]],
    ids=["lost", "every fourth lost", "every other one", "in pairs"],
)
def test_lost_and_late_frames_do_not_change_the_period_of_a_frame(steps_ns):
    """Protects force samples, which belong to one frame of the cameras, whichever of them are sent."""
    check = StampCheck()
    seen(check, steps_ns * 30, 200.0)
    assert check.frame_ns(200.0) == STEP


@pytest.mark.parametrize(("rate", "words"), [(100.0, "by the stamps"), (400.0, "by the stated rate")])
def test_a_rate_that_the_stamps_contradict_is_told_once(rate, words):
    """Protects from a rate that the server states wrongly: it is told after three seconds, and once."""
    check = StampCheck()
    assert seen(check, [STEP] * 500, rate) == []
    (sentence,) = seen(check, [STEP] * 1000, rate, began=5003 * SECOND)
    assert f"states {rate:g} frames per second" in sentence
    assert "its stamps show 200:" in sentence
    assert words in sentence
    assert seen(check, [STEP] * 100, 200.0, began=5010 * SECOND) == []
    assert len(seen(check, [STEP] * 1500, rate, began=5011 * SECOND)) == 1
