"""The control law of a device, which computes the torque for the measured motion.

The laws are modules of rtsim/device/controllers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import import_module
from typing import NamedTuple, Protocol

from rtsim.config.controller import ControllerSpec


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
