"""Schema of configs/hil/*.toml (hardware in the loop): a simulated limb, a device on it, and their safety
limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from rtsim.config.bounds import check_numbers, check_texts
from rtsim.config.controller import ControllerSpec, Pair
from rtsim.config.controllers import controller_of
from rtsim.config.controllers.stiffness_damping import Controller
from rtsim.config.models.place_schema import Name, NonNegative, Vector
from rtsim.config.runs.run_schema import Duration
from rtsim.config.runs.tuning_schema import TuningSpec
from streams.addresses import is_stream
from streams.sockets import CONTROL_ADDRESS, DEVICE_ADDRESS, RESULTS_ADDRESS

LONGEST_MS = 1000.0
WHOLE_TURN_DEG = 360.0
OF_RESULTS = ("mode", "rate_hz", "frame_hz", "missed_most")
"""Keys of the exchange that results in lockstep follow from."""


class Exchange(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Settings of the data exchange between model and device."""

    # lockstep: each tick waits for the device's answer; free: the wall clock ticks, the newest value counts
    mode: Literal["lockstep", "free"] = "lockstep"
    rate_hz: Annotated[float, msgspec.Meta(ge=10.0, le=4000.0)] = 500.0
    frame_hz: Annotated[float, msgspec.Meta(gt=0.0, le=4000.0)] = 100.0
    # lockstep: in step with the wall clock, or as fast as both sides go
    paced: bool = True
    # lockstep: longest time that a tick waits for an answer
    deadline_ms: Annotated[float, msgspec.Meta(gt=0.0, le=LONGEST_MS)] = 20.0
    # time to live of each torque
    valid_for_ms: Annotated[float, msgspec.Meta(gt=0.0, le=LONGEST_MS)] = 10.0
    # so many ticks in a row may pass without an answer; with the next the model falls
    missed_most: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 3
    # longest time to wait for a device at the start
    connect_s: Annotated[float, msgspec.Meta(gt=0.0, le=3600.0)] = 30.0


class GaitSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Detection of gait in the model's leg by a coordinate that rises in swing and falls in stance."""

    coordinate: Name
    # one that falls in swing and rises in stance
    reversed: bool = False


UpTo1000 = Annotated[float, msgspec.Meta(gt=0.0, le=1000.0)]
"""Number of a limit; no joint of a person reaches one above 1000."""


