"""How far the knee centre is from the lateral marker, where there is no medial one."""

from __future__ import annotations

from collections.abc import Mapping

from rtsim.errors import ConfigError


def knee_offset(
    measures: Mapping[str, float], label_side: str, knee_width_mm: float | None, where: str
) -> float:
    """Half the width of the knee plus the radius of its marker [m].

    measures : of the person, as stored with a trial [m]: RKneeWidth or LKneeWidth, and MarkerDiameter
    label_side : right or left, as the markers are labelled
    knee_width_mm : takes the place of the stored width; ConfigError where there is neither
    """
    key = f"{label_side[0].upper()}KneeWidth"
    width = measures.get(key, 0.0) if knee_width_mm is None else 1e-3 * knee_width_mm
    if not 0.03 <= width <= 0.25:
        raise ConfigError(
            f"without a medial epicondyle marker the width of the {label_side} knee is needed"
            + (f", and {1e3 * width:.0f} mm is none" if width else f"; no {key} is stored with it"),
            where=where,
            allowed="30 to 250 mm",
            remedy="measure it between the epicondyles and give knee_width_mm, or put on a medial marker",
        )
    return 0.5 * width + 0.5 * measures.get("MarkerDiameter", 0.0)
