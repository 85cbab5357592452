"""The speed that limits and controllers see, of a device that speaks at each tick of its own, as it shall."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from rtsim.config.runs.hil_schema import Controller, Exchange
from rtsim.device.controller import MeasuredSpeed
from rtsim.device.exchange import DeviceExchange
from streams.messages import Device, Output
from tests.rtsim.device.straight import IDEAL, LIMITS, StraightPort, plain_hil

RUN = "0123456789abcdef"
POWER_W = 10.0
OWN_S = 0.002
"""Tick of its own of the shipped drivers (`device_side.TICK_NS`) [s]."""


def swinging(time: float) -> float:
    """Angle of a joint that swings at up to 2 rad/s [rad]."""
    return 0.5 * math.sin(4.0 * time)


class FollowingPort(StraightPort):
    """A device that answers each output at once with the angle and the speed of the output, and says nothing
    between; now_s, step_ns : its clock [s], and the resolution of the stamps of its messages [ns]."""

    def __init__(self) -> None:
        super().__init__(IDEAL)
        self.now_s, self.step_ns = 0.0, 1

    def send(self, output: Output) -> None:
        """Take an output and answer it."""
        self.outputs.append(output)
        self._coming = [
            Device(session=RUN, seq=output.seq, t=self._now_ns // self.step_ns * self.step_ns,
                   command=output.seq, angle=list(output.angle), speed=list(output.speed), torque=[0.0],
                   state="armed")
        ]  # fmt: skip

    @property
    def _now_ns(self) -> int:
        return round(1e9 * (1.0 + self.now_s))

    def receive(self) -> bool:
        """What it answered, read a little later."""
        self.taken = [(message, self._now_ns + 100_000) for message in self._coming]
        self._coming = []
        return bool(self.taken)


class SpeakingPort(StraightPort):
    """A device on a joint that swings: it answers each output at once, and speaks every 2 ms after that.

    now_s : time of the model and of the device's clock [s]; device_s : when the device's next own tick is due
    deaf : outputs do not reach it
    """

    def __init__(self) -> None:
        super().__init__(IDEAL)
        self.now_s = self.device_s = 0.0
        self.deaf = False
        self._heard: Output | None = None
        self._n = 0

    def go_on(self, time: float) -> None:
        """Tick by its own clock up to a time [s]."""
        while self._heard is not None and self.device_s < time - 1e-9:
            self._speak(self.device_s)
        self.now_s = time

    def send(self, output: Output) -> None:
        """Take an output and answer it."""
        self.outputs.append(output)
        if not self.deaf:
            self._heard = output
            self._speak(self.now_s)

    def receive(self) -> bool:
        """All that came, as it came."""
        self.taken = [(message, message.t + 100_000) for message in self._coming]
        self._coming = []
        return bool(self.taken)

    def _speak(self, time: float) -> None:
        assert self._heard is not None
        self._coming.append(
            Device(session=RUN, seq=self._n, t=round(1e9 * (1.0 + time)), command=self._heard.seq,
                   angle=[swinging(time)], speed=[2.0 * math.cos(4.0 * time)], torque=[0.0], state="armed")
        )  # fmt: skip
        self._n, self.device_s = self._n + 1, time + OWN_S


def exchange_of(port: StraightPort, rate_hz: float) -> DeviceExchange:
    """An armed exchange in lockstep with a strong spring and a power limit."""
    limits = replace(LIMITS, power_max_W=POWER_W, watch_sensors=False)
    spec = plain_hil(rate_hz, limits, controller=Controller(stiffness_N_m_rad=1000.0, neutral_deg=-60.0))
    exchange = Exchange(rate_hz=rate_hz, paced=True, valid_for_ms=50.0)
    x = DeviceExchange(replace(spec, exchange=exchange), port, RUN)
    x.arming.arm("asked")
    x.arming.tick(1.0)
    return x


@pytest.mark.parametrize("rate_hz", [100.0, 250.0, 400.0, 500.0])
@pytest.mark.parametrize("waits", [False, True], ids=["simulated", "worn"])
def test_what_a_device_says_between_answers_makes_it_no_slower(rate_hz: float, waits: bool) -> None:
    """Protects the power limit and the damping in lockstep: the speed is the joint's, also of a device that
    speaks at ticks of its own, whether these are read with an answer or, for a person, with a frame."""
    port = SpeakingPort()
    x, period_s = exchange_of(port, rate_hz), 1.0 / rate_hz
    for k in range(60):
        time = k * period_s
        if waits:
            port.go_on(time)
            x.await_answer(0)
        else:
            x.await_answer(0)
            port.go_on(time)
        x.begin_tick(0)
        if k > 2:
            turned = swinging(time - period_s) - swinging(time - 2.0 * period_s)
            assert x.measured.speed == pytest.approx(turned / period_s, rel=1e-9)
        x.passed.clear()
        port.send(x.output(time, swinging(time), 0.0))
        assert abs(port.outputs[-1].torque[0] * x.measured.fastest) <= POWER_W * (1.0 + 1e-9)
        assert x.angle == pytest.approx(swinging(time), abs=2.5 * period_s)  # the newest all the same
    assert max(abs(output.torque[0]) for output in port.outputs) > 4.0


def test_outputs_that_are_lost_take_their_ticks() -> None:
    """Protects the speed where the device did not hear an output: from answer to answer, by all ticks."""
    port = SpeakingPort()
    x, lost = exchange_of(port, 100.0), (18, 19)
    for k in range(21):
        port.go_on(0.01 * k)
        x.await_answer(0)
        x.begin_tick(0)
        x.passed.clear()
        port.deaf = k in lost
        port.send(x.output(0.01 * k, swinging(0.01 * k), 0.0))
    x.await_answer(0)
    assert x.measured.speed == pytest.approx((swinging(0.2) - swinging(0.17)) / 0.03, rel=1e-9)


def test_frames_that_come_in_bursts_make_no_speed() -> None:
    """Protects a person whose frames come two at a time: where markers come live the device's clock counts,
    and not the ticks, of which two may follow each other in a millisecond."""
    port = SpeakingPort()
    x = exchange_of(port, 100.0)
    x.by_clock = True  # as the loop of a person with live markers sets it
    for k in range(60):
        time = 0.02 * (k // 2) + 0.001 * (k % 2)
        port.go_on(time)
        x.await_answer(0)
        x.begin_tick(round(1e9 * (1.0 + time)))
        if k > 6:
            assert x.measured.speed == pytest.approx(2.0 * math.cos(4.0 * time), abs=0.05)
        x.passed.clear()
        port.send(x.output(time, swinging(time), 0.0))


@pytest.mark.parametrize("n_burst", [2, 3])
def test_a_device_that_follows_outputs_is_no_faster_when_frames_come_in_bursts(n_burst: int) -> None:
    """Protects a person whose frames come several at a time from the torque of a fifty times too large speed:
    who answers with the angle of the output moves by a frame, whenever the frame came."""
    port, was = FollowingPort(), 0.0
    x = exchange_of(port, 100.0)
    x.by_clock = True  # as the loop of a person with live markers sets it
    for k in range(60):
        port.now_s = 0.01 * n_burst * (k // n_burst) + 0.0003 * (k % n_burst)
        x.await_answer(0)
        x.begin_tick(round(1e9 * (1.0 + port.now_s)))
        if k > 2:
            turned = swinging(0.01 * (k - 1)) - swinging(0.01 * (k - 2))
            assert x.measured.speed == pytest.approx(turned / 0.01, rel=1e-9)
            assert abs(x.measured.fastest) >= abs(x.measured.speed)
        x.passed.clear()
        angle = swinging(0.01 * k)
        port.send(x.output(0.01 * k, angle, (angle - was) / 0.01))
        assert abs(port.outputs[-1].torque[0] * x.measured.fastest) <= POWER_W * (1.0 + 1e-9)
        was = angle


@pytest.mark.parametrize("lies", [0.0, 50.0, -50.0])
def test_what_a_device_says_of_its_speed_chooses_but_is_not_believed(lies: float) -> None:
    """Protects against a device of a wrong speed: what the controller sees is no faster than the newest
    answers turned by the ticks, and the power limit takes the fastest."""
    port, spoken = FollowingPort(), []
    x = exchange_of(port, 100.0)
    x.by_clock = True
    for k in range(60):
        port.now_s = 0.02 * (k // 2) + 0.0003 * (k % 2)
        x.await_answer(0)
        x.begin_tick(round(1e9 * (1.0 + port.now_s)))
        spoken.append(x.measured.speed)
        x.passed.clear()
        port.send(x.output(0.01 * k, swinging(0.01 * k), lies * math.cos(0.04 * k)))
    assert max(abs(speed) for speed in spoken) <= 2.0


def test_a_coarse_clock_makes_no_device_slower() -> None:
    """Protects the power limit and the damping where the stamps of a device are coarser than its answers: the
    angle that turned while its clock stood is not lost."""
    port = FollowingPort()
    x = exchange_of(port, 100.0)
    x.by_clock, port.step_ns = True, 15_600_000
    for k in range(60):
        port.now_s = 0.01 * k
        x.await_answer(0)
        x.begin_tick(round(1e9 * (1.0 + port.now_s)))
        if k > 4:
            turned = swinging(0.01 * (k - 1)) - swinging(0.01 * (k - 2))
            assert x.measured.speed == pytest.approx(turned / 0.01, abs=0.05)
            assert abs(x.measured.fastest) >= abs(turned / 0.01)
        x.passed.clear()
        port.send(x.output(0.01 * k, swinging(0.01 * k), 2.0 * math.cos(0.04 * k)))


def test_the_power_limit_of_a_free_run_counts_what_turned_while_the_clock_stood() -> None:
    """Protects the power limit in a free run with coarse stamps: when the clock goes on, all that the joint
    has turned since it stood counts."""
    x = MeasuredSpeed()
    first = Device(session=RUN, seq=0, t=0, command=0, angle=[0.0], speed=[2.0], torque=[0.0], state="armed")
    stands = replace(first, seq=1, command=1, angle=[0.02])
    x.begin(0.0)
    x.take(first, stands, math.nan, 0.0)
    assert x.speed == 2.0
    x.take(stands, replace(stands, seq=2, command=2, t=15_600_000, angle=[0.04]), math.nan, 0.0156)
    assert x.fastest == pytest.approx(0.04 / 0.0156)
    assert x.speed == pytest.approx(0.02 / 0.0156)
