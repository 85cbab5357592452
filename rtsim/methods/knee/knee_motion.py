"""Input of `rtsim fit knee`: the motion of a knee and its measured points."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.config.load import load_toml
from rtsim.config.models.knee_anatomy_schema import KneePointsSpec
from rtsim.errors import ConfigError
from rtsim.files.tables.storage import STORAGE_SUFFIXES, Table, read_storage
from rtsim.methods.generators.joint_motion import read_csv
from rtsim.methods.knee.knee_anatomy import KneeAnatomy
from rtsim.methods.knee.knee_poses import KneePoses, poses_of

Array = NDArray[np.float64]

ANGLES = ("knee_flexion", "knee_adduction", "knee_internal_rotation")
WAYS = ("lateral", "anterior", "proximal")
FIELDS = {**dict.fromkeys(ANGLES, "joint_angles."), **dict.fromkeys(WAYS, "knee_displacements.")}
"""Names of fields that stand before the names of columns in tables."""
SUFFIXES = (*STORAGE_SUFFIXES, ".csv")
ENDINGS = {"right": ("_r", ""), "left": ("_l", "")}
MOST_POSES = 500
"""Largest number of poses; of a longer motion every k-th pose is used."""
MOST_DEG, MOST_M = 180.0, 0.1
WRITTEN = "write such a motion with `rtsim analyse RECORDING --method free --out FILE.mot`"


class KneeMotion(NamedTuple):
    """Poses of a knee, and sentences on poses that were omitted."""

    poses: KneePoses
    notes: tuple[str, ...]


def read_knee_motion(path: Path, side: str) -> KneeMotion:
    """Read a knee's motion from a table (.mot, .sto, .csv) as `rtsim analyse` writes it.

    Columns: knee_flexion, knee_adduction, knee_internal_rotation, and the displacements lateral, anterior,
    proximal of the tibia [m], for one leg, or with _r and _l for both. Raises ConfigError if the table does
    not have these columns.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(
            f"a file with the suffix {path.suffix or '(no suffix)'!r} cannot be read as a knee motion",
            where=str(path), allowed=", ".join(SUFFIXES), remedy=WRITTEN,
        )  # fmt: skip
    table = read_storage(path) if path.suffix.lower() in STORAGE_SUFFIXES else read_csv(path)
    columns = np.stack([column_of(table, name, side, path) for name in (*ANGLES, *WAYS)], axis=1)
    known = np.asarray(np.isfinite(columns).all(axis=1))
    notes = list(table.notes)
    if not known.all():
        notes.append(
            f"{int((~known).sum())} of {len(known)} rows were left out, because an angle or a displacement "
            "of the knee is missing"
        )
    rows = columns[known]
    if not len(rows):
        raise ConfigError(
            "no row of the file has all angles and displacements of the knee",
            where=str(path),
            remedy="give a file with a motion of the knee",
        )
    angles = rows[:, :3]
    if np.abs(angles).max() > np.radians(MOST_DEG):
        raise ConfigError(
            f"an angle is {np.degrees(np.abs(angles).max()):.0f} degrees",
            where=str(path), allowed=f"at most {MOST_DEG:.0f} degrees",
            remedy="state in the header whether angles are in degrees (inDegrees=yes or no)",
        )  # fmt: skip
    if np.abs(rows[:, 3:]).max() > MOST_M:
        raise ConfigError(
            f"the tibia is {np.abs(rows[:, 3:]).max():.3g} m from the femur", where=str(path),
            allowed=f"at most {MOST_M:g} m", remedy="give displacements in metres",
        )  # fmt: skip
    step = -(-len(rows) // MOST_POSES)
    if step > 1:
        notes.append(f"every {step}th of the {len(rows)} poses is used")
    return KneeMotion(poses_of(angles[::step] * [-1.0, 1.0, 1.0], rows[::step, 3:]), tuple(notes))


def column_of(table: Table, name: str, side: str, path: Path) -> Array:
    """Return a column by its name, an angle in radians, with the suffix of the side if the table has both
    legs.
    """
    candidates = [f"{before}{name}{ending}" for ending in ENDINGS[side] for before in ("", FIELDS[name])]
    found = next((column for column in candidates if column in table.columns), None)
    if found is None:
        raise ConfigError(
            f"the file has no column {name}", where=str(path), allowed=", ".join((*ANGLES, *WAYS)),
            remedy=WRITTEN,
        )  # fmt: skip
    values = table.column(found)
    turned = name in ANGLES and table.in_degrees and found not in table.in_radians
    return np.radians(values) if turned else values


def read_knee_points(path: Path) -> KneeAnatomy:
    """Read measured points of a knee (on the surfaces of the condyles and plateaus, and in the attachment
    areas of ligaments) from a .toml file; ConfigError for one that cannot be read.
    """
    spec = load_toml(path, KneePointsSpec)

    def metres(record: msgspec.Struct) -> dict[str, Array]:
        return {name: 1e-3 * np.array(points) for name, points in msgspec.structs.asdict(record).items()}

    return KneeAnatomy(
        condyles=metres(spec.condyles_mm),
        plateaus=metres(spec.plateaus_mm),
        origins=metres(spec.origins_mm),
        insertions=metres(spec.insertions_mm),
    )
