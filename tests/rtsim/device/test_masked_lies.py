"""Devices of which one lie hides another: by the number that they answer, by many messages, by a clock."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from streams.messages import Device
from tests.rtsim.device.lying import RATE_HZ, Forge, Honest, walking
from tests.rtsim.device.test_clock_check import free, free_tick

MS = 1_000_000
Pair = tuple[Device, int]


def sends(course: Honest, make: Callable[[Device], list[Device]]) -> None:
    """Let the device send these messages in place of each of its own; its clock goes on between them."""
    receive, begun = course.port.receive, course.n

    def many() -> bool:
        came = receive()
        course.port.taken = [
            (replace(made, t=m.t + k), t)
            for m, t in course.port.taken
            for k, made in enumerate(make(m) if m.command >= begun else [m])
        ]
        return came

    course.port.receive = many


def off(m: Device, degrees: float) -> Device:
    """Return a message whose angle is off by so much [deg]."""
    return replace(m, angle=[m.angle[0] + math.radians(degrees)])


def creeping(m: Device, begun: int) -> Device:
    """Return a message whose angle leaves the true one by up to 20 degrees in a second, as its speed says."""
    passed_s = (m.command - begun) / RATE_HZ
    speed = m.speed[0] + math.radians(20.0 if passed_s < 1.0 else 0.0)
    return replace(off(m, 20.0 * min(1.0, passed_s)), speed=[speed])


@pytest.mark.parametrize("behind", [1, 1500])
def test_a_message_that_answers_an_older_output_hides_no_angle(behind: int) -> None:
    """Protects the watch over angles: who answers, and adds a message to an output of long ago, is compared
    by the answer."""
    course = Honest().armed(4.0)
    begun = course.n

    def both(m: Device) -> list[Device]:
        lie = creeping(m, begun)
        return [lie, replace(lie, command=m.command - behind)]

    sends(course, both)
    assert course.until_fault(3.0) < 1.5
    assert "off the joint's" in course.exchange.arming.reason
    assert course.exchange.counters["foreign"] > 100


def test_an_angle_of_long_ago_under_its_own_number_is_not_taken() -> None:
    """Protects the wearer: angles of 1.5 s ago that name the outputs of then do not move the torque."""
    course = Honest().armed(4.0)

    def both(m: Device) -> list[Device]:
        n = m.command - 750
        angle, speed = walking(n / RATE_HZ)
        return [m, replace(m, command=n, angle=[angle], speed=[speed])]

    sends(course, both)
    course.go(1.0)
    assert course.exchange.arming.state == "armed"
    assert course.exchange.newest is not None
    assert course.exchange.newest.command == course.exchange.awaited - 1  # of the tick before
    assert course.exchange.angle == pytest.approx(walking(course.time - 2.0 / RATE_HZ)[0], abs=0.01)


def test_small_leaps_within_a_tick_add_up() -> None:
    """Protects the watch over leaps: ten messages of a tick, 1.9 degrees from each to the next, are one."""
    course = Honest(agreement_ms=2000.0).armed()
    begun = course.n
    sends(course, lambda m: [off(m, 1.9 * (k if m.command == begun else 9)) for k in range(10)])
    assert course.until_fault(0.5) < 0.01
    assert "leaps by" in course.exchange.arming.reason


def test_a_clock_that_goes_back_by_more_than_a_second_gives_no_angle_time_to_turn() -> None:
    """Protects the watch over leaps: a clock that is followed back has no second when it steps forward."""
    course = free(speed_max_deg_s=600.0, agreement_ms=2000.0)
    course.tick = free_tick(course)
    course.armed(2.5)
    honest, begun = course.port.forge, course.n

    def lie(m: Device) -> Device:
        n = m.command - begun
        t = honest(m).t - (1_100 * MS if n % 20 == 0 else 0)
        return replace(off(m, 20.0 if n > 100 else 0.0), t=t)

    course.port.forge = lie
    assert course.until_fault(0.5) < 105.0 / RATE_HZ
    assert "leaps" in course.exchange.arming.reason


def old_by(course: Honest, old_ms: float, n_old: int, of: int) -> Forge:
    """Return a lie: in so many of `of` messages the stamps are of so long ago."""
    honest, begun = course.port.forge, course.n
    return lambda m: replace(
        m, t=honest(m).t - (round(old_ms * MS) if (m.command - begun) % of < n_old else 0)
    )


def test_measurements_that_are_old_most_of_the_time_are_told() -> None:
    """Protects what is watched by times: one fresh stamp in forty does not make the others new."""
    course = free()
    course.tick = free_tick(course)
    course.armed(2.5)
    course.port.forge = old_by(course, 1100.0, 39, 40)
    assert course.until_fault(2.0) < 0.5
    assert "old by its own clock" in course.exchange.arming.reason


def test_measurements_that_are_old_for_a_moment_now_and_then_are_not_told() -> None:
    """Protects from alarms: forty milliseconds of old stamps once in a second do not add up."""
    course = free()
    course.tick = free_tick(course)
    course.armed(2.5)
    course.port.forge = old_by(course, 1100.0, 20, 500)
    course.go(5.0)
    assert not any("old by its own clock" in reason for reason in course.reasons)
