"""Ground reactions in storage files (.mot, .sto), by the column names of OpenSim."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.reading import is_file
from rtsim.errors import ConfigError
from rtsim.files.forces.force_places import unit_by_markers
from rtsim.files.forces.force_trial import THRESHOLD, ForceTrial, RawForces, force_trial, levels
from rtsim.files.forces.force_units import moment_unit, newton_metres_per_unit
from rtsim.files.markers.axes import AXIS_NAMES, ROTATIONS, parse_up
from rtsim.files.markers.timing import seconds_by_markers, settle_times, without_repeated_rows
from rtsim.files.markers.trial import MarkerTrial, name_some
from rtsim.files.osim.external_loads import ForceColumns, read_external_loads
from rtsim.files.tables.storage import Table, read_storage
from rtsim.files.units import length_unit, metres_per_unit

FloatArray = NDArray[np.float64]
FORCE = re.compile(r"(.*?)_?vx", re.IGNORECASE)
FLAT = re.compile(r"f(\d+)(?:_(1|x)|x)", re.IGNORECASE)
"""Label of the first column of a plate, as OpenSim's C3D adapter flattens tables."""
FARTHEST_M = 50.0
"""Largest distance of a centre of pressure [m]; a greater number is not in metres."""
ARM_OF_NM, ARM_OF_NMM = 0.05, 0.1
"""Moment about the point of application over the force: below the first limit moments are in N m [m]; above
the second, with points in mm, in N mm [mm]. A foot that turns on a plate reaches 0.04 m."""
LONGEST_ARM = 2.0
"""Largest ratio of a plate's moment to its force [m]."""
UPRIGHT = 2.0
"""Smallest ratio of the median force along the vertical to that along any other axis."""
LEAST_ARM = 0.01
"""Ratio of the second largest moment to the force above which moments are about the origin [m]."""
MOVES = 20.0
"""Ratio of the range of the points along another axis to that along Y above which Y is vertical."""


class _Columns(NamedTuple):
    """Labels of the columns of one plate, x y z each; `torque` is empty if the plate has no moments."""

    name: str
    force: list[str]
    point: list[str]
    torque: list[str]


@np.errstate(invalid="ignore", over="ignore")  # infinite and absurd samples are told by force_trial
def read_storage_forces(
    path: str | Path,
    *,
    up: str | None = None,
    units: str | None = None,
    markers: MarkerTrial | None = None,
    named: Sequence[ForceColumns] = (),
) -> ForceTrial:
    """Read the force plates of a .mot or .sto file as forces in ground.

    up : axis that points up; by default the axis along which the forces act
    units : unit of the points (default: metres, unless the points would be too far away); after a comma,
        unit of the moments (default: inferred from the points and the size of the moments)
    markers : markers of the same recording; a unit with which the forces act at the feet has priority
    named : prefixes of the columns of each plate; () = the usual ones below

    Columns of a plate are ..vx ..vy ..vz (force), ..px ..py ..pz (point of application) and the moment about
    that point, for example `ground_force_1_vx`, `1_ground_force_px`, `ground_torque_x`, `ground_force_1_mx`,
    `ground_moment_1_mx`; or `f1_x`, `p1_x`, `m1_x` (also `f1_1`), as OpenSim's C3D adapter flattens them.
    ConfigError for a file without such columns."""
    path = Path(path)
    table = read_storage(path)
    kept, repeated = without_repeated_rows(table.data)
    table = table._replace(data=table.data[kept])
    plates = _named(table.columns, named, str(path)) if named else _plates(table.columns, str(path))
    clock, told = seconds_by_markers(table.data[:, 0].copy(), markers)
    times, rate, said = settle_times(clock, 0.0, str(path))
    # The header of a storage file has no rate, so that measuring it is nothing to be told.
    notes = [
        *table.notes,
        *repeated,
        *(note for note in said if not note.startswith("the header gives no frame rate")),
    ]
    notes = [note for note in notes if "inDegrees" not in note and "divide them by 1000" not in note]
    force, point = _stack(table, [p.force for p in plates]), _stack(table, [p.point for p in plates])
    torque = np.zeros_like(force)
    for index, plate in enumerate(plates):
        if plate.torque:
            torque[:, index] = _stack(table, [plate.torque])[:, 0]
        else:
            notes.append(f"{plate.name} has no moment; a moment of 0 was used")
    heavy = np.linalg.norm(force, axis=2) >= THRESHOLD
    about_origin = _are_about_origin(point, force, torque)
    notes += [*told, *_without_places(point, heavy & ~about_origin, [p.name for p in plates], str(path))]
    rotation, told = _rotation(force, point, heavy, up, [plate.name for plate in plates], str(path))
    notes += told
    force, point, torque = (values @ rotation.T for values in (force, point, torque))
    scale, told = _lengths(point, heavy, times, units, markers)
    arm, said = _moments(torque, force, heavy & ~about_origin, scale, units, str(path))
    notes += [*told, *said]
    point, torque = scale * point, arm * torque
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


