"""Controller of a device: torque computed by a function that the user provides."""

from __future__ import annotations

import math
from typing import ClassVar

import msgspec

from rtsim.config.controller import ControllerSpec
from rtsim.config.models.place_schema import Name, NonNegative


class Controller(ControllerSpec, frozen=True, tag="python"):
    """Settings of a controller whose torque [N m] is computed by the user's function(seen, parameters), in a
    module or in a file.

    The config has to state its largest stiffness and damping, from which the stability of the control loop
    is computed.
    """

    STIFFNESS: ClassVar[str] = "stiffness_most_N_m_rad"

    # MODULE:FUNCTION or FILE.py:FUNCTION
    function: str
    stiffness_most_N_m_rad: NonNegative
    damping_most_N_m_s_rad: NonNegative
    # its own numbers by name
    parameters: dict[Name, float] = msgspec.field(default_factory=dict)
    # whether it has no torque without the phase of the gait
    gait: bool = False

    def __post_init__(self) -> None:
        module, _, name = self.function.rpartition(":")
        if not module or not name.isidentifier():
            raise ValueError(
                f"controller.function: {self.function!r}; allowed: MODULE:FUNCTION or FILE.py:FUNCTION"
            )
        bad = next((name for name, value in self.parameters.items() if not math.isfinite(value)), None)
        if bad is not None:
            raise ValueError(f"controller.parameters.{bad}: the value is not a number; allowed: a number")
        super().__post_init__()

    @property
    def values(self) -> dict[str, float]:
        return dict(self.parameters)

    @property
    def units(self) -> tuple[str, ...]:
        return ("1",) * len(self.parameters)

    def is_signed(self, name: str) -> bool:
        return True

    @property
    def stiffest(self) -> float:
        return self.stiffness_most_N_m_rad

    @property
    def most_damping(self) -> float:
        return self.damping_most_N_m_s_rad

    @property
    def needs_gait(self) -> bool:
        return self.gait
