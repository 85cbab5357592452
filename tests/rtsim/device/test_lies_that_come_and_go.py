"""Devices that lie most of the time and are right now and then, or that contradict themselves."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from rtsim.device.limits import HEALS, TimeOff
from streams.messages import Device
from tests.rtsim.device.lying import RATE_HZ, Forge, Honest
from tests.rtsim.device.test_clock_check import free, free_tick

MS = 1_000_000


def more(actuator: float, torque: float) -> Forge:
    """Return a lie: the actuator's torque, and all of it, are other ones [N m]."""
    return lambda m: replace(m, actuator=[a + actuator for a in m.actuator], torque=[m.torque[0] + torque])


def but(lie: Forge, share: float, otherwise: Forge = lambda m: m, of: int = 100) -> Forge:
    """Return a lie that is told in this part of the ticks, at the beginning of each so many."""
    return lambda m: lie(m) if m.command % of < share * of else otherwise(m)


TORQUES: dict[str, tuple[str, Forge]] = {
    "the actuator, right in one tick of a hundred": ("actuator applies", but(more(15.0, 15.0), 0.99)),
    "the actuator, right in half of the ticks": ("actuator applies", but(more(15.0, 15.0), 0.5)),
    "the actuator, left out now and then": (
        "actuator applies",
        but(more(15.0, 15.0), 0.9, lambda m: replace(m, actuator=[])),
    ),
    "all of it, right in one tick of fifty": ("mechanics explain", but(more(0.0, 25.0), 0.98, of=50)),
    "all of it, right in half of the ticks": ("mechanics explain", but(more(0.0, 25.0), 0.5)),
}


@pytest.mark.parametrize("name", TORQUES)
def test_a_torque_that_is_right_now_and_then_is_found(name: str) -> None:
    """Protects the wearer: a torque that is wrong adds up, whatever the device says in between."""
    words, lie = TORQUES[name]
    course = Honest().armed()
    course.port.forge = lie
    assert course.until_fault(3.0) < 1.0
    assert words in course.exchange.arming.reason


def test_a_torque_that_is_wrong_for_a_moment_of_each_stride_is_no_fault() -> None:
    """Protects from alarms: what is off for less than the config allows, and seldom, does not add up."""
    course = Honest().armed()
    course.port.forge = but(more(15.0, 15.0), 0.1, of=550)
    course.go(20.0)
    assert course.exchange.arming.state == "armed"


def test_who_gives_the_reason_of_a_fall_is_not_armed() -> None:
    """Protects from a fault that nobody is told: the reason counts, whatever state the device says."""
    course = Honest().armed()
    course.port.forge = but(lambda m: replace(m, fault="over\x1btemperature"), 0.01)
    assert course.until_fault(1.0) < 1.0
    assert "a reason for ending its torque: over\\x1btemperature" in course.exchange.arming.reason


BETWEEN: dict[str, tuple[str, Forge]] = {
    "falls": ("too hot", lambda m: replace(m, state="falling", fault="too hot")),
    "is over": ("stopped by itself", lambda m: replace(m, state="stopped")),
    "500 N m": ("500 N m", lambda m: replace(m, torque=[500.0])),
    "50 rad/s": ("deg/s, more than", lambda m: replace(m, speed=[50.0])),
    "gives a reason": ("too hot", lambda m: replace(m, fault="too hot")),
}


@pytest.mark.parametrize("name", BETWEEN)
def test_what_is_said_between_two_ticks_is_heard(name: str) -> None:
    """Protects from a device that takes a fault back within a tick: each message of it is looked at."""
    words, lie = BETWEEN[name]
    course = free()
    course.tick = free_tick(course)
    course.armed(2.5)
    receive = course.port.receive

    def both() -> bool:
        came = receive()
        course.port.taken = [
            pair for m, t in course.port.taken for pair in ((replace(lie(m), t=m.t - MS), t), (m, t))
        ]
        return came

    course.port.receive = both
    assert course.until_fault(1.0) < 0.01
    assert words in course.exchange.arming.reason


def to_and_fro(course: Honest, amplitude_ms: float, angle: Callable[[int], float]) -> Forge:
    """Return a lie: every other message is stamped later, and the angle is off [deg] by the tick."""
    honest, begun = course.port.forge, course.n

    def lie(m: Device) -> Device:
        n = m.command - begun
        t = honest(m).t + round(amplitude_ms * MS) * (n % 2)
        return replace(m, t=t, angle=[m.angle[0] + math.radians(angle(n))])

    return lie


@pytest.mark.parametrize("amplitude_ms", [20.0, 40.0, 2000.0])
def test_a_clock_that_goes_to_and_fro_is_told(amplitude_ms: float) -> None:
    """Protects what is watched by times: half of the stamps are right, and it is a fault all the same."""
    course = free()
    course.tick = free_tick(course)
    course.armed(2.5)
    course.port.forge = to_and_fro(course, amplitude_ms, lambda n: 0.0)
    assert course.until_fault(2.0) < 0.5
    assert "goes back" in course.exchange.arming.reason


def test_a_clock_that_goes_to_and_fro_gives_no_angle_time_to_turn() -> None:
    """Protects the watch over leaps: a step of the clock counts from the furthest that it has told."""
    course = free(speed_max_deg_s=600.0, agreement_ms=2000.0)
    course.tick = free_tick(course)
    course.armed(2.5)
    course.port.forge = to_and_fro(course, 20.0, lambda n: 10.0 if n >= 101 else 0.0)
    assert course.until_fault(0.5) < 101.5 / RATE_HZ + 0.01
    assert "leaps" in course.exchange.arming.reason


def test_time_off_adds_up_and_heals() -> None:
    """Protects the measure of it: off for more than a fifth of the time is found, less is not, and what is
    right again is soon believed.
    """
    often, seldom = TimeOff(0.1), TimeOff(0.1)
    found = [(often.add(k % 4 == 0, 0.002), seldom.add(k % 6 == 0, 0.002)) for k in range(4000)]
    assert 1.0 / 4.0 > HEALS / (1.0 + HEALS) > 1.0 / 6.0
    assert any(one for one, _ in found)
    assert not any(other for _, other in found)
    often.add(True, 100.0)
    often.forget()
    assert not often.over
    for _ in range(500):
        often.add(True, 0.002)
    assert often.over
    for _ in range(8):
        often.add(False, 0.002)
    assert not often.over
