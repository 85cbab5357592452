"""Schema of configs/inertia/*.toml: mass distribution of the segments of an average person."""

from __future__ import annotations

from typing import Annotated

import msgspec

from rtsim.config.bounds import check_numbers
from rtsim.config.models.place_schema import Name, Positive

Percent = Annotated[float, msgspec.Meta(gt=0.0, le=100.0)]
WHOLE = 0.1
"""Largest distance of the sum of masses from 100 %, as printed numbers are rounded [%]."""


class SegmentShare(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Mass properties of one segment, relative to the total mass and to its own length."""

    mass_percent: Percent
    length_mm: Positive
    centre_percent: Percent
    # radii of gyration about the sagittal, transverse and longitudinal axes
    radii_percent: Annotated[tuple[Percent, ...], msgspec.Meta(min_length=3, max_length=3)]
    # whether there is one such segment on each side
    pair: bool = False


class Population(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The mean person of a group, such as women: mass, stature, and mass properties of the segments."""

    mass_kg: Positive
    stature_mm: Positive
    segments: dict[str, SegmentShare]

    def __post_init__(self) -> None:
        total = sum(share.mass_percent * (1 + share.pair) for share in self.segments.values())
        if abs(total - 100.0) > WHOLE:
            raise ValueError(f"the masses of all segments are {total:.2f} % of the whole; allowed: 100 %")


class InertiaTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A table of segment inertias of average persons."""

    name: Name
    source: str
    female: Population
    male: Population

    def __post_init__(self) -> None:
        check_numbers(self)