def read_external_forces(
    path: str | Path,
    *,
    up: str | None = None,
    units: str | None = None,
    markers: MarkerTrial | None = None,
) -> ForceTrial:
    """Read the forces of a .mot or .sto file that OpenSim's external loads (.xml) at `path` name, with the
    columns that they name; `up` is the axis that points up, `units` the unit of the points and after a comma
    that of the moments, None = inferred."""
    loads = read_external_loads(path)
    if not is_file(loads.forces):
        raise ConfigError(
            f"the file {str(loads.forces)!r}, named as datafile, does not exist", where=str(path),
            remedy="put the file there, or correct the name under datafile",
        )  # fmt: skip
    return read_storage_forces(loads.forces, up=up, units=units, markers=markers, named=loads.columns)


def _plates(columns: Sequence[str], where: str) -> list[_Columns]:
    """Find the plates by the column labels; ConfigError if there is none, or if one lacks a component."""
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
            "the file has no columns of forces",
            where=where,
            allowed="ground_force_vx, 1_ground_force_vx, ground_force_1_vx, ..., each with vy vz px py pz; "
            "f1_x or f1_1, ..., each with p1; or the columns that external loads (.xml) name",
        )
    return plates


def _moment(stems: Sequence[str], by_plain: dict[str, str], axes: str, name: str, where: str) -> list[str]:
    """Return the labels of the three columns of a plate's moment, or none; ConfigError for an incomplete
    moment or two moments. stems : possible beginnings of the labels, each followed by one of the three
    `axes`; by_plain : label in lower case -> label in the file; name : name of the plate, for errors"""
    there = {s: [a for a in axes if f"{s}{a}".lower() in by_plain] for s in dict.fromkeys(stems)}
    there = {s: found for s, found in there.items() if found}
    lacking = [f"{s}{a}" for s, found in there.items() for a in axes if a not in found]
    if lacking:
        raise ConfigError(
            f"the moment of {name!r} lacks a component: {', '.join(lacking)}", where=where,
            allowed="three components or none", remedy="export again, or remove the other components",
        )  # fmt: skip
    if len(there) > 1:
        raise ConfigError(
            f"{name!r} has two moments: {', '.join(f'{s}{axes[0]} ...' for s in there)}", where=where,
            allowed="one", remedy="remove the columns of one of the two moments",
        )  # fmt: skip
    return _three(next(iter(there)), by_plain, axes) if there else []


def _named(columns: Sequence[str], named: Sequence[ForceColumns], where: str) -> list[_Columns]:
    """Return the plates whose columns begin with the prefixes `named`; ConfigError unless each has three."""
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
                    where=where, allowed="three columns: x, y, z", remedy="correct identifier or columns",
                )  # fmt: skip
        plain = re.sub(r"_?v?$", "", wanted.force) or "force"
        flat = re.fullmatch(r"f(\d+)", plain, re.IGNORECASE)
        name = f"plate_{flat[1]}" if flat else plain
        plates.append(_Columns(name, found["force"], found["point"], found["torque"]))
    return plates


def _three(stem: str, by_plain: dict[str, str], axes: str = "xyz") -> list[str]:
    """Return the labels of a stem with each axis, or [] if one lacks; by_plain : lower-case label -> label"""
    wanted = [f"{stem}{axis}".lower() for axis in axes]
    return [by_plain[label] for label in wanted] if all(label in by_plain for label in wanted) else []


