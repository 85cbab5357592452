"""Schema of a foot contact model on the ground: the table [foot] of a run."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rtsim.config.models.place_schema import Positive

Speed = Annotated[float, msgspec.Meta(ge=-20.0, le=20.0)]
Cells = Annotated[int, msgspec.Meta(ge=1, le=200)]


class FootSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The foot model, its height above the ground, and its pressure grid (docs/foot.md)."""

    # model of a right foot with contacts with ground; its first body is the foot, its second the toes
    model: str = "foot"
    # whether the model is scaled to the person's foot, from the heel to the first metatarsal
    scaled: bool = True
    # whether its pose in standing is taken from a static trial; false for a foot fitted to a person's markers
    sole: bool = True
    # height of the foot: such that its force is that of the plates, or its part of the force that follows
    # from the motion of the whole body (docs/ground_reaction.md); or that of the markers, plus raised_mm
    level: Literal["plates", "whole_body", "given"] = "given"
    raised_mm: Annotated[float, msgspec.Meta(ge=-100.0, le=100.0)] = 0.0
    # height of the ground where there is no plate
    ground_mm: Annotated[float, msgspec.Meta(ge=-10_000.0, le=10_000.0)] = 0.0
    # its velocity along x and z, as of a belt
    ground_m_s: tuple[Speed, Speed] = (0.0, 0.0)
    # least force from which a height is determined
    least_force_N: Positive = 20.0
    # pressure grid: rows from heel to toes and columns across; size of a cell along and across the foot
    grid: tuple[Cells, Cells] = (39, 16)
    cell_mm: tuple[Positive, Positive] = (7.5, 9.0)
