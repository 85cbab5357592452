"""Schema of a foot on the ground: the table [foot] of a run."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rtsim.config.place_schema import Positive

Cells = Annotated[int, msgspec.Meta(ge=1, le=200)]


class FootSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Which foot meets the ground, how high it is, and the grid of its pressure (docs/foot.md)."""

    # a model of a right foot: its first body the foot, its second the toes, contacts with ground
    model: str = "foot"
    # whether the model is scaled to the person's foot, from the heel to the first metatarsal
    scaled: bool = True
    # whether a static trial tells how it stands; not for a foot that was fitted to a person's own markers
    sole: bool = True
    # raised until it bears what the plates tell, or as high as the markers have it, and raised_mm
    level: Literal["plates", "given"] = "given"
    raised_mm: Annotated[float, msgspec.Meta(ge=-100.0, le=100.0)] = 0.0
    # of the ground where the foot is on no plate
    ground_mm: Annotated[float, msgspec.Meta(ge=-10_000.0, le=10_000.0)] = 0.0
    # below it plates tell no height
    least_force_N: Positive = 20.0
    # of the pressure: rows from heel to toes and columns across, and of a cell along and across
    grid: tuple[Cells, Cells] = (39, 16)
    cell_mm: tuple[Positive, Positive] = (7.5, 9.0)
