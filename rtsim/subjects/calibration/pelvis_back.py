"""Pelves whose back is marked differently in the static trial and in the movement trial: by both PSIS in one
and by the sacrum in the other.

The marker on the sacrum is put midway between both PSIS (Davis et al. 1991, Hum Mov Sci 10, 575-587), so the
middle of the PSIS gives its place on the pelvis. The places of the single PSIS cannot be inferred from the
sacrum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.lab_schema import LabSide
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial, name_some
from rtsim.subjects.markers.marker_names import find_markers

Array = NDArray[np.float64]

APART = 0.015
"""Difference of the distances to both ASIS above which a marker on the sacrum is not in the middle of the
PSIS [m]. Within a session they differ by less than 1 cm (rtsim/subjects/markers/fit.py)."""


def with_back_of(
    static: MarkerTrial, trial: MarkerTrial, table: LabSide, where: str
) -> tuple[MarkerTrial, list[str]]:
    """Return a static trial with the back of the pelvis marked as in its movement trial, and notes for the
    user.

    table : table of the side in the marker map; where : name of the static trial's file. ConfigError if the
        movement trial has markers there whose place the static trial does not show.
    """
    psis = [name for name in (table.psis, table.psis_opposite) if name]
    if not table.sacrum or len(psis) < 2:
        return static, []
    moving, standing = (markers_seen([*psis, table.sacrum], one) for one in (trial, static))
    if not moving or moving & standing or not standing:
        return static, []
    if table.sacrum not in moving or not standing >= {*psis}:
        raise ConfigError(
            f"the back of the pelvis is marked by {name_some(sorted(standing))} in the static trial "
            f"and by {name_some(sorted(moving))} in the movement, and the position of these on the "
            "pelvis is unknown",
            where=where,
            allowed=f"the same markers in both trials, or {name_some(psis)} in the static trial and "
            f"{table.sacrum} midway between {name_some(psis)} in the movement",
            remedy="record a static trial with the same markers as the movement",
        )
    middle = 0.5 * (positions_of(psis[0], static) + positions_of(psis[1], static))
    check_middle(middle, static, trial, table, where)
    positions = np.ascontiguousarray(np.concatenate([static.positions, middle[:, None]], axis=1))
    told = f"no {table.sacrum} in the static trial; it was assumed midway between {psis[0]} and {psis[1]}"
    return static._replace(names=(*static.names, table.sacrum), positions=positions), [told]


def markers_seen(wanted: list[str], trial: MarkerTrial) -> set[str]:
    """Return the wanted names whose markers are visible in any frame of a trial."""
    found = find_markers(wanted, trial.names)
    seen: NDArray[np.bool_] = np.asarray(np.isfinite(trial.positions).all(axis=2))
    return {name for name, column in found.items() if len(trial.times) == 0 or bool(seen[:, column].any())}


def positions_of(name: str, trial: MarkerTrial) -> Array:
    """Return the positions of a marker of the trial, (n, 3) [m]."""
    found: Array = trial.positions[:, find_markers([name], trial.names)[name]]
    return found


def check_middle(middle: Array, static: MarkerTrial, trial: MarkerTrial, table: LabSide, where: str) -> None:
    """Raise ConfigError if the sacrum marker of the movement trial is not where the midpoint of the PSIS is
    in the static trial, judged by the distances to both ASIS.

    middle : (n, 3) - midpoint of the PSIS in the static trial [m]
    """
    both = [table.asis, table.asis_opposite]
    if len(find_markers(both, static.names)) < 2 or len(find_markers(both, trial.names)) < 2:
        return
    sacrum = positions_of(table.sacrum, trial)
    off = []
    for name in both:
        here, there = sacrum - positions_of(name, trial), middle - positions_of(name, static)
        distances = [np.linalg.norm(away, axis=1) for away in (here, there)]
        if not all(np.isfinite(x).any() for x in distances):
            return
        off.append(float(np.nanmedian(distances[0]) - np.nanmedian(distances[1])))
    worst = max(off, key=abs)
    if abs(worst) > APART:
        raise ConfigError(
            f"{table.sacrum} of the movement is not midway between {table.psis} and "
            f"{table.psis_opposite} of the static trial; the distance from {table.sacrum} to an ASIS "
            f"is {1e3 * abs(worst):.0f} mm {'larger' if worst > 0.0 else 'smaller'}",
            where=where,
            allowed=f"a difference of up to {1e3 * APART:.0f} mm",
            remedy="record a static trial with the same markers as the movement",
        )
