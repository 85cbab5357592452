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
from rtsim.files.force_units import moment_unit, newton_metres_per_unit
from rtsim.files.osim.external_loads import ForceColumns, read_external_loads
from rtsim.files.storage import Table, read_storage
from rtsim.files.timing import settle_times
from rtsim.files.units import length_unit, metres_per_unit

FloatArray = NDArray[np.float64]
FORCE = re.compile(r"(.*?)_?vx", re.IGNORECASE)
FLAT = re.compile(r"f(\d+)(?:_(1|x)|x)", re.IGNORECASE)
"""The first column of a plate in a flattened table of OpenSim's C3D adapter."""
FARTHEST_M = 50.0
"""A centre of pressure farther away than this is not in metres."""
ARM_OF_NM, ARM_OF_NMM = 0.05, 0.1
"""A moment about where the force acts, over that force: below, newton metres [m]; above, with points in
millimetres, newton millimetres [mm]. A foot that turns on a plate reaches 0.04 m."""
LONGEST_ARM = 2.0
"""No plate's moment is that of its force with such an arm [m]."""
UPRIGHT = 2.0
"""The mean force stands out along the vertical by at least this factor."""


class _Columns(NamedTuple):
    """Labels of one plate's columns, x y z; `torque` is empty where there is none."""

    name: str
    force: list[str]
    point: list[str]
    torque: list[str]


def read_storage_forces(
    path: str | Path,
    *,
    up: str | None = None,
    units: str | None = None,
    named: Sequence[ForceColumns] = (),
) -> ForceTrial:
    """The force plates of a .mot or .sto file in ground.

    up : axis that points up, else the one along which the forces act
    units : of the points, else metres unless they lie too far away for that; of the moments behind a comma,
        else they go by the points unless their size tells otherwise
    named : beginnings of the columns of each plate; none = as below

    Columns of a plate are ..vx ..vy ..vz (force), ..px ..py ..pz (where it acts) and the moment about that
    point, as `ground_force_1_vx`, `1_ground_force_px`, `ground_torque_x`, `ground_force_1_mx`,
    `ground_moment_1_mx`; or `f1_x`, `p1_x`, `m1_x` (also `f1_1`), as OpenSim's C3D adapter flattens them.
    ConfigError for a file without them.
    """
    path = Path(path)
    table = read_storage(path)
    plates = _named(table.columns, named, str(path)) if named else _plates(table.columns, str(path))
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
    scale, arm, said = _scale(point, torque, force, units)
    rotation, told = _rotation(force, up)
    notes += [*said, *told]
    force, point, torque = (values @ rotation.T for values in (force, scale * point, arm * torque))
    idle = (np.abs(force) < THRESHOLD).all(axis=2)
    for values in (point, torque):  # where nothing acts, some programs write neither point nor moment
        values[idle & ~np.isfinite(values).all(axis=2)] = 0.0
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


def read_external_forces(path: str | Path, *, up: str | None = None, units: str | None = None) -> ForceTrial:
    """The forces that external loads of OpenSim (.xml) name, by their columns; `up`, `units` as above."""
    loads = read_external_loads(path)
    if not loads.forces.is_file():
        raise ConfigError(
            f"there is no file {str(loads.forces)!r}, which it names as datafile", where=str(path),
            remedy="put that file there, or correct the name",
        )  # fmt: skip
    return read_storage_forces(loads.forces, up=up, units=units, named=loads.columns)


def _plates(columns: Sequence[str], where: str) -> list[_Columns]:
    """The plates that the labels name; ConfigError for none, and for one that lacks a component."""
    by_plain = {label.lower(): label for label in columns}
    plates = []
    for label in columns:
        if match := FORCE.fullmatch(label):
            stem, axes = label[:-2], "xyz"
            force, point = [_three(stem + what, by_plain) for what in ("v", "p")]
            lacking = f"{stem}vx, {stem}vy, {stem}vz, {stem}px, {stem}py, {stem}pz"
            words = ("torque", "moment") if "force" in stem.lower() else ()
            other = [stem.lower().replace("force", word) for word in words]
            stems = [stem + "m", stem + "t", *other, *(o + "m" for o in other)]
            name = match[1] or "force"
        elif match := FLAT.fullmatch(label):
            stem, axes = label[1:-1], "123" if match[2] == "1" else "xyz"
            force, point = [_three(what + stem, by_plain, axes) for what in ("f", "p")]
            lacking = ", ".join(f"{what}{stem}{axis}" for what in "fp" for axis in axes)
            stems, name = ["m" + stem, "t" + stem], f"plate_{match[1]}"
        else:
            continue
        if not (force and point):
            raise ConfigError(
                f"the columns of {name!r} lack a component of force or point", where=where, allowed=lacking
            )
        torque = _moment(stems, by_plain, axes, name, where)
        plates.append(_Columns(name, force, point, torque))
    if not plates:
        raise ConfigError(
            "no columns of forces",
            where=where,
            allowed="ground_force_vx, 1_ground_force_vx, ground_force_1_vx, ..., each with vy vz px py pz; "
            "f1_x or f1_1, ..., each with p1; or the columns that external loads (.xml) name",
        )
    return plates