class DeviceLimits(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Limits of commands, and plausibility limits for the device's messages."""

    torque_max_Nm: UpTo1000
    rate_max_Nm_s: Annotated[float, msgspec.Meta(gt=0.0, le=100_000.0)]
    power_max_W: Annotated[float, msgspec.Meta(gt=0.0, le=10_000.0)]
    # beyond these a measurement is a fault
    angle_deg: Pair
    speed_max_deg_s: Annotated[float, msgspec.Meta(gt=0.0, le=3600.0)]
    measured_max_Nm: UpTo1000
    # work of the device on the limb, of about the last second
    energy_max_J: UpTo1000
    # actuator's torque off what was commanded by so much, for so long
    tracking_Nm: UpTo1000
    tracking_ms: Annotated[float, msgspec.Meta(gt=0.0, le=10_000.0)]
    # whether angle and speed of the device are compared with the joint's; false: nothing turns the drive
    watch_sensors: bool = True
    # its angle off the joint's by so much, for so long in ten seconds, or in the mean of a second
    agreement_deg: Annotated[float, msgspec.Meta(gt=0.0, le=45.0)] = 5.0
    agreement_ms: Annotated[float, msgspec.Meta(gt=0.0, le=10_000.0)] = 100.0
    # its angle, or what it measures, so late
    delay_ms: UpTo1000 = 50.0
    # its clock off this computer's, by so much of a second
    clock_percent: Annotated[float, msgspec.Meta(gt=0.0, le=50.0)] = 5.0
    # torque that no actuator makes, of a device whose mechanics its config does not know
    passive_max_Nm: UpTo1000 | None = None
    # energy that the model has, or lacks, beyond what all forces did, of about the last second
    drift_max_J: UpTo1000 = 5.0
    # torque rises from zero over this time after `arm`
    ramp_s: Annotated[float, msgspec.Meta(gt=0.0, le=60.0)] = 1.0

    def __post_init__(self) -> None:
        if not self.angle_deg[0] < self.angle_deg[1]:
            raise ValueError(
                f"limits.angle_deg: {list(self.angle_deg)}; allowed: [low, high] with low < high"
            )
        if max(map(abs, self.angle_deg)) > WHOLE_TURN_DEG:
            raise ValueError(f"limits.angle_deg: {list(self.angle_deg)}; allowed: -360 to 360")


class MisalignmentSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Position of the device's joint relative to the limb's joint, in the axes of the body that the limb's
    joint carries, in the pose in which the angle is zero.
    """

    # of the device's joint
    offset_mm: Vector
    # where the device holds the body
    cuff_mm: Vector
    # of the straps, along the device's bar; none: the cuff slides freely
    stiffness_N_m: NonNegative = 0.0


class MarkersSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Settings for a person who wears the device: an estimate from the person's markers replaces the
    simulated limb.
    """

    # damping of the wearer's joint that the check of stability may count on
    damping_N_m_s_rad: NonNegative
    # how the estimate is made: source, subject, method, stages, forces
    run: str = "gait"
    # leg that wears the device
    side: Literal["right", "left"] = "right"
    # so long without a usable frame, and torque ends
    lost_ms: Annotated[float, msgspec.Meta(gt=0.0, le=LONGEST_MS)] = 100.0


def given(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table without the entries that are None, also in its sub-tables."""
    return {
        key: given(value) if isinstance(value, Mapping) else value
        for key, value in table.items() if value is not None
    }  # fmt: skip


class HilPorts(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Network addresses to bind for results, control and the device."""

    results: str = RESULTS_ADDRESS
    control: str = CONTROL_ADDRESS
    device: str = DEVICE_ADDRESS


class HilSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Settings of a run with hardware in the loop: limb, device, controller, exchange and limits."""

    name: Name
    source: str
    model: Name
    # of the model, an angle
    coordinate: Name
    exchange: Exchange
    limits: DeviceLimits
    # a ControllerSpec: by its key `kind` one of rtsim/config/controllers, usually stiffness_damping
    controller: Any = Controller()
    # of a model that walks
    gait: GaitSpec | None = None
    # of a person who wears the device, in the place of a simulation; `model` then follows the markers
    markers: MarkersSpec | None = None
    # of the device's joint against the limb's; none: they are one
    misalignment: MisalignmentSpec | None = None
    # file or address of the motion of coordinates that take one, and such coordinates beside the model's own
    motion: str = ""
    prescribed: tuple[Name, ...] = ()
    # simulated device, started as a process; whose delays and mechanics the check of stability takes
    device: Name = "ankle_orthosis"
    # of the run on the clock; 0 = until it is stopped
    duration_s: Duration = 0.0
    ports: HilPorts = HilPorts()
    # what `rtsim tune --auto` searches for
    tuning: TuningSpec | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings that determine the results in lockstep, as stored in recordings, without
        timeouts and addresses.
        """
        tables = msgspec.to_builtins(self)
        tables["exchange"] = {key: tables["exchange"][key] for key in OF_RESULTS}
        tables["motion"] = "" if is_stream(self.motion) else Path(self.motion).name
        of_others = ("source", "device", "duration_s", "ports", "tuning")
        told = given({key: value for key, value in tables.items() if key not in of_others})
        found: dict[str, Any] = msgspec.msgpack.decode(msgspec.msgpack.encode(told))
        return found

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "controller", controller_of(self.controller))
        check_numbers(self)
        check_texts(msgspec.to_builtins(self))
        control: ControllerSpec = self.controller
        if self.markers is not None and not self.limits.watch_sensors:
            raise ValueError(
                "limits.watch_sensors: the sensors of a worn device are always checked; remove the key"
            )
        if self.markers is not None and self.gait is not None:
            raise ValueError(
                "gait: the gait phase is computed from the markers of the person; remove the table [gait]"
            )
        for name in ("misalignment", "motion", "prescribed"):
            if self.markers is not None and getattr(self, name):
                raise ValueError(
                    f"{name}: the key applies to a simulated limb, not to a person; remove the key"
                )
        if control.needs_gait and self.gait is None and self.markers is None:
            raise ValueError(
                f"controller: {control.kind} needs the gait phase to compute torque; add [gait] with "
                "a coordinate that increases in swing"
            )
        beyond = control.beyond(self.limits.torque_max_Nm)
        if beyond:
            raise ValueError(
                f"controller: {beyond}; allowed: limits.torque_max_Nm = {self.limits.torque_max_Nm:g}"
            )
