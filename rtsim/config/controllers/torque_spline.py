"""Controller of a device: torque over the gait phase, by four parameters (rtsim/device/torque_spline.py)."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from rtsim.config.controller import ControllerSpec

Part = Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)]
SHORTEST = 0.01
"""Shortest rise or fall; no drive can make a torque in less [stride]."""


class Controller(ControllerSpec, frozen=True, tag="torque_spline"):
    """Settings of a controller that applies one peak of torque in every stride; times are fractions of the
    stride.
    """

    UNITS: ClassVar[dict[str, str]] = {"peak_Nm": "N m", "peak_time": "1", "rise_time": "1", "fall_time": "1"}
    SIGNED: ClassVar[tuple[str, ...]] = ("peak_Nm",)

    peak_Nm: float
    peak_time: Part
    rise_time: Part
    fall_time: Part
    # least confidence in the phase; below it there is no torque, until a stride begins with more
    confidence: Annotated[float, msgspec.Meta(gt=0.2, le=1.0)] = 0.6

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("rise_time", "fall_time"):
            if self.smallest(name) < SHORTEST:
                raise ValueError(f"controller.{name}: {self.smallest(name):g}; allowed: {SHORTEST:g} or more")
        if self.smallest("peak_time") < 0.0 or self.largest("peak_time") > 1.0:
            raise ValueError(
                "controller.ranges.peak_time: the range is not within 0 to 1; allowed: fractions of the "
                "stride, from 0 to 1"
            )
        if self.largest("rise_time") + self.largest("fall_time") > 1.0:
            raise ValueError(
                "controller: the largest rise_time and fall_time add up to "
                f"{self.largest('rise_time') + self.largest('fall_time'):g}; allowed: a sum of at "
                "most 1"
            )

    @property
    def needs_gait(self) -> bool:
        return True

    def beyond(self, torque_max: float) -> str:
        most = max(abs(self.smallest("peak_Nm")), abs(self.largest("peak_Nm")))
        return f"peak_Nm can reach {most:g}" if most > torque_max else ""
