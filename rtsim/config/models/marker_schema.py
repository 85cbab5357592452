"""Schema of the markers of a model; those of a subject are in the subject's file."""

from __future__ import annotations

from rtsim.config.models.place_schema import Name, NonNegative, Place


class Marker(Place, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A marker on a segment."""

    name: Name
    # weight in the fit of the pose, unless a setup file states another; 0 = not used
    weight: NonNegative = 1.0
    # whether it keeps its position when markers of a scaled model are moved to the measured ones
    fixed: bool = False
