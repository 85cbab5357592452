"""Schema of a foot contact model on the ground: the table [foot] of a run."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rtsim.config.models.place_schema import Positive

Speed = Annotated[float, msgspec.Meta(ge=-20.0, le=20.0)]
Cells = Annotated[int, msgspec.Meta(ge=1, le=200)]


class FootSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The foot model, its height above the ground, and its pressure grid (docs/foot.md)."""

    # a model of a right foot: its first body the foot, its second the toes, contacts with ground
    model: str = "foot"
    # whether the model is scaled to the person's foot, from the heel to the first metatarsal
    scaled: bool = True
    # whether a static trial tells how it stands; not for a foot that was fitted to a person's own markers
    sole: bool = True
    # raised until it bears what the plates tell, or its share of what the whole body's motion tells
    # (docs/ground_reaction.md), or as high as the markers have it, and raised_mm
    level: Literal["plates", "whole_body", "given"] = "given"
    raised_mm: Annotated[float, msgspec.Meta(ge=-100.0, le=100.0)] = 0.0
    # of the ground where the foot is on no plate
    ground_mm: Annotated[float, msgspec.Meta(ge=-10_000.0, le=10_000.0)] = 0.0
    # its velocity along x and z, as of a belt
    ground_m_s: tuple[Speed, Speed] = (0.0, 0.0)
    # below it forces tell no height
    least_force_N: Positive = 20.0
    # of the pressure: rows from heel to toes and columns across, and of a cell along and across
    grid: tuple[Cells, Cells] = (39, 16)
    cell_mm: tuple[Positive, Positive] = (7.5, 9.0)
