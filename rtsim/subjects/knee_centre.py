"""Distance of the centre of a knee or an ankle from its lateral marker, for marker sets without a medial
one.
"""

from __future__ import annotations

from collections.abc import Mapping

from rtsim.errors import ConfigError

LARGEST_DIAMETER = 0.05
"""Largest diameter of a marker's sphere [m]."""
WIDTHS = {
    "knee": ((0.03, 0.25), ("epicondyle", "epicondyles")),
    "ankle": ((0.02, 0.2), ("malleolus", "malleoli")),
}
"""Range of a joint's width [m], from small children to very large adults, and the landmarks it is measured
between."""


def width_name(label_side: str, joint: str) -> str:
    """Return the name under which a trial stores the width of a knee or an ankle, such as RKneeWidth."""
    return f"{label_side[0].upper()}{joint.capitalize()}Width"


def width_of(measures: Mapping[str, float], label_side: str, joint: str, width_mm: float | None) -> float:
    """Return the width of a knee or an ankle [m]: width_mm if it is given, else the one stored with the
    trial; 0 = not known.
    """
    return measures.get(width_name(label_side, joint), 0.0) if width_mm is None else 1e-3 * width_mm


def check_width(width: float, label_side: str, joint: str, where: str) -> None:
    """Raise ConfigError for a width that is unknown or impossible [m]."""
    (low, high), bone = WIDTHS[joint]
    if low <= width <= high:
        return
    said = f"; no {width_name(label_side, joint)} is stored in the trial"
    if width:
        said = f", and {1e3 * width:.3g} mm is not a possible width"
        if low <= 1e3 * width <= high:
            said += f"; is the value in metres instead of mm? {1e6 * width:.0f} mm is possible"
    raise ConfigError(
        f"without a medial {bone[0]} marker the width of the {label_side} {joint} is needed{said}",
        where=where,
        allowed=f"a width of {1e3 * low:.0f} to {1e3 * high:.0f} mm",
        remedy=f"measure the width between the {bone[1]} and give {joint}_width_mm (--{joint}-width), or "
        "use a medial marker",
    )


def centre_offset(
    measures: Mapping[str, float], label_side: str, joint: str, width_mm: float | None, where: str
) -> float:
    """Return the distance of the centre of the knee or the ankle from its lateral marker: half the width of
    the joint plus the radius of the marker [m].

    measures : measures of the person, as stored with a trial [m]: RKneeWidth or LKneeWidth, RAnkleWidth or
        LAnkleWidth, and MarkerDiameter
    label_side : right or left, as the markers are labelled; joint : knee or ankle
    width_mm : replaces the stored width; ConfigError if there is neither
    """
    width = width_of(measures, label_side, joint, width_mm)
    check_width(width, label_side, joint, where)
    diameter = measures.get("MarkerDiameter", 0.0)
    if not 0.0 <= diameter <= LARGEST_DIAMETER:
        raise ConfigError(
            f"MarkerDiameter {1e3 * diameter:.4g} mm: no marker is so large",
            where=where,
            allowed=f"0 (not known) to {1e3 * LARGEST_DIAMETER:.0f} mm",
            remedy="give --marker-diameter in millimetres, or correct the file",
        )
    return 0.5 * width + 0.5 * diameter
