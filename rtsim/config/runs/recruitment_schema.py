"""Schema of muscle recruitment: the table [recruitment] of a run."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rtsim.config.models.place_schema import Positive

USUAL_POWER = 3


class RecruitmentSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Settings for the distribution of the load among muscles (docs/recruitment.md)."""

    # sum of activations to a power, or the least peak
    criterion: Literal["power", "min_max"] = "power"
    power: Annotated[int, msgspec.Meta(ge=2, le=10)] = USUAL_POWER
    # of muscles: at their length and speed (Hill), with their passive force, or at rest at optimal length
    strength: Literal["hill", "isometric"] = "hill"
    # of muscles in the criterion: all alike, or by their volume, as energy goes
    weight: Literal["equal", "volume"] = "equal"
    # actuators that pull both ways beside the muscles, by coordinate: what they do at activation 1 [N m, N]
    reserves: dict[str, Positive] = {}

    def __post_init__(self) -> None:
        if self.reserves and self.criterion == "min_max":
            raise ValueError(
                "the activations of reserves have no upper bound, so they would be the largest ones, "
                "which min_max minimises; allowed: criterion power, or no reserves"
            )
        if self.power != USUAL_POWER and self.criterion == "min_max":
            raise ValueError(
                "the criterion min_max does not use a power; allowed: criterion power, or no key power"
            )
