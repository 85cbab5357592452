"""Schema of `[torque_generators]` in a model file: joint torque generators of its coordinates, and their
activations.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from rtsim.config.models.function_schema import FunctionSpec, check_level


class DrivenGeneratorSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A set of joint torque generators (configs/generators, or a file), and their activations in a
    simulation.
    """

    set: Annotated[str, msgspec.Meta(min_length=1)]
    # name of a generator -> a number from 0 to 1, or a function of time [s]; other generators have activation
    # 0. A given activation is used as it is; an excitation determines it with the generator's time constants
    activation: dict[str, float | FunctionSpec] = {}
    excitation: dict[str, float | FunctionSpec] = {}

    def __post_init__(self) -> None:
        for key, by_name in (("activation", self.activation), ("excitation", self.excitation)):
            for name, given in by_name.items():
                check_level(given, f"torque_generators.{key}.{name}", key)
        if twice := sorted({*self.activation} & {*self.excitation}):
            raise ValueError(
                f"torque_generators: {twice[0]} has both an activation and an excitation, and the "
                "excitation determines the activation; remove one"
            )
