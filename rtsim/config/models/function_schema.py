"""Schema of functions of one coordinate, for custom joints, couplers, moving points and angles.

All numbers are in SI units (radians and metres).
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

KINDS = ("constant", "linear", "polynomial", "spline", "lines", "sine")
TIME = "time"
"""Name that a coupler gives in place of a coordinate to prescribe a motion."""
MOTION = "motion"
"""Name that a coupler gives where a file or a stream brings the motion."""
MOST_LEVEL = 10.0
"""Largest activation over time: inverse dynamics may find some below 0 and above 1, but none are
percentages."""


class PiecewiseLinear(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Straight lines through points, extended beyond the ends; the slope changes abruptly at the points."""

    at: Annotated[tuple[float, ...], msgspec.Meta(min_length=2)]
    value: Annotated[tuple[float, ...], msgspec.Meta(min_length=2)]

    def __post_init__(self) -> None:
        if len(self.at) != len(self.value):
            raise ValueError(
                f"`at` has {len(self.at)} numbers, but `value` has {len(self.value)}; give as many of each"
            )
        for low, high in zip(self.at, self.at[1:], strict=False):
            if not low < high:
                raise ValueError(f"`at` goes from {low!r} to {high!r}; the numbers must increase")


class Spline(PiecewiseLinear, forbid_unknown_fields=True, frozen=True):
    """A cubic spline through points, continued by straight lines beyond its ends.

    ends: natural (zero curvature), or cubic, with the third derivative of the cubic through the last four
    points (for three points: their parabola), as in OpenSim's SimmSpline.
    """

    ends: Literal["natural", "cubic"] = "natural"


class FunctionSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A function of one coordinate, of one kind at the most; without a kind, its value is the coordinate
    itself.
    """

    constant: float | None = None
    # [slope, intercept]
    linear: Annotated[tuple[float, ...], msgspec.Meta(min_length=2, max_length=2)] | None = None
    # lowest power first
    polynomial: Annotated[tuple[float, ...], msgspec.Meta(min_length=1)] | None = None
    spline: Spline | None = None
    lines: PiecewiseLinear | None = None
    # [amplitude, omega, phase, offset] of amplitude sin(omega x + phase) + offset
    sine: Annotated[tuple[float, ...], msgspec.Meta(min_length=4, max_length=4)] | None = None

    def __post_init__(self) -> None:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} are both given; give only one function")

    @property
    def is_identity(self) -> bool:
        """Whether no kind of function is given, so that the value is the coordinate itself."""
        return all(getattr(self, kind) is None for kind in KINDS)


def require_function(function: FunctionSpec, key: str) -> None:
    """Raise ValueError where a required function is missing."""
    if function.is_identity:
        raise ValueError(f"{key} has no function; give one of {', '.join(KINDS)}")


def check_level(given: float | FunctionSpec, where: str, key: str) -> None:
    """Raise ValueError for an activation or excitation that is a constant outside 0 to 1, or a function with
    too large values.

    given : the constant or function
    where : its key in the file, for the message
    key : "activation" or "excitation", for the message
    """
    if isinstance(given, FunctionSpec):
        require_function(given, where)
        points = given.spline or given.lines
        if points is not None and max(map(abs, points.value)) > MOST_LEVEL:
            raise ValueError(
                f"{where}: the values exceed {MOST_LEVEL:g}; allowed: fractions of full {key}, not percent"
            )
    elif not 0.0 <= given <= 1.0:
        raise ValueError(f"{where}: {given:g}; allowed: 0 to 1, or a function")
