"""The model's side of the exchange: what arms, what latches, what is never commanded."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.config.runs.hil_schema import Controller, MarkersSpec
from rtsim.device.arming import Arming
from rtsim.device.command_compliance import CommandCompliance
from rtsim.device.exchange import DeviceExchange, never
from rtsim.device.limits import EnergyWatch, TorqueLimit
from streams.messages import Device
from tests.rtsim.device.straight import LIMITS, StraightPort, plain_hil

IDEAL = load_toml(find_config("ideal_orthosis", "devices"), DeviceSpec)
RUN = "0123456789abcdef"
STIFF = Controller(stiffness_N_m_rad=50.0)


class Course:
    """An exchange whose joint is held at an angle [rad], tick by tick."""

    def __init__(self, angle: float = 0.1, **changed) -> None:
        self.port = StraightPort(IDEAL)
        self.exchange = DeviceExchange(plain_hil(controller=STIFF, **changed), self.port, RUN)
        self.angle = angle

    def tick(self, n: int = 1) -> None:
        """Go through some ticks as the stages do."""
        x = self.exchange
        for _ in range(n):
            x.await_answer(0)
            x.begin_tick(0)
            x.refusal = x.judge()
            x.arming.tick(x.tick_s)
            self.port.send(x.output(0.0, self.angle, 0.0))
            x.passed.clear()

    def armed(self) -> Course:
        """Go on until the ramp is over."""
        self.tick(5)
        assert self.exchange.refusal == ""
        self.exchange.arming.arm("asked")
        self.tick(30)
        assert self.exchange.arming.state == "armed"
        assert self.exchange.torque() == pytest.approx(-5.0)
        return self


FAULTS = {
    "silence": ("not answered", None),
    "angle": ("outside", lambda m: replace(m, angle=[2.0])),
    "speed": ("deg/s", lambda m: replace(m, speed=[90.0])),
    "torque": ("N m, more than", lambda m: replace(m, torque=[70.0])),
    "actuator": ("N m, more than", lambda m: replace(m, actuator=[-70.0])),
    "weakness": ("can apply 5 N m at most", lambda m: replace(m, torque_max=[5.0])),
    "joints": ("2 joints", lambda m: replace(m, angle=[0.0] * 2, speed=[0.0] * 2, torque=[0.0] * 2)),
    "fall": ("ending its torque by itself (too hot)", lambda m: replace(m, state="falling", fault="too hot")),
    "disobedience": ("was commanded to arm", lambda m: replace(m, state="disarmed")),
    "tracking": ("are commanded", lambda m: replace(m, actuator=[9.0])),
    "leap": ("leaps by", lambda m: replace(m, angle=[0.1 + (0.5 if m.seq % 2 else -0.5)])),
    "clock": ("stood still", lambda m: replace(m, t=7)),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_latches_until_armed_again(kind: str) -> None:
    """Protects whoever wears it: each fault ends torque in the next output, and its end brings none back."""
    course = Course().armed()
    words, forge = FAULTS[kind]
    course.port.silent, before = forge is None, course.port.forge
    course.port.forge = forge or before
    course.tick(80)
    x = course.exchange
    assert x.arming.state == "fault"
    assert words in x.arming.reason
    # what shows only while torque is commanded is over with it, all else speaks against arming
    assert words in x.refusal or kind in ("disobedience", "tracking")
    assert not course.port.outputs[-1].armed
    assert course.port.outputs[-1].torque == [0.0]
    course.port.silent, course.port.forge = False, before
    n = len(course.port.outputs)
    course.tick(100)
    assert x.refusal == ""
    assert x.arming.state == "fault"
    assert all(not output.armed and output.torque == [0.0] for output in course.port.outputs[n:])
    x.arming.arm("asked again")
    course.tick(30)
    torques = [output.torque[0] for output in course.port.outputs[n + 100 :]]
    assert torques[0] == pytest.approx(-0.5)  # a tenth: from zero by the ramp
    assert torques[-1] == pytest.approx(-5.0)


DISOBEDIENT = {
    "state": ("commanded to disarm, and is still armed", lambda m: replace(m, state="armed", actuator=[])),
    "actuator": ("where 0 N m are commanded", lambda m: replace(m, actuator=[9.0])),
    "stopped": ("where 0 N m are commanded", lambda m: replace(m, state="stopped", actuator=[9.0])),
}  # fmt: skip


@pytest.mark.parametrize("kind", DISOBEDIENT)
def test_a_device_that_does_not_disarm_is_a_fault_of_its_own(kind: str) -> None:
    """Protects whoever wears a device that goes on after an emergency stop, or has torque before it is armed:
    it latches though nothing is commanded, and arming is refused as long as it lasts."""
    words, forge = DISOBEDIENT[kind]
    course = Course()
    course.port.forge = forge
    course.tick(100)
    x = course.exchange
    assert x.arming.state == "fault"
    assert words in x.arming.reason
    assert words in x.refusal
    assert x.arming.n_fault == 1
    course.port.forge = lambda message: message
    course.tick(5)
    assert x.refusal == ""
    assert x.arming.state == "fault"


def test_who_is_told_otherwise_has_the_whole_time_to_follow() -> None:
    """Protects from alarms for nothing: an actuator that was off for a while when somebody disarms has as
    long as ever to let go."""
    course = Course().armed()
    x = course.exchange
    course.port.forge = lambda message: replace(message, actuator=[9.0])
    course.tick(40)
    x.arming.disarm("asked")
    course.tick(45)
    assert x.arming.state == "disarmed"
    course.tick(10)
    assert x.arming.state == "fault"
    assert "where 0 N m are commanded" in x.arming.reason


def test_frames_that_were_lost_are_no_leap() -> None:
    """Protects a person whose markers were away for some frames: a joint has turned meanwhile."""
    limits = replace(LIMITS, speed_max_deg_s=700.0)
    markers = MarkersSpec(damping_N_m_s_rad=1.0, lost_ms=100.0)
    obedience = CommandCompliance(plain_hil(rate_hz=100.0, limits=limits, markers=markers), 0.01)
    before, after = (
        Device(session=RUN, seq=k, t=40_000_000 * k, command=k, angle=[0.2 * k], speed=[0.0], torque=[0.0],
               state="armed")
        for k in (0, 1)
    )  # fmt: skip
    obedience.measured(before, after, 0.04)
    assert obedience.lifeless() == ""
    obedience.tick(0.01)
    obedience.measured(before, replace(after, angle=[1.0], t=10**12), 0.04)
    assert "leaps by 57.3 deg in 40 ms" in obedience.lifeless()  # its own clock gives it no time
    assert obedience.lifeless() == ""
    simulated = CommandCompliance(plain_hil(rate_hz=100.0, limits=limits), 0.01)
    simulated.measured(before, after, 0.01)
    assert "in 10 ms" in simulated.lifeless()
    simulated.jumps()
    simulated.measured(before, after, 0.01)
    assert simulated.lifeless() == ""


@pytest.mark.parametrize(("lost_ms", "leaps"), [(30.0, True), (100.0, False)])
def test_lost_frames_count_by_the_time_of_the_frames(lost_ms: float, leaps: bool) -> None:
    """Protects from a device that gives itself time to turn: time is that of frames, up to `lost_ms`."""
    limits = replace(LIMITS, speed_max_deg_s=700.0)
    markers = MarkersSpec(damping_N_m_s_rad=1.0, lost_ms=lost_ms)
    port = StraightPort(IDEAL)
    x = DeviceExchange(plain_hil(rate_hz=100.0, limits=limits, markers=markers), port, RUN)
    port.forge = lambda message: replace(message, t=10**12 * message.seq)
    for time, angle in ((0.0, 0.0), (0.08, 0.8)):
        port.send(x.output(time, angle, 0.0))
        x.collect()
    assert ("leaps" in x.obedience.lifeless()) == leaps


def free(course: Course) -> Course:
    """Let it run on two clocks, a tick a millisecond, each word new."""
    spec = course.exchange.spec
    exchange = replace(spec.exchange, mode="free", deadline_ms=10.0, valid_for_ms=10.0)
    course.exchange = DeviceExchange(replace(spec, exchange=exchange), course.port, RUN)
    return course


def test_a_free_device_that_hears_nothing_is_a_fault() -> None:
    """Protects from a device that goes on with an old command on its own word: newest messages, each fresh,
    that know no newer command than one that is long over."""
    course = free(Course())
    x = course.exchange
    for k in range(400):
        if k > 100:
            course.port.forge = lambda message: replace(message, command=100)
        x.collect()
        x.t_arrived = 1_000_000 * k  # by a clock that is handed in
        x.begin_tick(x.t_arrived)
        x.refusal = x.judge()
        if k == 20:
            x.arming.arm("asked")
        x.arming.tick(x.tick_s)
        course.port.send(x.output(0.0, course.angle, 0.0))
        x.passed.clear()
        if k == 100:
            assert x.arming.state == "armed"
    assert x.arming.state == "fault"
    assert "receives no new commands" in x.arming.reason


def test_a_few_missing_answers_are_no_fault() -> None:
    """Protects from alarms for nothing: as many as the config allows pass, counted, the torque held."""
    course = Course().armed()
    course.port.silent = True
    course.tick(2)
    assert course.exchange.torque() == pytest.approx(-5.0)
    course.port.silent = False
    course.tick(5)
    assert course.exchange.arming.state == "armed"
    assert course.exchange.counters["unanswered"] >= 2


def test_torque_nobody_can_believe_moves_nothing() -> None:
    """Protects the model: of an impossible message, or none for too long, the limb feels zero."""
    course = Course().armed()
    course.port.forge = lambda message: replace(message, torque=[1e6])
    course.tick(2)
    assert course.exchange.torque() == 0.0


def test_an_answer_to_what_was_never_sent_is_none() -> None:
    """Protects from a device that claims what it cannot know: it counts as of another run, and misses."""
    course = Course().armed()
    course.port.forge = lambda message: replace(message, command=message.command + 1)
    course.tick(5)
    assert course.exchange.counters["foreign"] == 4
    assert course.exchange.arming.state == "fault"


def test_a_device_whose_clock_stands_has_the_speed_that_it_tells() -> None:
    """Protects damping of a free run from a speed of long ago."""
    port = StraightPort(IDEAL)
    plain = plain_hil()
    spec = replace(plain, exchange=replace(plain.exchange, mode="free", deadline_ms=1000.0))
    x = DeviceExchange(spec, port, RUN)
    for k, speed in enumerate((0.0, 0.5, 0.25)):
        port.send(x.output(0.0, 0.1 * k, speed))
        port.forge = lambda message: replace(message, t=7)
        x.collect()
        x.begin_tick(0)
    assert x.measured.speed == 0.25


def test_every_transition_has_a_reason() -> None:
    """Protects the account: from where to where and why, in the order in which it happened."""
    arming = Arming(0.002)
    arming.fault("nobody is armed")
    arming.arm("asked")
    arming.arm("asked twice")
    for _ in range(3):
        arming.tick(0.001)
    arming.fault("too hot")
    arming.fault("too cold")
    arming.disarm("it is off already")
    assert list(arming.told) == [
        "Device: disarmed -> ramping: asked.",
        "Device: ramping -> armed: the torque ramp is over.",
        "Device: armed -> fault: too hot.",
    ]
    assert arming.n_fault == 1


@given(
    wanted=st.lists(st.floats() | st.floats(-100.0, 100.0), min_size=1, max_size=20),
    speed=st.floats(-40.0, 40.0) | st.just(math.nan),
)
def test_a_command_is_within_all_limits(wanted: list[float], speed: float) -> None:
    """Protects the joint from any controller: size and power always, the rate but where power forbids."""
    limits = replace(LIMITS, torque_max_Nm=10.0, rate_max_Nm_s=2000.0, power_max_W=100.0)
    limit, before = TorqueLimit(limits), 0.0
    for torque in wanted:
        found = limit.limited(torque, speed, 1e-3)
        assert abs(found) <= 10.0
        if speed == speed:
            assert abs(found * speed) <= 100.0 * (1.0 + 1e-12)
        assert abs(found - before) <= 2.0 + 1e-12 or abs(found) < abs(before)
        before = found


def test_a_spring_gives_back_and_a_motor_drives() -> None:
    """Protects the energy watch: a spring shows less than it stores, a steady drive piles up."""
    spring, motor = EnergyWatch(), EnergyWatch()
    angle = 0.0
    for k in range(5000):
        turned = 2e-3 * math.cos(2.0 * math.pi * 1e-3 * k)
        spring.add(-50.0 * (angle + 0.5 * turned), turned, 1e-3)
        motor.add(10.0, 2e-3, 1e-3)
        angle += turned
    assert spring.largest < 0.5 * 50.0 * (2e-3 / (2.0 * math.pi * 1e-3)) ** 2
    assert motor.energy == pytest.approx(20.0, rel=0.01)


def test_a_watch_that_is_none_never_ends_torque() -> None:
    """Protects runs without a watch: nothing is asked for by what is not there."""
    assert never() is False
