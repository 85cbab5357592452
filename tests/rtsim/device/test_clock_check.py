"""The device's clock against ours: one that runs on, or stands behind, gives no time and is told."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from msgspec.structs import replace

from rtsim.config.runs.hil_schema import MarkersSpec
from rtsim.device.clock_check import DeviceClockCheck
from rtsim.device.exchange import DeafPort, DeviceExchange, first_of
from tests.rtsim.device.lying import RATE_HZ, Honest, walking
from tests.rtsim.device.straight import LIMITS, plain_hil

MS = 1_000_000
EPOCH = 1_700_000_000_000_000_000
"""Of another machine: clocks have no common origin."""


def course(
    clock: Callable[[float], float], seconds: float = 4.0, stall: float = 0.0, seed: int = 1
) -> list[str]:
    """What is said of a device that measures every 2 ms, at times of its clock by ours [s].

    Messages come after 0.1 ms and some noise, 1 in 50 after up to 30 ms more; stall : for so long nothing is
    read, in the middle [s]
    """
    check, said, noise = DeviceClockCheck(LIMITS), [], np.random.default_rng(seed)
    arrived = 0
    for k in range(round(500 * seconds)):
        t = 0.002 * k
        way = 1e-4 + 1e-4 * noise.random() + (0.03 * noise.random() if noise.random() < 0.02 else 0.0)
        came = max(t + way, 0.5 * seconds + stall if 0.5 * seconds < t < 0.5 * seconds + stall else 0.0)
        arrived = max(arrived, round(1e9 * came))
        check.note(EPOCH + round(1e9 * clock(t)), arrived)
        said.append(check.wrong)
    return said


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("stall", [0.0, 0.3, 1.5])
def test_an_honest_clock_is_left_alone(stall: float, seed: int) -> None:
    """Protects from alarms for nothing: another origin, drift, jitter, a model that stalled: no word."""
    assert set(course(lambda t: 1.0002 * t, 8.0, stall, seed)) == {""}


CLOCKS: dict[str, tuple[str, Callable[[float], float]]] = {
    "a hundred times too fast": ("advanced by", lambda t: 100.0 * t),
    "twice as fast": ("advanced by", lambda t: 2.0 * t),
    "10 % too fast": ("advanced by", lambda t: 1.1 * t),
    "10 % too slow": ("", lambda t: 0.9 * t),
    "backwards": ("", lambda t: -t),
    "leaps forward by a second": ("advanced by", lambda t: t + (1.0 if t > 2.0 else 0.0)),
    "leaps back by a second": ("old by its own clock", lambda t: t - (1.0 if t > 2.0 else 0.0)),
    "what is measured grows 100 ms old": ("100 ms old", lambda t: t - (0.1 if t > 2.0 else 0.0)),
    "stands": ("advanced by", lambda t: min(t, 2.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", CLOCKS)
def test_a_clock_that_is_not_ours_is_told(name: str) -> None:
    """Protects what is watched by times: a device's clock that lies is a fault within three seconds of it."""
    words, clock = CLOCKS[name]
    said = course(clock, 6.0)
    assert any(words in text for text in said if text)
    assert said[-1] or "leaps" in name or "old" in name


def free(**limits) -> Honest:
    """Return a course of two clocks, ours by ticks."""
    made = Honest(**limits)
    exchange = replace(made.spec.exchange, mode="free", deadline_ms=1000.0, valid_for_ms=100.0)
    made.spec = replace(made.spec, exchange=exchange)
    made.exchange = DeviceExchange(made.spec, made.port, "0123456789abcdef")
    made.port.forge = lambda m: replace(m, t=round(1e9 * m.command / RATE_HZ))
    receive = made.port.receive

    def at_our_time() -> bool:
        came = receive()
        made.port.taken = [(m, round(1e9 * made.time)) for m, _ in made.port.taken]
        return came

    made.port.receive = at_our_time
    return made


def test_a_fast_clock_gives_no_angle_time_to_turn() -> None:
    """Protects the watch over leaps in a free run: a clock a hundred times too fast, 4 degrees in a tick."""
    course = free()
    course.tick = free_tick(course)
    course.armed(2.5)
    honest = course.port.forge
    begun = course.n

    def lie(m):
        m = honest(m)
        fast = round(1e9 * (begun + 100.0 * (m.command - begun)) / RATE_HZ)
        return replace(m, t=fast, angle=[m.angle[0] + (math.radians(4.0) if m.command > begun + 50 else 0.0)])

    course.port.forge = lie
    assert course.until_fault(0.2) < 0.11
    assert "leaps" in course.exchange.arming.reason


def test_a_fast_clock_ends_the_torque_of_a_free_run() -> None:
    """Protects a free run: the clock itself is a fault, and refuses arming."""
    course = free()
    course.tick = free_tick(course)
    course.armed(2.5)
    assert course.exchange.refusal == ""
    course.port.forge = lambda m: replace(m, t=round(3e9 * m.command / RATE_HZ))
    assert course.until_fault(3.0) < math.inf
    assert "clock advanced by" in course.exchange.arming.reason
    course.go(1.0)
    assert "clock" in course.exchange.refusal


def free_tick(course: Honest) -> Callable[[], None]:
    """Return a tick of a free run, which takes what is there."""

    def tick() -> None:
        x = course.exchange
        x.collect()
        x.begin_tick(round(1e9 * course.time))
        x.refusal = x.judge()
        if x.refusal:
            course.reasons.append(x.refusal)
        x.arming.tick(x.tick_s)
        course.port.send(x.output(course.time, *walking(course.time)))
        x.passed.clear()
        course.n += 1

    return tick


TIMED = {
    "as fast as it goes": (False, False, False),
    "paced": (True, False, True),
    "live": (False, True, True),
    "live and paced": (True, True, True),
}
"""Whether ticks are paced, whether they are those of live markers, and whether clocks are compared."""


@pytest.mark.parametrize("worn", [False, True])
@pytest.mark.parametrize("timed", TIMED)
def test_in_lockstep_clocks_are_compared_where_ticks_have_a_time(timed: str, worn: bool) -> None:
    """Protects the wearer from a frozen or buffered sensor in lockstep, too, and runs that are repeated as
    fast as they go from clocks that mean nothing."""
    paced, live, compared = TIMED[timed]
    spec = plain_hil(100.0, markers=MarkersSpec(damping_N_m_s_rad=1.0) if worn else None)
    exchange = replace(spec.exchange, paced=paced)
    x = DeviceExchange(replace(spec, exchange=exchange), DeafPort(), "0" * 16)
    x.by_clock = live  # as the loop of a person with live markers sets it
    assert first_of(x.clocked) == ""
    for k in range(2500):
        x.clock.note(10 * k * MS, k * MS)
    assert ("advanced by 10" in first_of(x.clocked)) == compared
    assert "clock" not in x.fault()  # it is recorded for a replay instead