def _stack(table: Table, triples: Sequence[Sequence[str]]) -> FloatArray:
    """Return the columns with the given labels, three for each plate, as one array (n, n_plate, 3)."""
    return np.stack([np.column_stack([table.column(label) for label in three]) for three in triples], axis=1)


def _are_about_origin(point: FloatArray, force: FloatArray, torque: FloatArray) -> NDArray[np.bool_]:
    """Return for each plate, (n_plate,), whether its moments are about the ground origin, not about the
    points of application: the points are 0, 0, 0, and the moments have several axes. Arrays: (n, n_plate, 3).
    """
    heavy = (np.linalg.norm(force, axis=2) >= THRESHOLD) & (point == 0.0).all(axis=2)
    second = np.sort(np.abs(torque), axis=2)[..., 1] / np.maximum(np.linalg.norm(force, axis=2), THRESHOLD)
    return np.array(
        [
            rows.any() and bool(np.median(arm[rows]) > LEAST_ARM)
            for rows, arm in zip(heavy.T, second.T, strict=True)
        ]
    )


def _without_places(
    point: FloatArray, heavy: NDArray[np.bool_], names: Sequence[str], where: str
) -> list[str]:
    """Set points (n, n_plate, 3) at exactly 0, 0, 0 under a load (`heavy`, (n, n_plate)) to NaN in place, as
    some programs write unknown points so; return notes. ConfigError for a plate without other points."""
    nowhere = heavy & (point == 0.0).all(axis=2)
    notes = []
    for p, name in enumerate(names):
        n, n_heavy = int(nowhere[:, p].sum()), int(heavy[:, p].sum())
        if n and n == n_heavy:
            raise ConfigError(
                f"{name} has forces, but the point of application is 0, 0, 0 throughout", where=where,
                remedy="export the points (centre of pressure) as well",
            )  # fmt: skip
        if n:
            notes.append(
                f"the point of {name} is exactly 0, 0, 0 in {n} of {n_heavy} loaded samples: taken as missing"
            )
    point[nowhere] = np.nan
    return notes


def _lengths(
    point: FloatArray,
    heavy: NDArray[np.bool_],
    times: FloatArray,
    units: str | None,
    markers: MarkerTrial | None,
) -> tuple[float, list[str]]:
    """Return metres per unit of the points (n, n_plate, 3), and notes; heavy : (n, n_plate) under a load

    The unit is the requested one, else metres unless the points would be too far away. If markers show where
    the feet are, a unit with which the points lie near the feet has priority."""
    length = length_unit(units)
    notes = [f"unit of the points: {length}, as requested by --units"] if length else []
    scale = metres_per_unit(length, "--units") if length else 1.0
    if not length:
        some = point[heavy]
        far = float(np.nanmedian(np.abs(some).max(axis=1))) if np.isfinite(some).any() else 0.0
        if far > FARTHEST_M:
            scale, length = 1e-3, "mm"
            notes.append(f"in metres, the points would be {far:.4g} m from the origin: they were read as mm; "
                         "give --units if this is wrong")  # fmt: skip
    if markers is None:
        return scale, notes
    unit, before, after = unit_by_markers(times, point, heavy, markers, scale)
    if not unit:
        return scale, notes
    who = (
        f"the points cannot be in the unit {length} of --units"
        if length_unit(units)
        else "the unit of the points is inferred from the markers"
    )
    return metres_per_unit(unit, "--units"), [
        f"{who}: if they were in {length or 'm'}, forces would act {before:.3g} m away from the nearest "
        f"marker near the floor, but in {unit} only {after:.2g} m; the points were read as {unit}"
    ]


