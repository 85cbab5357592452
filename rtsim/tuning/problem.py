"""The tuning problem: parameters with their ranges, and the conversion between settings (a value of each
parameter) and points of the unit cube, whose edges are the ranges.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.hil_schema import HilSpec
from rtsim.config.runs.tuning_schema import TuningSpec
from rtsim.errors import ConfigError

Array = NDArray[np.float64]
Setting = dict[str, float]


class Parameters(NamedTuple):
    """Names and ranges of the tuned parameters; low, high : (n,)."""

    names: tuple[str, ...]
    low: Array
    high: Array

    def setting(self, point: Array) -> Setting:
        """Return the setting, a value of each parameter by name, at a point (n,) of the unit cube."""
        values = self.low + np.clip(point, 0.0, 1.0) * (self.high - self.low)
        return {
            name: float(min(max(value, low), high))
            for name, value, low, high in zip(self.names, values, self.low, self.high, strict=True)
        }

    def point(self, setting: Mapping[str, float]) -> Array:
        """Return the point of the unit cube, (n,), for a setting, the value of each parameter by name."""
        values = np.array([setting[name] for name in self.names])
        return (values - self.low) / (self.high - self.low)

    def words(self, setting: Mapping[str, float]) -> str:
        """Return a setting as text."""
        return ", ".join(f"{name} {setting[name]:.4g}" for name in self.names)


def tuning_of(spec: HilSpec) -> TuningSpec:
    """Return the [tuning] table of a config; ConfigError if it has none."""
    if spec.tuning is None:
        raise ConfigError(
            "the config has no table [tuning]", where=spec.name,
            remedy="add the table with the cost of a setting, as in configs/hil/ankle.toml (docs/tuning.md)",
        )  # fmt: skip
    return spec.tuning


def parameters_of(spec: HilSpec) -> Parameters:
    """Return the tuned parameters of a config; ConfigError if its controller does not allow them."""
    allowed = spec.controller.ranges
    stated = tuning_of(spec).parameters
    asked = stated or allowed
    for name, (low, high) in asked.items():
        if name not in allowed:
            raise ConfigError(
                f"the controller has no parameter {name!r} with a range",
                where=f"{spec.name}: tuning.parameters",
                allowed=", ".join(allowed) or "none, as controller.ranges is empty",
            )  # fmt: skip
        least, most = allowed[name]
        if not least <= low <= high <= most or (stated and low == high):
            raise ConfigError(
                f"{name}: {[low, high]}", where=f"{spec.name}: tuning.parameters",
                allowed=f"[low, high] with low < high, within the {[least, most]} of controller.ranges",
            )  # fmt: skip
    wide = {name: ends for name, ends in asked.items() if ends[0] < ends[1]}
    if not wide:
        raise ConfigError(
            "no parameter of the controller has a range",
            where=f"{spec.name}: controller.ranges",
            remedy="declare at least one range",
        )
    low, high = np.array(list(wide.values())).T
    return Parameters(tuple(wide), low, high)
