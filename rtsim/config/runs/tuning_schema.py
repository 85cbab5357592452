"""Schema of `[tuning]` in configs/hil/*.toml: controller parameters that a search tunes, and the cost of a
setting.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rtsim.config.models.place_schema import NonNegative

Range = Annotated[tuple[float, ...], msgspec.Meta(min_length=2, max_length=2)]
LONGEST_CYCLE_S = 60.0


class Channel(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One number of every published frame: an entry of a field, or a component of an entry."""

    field: str
    # label of the entry; may be left out if the field has only one
    label: str = ""
    # component of a vector: x, y or z
    part: str = ""


class CostTerm(Channel, forbid_unknown_fields=True, frozen=True):
    """A term of the cost: one number of every frame, reduced over a cycle to a single value, such as its
    mean.
    """

    # peak: the largest magnitude; rms, mean_square, mean; from_target: rms of the difference to `target`
    reduction: Literal["peak", "rms", "mean_square", "mean", "from_target"] = "rms"
    # one value, or several at equal intervals of the cycle, interpolated linearly and periodically
    target: tuple[float, ...] = ()
    # factor in the sum of all terms, which also makes their units comparable
    weight: float = 1.0

    def __post_init__(self) -> None:
        if bool(self.target) != (self.reduction == "from_target"):
            raise ValueError(
                "tuning.costs: target is used only with the reduction from_target, and "
                "from_target needs a target"
            )


class Cycle(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The interval over which a cost is computed: a fixed duration, or from one event to the next."""

    # duration of a cycle in the model's time
    period_s: Annotated[float, msgspec.Meta(gt=0.0, le=LONGEST_CYCLE_S)] | None = None
    # or: number at whose rise above the value `above` a cycle begins, such as the force under the heel
    begins: Channel | None = None
    above: float = 0.0

    def __post_init__(self) -> None:
        if (self.period_s is None) == (self.begins is None):
            raise ValueError("tuning.cycle: give either period_s or begins, with above")


class TuningSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Tuning of the parameters of a run's controller: which are tuned, and the cost to be minimised."""

    costs: Annotated[tuple[CostTerm, ...], msgspec.Meta(min_length=1, max_length=16)]
    cycle: Cycle
    # name = [lowest, highest], within controller.ranges; by default all of controller.ranges
    parameters: dict[str, Range] = {}
    # time between a change of parameters, with its ramp, and the first cycle that is evaluated
    settle_s: NonNegative = 1.0
    # number of cycles for each setting, whose costs are averaged
    cycles: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1
    # offline: number of runs for each setting, with different noise of the device; their costs are averaged
    repeats: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1
    # number of settings that are tried; a comparison of two settings counts as two
    budget: Annotated[int, msgspec.Meta(ge=2, le=100_000)] = 40
