"""Schema of muscle recruitment: the table [recruitment] of a run."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rtsim.config.models.place_schema import Positive

USUAL_POWER = 3


class RecruitmentSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Settings for the distribution of the load among muscles (docs/recruitment.md)."""

    # what is minimised: the sum of activations to a power, or the largest activation
    criterion: Literal["power", "min_max"] = "power"
    power: Annotated[int, msgspec.Meta(ge=2, le=10)] = USUAL_POWER
    # strength of muscles: at their length and speed, with passive force, or isometric at optimal length
    strength: Literal["hill", "isometric"] = "hill"
    # weight of muscles in the criterion: equal, or by muscle volume, as for metabolic energy
    weight: Literal["equal", "volume"] = "equal"
    # reserve actuators beside the muscles, which act in both directions: coordinate -> torque or force at
    # activation 1 [N m, N]
    reserves: dict[str, Positive] = {}

    def __post_init__(self) -> None:
        if self.reserves and self.criterion == "min_max":
            raise ValueError(
                "the activations of reserves have no upper bound, so they would be the largest ones, "
                "which min_max minimises; allowed: criterion power, or no reserves"
            )
        if self.power != USUAL_POWER and self.criterion == "min_max":
            raise ValueError(
                "the criterion min_max does not use a power; allowed: the criterion power, or min_max "
                "without the key power"
            )
