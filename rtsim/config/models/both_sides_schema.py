"""Schema of a model made of another one and its mirror image."""

from __future__ import annotations

from typing import Annotated

import msgspec

from rtsim.config.models.place_schema import Name

KEY = "both_sides_of"
"""Key that such a file has and no other model."""
SUFFIXES = {"right": "_r", "left": "_l"}
"""Suffixes of the names on each side, in models, persons and results."""


class BothSides(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Schema of a model of both sides that is made from a model of the right side.

    both_sides_of : a shipped model or a file
    middle : bodies on the plane of symmetry, which exist once
    """

    name: Name
    source: str
    both_sides_of: Name
    middle: Annotated[tuple[Name, ...], msgspec.Meta(min_length=1)]