def _moments(
    torque: FloatArray,
    force: FloatArray,
    heavy: NDArray[np.bool_],
    scale: float,
    units: str | None,
    where: str,
) -> tuple[float, list[str]]:
    """Return newton metres per unit of moments (n, n_plate, 3), and notes; heavy : (n, n_plate) under a load

    The unit is the requested one, else the one that matches the points, whose unit is `scale` [m], unless no
    foot could produce such moments. ConfigError if the requested one is impossible."""
    arms = np.linalg.norm(torque, axis=2)[heavy] / np.linalg.norm(force, axis=2)[heavy]
    known = arms[np.isfinite(arms)]
    arm = float(np.percentile(known, 95)) if known.size else 0.0
    if asked := moment_unit(units):
        factor = newton_metres_per_unit(asked) or 1.0
        if factor * arm > LONGEST_ARM:
            raise ConfigError(
                f"the unit {asked} of moments in --units is probably wrong: the forces would have lever "
                f"arms of {factor * arm:.4g} m", where=where, allowed=f"up to {LONGEST_ARM:g} m",
                remedy="leave out the unit of moments in --units, or give the correct unit, such as ,Nmm",
            )  # fmt: skip
        return factor, [f"unit of the moments: {asked}, as requested by --units"]
    if arm == 0.0:
        return scale, []
    unit = {1e-1: "dm", 1e-2: "cm", 1e-3: "mm"}.get(scale, "")
    if not unit:  # nobody has moments in newton inches
        if arm <= LONGEST_ARM:
            return 1.0, []
        said = f"if the moments were in N m, lever arms would be {arm:.4g} m; they were read as N mm"
        return 1e-3, [f"{said}; give --units m,Nm if this is wrong"]
    if arm < ARM_OF_NM:
        said = f"if the moments were in N {unit}, lever arms would be {arm:.4g} {unit}; they were read as N m"
        return 1.0, [f"{said}; give --units {unit},N{unit} if this is wrong"]
    doubt = "" if arm >= ARM_OF_NMM else "; they might be in N m instead"
    return scale, [f"moments were read as N {unit}{doubt}; give --units {unit},Nm if this is wrong"]


def _rotation(
    force: FloatArray,
    point: FloatArray,
    heavy: NDArray[np.bool_],
    up: str | None,
    names: Sequence[str],
    where: str,
) -> tuple[FloatArray, list[str]]:
    """Return the rotation from the file's axes to Y up, and notes.

    The up axis is that of the median of the larger forces; if these are not clear, the requested one (`up`),
    else Y. ConfigError if the points of application contradict the direction of the forces. force, point :
    (n, n_plate, 3) in the file's axes; heavy : (n, n_plate) whether a plate is loaded"""
    asked = parse_up(up, "--up") if up is not None else ""
    said = [f"up axis: {asked}, as requested by --up"] if asked else []
    usual = (
        np.abs(np.median(force[heavy], axis=0)) if heavy.any() else np.zeros(3)
    )  # garbage does not turn it
    index = int(np.argmax(usual))
    if usual[index] < UPRIGHT * np.sort(usual)[1] or not usual[index] > 0.0:
        return ROTATIONS[asked or "+Y"], said
    if index == AXIS_NAMES.index((asked or "+Y")[1]):
        return ROTATIONS[asked or "+Y"], said
    axis = "+" + AXIS_NAMES[index]
    along = f"the forces act along {AXIS_NAMES[index]}"
    if _are_level(point[heavy], index):
        loaded = [p for p in range(len(names)) if heavy[:, p].any()]
        axes = {p: int(np.argmax(np.abs(np.median(force[heavy[:, p], p], axis=0)))) for p in loaded}
        of = [names[p] for p, own in axes.items() if own == index]
        raise ConfigError(
            f"{along}, but the centres of pressure are at one height in Y and move along "
            f"{AXIS_NAMES[index]}; the columns v{'xyz'[index]} and vy of {name_some(of)} seem exchanged",
            where=where,
            remedy=f"exchange these columns in the file, or give --up {AXIS_NAMES[index]} if that axis is up",
        )  # fmt: skip
    if asked:
        return ROTATIONS[axis], [
            f"the up axis {asked} of --up does not fit the forces: {along}; {axis} was used as the up axis"
        ]
    return ROTATIONS[axis], [f"{along}; {axis} was used as the up axis, and the forces were rotated to Y up"]


def _are_level(point: FloatArray, index: int) -> bool:
    """Return whether points (n, 3) in any unit keep one height along Y and move along axis `index`."""
    known = point[np.isfinite(point).all(axis=1)]
    if not known.size:
        return False
    low, high = np.percentile(known, [5.0, 95.0], axis=0)
    return bool(high[index] - low[index] > MOVES * (high[1] - low[1]))
