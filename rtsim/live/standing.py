"""Inference of the unit of length and the up axis of a live stream, from the markers of a standing person, if
the capture system states neither.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.files.markers.axes import can_tell_up, up_by_names
from rtsim.files.markers.landmarks import upper_and_lower
from rtsim.units import METRES
from streams.capture.records import CaptureDescription, CaptureFrame, LengthUnit, Upwards
from streams.capture.relayed import Labelled

LOOK_NS = 250_000_000
"""Time over which frames are collected before a decision [ns]."""
PATIENCE_NS = 1_000_000_000
"""Time after which the usual up axis is assumed if markers that could show it are not visible [ns]."""
MOST_M, MOST_CM = 10.0, 400.0
"""Greatest extent of a person's markers in metres and in centimetres; anything larger is in millimetres. A
set of a few markers, as on head and jaw, is not larger than this in millimetres, too."""
PERSON_CM = (100.0, 250.0)
"""Range of the extent of the markers of a whole person in centimetres."""
MANY = 12
"""Number of visible markers from which those with the extent of a whole person in centimetres are taken to be
one, even if their names do not tell it."""
UPPER_BODY_MM = 100.0
"""Least extent of markers on pelvis and trunk together in millimetres."""
FEWEST = 3
"""Number of visible markers from which a size is judged, unless the system has fewer."""
MOST_LOOKED_AT = 64
DIRECTIONS: tuple[Upwards, ...] = ("+X", "-X", "+Y", "-Y", "+Z", "-Z")


def judge_standing(
    description: CaptureDescription, frames: list[CaptureFrame], usual_up: str
) -> Labelled | None:
    """Complete a description of markers by the unit and the upward axis, inferred from the markers of a
    standing person. Return it with notes, or None as long as more frames are needed.

    frames : frames that have arrived since the description
    usual_up : the axis that usually points up in this system; it is used unless the markers show another

    The unit is judged only by markers that are visible, without which it is not known.
    """
    waited_ns = frames[-1].arrived_ns - frames[0].arrived_ns
    telling = not description.up and can_tell_up(description.names)
    if waited_ns < LOOK_NS:  # which axis it is may be told late
        return None
    some = frames[:: max(1, len(frames) // MOST_LOOKED_AT)]
    fitting = [f.positions for f in some if f.positions.shape == (len(description.names), 3)]
    positions = np.array(fitting) if fitting else np.empty((0, len(description.names), 3))
    seen: NDArray[np.bool_] = np.asarray(np.isfinite(positions).all(axis=2))
    if not seen.any() and waited_ns < PATIENCE_NS and telling:
        return None
    notes: list[str] = []
    unit = description.unit
    if not unit:
        others = [f.unnamed[np.isfinite(f.unnamed).all(axis=1)] for f in some if f.unnamed is not None]
        samples = np.concatenate([positions[seen], *others])
        there = [name for k, name in enumerate(description.names) if seen[:, k].any()]
        whole = can_tell_up(there)
        n_there = len(there) + max(map(len, others), default=0)
        if n_there < min(FEWEST, len(description.names) or FEWEST):
            return None
        if not whole and can_tell_up(description.names) and waited_ns < PATIENCE_NS:
            return None
        pelvis, trunk, _ = upper_and_lower(there)
        unit, sure = unit_of(samples, n_there, whole, bool(pelvis and trunk))
        notes.append(told_unit(unit, sure))
    up = description.up
    if not up:
        by_names = up_by_names(description.names, METRES[unit] * positions) if seen.any() else None
        if by_names is None and telling and waited_ns < PATIENCE_NS:
            return None
        up = next(axis for axis in DIRECTIONS if axis == (by_names[0] if by_names else usual_up))
        notes.append(told_up(up, by_names[1] if by_names else 0.0))
    return Labelled(description._replace(unit=unit, up=up), notes=tuple(notes))


def unit_of(samples: NDArray[np.float64], n_marker: int, whole: bool, upper: bool) -> tuple[LengthUnit, bool]:
    """Return the unit in which markers have the size of a person, or of a part of one, and whether no other
    is possible.

    samples : (n, 3) places of visible markers, at least one, in the unit that is to be found
    n_marker : number of these markers
    whole : whether they are known to be on a whole person, from the feet to pelvis or trunk
    upper : whether some are known to be on the pelvis and some on the trunk
    """
    low, high = np.percentile(samples, [2.0, 98.0], axis=0)
    extent = float(np.max(high - low))
    if extent <= MOST_M:
        return "m", True
    if extent > MOST_CM:
        return "mm", True
    if whole or (upper and extent < UPPER_BODY_MM):
        return "cm", True
    many = n_marker >= MANY and PERSON_CM[0] <= extent <= PERSON_CM[1]
    return ("cm", False) if many else ("mm", False)


def told_unit(unit: str, sure: bool) -> str:
    """Return a note on a unit of length that the system did not state; sure : whether the size of what is
    marked leaves no other.
    """
    if sure:
        return (
            f"The system does not report its unit of length: {unit} was used, judged from the size of "
            "the person."
        )
    if unit == "cm":
        return (
            "The system does not report its unit of length: cm was assumed, as there are as many visible "
            "markers as on a whole person, of that size; those of a hand or a face may be in mm, too; add "
            "for example ?units=mm to the address to correct this."
        )
    return (
        f"The system does not report its unit of length: {unit} was assumed, as the visible markers are not "
        "those of a whole person and may be in cm, too; add for example ?units=cm to the address to correct "
        "this."
    )


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
