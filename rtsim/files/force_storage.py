"""Ground reactions in storage files (.mot, .sto), by the column names of OpenSim."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.axes import AXIS_NAMES, ROTATIONS, parse_up
from rtsim.files.force_trial import THRESHOLD, ForceTrial, RawForces, force_trial, levels
from rtsim.files.storage import Table, read_storage
from rtsim.files.timing import settle_times
from rtsim.files.units import metres_per_unit

FloatArray = NDArray[np.float64]
FORCE = re.compile(r"(.*?)_?vx", re.IGNORECASE)
FARTHEST_M = 50.0
"""A centre of pressure farther away than this is not in metres."""
UPRIGHT = 2.0
"""The mean force stands out along the vertical by at least this factor."""


class _Columns(NamedTuple):
    """Labels of one plate's columns, x y z; `torque` is empty where there is none."""

    name: str
    force: list[str]
    point: list[str]
    torque: list[str]


def read_storage_forces(path: str | Path, *, up: str | None = None, units: str | None = None) -> ForceTrial:
    """The force plates of a .mot or .sto file in ground.

    up : axis that points up, else the one along which the forces act
    units : of the points, else metres unless they lie too far away for that; moments go by it

    Columns of a plate are ..vx ..vy ..vz (force), ..px ..py ..pz (where it acts) and the moment about that
    point, as `ground_force_1_vx`, `1_ground_force_px`, `ground_torque_x`, `ground_force_1_mx`.
    ConfigError for a file without them.
    """
    path = Path(path)
    table = read_storage(path)
    plates = _plates(table.columns, str(path))
    times, rate, said = settle_times(table.data[:, 0].copy(), 0.0, str(path))
    # The header of a storage file has no rate, so that measuring it is nothing to be told.
    notes = [*table.notes, *(note for note in said if not note.startswith("the header gives no frame rate"))]
    notes = [note for note in notes if "inDegrees" not in note]
    force, point = _stack(table, [p.force for p in plates]), _stack(table, [p.point for p in plates])
    torque = np.zeros_like(force)
    for index, plate in enumerate(plates):
        if plate.torque:
            torque[:, index] = _stack(table, [plate.torque])[:, 0]
        else:
            notes.append(f"{plate.name} has no moment: 0 was taken for it")
    scale, said = _scale(point, force, units)
    rotation, told = _rotation(force, up)
    notes += [*said, *told]
    force, point, torque = (values @ rotation.T for values in (force, scale * point, scale * torque))
    empty = ~np.isfinite(point).all(axis=2) & (np.abs(force) < THRESHOLD).all(axis=2)
    point[empty] = 0.0  # where nothing acts, some programs write no point
    raw = RawForces(
        names=tuple(plate.name for plate in plates),
        times=times,
        rate=rate,
        corners=np.full((len(plates), 4, 3), np.nan),
        level=levels(point, force),
        force=force,
        moment=np.cross(point, force) + torque,
        source=str(path),
        notes=tuple(notes),
    )
    return force_trial(raw)


def _plates(columns: Sequence[str], where: str) -> list[_Columns]:
    """The plates that the labels name; ConfigError for none, and for one that lacks a component."""
    by_plain = {label.lower(): label for label in columns}
    plates = []
    for label in columns:
        match = FORCE.fullmatch(label)
        if match is None:
            continue
        stem = label[:-2]
        force, point = [_three(stem, by_plain, what) for what in ("v", "p")]
        if not (force and point):
            raise ConfigError(
                f"the columns of {match[1]!r} lack a component of force or point",
                where=where,
                allowed=f"{stem}vx, {stem}vy, {stem}vz, {stem}px, {stem}py, {stem}pz",
            )
        stems = (
            stem + "m",
            stem + "t",
            *(stem.lower().replace("force", word) for word in ("torque", "moment")),
        )
        torque = next((found for s in stems if (found := _three(s, by_plain, ""))), [])
        plates.append(_Columns(match[1] or "force", force, point, torque))
    if not plates:
        raise ConfigError(
            "no columns of forces",
            where=where,
            allowed="ground_force_vx, 1_ground_force_vx, ground_force_1_vx, ..., each with vy vz px py pz",
        )
    return plates


def _three(stem: str, by_plain: dict[str, str], what: str) -> list[str]:
    """The labels stem + what + x, y, z of the file, or none where one is missing."""
    wanted = [f"{stem}{what}{axis}".lower() for axis in "xyz"]
    return [by_plain[label] for label in wanted] if all(label in by_plain for label in wanted) else []


def _stack(table: Table, triples: Sequence[Sequence[str]]) -> FloatArray:
    """(n, n_plate, 3) of the columns with these labels."""
    return np.stack([np.column_stack([table.column(label) for label in three]) for three in triples], axis=1)


def _scale(point: FloatArray, force: FloatArray, units: str | None) -> tuple[float, list[str]]:
    """Metres per unit of the points: as asked, else metres unless they would lie too far away."""
    if units is not None:
        return metres_per_unit(units, "--units"), [f"units of the points: {units}, as asked"]
    heavy = point[np.linalg.norm(force, axis=2) >= THRESHOLD]
    far = float(np.nanmedian(np.abs(heavy).max(axis=1))) if np.isfinite(heavy).any() else 0.0
    if far <= FARTHEST_M:
        return 1.0, []
    return 1e-3, [
        f"the forces would act {far:.4g} m away: points were read as mm and moments as N mm; "
        "give --units to override"
    ]


def _rotation(force: FloatArray, up: str | None) -> tuple[FloatArray, list[str]]:
    """Turns the file's axes to Y up: as asked, else along the median of the forces that matter."""
    if up is not None:
        axis = parse_up(up, "--up")
        return ROTATIONS[axis], [f"up axis: {axis}, as asked"]
    heavy = force[np.linalg.norm(force, axis=2) >= THRESHOLD]
    if heavy.size == 0:
        return ROTATIONS["+Y"], []
    usual = np.abs(np.median(heavy, axis=0))  # which a sample of garbage does not turn
    index = int(np.argmax(usual))
    if index == 1 or usual[index] < UPRIGHT * np.sort(usual)[1]:
        return ROTATIONS["+Y"], []
    axis = "+" + AXIS_NAMES[index]
    return ROTATIONS[axis], [
        f"the forces act along {AXIS_NAMES[index]}: {axis} was taken as up, and they were rotated to Y up; "
        "give --up to override"
    ]
