"""Options of addresses that the relay handles itself, for any capture system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from streams.capture.force_sign import ForceSign
from streams.capture.records import CaptureError, LengthUnit, Upwards

UPWARDS: tuple[Upwards, ...] = ("+X", "-X", "+Y", "-Y", "+Z", "-Z")
UNITS: tuple[LengthUnit, ...] = ("m", "cm", "mm")
MOST_UNNAMED = 512
LONGEST_LATENCY_MS = 1000.0


class RelayOptions(NamedTuple):
    """Options that every capture system has, set by its address or by the user.

    latency_ns : time from exposure to arrival that is subtracted from the capture time t_capture [ns]
    n_unnamed : number of rows for markers without a name
    sign : what the system's forces act on: person, plate, or check to detect it
    up, unit : override the system's; "" = as the system states
    """

    latency_ns: int
    n_unnamed: int
    sign: ForceSign
    up: Upwards = ""
    unit: LengthUnit = ""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> RelayOptions:
        """Parse the relay options of an address; CaptureError for an invalid value. given : option -> its
        value as text
        """
        latency_ms = _number(given.get("latency_ms", "0"), "latency_ms", LONGEST_LATENCY_MS)
        unnamed = _number(given.get("unnamed", "0"), "unnamed", MOST_UNNAMED)
        if unnamed != int(unnamed):
            raise CaptureError("address", f"unnamed is {unnamed}; allowed: whole numbers")
        axis = given.get("up", "").strip().upper()  # the + of a query is a space
        up: Upwards = next((known for known in UPWARDS if known in (axis, f"+{axis}")), "")
        unit: LengthUnit = next((known for known in UNITS if known == given.get("units")), "")
        if axis and not up:
            raise CaptureError("address", f"up is {axis!r}; allowed: X, Y, Z, -X, -Y and -Z")
        if "units" in given and not unit:
            raise CaptureError("address", f"units is {given['units']!r}; allowed: {', '.join(UNITS)}")
        sign = ForceSign(given.get("force_sign", "check"))
        return cls(round(1e6 * latency_ms), int(unnamed), sign, up, unit)


def _number(text: str, name: str, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= most:
        raise CaptureError("address", f"{name} is {text!r}; allowed: 0 to {most:g}")
    return value
