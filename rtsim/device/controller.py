"""The control law of a device, which computes the torque for the measured motion, and the measured speed that
it sees.

The laws are modules of rtsim/device/controllers.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from importlib import import_module
from typing import NamedTuple, Protocol

from rtsim.config.controller import ControllerSpec
from streams.messages import Device

N_RECENT = 10
"""Number of the newest answers whose speed by the ticks bounds what a controller sees of live markers."""


class Gait(NamedTuple):
    """Phase of the stride (0 to 1, NaN when nobody walks), its certainty (0 to 1), and duration of the
    stride [s].
    """

    phase: float = math.nan
    confidence: float = 0.0
    stride_s: float = math.nan


NOBODY_WALKS = Gait()


class Seen(NamedTuple):
    """Input of a controller in a tick: time, angle, speed and gait phase.

    tick : number of the tick in the run; -1 = called before the start
    time : time of the model [s]
    angle, speed : joint angle and speed that the device measures [rad, rad/s]
    model_angle, model_speed : angle and speed of the model [rad, rad/s]
    moment : joint moment by inverse dynamics [N m], NaN = not known
    gait : phase of the stride of this leg
    armed : whether torque is commanded
    """

    tick: int
    time: float
    angle: float
    speed: float
    model_angle: float
    model_speed: float
    moment: float = math.nan
    gait: Gait = NOBODY_WALKS
    armed: bool = False


AT_REST = Seen(tick=-1, time=0.0, angle=0.0, speed=0.0, model_angle=0.0, model_speed=0.0)


class MeasuredSpeed:
    """Speed of the joint by the changes of the angle that a device measures.

    The time of a change is that of the ticks between two outputs that the device has answered or, where ticks
    are timed by a clock, that of the device's clock. With live markers in lockstep both are meaningful, and
    frames may come in bursts. Then the ticks have the time of a device that answers with the angle of the
    output, and the clock that of a device that measures the joint by itself. The device's own speed shows
    which it is, but does not replace it.

    Attributes
    ----------
    speed : speed for the controller [rad/s]. Of the speeds by ticks and by clock it is the one nearer to the
      device's own; its size is at most the largest by the ticks of the newest answers
    fastest : speed for the power limit [rad/s]: the one of the largest size
    """

    def __init__(self) -> None:
        self.speed = self.fastest = 0.0
        self._by_ticks = self._by_clock = 0.0
        self._answered = self._stamped = self._angle = 0.0
        self._recent: deque[float] = deque(maxlen=N_RECENT)

    def begin(self, angle: float) -> None:
        """Store the angle of the first message [rad], from which on the speed is computed."""
        self._answered = self._stamped = self._angle = angle

    def take(self, before: Device, message: Device, ticks_s: float, clock_s: float) -> None:
        """Compute the speeds from a message and the one before it.

        ticks_s, clock_s : time between the outputs that they answer, by the ticks, and time between the
            messages by the device's clock [s]; NaN where that time has no meaning, which one of them may
        """
        angle, own = message.angle[0], message.speed[0]
        if message.command > before.command:
            # what a device measures of its own accord between two answers has no time but that of its clock
            self._by_ticks = (angle - self._answered) / ticks_s
            self._recent.append(abs(self._by_ticks))
            self._answered = angle
        if math.isnan(clock_s):
            self.speed = self.fastest = self._by_ticks
            return
        of_step = own  # if its clock stands: what it says itself is all there is
        if clock_s > 0.0:
            of_step, self._by_clock = (angle - self._angle) / clock_s, (angle - self._stamped) / clock_s
        if message.t != before.t:  # a coarse clock stands over several messages, and then makes up for them
            self._stamped = angle
        self._angle = angle
        if math.isnan(ticks_s):
            self.speed, self.fastest = of_step, max(of_step, self._by_clock, key=abs)
            return
        most, self.fastest = max(self._recent, default=0.0), max(self._by_ticks, self._by_clock, key=abs)
        nearer = min(self._by_ticks, self._by_clock, key=lambda speed: abs(speed - own))
        self.speed = min(max(nearer, -most), most)


class ControllerError(Exception):
    """Raised with the reason when a controller cannot compute a torque."""


class Law(Protocol):
    """Interface of a controller's law, which computes the wanted torque."""

    def torque(self, values: Mapping[str, float], seen: Seen) -> float:
        """Compute the torque [N m]; called in every tick; ControllerError if that fails.

        values : parameters of the controller by name
        seen : measured angle and speed, gait phase, and other inputs in this tick
        """


def law_of(spec: ControllerSpec) -> Law:
    """Create the law of a controller in its state before the first tick; ConfigError where it cannot be
    used."""
    law: Law = import_module(f"rtsim.device.controllers.{spec.kind}").make(spec)
    return law
