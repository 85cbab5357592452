"""What the monitor window shows and controls of a run with a device, derived from the session descriptor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rtsim.monitor.words import printable

if TYPE_CHECKING:
    from streams.messages import FieldSpec, Session

PARAMETERS = "device_parameters"
ARMING = "device_arming"
DEVICE_FIELDS = (PARAMETERS, ARMING)
PARAMETERS_MOST = 24
LARGEST_BOUND = 1e9


class Parameter(NamedTuple):
    """A parameter of a device that can be set during a run: its name in the protocol, its range, and its
    index in the field of the results that reports its value.
    """

    name: str
    low: float
    high: float
    entry: int


class DeviceLayout(NamedTuple):
    """The device of a session, as needed by its panel.

    coordinate : coordinate of the model on which the device acts
    tick_ms : duration of a tick, one exchange with the device [ms]
    parameters : parameters that can be set during a run
    sizes : fields that report the parameters and whether the device is armed -> number of their entries
    """

    coordinate: str
    tick_ms: float
    parameters: tuple[Parameter, ...]
    sizes: dict[str, int]


def device_of(session: Session, specs: Mapping[str, FieldSpec], notes: list[str]) -> DeviceLayout | None:
    """Return the device of a session from its descriptor, None if there is none; implausible entries are left
    out, with a note.

    specs : the fields of the session, by name
    notes : list to which notes are added
    """
    told = session.meta.get("device")
    if not isinstance(told, dict) or not all(_is_row(specs.get(name)) for name in DEVICE_FIELDS):
        return None
    ranges = told.get("ranges")
    ranges = ranges if isinstance(ranges, dict) else {}
    labels = list(specs[PARAMETERS].labels)
    found = []
    for name, pair in ranges.items():
        bounds = _bounds(pair)
        if name in labels and bounds is not None:
            found.append(Parameter(name, *bounds, labels.index(name)))
    if len(found) < len(ranges) or len(found) > PARAMETERS_MOST:
        notes.append(f"{min(len(found), PARAMETERS_MOST)} of {len(ranges)} parameters of the device shown")
    rate = told.get("rate_hz")
    tick_ms = 1e3 / rate if isinstance(rate, int | float) and 0.0 < rate < math.inf else math.nan
    sizes = {name: specs[name].shape[0] for name in DEVICE_FIELDS}
    coordinate = printable(str(told.get("coordinate", "")))
    return DeviceLayout(coordinate, tick_ms, tuple(found[:PARAMETERS_MOST]), sizes)


def _is_row(spec: FieldSpec | None) -> bool:
    return spec is not None and len(spec.shape) == 1 and spec.shape[0] > 0


def _bounds(pair: Any) -> tuple[float, float] | None:
    """Return lower and upper bound of a parameter from its entry in a descriptor; None if they are
    invalid.
    """
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        return None
    if not all(isinstance(x, int | float) and abs(x) < LARGEST_BOUND for x in pair):
        return None
    low, high = map(float, pair)
    return (low, high) if low < high else None
