"""Ramps, rates and patience by time: however densely, or late, ticks come, torque changes as stated."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.config.runs.hil_schema import Controller
from rtsim.device.exchange import MOST_PERIODS, DeviceExchange
from tests.rtsim.device.straight import LIMITS, StraightPort, plain_hil

IDEAL = load_toml(find_config("ideal_orthosis", "devices"), DeviceSpec)
MS = 1_000_000
PERIOD_MS = 10
SLOW = replace(LIMITS, ramp_s=1.0, rate_max_Nm_s=400.0, tracking_ms=300.0)


class Clocked:
    """A free exchange at 100 Hz whose joint is held, under a clock that is handed in."""

    def __init__(self, limits=SLOW, stiffness: float = 50.0) -> None:
        plain = plain_hil(100.0, limits, controller=Controller(stiffness_N_m_rad=stiffness))
        exchange = replace(plain.exchange, mode="free", deadline_ms=1000.0)
        self.port = StraightPort(IDEAL)
        self.exchange = DeviceExchange(replace(plain, exchange=exchange), self.port, "0123456789abcdef")
        self.t_ns = 10**9
        self.port.forge = lambda message: replace(message, t=self.t_ns)

    def tick(self, passed_ns: int) -> float:
        """Go on by a tick so much later; the torque that is then commanded."""
        x = self.exchange
        self.t_ns += passed_ns
        x.collect()
        x.t_arrived = self.t_ns
        x.begin_tick(self.t_ns)
        x.refusal = x.judge()
        x.tuning.tick(x.tick_s)
        x.arming.tick(x.tick_s)
        self.port.send(x.output(0.0, 0.1, 0.0))
        x.passed.clear()
        return self.port.outputs[-1].torque[0]

    def armed(self) -> Clocked:
        """Arm as soon as nothing speaks against it."""
        for _ in range(5):
            self.tick(PERIOD_MS * MS)
        assert self.exchange.refusal == ""
        self.exchange.arming.arm("asked")
        return self


def test_dense_ticks_do_not_shorten_the_ramp() -> None:
    """Protects the wearer: ticks twenty times as dense as stated, and torque still rises over ramp_s."""
    course = Clocked().armed()
    for k in range(1, 2400):
        torque = course.tick(PERIOD_MS * MS // 20)
        assert abs(torque) <= 5.0 * min(1.0, k * 0.0005) + 1e-6
    assert torque == pytest.approx(-5.0)


def test_dense_ticks_do_not_raise_the_rate() -> None:
    """Protects the wearer: by the clock no torque changes faster than rate_max_Nm_s, whatever the ticks."""
    course = Clocked(replace(SLOW, ramp_s=0.001)).armed()
    course.tick(PERIOD_MS * MS)
    before = course.exchange.limit.torque
    for _ in range(20):
        torque = course.tick(PERIOD_MS * MS // 20)
        assert abs(torque - before) <= 400.0 * 0.0005 + 1e-9
        before = torque


def test_what_came_late_is_not_caught_up_with() -> None:
    """Protects the wearer: after a second without a tick torque changes by two periods, not by a second."""
    course = Clocked().armed()
    before = course.tick(PERIOD_MS * MS)
    torque = course.tick(1000 * MS)
    assert course.exchange.tick_s == pytest.approx(1e-3 * MOST_PERIODS * PERIOD_MS)
    assert abs(torque - before) <= 5.0 * 0.02 + 1e-9
    assert course.tick(-5 * MS) == torque  # nor does a clock that goes back move anything


def test_dense_ticks_do_not_hasten_a_parameter() -> None:
    """Protects the wearer: a change over a second takes a second."""
    course = Clocked().armed()
    tuning = course.exchange.tuning
    tuning.ranges["stiffness_N_m_rad"] = (0.0, 60.0)
    tuning.apply("set", {"stiffness_N_m_rad": 10.0, "over_s": 1.0})
    for _ in range(100):
        course.tick(PERIOD_MS * MS // 20)
    assert tuning.values["stiffness_N_m_rad"] == pytest.approx(48.0)


def test_patience_is_a_time() -> None:
    """Protects from a watch that a flood of frames wears out, or that few of them put to sleep: an actuator
    that is off latches after tracking_ms by the clock, whether ticks are dense or of their period."""
    for parts in (1, 20):
        course = Clocked(replace(SLOW, ramp_s=0.01)).armed()
        for _ in range(20):
            course.tick(PERIOD_MS * MS)
        assert course.exchange.arming.state == "armed"
        course.port.forge = lambda message, course=course: replace(message, t=course.t_ns, actuator=[9.0])
        begun = course.t_ns
        while course.exchange.arming.on and course.t_ns - begun < 2000 * MS:
            course.tick(PERIOD_MS * MS // parts)
        assert "are commanded" in course.exchange.arming.reason
        assert 300 * MS < course.t_ns - begun <= (300 + 2 * PERIOD_MS) * MS


def test_a_clock_that_stands_is_told_by_time() -> None:
    """Protects from a device of many messages, or few: what counts is how long its clock has stood."""
    for parts in (1, 20):
        course = Clocked(replace(SLOW, tracking_Nm=50.0, delay_ms=1000.0)).armed()  # or told as old
        x = course.exchange
        for _ in range(10):
            course.tick(PERIOD_MS * MS)
        course.port.forge = lambda message: replace(message, t=10**9)
        begun, due_ns = course.t_ns, 1e9 * (x.obedience._patience_s + 1e-2)
        while x.arming.on and course.t_ns - begun < 5000 * MS:
            course.tick(PERIOD_MS * MS // parts)
        assert "stood still for" in x.arming.reason
        assert 0.9 * due_ns < course.t_ns - begun < 1.1 * due_ns


def test_energy_is_forgotten_by_the_clock() -> None:
    """Protects from a device that drives while frames are dense: its work counts for a second, no less."""
    course = Clocked()
    for _ in range(1000):  # half a second
        course.tick(PERIOD_MS * MS // 20)
        course.exchange.energy.add(10.0, 1e-3, course.exchange.tick_s)
    assert course.exchange.energy.energy == pytest.approx(20.0 * (1.0 - 0.6065), rel=0.01)
