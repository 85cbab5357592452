"""Conversion of a file's lengths to metres with declared or given units, which are checked against the size
of a person.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.markers.landmarks import foot_to, thin, upper_and_lower
from rtsim.units import METRES, STREAMED

FOOT_TO_PELVIS = (0.15, 2.0)  # [m] from a crouching child to a tall adult in mid-leap
BODY = (0.25, 2.5)  # [m] extent of a marker set on a person, when the names do not tell pelvis from foot
ANY_SCENE = (0.02, 20.0)  # [m] extent of anything that is tracked; inside it a declared unit is believed


def metres_per_unit(text: str, where: str) -> float:
    """Return the metres per unit for the name of a unit, in any case; ConfigError naming `where` if it is
    not a unit of length.
    """
    factor = METRES.get(text.strip().strip(".").lower())
    if factor is None:
        raise ConfigError(
            f"{text!r} is not a unit of length",
            where=where,
            allowed="m, cm, mm, dm, in, ft",
            remedy="give --units with the true unit of the file",
        )
    return factor


def length_unit(units: str | None) -> str:
    """Return the unit of length from an option such as `mm,Nm`, where the unit of moments follows a comma;
    "" if none is given.
    """
    return (units or "").partition(",")[0].strip()


def resolve_units(
    names: Sequence[str], positions: NDArray[np.float64], declared: str, source: str
) -> tuple[float, list[str]]:
    """Return the factor to metres for positions (n, n_marker, 3) of a file, and notes on assumptions.

    A declared unit under which a person would have an impossible size is replaced by the only unit among m,
    cm, mm that gives a possible size; ConfigError if none or several do.
    """
    size, what, possible, believed = _size(names, positions)
    scale = metres_per_unit(declared, f"{source}, units") if declared.strip() else None
    if scale is not None and (size is None or believed[0] <= size * scale <= believed[1]):
        return scale, []
    fitting = [
        unit for unit in STREAMED if size is not None and possible[0] <= size * METRES[unit] <= possible[1]
    ]
    if scale is None:
        if len(fitting) == 1:
            return METRES[fitting[0]], [
                f"the file declares no units: {fitting[0]} was used, in which {what} are {size:.4g} "
                f"{fitting[0]} apart; give --units if this is wrong"
            ]
        raise ConfigError(
            "the file declares no units of length, and the data do not show the unit",
            where=source,
            remedy="give --units with the unit of the file (m, cm or mm)",
        )
    assert size is not None
    claim = f"with the declared unit {declared.strip()!r}, {what} would be {size * scale:.4g} m apart"
    if len(fitting) == 1:
        return METRES[fitting[0]], [
            f"{claim}; the positions were read as {fitting[0]}; give --units if this is wrong"
        ]
    if not fitting and size * scale < believed[0]:
        return scale, [f"{claim}; the declared unit was used; give --units if this unit is wrong"]
    raise ConfigError(
        f"{claim}, which is impossible for a person",
        where=source,
        remedy="give --units with the true unit of the file (m, cm or mm)",
    )


Band = tuple[float, float]


def _size(names: Sequence[str], positions: NDArray[np.float64]) -> tuple[float | None, str, Band, Band]:
    """Return a length by which the unit of a file is judged [file units], what it measures, and its
    possible and plausible ranges [m].
    """
    pelvis, _, foot = upper_and_lower(names)
    vector = foot_to(pelvis, foot, positions)
    if vector is not None:
        return float(np.linalg.norm(vector)), "pelvis and foot markers", FOOT_TO_PELVIS, FOOT_TO_PELVIS
    return _extent(positions), "the markers", BODY, ANY_SCENE


def _extent(positions: NDArray[np.float64]) -> float | None:
    """Return twice the distance from the median position within which three quarters of the markers lie,
    median over the frames; None if no frame shows two markers.

    The measure is robust against a few distant ghost markers.
    """
    extents = []
    for frame in thin(positions):
        seen = frame[np.isfinite(frame).all(axis=1)]
        if seen.shape[0] >= 2:
            distance = np.linalg.norm(seen - np.median(seen, axis=0), axis=1)
            extents.append(2.0 * float(np.percentile(distance, 75)))
    return float(np.median(extents)) if extents else None
