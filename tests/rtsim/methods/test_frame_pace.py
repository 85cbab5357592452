"""Frames at their stated rate, by their times and by the clock: others are told, jitter is not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rtsim.methods.frame_pace import FramePace
from streams.codec import FieldLayout
from streams.messages import marker_session
from streams.receiving.ring import ReceivedFrame

SESSION = marker_session(("A",), rate=100.0, t_start=0)
BEGUN_NS = 7 * 10**12


def followed(
    time: Callable[[int], float], came: Callable[[int], float] | None, n: int = 400, seq=lambda k: k
) -> tuple[list[bool], list[str]]:
    """Whether each of n frames goes on, and what is told, by when they say they are, and when they come [s];
    came = None: of a recording."""
    pace, frame = FramePace(0.1), ReceivedFrame(SESSION, FieldLayout(SESSION))
    pace.begin(SESSION.rate)
    goes_on, told = [], []
    for k in range(n):
        frame.seq, frame.time = seq(k), time(k)
        frame.t_arrived = BEGUN_NS + round(1e9 * came(k)) if came else 0
        goes_on.append(pace.take(frame))
        told.append(pace.wrong)
    return goes_on, told


def steady(k: int) -> float:
    """A frame each hundredth of a second."""
    return 0.01 * k


@pytest.mark.parametrize(
    "time",
    [lambda k: 1.0, lambda k: 1e-6 * k, lambda k: -0.01 * k, lambda k: 1.0 * k, lambda k: 0.01 * k + k % 2],
    ids=["stands", "creeps", "goes back", "leaps", "to and fro"],
)
@pytest.mark.parametrize("live", [True, False])
def test_a_time_that_does_not_go_on_is_of_no_use(time, live: bool) -> None:
    """Protects the wearer: every frame but the first is refused, of a stream and of a recording."""
    goes_on, told = followed(time, steady if live else None)
    assert not any(goes_on[1:])
    assert live or not any(told)


@pytest.mark.parametrize(
    ("came", "words"),
    [
        (lambda k: 0.0005 * k, "come at 2e+03 Hz"),
        (lambda k: 0.009 * k, "come at 111 Hz"),
        (lambda k: 0.011 * k, "come at 90.9 Hz"),
        (lambda k: 0.03 * k, "34 frames of markers came in 1 s"),
    ],
)
def test_another_rate_by_the_clock_is_told(came, words: str) -> None:
    """Protects the wearer: frames at another rate than stated, denser or rarer, are told in a sentence."""
    _, told = followed(steady, came, 8000 if came(1) < 0.001 else 600)
    assert any(words in said for said in told)


def test_a_time_at_another_pace_is_told() -> None:
    """Protects from a time that creeps within a frame's tolerance, while frames come as stated."""
    _, told = followed(lambda k: 0.007 * k, steady)
    assert told[-1].startswith("the time stamps of the markers advance by 0.7 s in one second")


def test_bursts_jitter_and_losses_are_no_other_rate() -> None:
    """Protects from alarms for nothing: delays to 60 ms, frames in bursts, one in twenty lost, a gap that is
    bridged, a clock off by a percent."""
    rng = np.random.default_rng(3)
    delays = rng.exponential(0.004, 4000).clip(0.0, 0.06)
    came = np.maximum.accumulate(0.0101 * np.arange(4000) + delays)
    came[500:512] = came[511]  # a burst
    numbers = [k for k in range(4000) if rng.random() > 0.05 and not 2000 <= k < 2008]
    goes_on, told = followed(
        lambda k: 0.01 * numbers[k], lambda k: came[numbers[k]], len(numbers), lambda k: numbers[k]
    )
    assert all(goes_on)
    assert not any(told)


def test_a_pause_is_told_and_then_forgotten() -> None:
    """Protects arming anew: a stream that paused and goes on as stated is in order again within seconds."""
    _, told = followed(steady, lambda k: 0.01 * k + (3.0 if k > 300 else 0.0), 800)
    assert not any(told[:300])
    assert not told[-1]
