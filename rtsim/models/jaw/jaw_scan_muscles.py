"""Muscles of a jaw model adapted to a person's scan: attachment points from the scan, and tendon lengths that
fit the new paths.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.jaw_scan_schema import JawScan
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.muscle_schema import Muscle
from rtsim.errors import ConfigError
from rtsim.files.surfaces.landmark_sets import read_landmarks
from rtsim.files.surfaces.surfaces import METRES
from rtsim.models.jaw.jaw_scan import RigidMotion

Array = NDArray[np.float64]

FARTHEST_MM = 40.0
"""Largest distance from an end of a muscle to that of the shipped model, in the head's frame: farther is
another muscle."""
LEAST_PATH_MM = 5.0
"""Least distance between the ends of a muscle: a fifth of the shortest shipped one. Less is one landmark
given twice."""
LEAST_TENDON_MM = 0.5
"""The shortest of the shipped ones."""


def with_muscles(
    spec: ModelSpec, scan: JawScan, frame: RigidMotion, path: Path
) -> tuple[ModelSpec, list[str]]:
    """Return the model with the scan's muscle ends, and sentences for the user.

    path : path of the scan, to which the files are relative
    Raises ConfigError for unknown muscles, or ends far from those of the shipped muscle.
    """
    names = [muscle.name for muscle in spec.muscles]
    unknown = [name for name in scan.muscles if name not in names]
    if unknown:
        raise ConfigError(
            f"{unknown[0]} is not a muscle of the mandible",
            where=f"{path}: muscles",
            allowed=", ".join(names),
        )
    muscles, notes = [], []
    for muscle in spec.muscles:
        if muscle.name not in scan.muscles:
            muscles.append(muscle)
            continue
        ends = frame.of(METRES[scan.unit] * ends_of(scan, muscle.name, path))
        own, note = moved(muscle, 1e3 * ends, f"{path}: muscles.{muscle.name}")
        muscles.append(own)
        notes.append(note)
    return msgspec.structs.replace(spec, muscles=tuple(muscles)), notes


def ends_of(scan: JawScan, name: str, path: Path) -> Array:
    """Read both ends of a muscle, (2, 3), in the scan's unit and axes, in any order."""
    given = scan.muscles[name]
    if not isinstance(given, str):
        return np.array(given)
    ends = read_landmarks(path.parent / given)
    if len(ends) != 2:
        raise ConfigError(
            f"{given} has {len(ends)} landmarks, but two are needed: the ends of a muscle",
            where=f"{path}: muscles.{name}",
        )
    return ends


def moved(muscle: Muscle, ends_mm: Array, where: str) -> tuple[Muscle, str]:
    """Move a muscle to other ends : (2, 3) [mm], in any order, and fit the lengths of fibres and tendon to
    the new path; return the muscle, and a sentence on the change of its length.

    The optimal fibre length is kept, and the tendon slack length changes as much as the path with the teeth
    together. If the tendon would become too short, both lengths are scaled by the ratio of the paths instead.
    """
    shipped = np.array([station.offset_mm for station in muscle.path])
    apart = [np.linalg.norm(ends - shipped, axis=1) for ends in (ends_mm, ends_mm[::-1])]
    order = 0 if (apart[0] ** 2).sum() <= (apart[1] ** 2).sum() else 1
    if apart[order].max() > FARTHEST_MM:
        raise ConfigError(
            f"an end of the muscle is {apart[order].max():.0f} mm from that of the model mandible, at most "
            f"{FARTHEST_MM:.0f} mm are allowed",
            where=where,
            remedy="give the ends of this muscle, on this side, in the scan's unit and axes",
        )
    ends = ends_mm if order == 0 else ends_mm[::-1]
    before, after = (float(np.linalg.norm(x[1] - x[0])) for x in (shipped, ends))
    if after < LEAST_PATH_MM:
        raise ConfigError(
            f"the ends of the muscle lie {after:.1f} mm apart, at least {LEAST_PATH_MM:.0f} is needed",
            where=where,
            remedy="give both ends of the muscle",
        )
    hill = muscle.hill
    assert hill is not None
    fibre, tendon = hill.optimal_fibre_length_mm, hill.tendon_slack_length_mm
    tendon += after - before
    told = f"{muscle.name}: {after:.1f} mm long ({before:.1f} mm in the model mandible)"
    if tendon < LEAST_TENDON_MM:
        fibre, tendon = (
            x * after / before for x in (hill.optimal_fibre_length_mm, hill.tendon_slack_length_mm)
        )
        told += "; its fibre and tendon lengths were shortened in proportion"
    path = tuple(
        msgspec.structs.replace(station, offset_mm=tuple(np.round(x, 3).tolist()))
        for station, x in zip(muscle.path, ends, strict=True)
    )
    hill = msgspec.structs.replace(
        hill, optimal_fibre_length_mm=round(fibre, 3), tendon_slack_length_mm=round(tendon, 3)
    )
    return msgspec.structs.replace(muscle, path=path, hill=hill), told
