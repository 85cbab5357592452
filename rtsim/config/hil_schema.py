"""Schema of configs/hil/*.toml: a limb that is simulated, a device on it, and how they are kept safe."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rtsim.config.bounds import check_numbers, check_texts
from rtsim.config.place_schema import Name, NonNegative, Positive
from rtsim.config.run_schema import Duration
from rtsim.config.tuning_schema import TuningSpec
from streams.sockets import CONTROL_ADDRESS, DEVICE_ADDRESS, RESULTS_ADDRESS

Pair = Annotated[tuple[float, ...], msgspec.Meta(min_length=2, max_length=2)]
LONGEST_MS = 1000.0
PARAMETERS = ("neutral_deg", "stiffness_N_m_rad", "damping_N_m_s_rad")
"""Of the controller, in the order in which they are published."""


class Exchange(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """How model and device exchange."""

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


class Controller(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Torque by the measured angle: -k (theta - theta_n) - c d(theta)/dt."""

    neutral_deg: float = 0.0
    stiffness_N_m_rad: NonNegative = 0.0
    damping_N_m_s_rad: NonNegative = 0.0
    # of those that may be set while it runs: name = [lowest, highest]
    ranges: dict[str, Pair] = {}
    # how long a change takes where the command does not say
    change_s: Annotated[float, msgspec.Meta(ge=0.0, le=60.0)] = 1.0

    def __post_init__(self) -> None:
        for name, (low, high) in self.ranges.items():
            if name not in PARAMETERS:
                raise ValueError(f"controller.ranges: unknown key {name!r}; allowed: {', '.join(PARAMETERS)}")
            if not low <= getattr(self, name) <= high or (low < 0.0 and name != PARAMETERS[0]):
                raise ValueError(
                    f"controller.ranges.{name}: {[low, high]}; allowed: the smaller one first, "
                    f"{name} = {getattr(self, name):g} between, nothing below zero but an angle"
                )

    @property
    def values(self) -> dict[str, float]:
        """Parameters by name."""
        return {name: getattr(self, name) for name in PARAMETERS}

    def largest(self, name: str) -> float:
        """The largest value that a parameter can have."""
        return max((getattr(self, name), *self.ranges.get(name, ())))


class Limits(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What is commanded at the most, and what of a device's message is believed."""

    torque_max_Nm: Positive
    rate_max_Nm_s: Positive
    power_max_W: Positive
    # beyond these a measurement is a fault
    angle_deg: Pair
    speed_max_deg_s: Positive
    measured_max_Nm: Positive
    # work of the device on the limb, of about the last second
    energy_max_J: Positive
    # actuator's torque off what was commanded by so much, for so long
    tracking_Nm: Positive
    tracking_ms: Positive
    # torque rises from zero over this time after `arm`
    ramp_s: Annotated[float, msgspec.Meta(gt=0.0, le=60.0)] = 1.0

    def __post_init__(self) -> None:
        if not self.angle_deg[0] < self.angle_deg[1]:
            raise ValueError(f"limits.angle_deg: {list(self.angle_deg)}; allowed: the smaller one first")


class HilPorts(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Addresses to bind."""

    results: str = RESULTS_ADDRESS
    control: str = CONTROL_ADDRESS
    device: str = DEVICE_ADDRESS


class HilSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A run with hardware in the loop."""

    name: Name
    source: str
    model: Name
    # of the model, an angle
    coordinate: Name
    exchange: Exchange
    limits: Limits
    controller: Controller = Controller()
    # simulated device, started as a process; whose delays and mechanics the check of stability takes
    device: Name = "ankle_orthosis"
    # of the run on the clock; 0 = until it is stopped
    duration_s: Duration = 0.0
    ports: HilPorts = HilPorts()
    # what `rtsim tune --auto` searches for
    tuning: TuningSpec | None = None

    def __post_init__(self) -> None:
        check_numbers(self)
        check_texts(msgspec.to_builtins(self))