def _moment(stems: Sequence[str], by_plain: dict[str, str], axes: str, name: str, where: str) -> list[str]:
    """The labels of a plate's moment, none where it has none; ConfigError for a part of one, and for two."""
    there = {s: [a for a in axes if f"{s}{a}".lower() in by_plain] for s in dict.fromkeys(stems)}
    there = {s: found for s, found in there.items() if found}
    lacking = [f"{s}{a}" for s, found in there.items() for a in axes if a not in found]
    if lacking:
        raise ConfigError(
            f"the moment of {name!r} lacks a component: {', '.join(lacking)}", where=where,
            allowed="all three, or none", remedy="export the file again, or leave the others out",
        )  # fmt: skip
    if len(there) > 1:
        raise ConfigError(
            f"{name!r} has two moments: {', '.join(f'{s}{axes[0]} ...' for s in there)}", where=where,
            allowed="one", remedy="leave the columns of one of them out",
        )  # fmt: skip
    return _three(next(iter(there)), by_plain, axes) if there else []


def _named(columns: Sequence[str], named: Sequence[ForceColumns], where: str) -> list[_Columns]:
    """The plates whose columns begin as somebody names them; ConfigError unless each has three."""
    plates = []
    for wanted in named:
        found = {
            what: [label for label in columns[1:] if begins and label.startswith(begins)]
            for what, begins in zip(("force", "point", "torque"), wanted, strict=True)
        }
        for what, begins in zip(found, wanted, strict=True):
            if begins and len(found[what]) != 3:
                raise ConfigError(
                    f"{len(found[what])} columns begin with {begins!r}, a {what}_identifier",
                    where=where, allowed="three: x, y, z", remedy="correct the identifier, or the columns",
                )  # fmt: skip
        plain = re.sub(r"_?v?$", "", wanted.force) or "force"
        flat = re.fullmatch(r"f(\d+)", plain, re.IGNORECASE)
        name = f"plate_{flat[1]}" if flat else plain
        plates.append(_Columns(name, found["force"], found["point"], found["torque"]))
    return plates


def _three(stem: str, by_plain: dict[str, str], axes: str = "xyz") -> list[str]:
    """The labels of the file that are the stem and an axis, or none where one is missing."""
    wanted = [f"{stem}{axis}".lower() for axis in axes]
    return [by_plain[label] for label in wanted] if all(label in by_plain for label in wanted) else []


def _stack(table: Table, triples: Sequence[Sequence[str]]) -> FloatArray:
    """(n, n_plate, 3) of the columns with these labels."""
    return np.stack([np.column_stack([table.column(label) for label in three]) for three in triples], axis=1)


def _scale(
    point: FloatArray, torque: FloatArray, force: FloatArray, units: str | None
) -> tuple[float, float, list[str]]:
    """Metres per unit of the points, newton metres per unit of the moments, and sentences.

    Points are metres unless they would lie too far away, moments go by the points unless no foot could press
    so; what is asked for goes before both.
    """
    size = np.linalg.norm(force, axis=2)
    heavy = size >= THRESHOLD
    length, moment = length_unit(units), moment_unit(units)
    notes = [f"units of the points: {length}, as asked"] if length else []
    scale = metres_per_unit(length, "--units") if length else 1.0
    if not length:
        some = point[heavy]
        far = float(np.nanmedian(np.abs(some).max(axis=1))) if np.isfinite(some).any() else 0.0
        if far > FARTHEST_M:
            scale = 1e-3
            notes.append(
                f"the forces would act {far:.4g} m away: points were read as mm; give --units to override"
            )
    if moment:
        return scale, newton_metres_per_unit(moment) or 1.0, [*notes, f"moments: {moment}, as asked"]
    arms = np.linalg.norm(torque, axis=2)[heavy] / size[heavy]
    known = arms[np.isfinite(arms)]
    arm = float(np.percentile(known, 95)) if known.size else 0.0
    if arm == 0.0:
        return scale, scale, notes
    if scale == 1.0 and arm > LONGEST_ARM:
        said = f"the moments would be those of the forces with an arm of {arm:.4g} m: they were read as N mm"
        return scale, 1e-3, [*notes, f"{said}; give --units m,Nm to override"]
    if scale != 1e-3:
        return scale, scale, notes
    if arm < ARM_OF_NM:
        said = f"as N mm the moments would have an arm of {arm:.4g} mm: they were read as N m"
        return scale, 1.0, [*notes, f"{said}; give --units mm,Nmm to override"]
    doubt = "" if arm >= ARM_OF_NMM else ", though N m are possible"
    return scale, scale, [*notes, f"moments were read as N mm{doubt}; give --units mm,Nm to override"]


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
