"""The part of a subject's file that stores a leg for the conventional gait model."""

from __future__ import annotations

from typing import Annotated

import msgspec

from rtsim.config.models.place_schema import Vector

Rotation = Annotated[float, msgspec.Meta(ge=-90.0, le=90.0)]
Radius = Annotated[float, msgspec.Meta(ge=5.0, le=150.0)]
ROLES = ("asis", "asis_opposite", "psis", "psis_opposite", "thigh", "knee", "shank", "ankle", "toe", "heel")
"""Roles of markers. A sacrum replaces both PSIS, the heel is needed in static trials only, and without a toe
there are no angles of ankle and foot."""
OPTIONAL = ("toe", "heel")
AS_MARKED, FLAT = "as marked", "flat"


class ConventionalLeg(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Record of one leg; rotations with the signs of Plug-in Gait.

    markers : role of the marker, such as "thigh" or "toe" -> its name in trials
    hip_mm : position of the hip centre relative to the middle of the ASIS: forwards, to the person's left, up
    knee_radius_mm, ankle_radius_mm : distances of the joint centres from their lateral markers
    plant_flexion_deg, foot_rotation_deg : angles between the line from ankle to toe and the foot; None = not
        known
    stands : pose of the foot in the recorded trial itself, AS_MARKED or FLAT; "" = a walking trial. It
        describes the trial, not the person, and is not written into files.
    """

    markers: dict[str, str]
    hip_mm: Vector
    knee_radius_mm: Radius
    ankle_radius_mm: Radius
    thigh_rotation_deg: Rotation = 0.0
    shank_rotation_deg: Rotation = 0.0
    tibial_torsion_deg: Rotation = 0.0
    plant_flexion_deg: Rotation | None = None
    foot_rotation_deg: Rotation | None = None
    sole_delta_mm: Annotated[float, msgspec.Meta(ge=-100.0, le=100.0)] = 0.0
    stands: str = ""

    def __post_init__(self) -> None:
        lacking = [role for role in ROLES if role not in self.markers and role not in OPTIONAL]
        strange = [role for role in self.markers if role not in ROLES]
        if lacking or strange:
            raise ValueError(
                f"markers: {', '.join(lacking or strange)} {'missing' if lacking else 'unknown'}; "
                f"allowed: {', '.join(ROLES)}; the last two are optional"
            )
        if (self.plant_flexion_deg is None) != (self.foot_rotation_deg is None):
            raise ValueError(
                "only one of plant_flexion_deg and foot_rotation_deg is given; give both or neither"
            )
