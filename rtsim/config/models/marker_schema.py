"""Schema of the markers of a model; those of a subject are in the subject's file."""

from __future__ import annotations

from rtsim.config.models.place_schema import Name, NonNegative, Place


class Marker(Place, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A marker on a segment."""

    name: Name
    # in the fit of a pose, unless a setup says otherwise; 0: left out of it
    weight: NonNegative = 1.0
    # stays where it is while markers are placed on a scaled model
    fixed: bool = False
