"""The joint of a person who wears a device, with an angle that is estimated from markers, not simulated."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rtsim.config.models.joint_schema import Body, Coordinate
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.device.controller import NOBODY_WALKS, Gait
from rtsim.device.exchange import DeviceExchange
from rtsim.errors import ConfigError
from rtsim.methods.frame_pace import FramePace, seconds_of
from rtsim.methods.gait_phase import falling
from rtsim.methods.person_motion import PersonLeap
from rtsim.models.feet import root_of, side_of_name
from rtsim.models.model import Model, build
from rtsim.stages.device.device_element import with_device
from rtsim.stages.gait_phase import GaitPhases
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.stage import FINE, Stage, StageOutcome
from rtsim.subjects.markers.labs import SIDES
from streams.clock import now_ns
from streams.messages import UNUSABLE, Session, Status
from streams.receiving.ring import ReceivedFrame

OF_JOINT = UNUSABLE | Status.DEGRADED
"""Status bits of a frame with which the joint's angle in it is not used."""
JOINT = "joint"
RATE_OFF = 0.02
"""Relative difference that the rates of the markers and of the device exchange may have."""


class WornJoint(Stage):
    """Source of angle, gait phase and moment of a person's joint for controller and device, after each
    frame's estimate.

    For the stages of the exchange it is a limb with one hinge, which is measured instead of simulated. A
    frame is unusable if its markers do not determine the angle of the joint reliably, or if its time does not
    advance at the rate that its session states. The time without usable frames is measured by this computer's
    clock for live frames, else by the times of the frames.

    Parameters
    ----------
    gait : the stage of the gait phase; None if the run has none

    Attributes
    ----------
    moment : function that returns the joint moment of the previous frame [N m], NaN = not known
    """

    def __init__(
        self, spec: HilSpec, exchange: DeviceExchange, kinematics: Kinematics, gait: GaitPhases | None
    ) -> None:
        super().__init__()
        assert spec.markers is not None
        self._exchange, self._kinematics, self._gait = exchange, kinematics, gait
        self._side = leg_of(spec, gait)
        self._lost_s = 1e-3 * spec.markers.lost_ms
        self._rate = spec.exchange.rate_hz
        self._at = angle_at(kinematics, spec.coordinate, spec.name)
        self.moment: Callable[[], float] = unknown
        self.model = hinge(spec.coordinate)
        self.q, self.v, self.time = np.zeros(1), np.zeros(1), 0.0
        self.counters["unusable"] = 0
        self._usable = self._usable_s = math.nan  # of the newest frame that told the angle: time, and arrival
        self._now_s, self._live = 0.0, False  # when the newest frame came, and whether it came live
        self._session_rate = math.nan
        self._pace, self._leap = FramePace(self._lost_s), PersonLeap()
        parent = kinematics.estimator.model.tree.parent
        self._root = root_of(parent, len(parent) - 1)
        self._broken = ""  # why the frames do not go on from those before; told once

    def reset(self) -> None:
        """Discard angle, speed and session of the joint, as before the first frame."""
        super().reset()
        self.q[:] = self.v[:] = 0.0
        self.time = 0.0
        self._session_rate, self._broken = math.nan, ""
        self._forget()

    def begin(self, session: Session, anew: bool) -> None:
        """In a new session of the input stream (anew), whose times have another origin, end torque and
        discard the angle."""
        if not anew:
            return
        if not math.isnan(self._session_rate):
            self._broken = "another session of markers has begun"
        self._session_rate = session.rate
        self._pace.begin(session.rate)
        self._forget()

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Pass angle, gait phase and moment of the joint in this frame to the device exchange; report the
        angle as unknown if the frame is unusable.
        """
        x, k = self._exchange, self._kinematics
        self.time, x.angle_before = frame.time, float(self.q[0])
        stride = None if self._gait is None or self._side is None else self._gait.stride(self._side)
        x.gait = NOBODY_WALKS if stride is None else Gait(stride.phase, stride.confidence, stride.length)
        x.moment = math.nan
        self._now_s, self._live = seconds_of(frame), frame.t_arrived > 0
        goes_on, angle = self._pace.take(frame), self._angle()
        if not goes_on or not k.solved or k.status & OF_JOINT or not math.isfinite(angle):
            self.counters["unusable"] += 1
            x.angle_known = False
            sure = falling(self._now_s - self._usable_s, (0.5 * self._lost_s, self._lost_s))
            x.gait = x.gait._replace(confidence=sure * x.gait.confidence)
            return FINE
        passed = frame.time - self._usable
        self.v[0] = (angle - self.q[0]) / passed if 0.0 < passed <= self._lost_s else 0.0
        self.q[0], self._usable, self._usable_s = angle, frame.time, self._now_s
        position, rotation = k.estimator.pose
        leap = self._leap.look(self._now_s, position[self._root], rotation[self._root])
        self._broken = leap or self._broken
        x.angle_known = True
        x.moment = self.moment()
        return FINE

    def wrong(self) -> str:
        """Return a sentence on why the device's torque must end: the markers come at a wrong rate, no usable
        frame has come for too long, or the frames do not continue those before, as after a jump or in a new
        session (reported once). Empty if it need not end.
        """
        broken, self._broken = self._broken, ""
        rate = self._session_rate
        if not rate > 0.0:
            return "the stream of markers does not state its frame rate"
        if abs(rate / self._rate - 1.0) > RATE_OFF:
            return f"the markers come at {rate:g} Hz, which must equal exchange.rate_hz, {self._rate:g} Hz"
        if not math.isfinite(self._usable_s):
            return "the angle of the device's joint is not known yet, as no usable frame of markers has come"
        lost_s = (1e-9 * now_ns() if self._live else self._now_s) - self._usable_s
        if lost_s > self._lost_s:
            return f"no usable frame of markers for {1e3 * lost_s:.0f} ms"
        return broken or self._pace.wrong

    def _forget(self) -> None:
        """Discard the measured angle, as it does not come from a usable frame."""
        self._usable = self._usable_s = math.nan
        self._leap.begin()

    def _angle(self) -> float:
        """Return the angle of the joint at the newest pose [rad]."""
        estimator, (is_coordinate, k) = self._kinematics.estimator, self._at
        if is_coordinate:
            return float(estimator.q[k])
        if self._kinematics.unknown[k]:
            return math.nan
        sign = estimator.model.joint_signs.ravel()[k]
        return float(sign * estimator.outputs.angles.reshape(-1)[k])


def unknown() -> float:
    """Return NaN. It stands in for the function that returns the joint moment, if the run computes none."""
    return math.nan


def check_leg(spec: HilSpec) -> None:
    """Raise ConfigError if the leg of which the config states that it wears the device is not the one in the
    name of the device's coordinate."""
    assert spec.markers is not None
    stated, named = spec.markers.side, side_of_name(spec.coordinate)
    if stated and named and stated != named:
        raise ConfigError(
            f"the {stated} leg is said to wear the device, but {spec.coordinate} is a coordinate of the "
            f"{named} leg, whose torque would then follow the gait of the other one",
            where=f"{spec.name}: markers.side", allowed=named,
            remedy="leave out the key, or change the coordinate",
        )  # fmt: skip


