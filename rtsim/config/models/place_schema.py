"""Schema of positions: points and frames of a segment, as used in models."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Name = Annotated[str, msgspec.Meta(min_length=1)]
Vector = Annotated[tuple[float, ...], msgspec.Meta(min_length=3, max_length=3)]
Positive = Annotated[float, msgspec.Meta(gt=0.0)]
NonNegative = Annotated[float, msgspec.Meta(ge=0.0)]
Direction = Literal["u", "v", "w"]
GROUND = "ground"
"""The segment that does not move; every other one is a body."""


class Scale(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """An offset that is proportional to the length of a segment."""

    offset_mm: Vector
    segment: str
    reference_length_mm: Positive


class Place(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A point of a segment: at its proximal or distal end plus an offset in its axes, or a landmark."""

    segment: str = ""
    origin: Literal["proximal", "distal"] = "proximal"
    point: str = ""
    offset_mm: Vector = (0.0, 0.0, 0.0)
    scaled: Scale | None = None

    @property
    def of_subject(self) -> bool:
        """Whether the position of the point depends on the person, not only on the model."""
        return self.origin == "distal" or bool(self.point) or self.scaled is not None


class Frame(Place, forbid_unknown_fields=True, frozen=True):
    """A position with axes: those of the segment, rotated about x, then the new y, then the new z."""

    turned_deg: Vector = (0.0, 0.0, 0.0)
