"""Controller of a device: torque from the measured angle theta and speed, -k (theta - theta_n) - c
d(theta)/dt, with stiffness k, damping c and neutral angle theta_n.
"""

from __future__ import annotations

from typing import ClassVar

from rtsim.config.controller import ControllerSpec
from rtsim.config.models.place_schema import NonNegative


class Controller(ControllerSpec, frozen=True, tag="stiffness_damping"):
    """Settings of a controller that acts like a spring and a damper about a neutral angle."""

    UNITS: ClassVar[dict[str, str]] = {
        "neutral_deg": "deg", "stiffness_N_m_rad": "N m/rad", "damping_N_m_s_rad": "N m s/rad",
    }  # fmt: skip
    SIGNED: ClassVar[tuple[str, ...]] = ("neutral_deg",)
    STIFFNESS: ClassVar[str] = "stiffness_N_m_rad"

    neutral_deg: float = 0.0
    stiffness_N_m_rad: NonNegative = 0.0
    damping_N_m_s_rad: NonNegative = 0.0

    @property
    def stiffest(self) -> float:
        return self.largest(self.STIFFNESS)

    @property
    def most_damping(self) -> float:
        return self.largest("damping_N_m_s_rad")
