"""The joint of a person who wears a device: its angle by the estimate from markers, not simulated."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rtsim.config.hil_schema import HilSpec
from rtsim.config.joint_schema import Body, Coordinate
from rtsim.config.model_schema import ModelSpec
from rtsim.device.controller import NOBODY_WALKS, Gait
from rtsim.device.exchange import DeviceExchange
from rtsim.errors import ConfigError
from rtsim.models.model import Model, build
from rtsim.stages.exchange import with_device
from rtsim.stages.gait_phase import GaitPhases
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.stage import FINE, Outcome, Stage
from rtsim.subjects.labs import SIDES
from streams.messages import UNUSABLE, Session, Status
from streams.ring import Frame

OF_JOINT = UNUSABLE | Status.DEGRADED
"""What a frame may not be to tell the angle of a joint."""
JOINT = "joint"
RATE_OFF = 0.02
"""Part by which the rate of the markers may differ from that of the exchange."""


class WornJoint(Stage):
    """After the estimate of a frame: angle, phase of the gait and moment, for controller and device.

    To the stages of the exchange it is a limb, of one hinge that nobody simulates.

    Parameters
    ----------
    gait : the stage of the gait's phase, where the run has it
    moment : the joint's moment of the frame before [N m], NaN = not known
    """

    def __init__(
        self, spec: HilSpec, exchange: DeviceExchange, kinematics: Kinematics, gait: GaitPhases | None
    ) -> None:
        super().__init__()
        assert spec.markers is not None
        self._exchange, self._kinematics, self._gait = exchange, kinematics, gait
        self._name, self._side = spec.coordinate, SIDES.index(spec.markers.side)
        self._lost_s = 1e-3 * spec.markers.lost_ms
        self._rate = spec.exchange.rate_hz
        self._at = angle_at(kinematics, spec.coordinate, spec.name)
        self.moment: Callable[[], float] = unknown
        self.model = hinge(spec.coordinate)
        self.q, self.v, self.time = np.zeros(1), np.zeros(1), 0.0
        self.counters["unusable"] = 0
        self._usable = math.nan  # time of the newest frame that told the angle
        self._session_rate = 0.0

    def reset(self) -> None:
        """Nothing was measured yet."""
        super().reset()
        self.q[:] = self.v[:] = 0.0
        self.time = 0.0
        self._usable = math.nan

    def begin(self, session: Session, anew: bool) -> None:
        """Times begin anew."""
        self._session_rate = session.rate
        self._usable = math.nan

    def run(self, frame: Frame) -> Outcome:
        """What the frame tells of the joint."""
        x, k = self._exchange, self._kinematics
        self.time, x.angle_before = frame.time, float(self.q[0])
        stride = self._gait.stride(self._side) if self._gait is not None else None
        x.gait = NOBODY_WALKS if stride is None else Gait(stride.phase, stride.confidence, stride.length)
        x.moment = math.nan
        angle = self._angle()
        if not k.solved or k.status & OF_JOINT or not math.isfinite(angle):
            self.counters["unusable"] += 1
            x.angle_known = False
            return FINE
        passed = frame.time - self._usable
        self.v[0] = (angle - self.q[0]) / passed if 0.0 < passed <= self._lost_s else 0.0
        self.q[0], self._usable = angle, frame.time
        x.angle_known = True
        x.moment = self.moment()
        return FINE

    def wrong(self) -> str:
        """What speaks against torque, in words; empty where nothing does."""
        rate = self._session_rate
        if rate and abs(rate / self._rate - 1.0) > RATE_OFF:
            return f"the markers come at {rate:g} Hz, and exchange.rate_hz is {self._rate:g}"
        if not math.isfinite(self._usable):
            return "no frame of markers has told the joint's angle yet"
        if self.time - self._usable > self._lost_s:
            return f"no usable frame of markers for {1e3 * (self.time - self._usable):.0f} ms"
        return ""

    def _angle(self) -> float:
        """Of the joint at the newest pose [rad]."""
        estimator, (is_coordinate, k) = self._kinematics.estimator, self._at
        if is_coordinate:
            return float(estimator.q[k])
        if self._kinematics.unknown[k]:
            return math.nan
        sign = estimator.model.joint_signs.ravel()[k]
        return float(sign * estimator.outputs.angles.reshape(-1)[k])


def unknown() -> float:
    """No moment."""
    return math.nan


def angle_at(kinematics: Kinematics, name: str, config: str) -> tuple[bool, int]:
    """Whether an angle is a coordinate of the model, and which entry; ConfigError where there is none."""
    model = kinematics.estimator.model
    if name in model.names.joint_angles:
        return False, model.names.joint_angles.index(name)
    if name in model.coordinates.names:
        return True, int(model.coordinates.q[model.coordinates.names.index(name)])
    raise ConfigError(
        f"the estimate has no angle {name!r}", where=f"{config}: coordinate",
        allowed=", ".join(model.names.joint_angles or model.coordinates.names),
    )  # fmt: skip


def hinge(coordinate: str) -> Model:
    """A model of one joint, with the element through which a device acts."""
    body = Body(name=JOINT, joint="hinge", axis="w", coordinates=(Coordinate(coordinate),), mass_kg=1.0)
    spec = ModelSpec(name=JOINT, source="stands for a person's joint", bodies=(body,))
    return build(with_device(spec, coordinate))
