"""Pressure laws of contacts by name: numbers in a model file, columns in kernels/contact/pressure."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rtsim.config.place_schema import NonNegative, Positive

OF_VOLUME = ("volumetric",)
"""Laws whose force is spread over the volume of the overlap: it acts at the centroid, and has torques."""


class Pressure(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What presses two surfaces apart.

    stiffness: volumetric N/m^3, kelvin_voigt N/m, hunt_crossley and power N/m^exponent
    damping: volumetric s/m (-a_V), kelvin_voigt N s/m, hunt_crossley N s/m^(exponent + 1)
    """

    stiffness: Positive | None = None
    law: Literal["volumetric", "kelvin_voigt", "hunt_crossley", "power"] = "volumetric"
    damping: NonNegative = 0.0
    exponent: Annotated[float, msgspec.Meta(ge=1.0)] = 2.0

    @property
    def presses(self) -> bool:
        """Whether it has a force law."""
        return self.stiffness is not None

    @property
    def is_spread(self) -> bool:
        """Whether its force acts at the centroid of the overlap, not where that is deepest."""
        return self.law in OF_VOLUME

    @property
    def pressure_row(self) -> tuple[float, ...]:
        """Parameters in the columns of kernels/contact/pressure."""
        assert self.stiffness is not None
        return self.stiffness, self.damping, self.exponent
