"""Knee centre without a medial marker: the chord construction.

In the plane of hip centre, lateral epicondyle and a marker on the outside of the thigh, the knee centre
sees hip and epicondyle at a right angle, half a knee width away from the epicondyle (Kadaba et al. 1990,
J Orthop Res 8, 383-392; Davis et al. 1991, Hum Mov Sci 10, 575-587).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.subjects.natural import unit

Array = NDArray[np.float64]


def knee_centre(hip: Array, epicondyle: Array, thigh: Array, offset: float) -> Array:
    """(n, 3) - knee centre [m], beyond the line from epicondyle to hip as seen from the thigh marker.

    hip, epicondyle, thigh : (n, 3) [m]; offset : distance of the knee centre from the lateral marker [m].
    NaN where the hip is not farther away than the offset.
    """
    line = hip - epicondyle
    length = np.linalg.norm(line, axis=-1, keepdims=True)
    along = line / length
    outwards = thigh - epicondyle
    outwards = outwards - np.sum(outwards * along, axis=-1, keepdims=True) * along
    with np.errstate(invalid="ignore"):
        cosine = offset / length
        sine = np.sqrt(1.0 - cosine**2)
    centre: Array = epicondyle + offset * (cosine * along - sine * unit(outwards))
    return centre


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
