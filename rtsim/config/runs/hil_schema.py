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

    # lockstep: each tick waits for the device's answer; free: ticks follow the clock and use the newest
    # measurement
    mode: Literal["lockstep", "free"] = "lockstep"
    rate_hz: Annotated[float, msgspec.Meta(ge=10.0, le=4000.0)] = 500.0
    frame_hz: Annotated[float, msgspec.Meta(gt=0.0, le=4000.0)] = 100.0
    # lockstep: whether ticks keep to real time, or follow each other as fast as possible
    paced: bool = True
    # lockstep: longest time that a tick waits for an answer
    deadline_ms: Annotated[float, msgspec.Meta(gt=0.0, le=LONGEST_MS)] = 20.0
    # time to live of each torque
    valid_for_ms: Annotated[float, msgspec.Meta(gt=0.0, le=LONGEST_MS)] = 10.0
    # number of ticks in a row that may pass without an answer; the next one is a fault, which ends the torque
    missed_most: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 3
    # longest time to wait for a device at the start
    connect_s: Annotated[float, msgspec.Meta(gt=0.0, le=3600.0)] = 30.0


class GaitSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Detection of gait in the model's leg by a coordinate that rises in swing and falls in stance."""

    coordinate: Name
    # whether the coordinate falls in swing and rises in stance instead
    reversed: bool = False


UpTo1000 = Annotated[float, msgspec.Meta(gt=0.0, le=1000.0)]
"""Number of a limit; no joint of a person reaches one above 1000."""


class DeviceLimits(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Limits of commands, and plausibility limits for the device's messages."""

    torque_max_Nm: UpTo1000
    rate_max_Nm_s: Annotated[float, msgspec.Meta(gt=0.0, le=100_000.0)]
    power_max_W: Annotated[float, msgspec.Meta(gt=0.0, le=10_000.0)]
    # ranges of the measurements; one outside is a fault
    angle_deg: Pair
    speed_max_deg_s: Annotated[float, msgspec.Meta(gt=0.0, le=3600.0)]
    measured_max_Nm: UpTo1000
    # largest work of the device on the limb in about the last second
    energy_max_J: UpTo1000
    # a fault is that the actuator's torque differs from the command by more than this, for longer than this
    tracking_Nm: UpTo1000
    tracking_ms: Annotated[float, msgspec.Meta(gt=0.0, le=10_000.0)]
    # whether angle and speed of the device are compared with those of the limb's joint; false on a bench
    # where nothing turns the drive
    watch_sensors: bool = True
    # a fault is that its angle differs from the joint's by more than this, for longer than this within ten
    # seconds, or on average over a second
    agreement_deg: Annotated[float, msgspec.Meta(gt=0.0, le=45.0)] = 5.0
    agreement_ms: Annotated[float, msgspec.Meta(gt=0.0, le=10_000.0)] = 100.0
    # largest delay of the device's angle and other measurements
    delay_ms: UpTo1000 = 50.0
    # largest difference between the rates of the device's clock and this computer's clock
    clock_percent: Annotated[float, msgspec.Meta(gt=0.0, le=50.0)] = 5.0
    # largest passive torque, if the config of the device does not contain its mechanics
    passive_max_Nm: UpTo1000 | None = None
    # largest difference between the model's energy and the work of all forces, in about the last second
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

    # position of the device's joint
    offset_mm: Vector
    # position at which the device holds the body
    cuff_mm: Vector
    # stiffness of the straps along the device's bar; 0 = the cuff slides freely
    stiffness_N_m: NonNegative = 0.0


class MarkersSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Settings for a person who wears the device: an estimate from the person's markers replaces the
    simulated limb.
    """

    # least damping of the wearer's joint, which the check of stability assumes
    damping_N_m_s_rad: NonNegative
    # run config of the estimate: source, subject, method, stages, forces
    run: str = "gait"
    # leg that wears the device; by default the one in the name of the coordinate, or else the only one
    side: Literal["right", "left"] | None = None
    # longest time without a usable frame; after it the torque ends
    lost_ms: Annotated[float, msgspec.Meta(gt=0.0, le=LONGEST_MS)] = 100.0


def given(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a config table, and of its sub-tables, without the entries that are None."""
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
    # coordinate of the model on which the device acts, an angle
    coordinate: Name
    exchange: Exchange
    limits: DeviceLimits
    # a ControllerSpec: by its key `kind` one of rtsim/config/controllers, usually stiffness_damping
    controller: Any = Controller()
    # detection of gait, for a model that walks
    gait: GaitSpec | None = None
    # for a person who wears the device, instead of a simulation: `model` then follows the person's markers
    markers: MarkersSpec | None = None
    # position of the device's joint relative to the limb's joint; by default they coincide
    misalignment: MisalignmentSpec | None = None
    # file or address of a motion, and coordinates that follow it in addition to those that do so in the model
    motion: str = ""
    prescribed: tuple[Name, ...] = ()
    # config of the device: of the simulated one, and of its delays and mechanics in the check of stability
    device: Name = "ankle_orthosis"
    # duration of the run; 0 = until it is stopped
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
