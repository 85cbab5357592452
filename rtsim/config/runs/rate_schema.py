"""Schema of the filters that give speeds and accelerations of the coordinates: the table [rates] of a run."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rtsim.config.models.place_schema import Positive

Gap = Annotated[float, msgspec.Meta(gt=0.0, le=1.0)]


class ButterworthSpec(
    msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag_field="kind", tag="butterworth"
):
    """A Butterworth filter: a recursive low-pass filter whose delay follows from cut-off frequency and
    order.
    """

    cutoff_hz: Positive = 6.0
    order: Literal[2, 4, 6, 8] = 2
    # a longer step between two frames starts the filter anew
    longest_gap_s: Gap = 0.05


class SavitzkyGolaySpec(
    msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag_field="kind", tag="savitzky_golay"
):
    """A Savitzky-Golay filter: a polynomial fitted to the last frames and evaluated delay_s [s] before the
    newest frame; by default in the middle of these frames.
    """

    window_s: Positive = 0.12
    order: Annotated[int, msgspec.Meta(ge=2, le=6)] = 2
    delay_s: Annotated[float, msgspec.Meta(ge=0.0)] | None = None
    longest_gap_s: Gap = 0.05

    def __post_init__(self) -> None:
        middle = 0.5 * self.window_s
        if self.delay_s is not None and self.delay_s > self.window_s:
            raise ValueError(f"delay_s is {self.delay_s:g}; allowed: 0 to the window_s of {self.window_s:g}")
        if self.order == 2 and self.delay_s is not None and abs(self.delay_s - middle) > 1e-9:
            raise ValueError(
                "a polynomial of order 2 gives the acceleration at the middle of the window, "
                f"{middle:g} s before its end, and not at delay_s; give order 3 or more, or leave "
                "delay_s out"
            )


RateSpec = ButterworthSpec | SavitzkyGolaySpec
