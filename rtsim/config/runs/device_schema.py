"""Schema of configs/devices/*.toml: a simulated orthosis of one joint, with its own watchdog."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rtsim.config.bounds import check_numbers, check_texts
from rtsim.config.models.place_schema import Name, NonNegative, Positive

LONGEST_RAMP_MS, LONGEST_SAFE_MS = 2_000.0, 30_000.0
"""A state that lasts longer is not safe."""
Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


class Mechanics(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Passive mechanics of the orthosis: spring and damper about a neutral angle, and hysteresis."""

    neutral_deg: float = 0.0
    stiffness_N_m_rad: NonNegative = 0.0
    damping_N_m_s_rad: NonNegative = 0.0
    # dry friction: its largest torque, and the rotation over which the torque builds up after a reversal
    friction_Nm: NonNegative = 0.0
    friction_deg: Positive = 1.0
    # angle of the device's joint minus that of the limb's joint, because the device is fitted askew
    misalignment_deg: float = 0.0


class Actuator(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Dynamics of the actuator: how the torque follows a command."""

    torque_max_Nm: Positive
    rate_max_Nm_s: Positive
    # bandwidth of a first-order lag; by default the torque follows at once
    bandwidth_hz: Positive | None = None
    # rounded to whole ticks of the device
    delay_ms: Annotated[float, msgspec.Meta(ge=0.0, le=1000.0)] = 0.0


class Sensors(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Sensors: standard deviations of white noise, and the fraction of messages that are lost."""

    angle_noise_deg: NonNegative = 0.0
    speed_noise_deg_s: NonNegative = 0.0
    torque_noise_Nm: NonNegative = 0.0
    dropout: Share = 0.0
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] = 0


class SafeState(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What the device does in its safe state: when its command is too old, or after a fault."""

    # ramp: torque falls to zero; damp: torque against the motion; hold: the position at the fault is held;
    # last: the last torque is kept for some ticks
    kind: Literal["ramp", "damp", "hold", "last"] = "ramp"
    # duration of the ramp from the torque at the fault to zero; damp and hold end with such a ramp, too
    ramp_ms: Annotated[float, msgspec.Meta(gt=0.0, le=LONGEST_RAMP_MS)] = 50.0
    # duration of damp or hold before that ramp
    lasts_ms: Annotated[float, msgspec.Meta(ge=0.0, le=LONGEST_SAFE_MS)] = 0.0
    damping_N_m_s_rad: NonNegative = 0.0
    stiffness_N_m_rad: NonNegative = 0.0
    # last: number of the device's ticks after which the torque is zero
    ticks: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0

    def __post_init__(self) -> None:
        if self.kind in ("damp", "hold") and not (self.damping_N_m_s_rad and self.lasts_ms):
            raise ValueError(
                f"safe_state: kind {self.kind} needs damping_N_m_s_rad and lasts_ms; add these keys"
            )
        if self.kind == "hold" and not self.stiffness_N_m_rad:
            raise ValueError("safe_state: kind hold needs stiffness_N_m_rad; add this key")
        if self.kind == "last" and not self.ticks:
            raise ValueError("safe_state: kind last needs ticks; add this key")


class DeviceSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Settings of a simulated orthosis of one joint: mechanics, actuator, sensors and safe state."""

    name: Name
    source: str
    joint: Name
    # rate of the device's own ticks
    tick_hz: Annotated[float, msgspec.Meta(gt=0.0, le=4000.0)]
    actuator: Actuator
    speed_max_deg_s: Positive
    mechanics: Mechanics = Mechanics()
    sensors: Sensors = Sensors()
    safe_state: SafeState = SafeState()

    def __post_init__(self) -> None:
        check_numbers(self)
        check_texts(msgspec.to_builtins(self))
