"""Schema of measurements on a knee: points of its surfaces and attachment areas, for `rtsim fit knee`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from rtsim.config.models.place_schema import Vector

Points = Annotated[tuple[Vector, ...], msgspec.Meta(min_length=1, max_length=5000)]
MOST_MM = 500.0
"""Largest distance from the origin of a bone's axes to a point at its knee."""


class CompartmentPoints(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Points on the articular surfaces of the medial and the lateral compartment of a knee [mm]."""

    medial: Points
    lateral: Points


class AttachmentPoints(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Points in the areas in which ligaments attach to a bone [mm]."""

    ACL: Points
    PCL: Points
    MCL: Points
    LCL: Points


class KneePointsSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Points of a right knee, or of a left one mirrored, in the axes of femur and tibia.

    The axes of femur and tibia coincide at full extension.
    """

    name: str
    source: str
    condyles_mm: CompartmentPoints
    plateaus_mm: CompartmentPoints
    origins_mm: AttachmentPoints
    insertions_mm: AttachmentPoints

    def __post_init__(self) -> None:
        for key in ("condyles_mm", "plateaus_mm", "origins_mm", "insertions_mm"):
            for name, points in msgspec.structs.asdict(getattr(self, key)).items():
                if not all(abs(x) <= MOST_MM for point in points for x in point):
                    raise ValueError(
                        f"{key}.{name}: a point is farther than {MOST_MM:g} mm from the knee; give "
                        "numbers in mm"
                    )
