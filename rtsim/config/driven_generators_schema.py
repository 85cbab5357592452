"""Schema of `[torque_generators]` in a model's file: which generators turn its coordinates, how active."""

from __future__ import annotations

from typing import Annotated

import msgspec

from rtsim.config.function_schema import FunctionSpec, require_function

MOST = 10.0
"""Of activations over time, which inverse dynamics may have found: below 0 and above 1, but no percents."""


class DrivenGeneratorSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A set of torque generators (configs/generators, or a file), and activations in a simulation."""

    set: Annotated[str, msgspec.Meta(min_length=1)]
    # by the names of generators: 0 to 1, or functions of time [s]; others are at rest
    activation: dict[str, float | FunctionSpec] = {}

    def __post_init__(self) -> None:
        for name, given in self.activation.items():
            if isinstance(given, FunctionSpec):
                require_function(given, f"torque_generators.activation.{name}")
                points = given.spline or given.lines
                if points is not None and max(map(abs, points.value)) > MOST:
                    raise ValueError(
                        f"torque_generators.activation.{name}: values beyond {MOST:g}; allowed: parts "
                        "of full activation, no percents"
                    )
            elif not 0.0 <= given <= 1.0:
                raise ValueError(
                    f"torque_generators.activation.{name}: {given:g}; allowed: 0 to 1, or a function"
                )
