"""Inference of the unit of length and the up axis of a live stream, from the markers of a standing person, if
the capture system states neither.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.files.markers.axes import can_tell_up, up_by_names
from rtsim.units import METRES
from streams.capture.records import CaptureDescription, CaptureFrame, LengthUnit, Upwards
from streams.capture.relayed import Labelled

LOOK_NS = 250_000_000
"""Time over which frames are collected before a decision [ns]."""
PATIENCE_NS = 1_000_000_000
"""Time after which the usual up axis is assumed if markers that could show it are not visible [ns]."""
LARGEST: tuple[tuple[LengthUnit, float], ...] = (("m", 10.0), ("cm", 400.0))
"""Greatest extent of a person's markers in a unit; anything larger is in millimetres."""
MOST_LOOKED_AT = 64
DIRECTIONS: tuple[Upwards, ...] = ("+X", "-X", "+Y", "-Y", "+Z", "-Z")


def judge_standing(
    description: CaptureDescription, frames: list[CaptureFrame], usual_up: str
) -> Labelled | None:
    """Complete a description of markers by the unit and the upward axis, inferred from the markers of a
    standing person. Return it with notes, or None as long as more frames are needed.

    frames : frames that have arrived since the description
    usual_up : the axis that usually points up in this system; it is used unless the markers show another
    """
    waited_ns = frames[-1].arrived_ns - frames[0].arrived_ns
    telling = not description.up and can_tell_up(description.names)
    if waited_ns < LOOK_NS:  # which axis it is may be told late
        return None
    some = frames[:: max(1, len(frames) // MOST_LOOKED_AT)]
    fitting = [f.positions for f in some if f.positions.shape == (len(description.names), 3)]
    positions = np.array(fitting) if fitting else np.empty((0, len(description.names), 3))
    seen = np.isfinite(positions).all(axis=2)
    if not seen.any() and waited_ns < PATIENCE_NS and (telling or not description.unit):
        return None
    notes: list[str] = []
    unit = description.unit
    if not unit:
        unit = unit_of(positions[seen])
        notes.append(
            f"The system does not report its unit of length: {unit} was used, judged from the size of "
            "the person."
        )
    up = description.up
    if not up:
        by_names = up_by_names(description.names, METRES[unit] * positions) if seen.any() else None
        if by_names is None and telling and waited_ns < PATIENCE_NS:
            return None
        up = next(axis for axis in DIRECTIONS if axis == (by_names[0] if by_names else usual_up))
        notes.append(told_up(up, by_names[1] if by_names else 0.0))
    return Labelled(description._replace(unit=unit, up=up), notes=tuple(notes))


def unit_of(samples: NDArray[np.float64]) -> LengthUnit:
    """Return the unit in which markers (n, 3) have the size of a person; metres without markers."""
    if not len(samples):
        return "m"
    low, high = np.percentile(samples, [2.0, 98.0], axis=0)
    extent = float(np.max(high - low))
    return next((unit for unit, largest in LARGEST if extent <= largest), "mm")


def told_up(up: str, height: float) -> str:
    """Return a note on an upward axis that the system did not state and that was inferred.

    height : height of the pelvis above the feet [m], 0 = not visible
    """
    remedy = "add for example ?up=Z to the address to correct this"
    if height:
        return (
            f"The system does not report which axis is up: {up} was used, because pelvis and trunk "
            f"markers lie {height:.2f} m above the foot markers along {up}; {remedy}."
        )
    return (
        f"Neither the system nor a standing person shows which axis is up; {up} was used, as is "
        f"usual; {remedy}."
    )