def leg_of(spec: HilSpec, gait: GaitPhases | None) -> int | None:
    """Return the leg whose gait phase the controller of a person's device sees (0 right, 1 left): the one in
    the config, else the one in the name of the coordinate, else the only one whose gait phase is computed. An
    only foot whose name states no side is that of each coordinate of its own leg, whatever side the name of
    the coordinate states.

    Returns None if this is not known and the controller does not need it; if it does, raises ConfigError.
    """
    assert spec.markers is not None
    check_leg(spec)
    followed = [side for k, side in enumerate(SIDES) if gait is not None and gait.stride(k) is not None]
    named = side_of_name(spec.coordinate)
    side = spec.markers.side or named or (followed[0] if len(followed) == 1 else "")
    if gait is not None and gait.sideless is not None:
        if (side in followed and not named) or moves(gait.kinematics, spec, gait.sideless):
            return SIDES.index(followed[0])
    elif side in followed:
        return SIDES.index(side)
    if not spec.controller.needs_gait:
        return None
    if not followed:
        why = f"{spec.controller.kind} needs the gait phase, but the model has no foot to compute it from"
    elif side:
        why = f"no gait phase of the {side} leg is computed, as the markers of the run follow the other one"
    else:
        why = f"the coordinate {spec.coordinate} does not state which leg wears the device"
    raise ConfigError(why, where=f"{spec.name}: markers.side", allowed=", ".join(followed) or None)


def moves(kinematics: Kinematics, spec: HilSpec, foot: int) -> bool:
    """Return whether the joint of a person's device belongs to the leg of a foot (index of its body)."""
    is_coordinate, k = angle_at(kinematics, spec.coordinate, spec.name)
    model = kinematics.estimator.model
    body = int(np.searchsorted(model.tree.q_start, k, side="right")) - 1
    if not is_coordinate:
        body = int(model.joints.distal[k // 3])
    return body in carriers_of(model, foot) or foot in carriers_of(model, body)


def carriers_of(model: Model, body: int) -> list[int]:
    """Return a body and all bodies that carry it, up to its root."""
    found = [body]
    while (parent := int(model.tree.parent[found[-1]])) >= 0:
        found.append(parent)
    return found


def angle_at(kinematics: Kinematics, name: str, config: str) -> tuple[bool, int]:
    """Return how to read an angle from the estimate: whether it is a coordinate of the model (else it is one
    of the joint angles), and its index there. ConfigError, naming the file `config`, where it does not exist.
    """
    model = kinematics.estimator.model
    if name in model.names.joint_angles:
        return False, model.names.joint_angles.index(name)
    if name in model.coordinates.names:
        return True, int(model.coordinates.q[model.coordinates.names.index(name)])
    raise ConfigError(
        f"the model of the person has no joint angle or coordinate {name!r}", where=f"{config}: coordinate",
        allowed=", ".join(model.names.joint_angles or model.coordinates.names),
    )  # fmt: skip


def hinge(coordinate: str) -> Model:
    """Build a model of one hinge with this coordinate, which stands for a person's joint on which a device
    acts.
    """
    body = Body(name=JOINT, joint="hinge", axis="w", coordinates=(Coordinate(coordinate),), mass_kg=1.0)
    spec = ModelSpec(name=JOINT, source="stands for a person's joint", bodies=(body,))
    return build(with_device(spec, coordinate))
