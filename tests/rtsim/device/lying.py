"""A joint that moves, a device on it that lies, and the exchange between them: no clock and no socket."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from rtsim.config.runs.device_schema import Actuator, DeviceSpec, Mechanics, Sensors
from rtsim.config.runs.hil_schema import Controller, HilSpec
from rtsim.device.exchange import DeviceExchange
from streams.messages import Device
from tests.rtsim.device.straight import LIMITS, StraightPort, plain_hil

RATE_HZ = 500.0
RUN = "0123456789abcdef"
LIMITED = replace(LIMITS, speed_max_deg_s=700.0, tracking_ms=200.0, tracking_Nm=8.0)
ORTHOSIS = DeviceSpec(
    name="lying", source="made up", joint="ankle", tick_hz=RATE_HZ, speed_max_deg_s=3000.0,
    actuator=Actuator(torque_max_Nm=30.0, rate_max_Nm_s=600.0, bandwidth_hz=20.0, delay_ms=2.0),
    mechanics=Mechanics(stiffness_N_m_rad=20.0, damping_N_m_s_rad=0.2, friction_Nm=0.3),
    sensors=Sensors(angle_noise_deg=0.02, speed_noise_deg_s=0.5, torque_noise_Nm=0.05, seed=1),
)  # fmt: skip

Forge = Callable[[Device], Device]
Motion = Callable[[float], tuple[float, float]]


def walking(time: float) -> tuple[float, float]:
    """An ankle's angle and speed in a stride of 1.1 s [rad, rad/s], with what makes it uneven."""
    w = 2.0 * math.pi / 1.1
    parts = ((6.0, w, 0.3), (7.0, 2.0 * w, 1.1), (2.0, 3.0 * w, 2.0))
    angle = 3.0 + sum(a * math.sin(v * time + p) for a, v, p in parts)
    return math.radians(angle), math.radians(sum(a * v * math.cos(v * time + p) for a, v, p in parts))


def swaying(time: float) -> tuple[float, float]:
    """A little: 1.5 degrees to either side."""
    w = 2.0 * math.pi / 1.25
    return math.radians(1.5 * math.sin(w * time)), math.radians(1.5 * w * math.cos(w * time))


class Honest:
    """The spec, the port and the exchange of a joint that moves as told; `forge` of its port lies."""

    def __init__(
        self,
        motion: Motion = walking,
        device: DeviceSpec = ORTHOSIS,
        spec: HilSpec | None = None,
        **limits: Any,
    ) -> None:
        control = Controller(stiffness_N_m_rad=30.0, damping_N_m_s_rad=0.1)
        self.spec = spec or plain_hil(RATE_HZ, replace(LIMITED, **limits), controller=control)
        self.motion, self.port, self.n = motion, StraightPort(device), 0
        self.exchange = DeviceExchange(self.spec, self.port, RUN, mechanics=device.mechanics)
        self.reasons: list[str] = []

    @property
    def time(self) -> float:
        return self.n / RATE_HZ

    def tick(self) -> None:
        """Go through a tick as the stages do."""
        x = self.exchange
        x.await_answer(0)
        x.begin_tick(round(1e9 * self.time))
        x.refusal = x.judge()
        if x.refusal:
            self.reasons.append(x.refusal)
        x.arming.tick(x.tick_s)
        self.port.send(x.output(self.time, *self.motion(self.time)))
        x.passed.clear()
        self.n += 1

    def go(self, seconds: float) -> None:
        """Go on for so long [s]."""
        for _ in range(round(seconds * RATE_HZ)):
            self.tick()

    def until_fault(self, most_s: float) -> float:
        """Go on until it is latched; after how long [s], infinite where it never was."""
        since = self.time
        while self.time - since < most_s:
            self.tick()
            if self.exchange.arming.state == "fault":
                return self.time - since
        return math.inf

    def armed(self, seconds: float = 3.0) -> Honest:
        """Go on honestly, armed, for so long."""
        self.go(0.2)
        assert not self.exchange.refusal
        self.exchange.arming.arm("asked")
        self.go(seconds)
        assert self.exchange.arming.state == "armed", self.exchange.arming.reason
        return self


def turned(change: Callable[[float, float], float]) -> Forge:
    """Return a lie: the angle by angle and time of the lie [deg, s]; the speed is left."""

    def lie(m: Device) -> Device:
        begun.setdefault("at", m.command)
        t = (m.command - begun["at"]) / RATE_HZ
        return replace(m, angle=[math.radians(change(math.degrees(m.angle[0]), t))])

    begun: dict[str, int] = {}
    return lie


def late(motion: Motion, seconds: float) -> Forge:
    """Return a lie: angle and speed of so long ago [s]."""

    def lie(m: Device) -> Device:
        angle, speed = motion(m.command / RATE_HZ - seconds)
        return replace(m, angle=[angle], speed=[speed])

    return lie


def frozen() -> Forge:
    """Return a lie: angle and speed as they are when it begins."""

    def lie(m: Device) -> Device:
        held.append(m)
        return replace(m, angle=held[0].angle, speed=[0.0])

    held: list[Device] = []
    return lie
