"""Pressure laws of contacts by name: numbers in a model file, and columns in kernels/contact/pressure."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rtsim.config.models.place_schema import NonNegative, Positive

OF_VOLUME = ("volumetric",)
"""Laws whose force is spread over the volume of the overlap: it acts at the centroid, and has torques."""


class Pressure(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The pressure law of two surfaces in contact.

    stiffness : in N/m^3 for the law volumetric, N/m for kelvin_voigt, N/m^exponent for hunt_crossley and
        power
    damping : in s/m for volumetric (coefficient a_V), N s/m for kelvin_voigt, N s/m^(exponent + 1) for
        hunt_crossley
    """

    stiffness: Positive | None = None
    law: Literal["volumetric", "kelvin_voigt", "hunt_crossley", "power"] = "volumetric"
    damping: NonNegative = 0.0
    # instead of the stiffness of a volumetric contact: an elastic layer on a rigid foundation
    young_modulus_MPa: Positive | None = None
    poisson_ratio: Annotated[float, msgspec.Meta(ge=0.0, lt=0.5)] = 0.45
    thickness_mm: Positive | None = None
    exponent: Annotated[float, msgspec.Meta(ge=1.0)] = 2.0

    @property
    def presses(self) -> bool:
        """Whether the law has a stiffness, so that the surfaces exert pressure."""
        return self.stiffness is not None or self.young_modulus_MPa is not None

    @property
    def modulus(self) -> float:
        """Return the stiffness; for an elastic layer with Young's modulus E, Poisson's ratio nu and thickness
        h, (1 - nu) E/((1 + nu) (1 - 2 nu) h).

        Blankevoort, Kuiper, Huiskes, Grootenboer (1991) J Biomech 24, 1019-1031, for thin layers.
        """
        if self.stiffness is not None:
            return self.stiffness
        assert self.young_modulus_MPa is not None
        assert self.thickness_mm is not None
        nu, pressure = self.poisson_ratio, 1e6 * self.young_modulus_MPa
        return (1.0 - nu) * pressure / ((1.0 + nu) * (1.0 - 2.0 * nu) * 1e-3 * self.thickness_mm)

    def check_layer(self, key: str) -> None:
        """Raise ValueError where the parameters of an elastic layer are incomplete, or combined with
        another stiffness.
        """
        if self.young_modulus_MPa is None:
            if self.thickness_mm is not None:
                raise ValueError(
                    f"{key}.thickness_mm: an elastic layer needs a stiffness; add young_modulus_MPa"
                )
            return
        if self.stiffness is not None:
            raise ValueError(f"{key}: give either stiffness or young_modulus_MPa with thickness_mm")
        if self.thickness_mm is None:
            raise ValueError(
                f"{key}.young_modulus_MPa: the pressure depends on the thickness; add thickness_mm"
            )
        if not self.is_spread:
            raise ValueError(
                f"{key}.young_modulus_MPa: only the volumetric law has an elastic layer; remove law"
            )

    @property
    def is_spread(self) -> bool:
        """Whether the pressure is spread over the overlap of the surfaces, so that its force acts at the
        centroid of the overlap; if not, the force acts at the deepest point.
        """
        return self.law in OF_VOLUME

    @property
    def pressure_row(self) -> tuple[float, ...]:
        """Parameters of the law in the order of the columns of kernels/contact/pressure."""
        return self.modulus, self.damping, self.exponent
