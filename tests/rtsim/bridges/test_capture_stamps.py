"""Times of frames for other programs: which stamp is used, and how they follow the day's clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rtsim.bridges.capture_stamps import BACK_NS, DayTime, captured_ns
from streams.messages import Status
from streams.receiving.ring import ReceivedFrame

SECOND = 1_000_000_000


class Clocks:
    """A monotonic clock, and a day's clock that is set."""

    def __init__(self) -> None:
        self.passed_ns, self.ahead_ns = 5 * SECOND, 1_700_000_000 * SECOND

    def monotonic_ns(self) -> int:
        """Return the time of the monotonic clock."""
        return self.passed_ns

    def wall_ns(self) -> int:
        """Return the time of the day's clock."""
        return self.passed_ns + self.ahead_ns

    def frames(self, day: DayTime, n_frame: int) -> list[int]:
        """Return the day's times of frames 10 ms apart."""
        times = []
        for _ in range(n_frame):
            self.passed_ns += SECOND // 100
            times.append(day.of(self.passed_ns))
        return times


def test_a_repetition_has_the_time_when_it_came(walk_frames: Callable[..., list[ReceivedFrame]]) -> None:
    """Protects viewers: repeated results neither stand still nor jump, and fresh ones have their capture."""
    (frame,) = walk_frames(0, 1)
    frame.t_capture, frame.t_received, frame.t_arrived = SECOND, SECOND + 5, SECOND + 9
    assert captured_ns(frame) == SECOND
    frame.status = int(Status.STALE)
    for k in range(1, 9):
        frame.t_arrived = SECOND + k * SECOND // 4
        assert captured_ns(frame) == frame.t_arrived


@pytest.mark.parametrize("ahead_ns", [3600 * SECOND, SECOND // 2, 300])
def test_a_clock_that_is_set_ahead_is_followed_within_a_second(ahead_ns: int) -> None:
    """Protects live views that began before the day's clock was set: they do not stay wrong."""
    clocks = Clocks()
    day = DayTime(clocks.wall_ns, clocks.monotonic_ns)
    clocks.ahead_ns += ahead_ns
    times = clocks.frames(day, 101)
    assert times[-1] == clocks.wall_ns()
    assert times == sorted(times)


def test_a_clock_that_is_set_back_a_little_is_followed_without_going_back() -> None:
    """Protects the order of frames: a small step back is spread over seconds, a large one is followed."""
    clocks = Clocks()
    day = DayTime(clocks.wall_ns, clocks.monotonic_ns)
    clocks.ahead_ns -= 5 * BACK_NS
    times = clocks.frames(day, 700)
    assert times == sorted(times)
    assert times[-1] == clocks.wall_ns()
    clocks.ahead_ns -= 3600 * SECOND
    assert clocks.frames(day, 101)[-1] == clocks.wall_ns()


def test_a_reading_that_is_interrupted_is_not_used() -> None:
    """Protects times from a pause between the readings of the two clocks, which would shift them by it."""
    clocks, pauses = Clocks(), iter([0, SECOND, 0, 0])

    def monotonic_ns() -> int:
        clocks.passed_ns += next(pauses, 0)
        return clocks.passed_ns

    day = DayTime(clocks.wall_ns, monotonic_ns)
    assert day.of(clocks.passed_ns) == clocks.wall_ns()
