"""Angles, speeds and moments of joints over time, from files of inverse dynamics:

.mcap              results of `rtsim analyse`: fields coordinates, coordinate_speeds, coordinate_moments
.sto, .mot, .csv   columns FIELD.COORDINATE with these fields; or, as OpenSim's tools write them, columns
                   named COORDINATE (angle) and COORDINATE_moment
q_TRIAL.csv        a table of angles without a header, beside qDot_TRIAL.csv (speeds), tau_TRIAL.csv (moments)
                   and time_TRIAL.csv
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import name_some, unique_names
from rtsim.files.recording import Results, read_results
from rtsim.files.tables.grid import parse_rows, read_lines, table_lines
from rtsim.files.tables.sound import BY_JOINT
from rtsim.files.tables.storage import STORAGE_SUFFIXES, Table, read_storage, slow_times
from rtsim.methods.gait.cycle_curves import filter_delay
from rtsim.units import ANGLES, si_scale, usual_spelling
from streams.messages import UNUSABLE, FieldSpec, Status

Array = NDArray[np.float64]

RECORDING, TABLE = ".mcap", ".csv"
SUFFIXES = (RECORDING, *STORAGE_SUFFIXES, TABLE)
FIELDS = ("coordinates", "coordinate_speeds", "coordinate_moments")
OF_PERSON = ("joint_angles", "joint_angle_speeds", "joint_moments")
"""The same fields for the results of a person, by anatomical angles. The angles are those of the frame;
speeds and moments are earlier by the delay of the filter, as all three fields above are."""
OF_JOINT = int(UNUSABLE | Status.DEGRADED | Status.SUSPECT | Status.IMPLAUSIBLE)
"""Status bits of a joint whose values are not used. Of an uncertain one the mask says which angle it is."""
MOMENT = "_moment"
BARE = ("q", "qDot", "tau", "time")
"""Names of tables without a header, before _TRIAL."""
FEWEST, SHORTEST_S = 3, 1e-9
"""Smallest number of rows, and smallest time step, from which speeds are computed by differences."""
MOST_RAD, MOST_NM, LEAST_NM = 2.0 * np.pi, 2000.0, 3.0
"""Largest possible angle [rad] and moment [N m] of a person's joint. If all moments are below LEAST_NM, they
are probably in N m per kilogram."""
MOST_LEFT = 0.3
"""Largest median of the residual force at the root, in body weights."""
FASTER = 10.0
"""Ratio of speeds to differences of the angles from which the speeds do not belong to the angles."""
STILL = 1e-6
"""Range of an angle below which the joint was not moved [rad]; its speeds are rounding errors."""


class JointMotion(NamedTuple):
    """Angles, speeds and moments of joints over time; NaN for what the file does not have.

    names : coordinates of the joints
    times : (n,) times [s]
    angle, speed, moment : (n, n_joint) [rad], [rad/s], [N m]; a moment is positive if it increases the angle;
      infinite values mean unknown, like NaN
    notes : sentences for the user
    """

    names: tuple[str, ...]
    times: Array
    angle: Array
    speed: Array
    moment: Array
    notes: tuple[str, ...] = ()

    def of(self, name: str) -> tuple[Array, Array, Array]:
        """Return the angle, speed and moment (n,) of one joint."""
        k = self.names.index(name)
        return self.angle[:, k], self.speed[:, k], self.moment[:, k]


def read_joint_motion(path: Path, names: Sequence[str], columns: Sequence[str] = ()) -> JointMotion:
    """Read angles, speeds and moments of the joints `names` from a file; ConfigError if it has none of them.

    columns : names of the columns of a table without a header
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ConfigError(
            f"a file with the suffix {path.suffix or '(no suffix)'!r} cannot be read as joint moments",
            where=str(path), allowed=", ".join(SUFFIXES),
        )  # fmt: skip
    if suffix == RECORDING:
        return of_recording(path, names)
    if suffix in STORAGE_SUFFIXES:
        return of_table(read_storage(path), path, names)
    if path.stem.startswith(f"{BARE[0]}_"):
        return of_bare_tables(path, names, columns)
    return of_table(read_csv(path), path, names)


def of_recording(path: Path, names: Sequence[str]) -> JointMotion:
    """Read the motion of joints from the results of `rtsim analyse` (.mcap), at the instants to which
    filtered values belong: the times of the frames minus the delay of the filter.

    Values that are masked, or of frames or joints that are flagged (OF_JOINT), are unknown; filtered values
    also if this holds for a frame from their instant to their row, whose pose the filter has taken.
    """
    results = read_results(path)
    specs = {spec.name: spec for spec in results.session.fields}
    person = all(field in specs for field in OF_PERSON)
    own = dict(zip(FIELDS, OF_PERSON if person else FIELDS, strict=True))
    if lacking := [field for field in own.values() if field not in specs]:
        raise ConfigError(
            f"the recording has no field {lacking[0]}, so it contains no joint moments", where=str(path),
            remedy="run `rtsim analyse` with --forces, and give its recording",
        )  # fmt: skip
    delay = filter_delay(results.session)
    if delay is None:
        raise ConfigError(
            "the recording does not state the delay of its filter, so the instants of its speeds and moments "
            "are not known", where=str(path),
            remedy="run `rtsim analyse` again, with a filter that its frame rate permits",
        )  # fmt: skip
    instants = results.times - delay
    out = {field: unused(results, specs[name]) for field, name in own.items()}
    after = {field: since(rows, results.times, instants) for field, rows in out.items()}

    def column(field: str, name: str) -> Array | None:
        labels = specs[own[field]].labels
        if name not in labels:
            return None
        values = results.fields[own[field]][:, labels.index(name)]
        if person and field == FIELDS[0]:  # the angle of the frame
            known = np.where(out[field][:, labels.index(name)], np.nan, values)
            return np.interp(instants, results.times, known, left=np.nan)
        gone = after[field][:, labels.index(name)]
        if name in (angles := specs[own[FIELDS[0]]].labels):  # of an angle that is not used nothing else is
            gone = gone | after[FIELDS[0]][:, angles.index(name)]
        return np.where(gone, np.nan, values)

    told = [left_at_root(results.fields["residual_force"])] if "residual_force" in specs else []
    told.append(left_out(names, specs[own[FIELDS[0]]], after[FIELDS[0]]))
    return gathered(path, names, instants, column, [*results.notes, *filter(None, told)])


def unused(results: Results, spec: FieldSpec) -> NDArray[np.bool_]:
    """Return a mask (n_frame, n) of the values of a field (n_frame, n) that are masked, or flagged in the
    status of their frame or of a joint on which they depend.
    """
    out = np.zeros(results.fields[spec.name].shape, np.bool_)
    out[(results.status & int(UNUSABLE)) != 0] = True
    if (mask := results.fields.get(f"{spec.name}_mask")) is not None:
        out |= mask != 0.0
    status = next((other for other in results.session.fields if other.name == BY_JOINT), None)
    if status is None:
        return out
    flagged = (results.fields[BY_JOINT].astype(np.int64) & OF_JOINT) != 0
    entries: Sequence[Sequence[str]] = spec.joints or [status.labels] * len(spec.labels)  # () = all joints
    for column, joints in zip(out.T, entries, strict=False):
        for joint in set(joints) & set(status.labels):
            column |= flagged[:, status.labels.index(joint)]
    return out


def since(out: NDArray[np.bool_], times: Array, instants: Array) -> NDArray[np.bool_]:
    """Return a mask (n_frame, n) of the filtered values between whose instants and rows a frame is not used.

    out : (n_frame, n) mask of the frames, of `unused`; times : (n_frame,) [s]
    instants : (n_frame,) times minus the delay of the filter [s]
    """
    rows = np.arange(len(times))
    first = np.clip(np.searchsorted(times, instants + SHORTEST_S, side="right") - 1, 0, rows)
    n = np.concatenate([np.zeros((1, out.shape[1]), np.int64), np.cumsum(out, axis=0)])
    return np.asarray(n[rows + 1] > n[first])


def left_out(names: Sequence[str], spec: FieldSpec, out: NDArray[np.bool_]) -> str:
    """Return a sentence on the frames in which angles are not used, "" if there are none.

    names : joints that are asked for; spec, out : the field of the angles, and its mask of `since`
    """
    n = [(name, int(out[:, spec.labels.index(name)].sum())) for name in names if name in spec.labels]
    counted = ", ".join(f"{name} in {count}" for name, count in n if count)
    if not counted:
        return ""
    return (
        f"not used of {len(out)} frames: {counted}; the angle was masked, or its joint or frame flagged, "
        "in that frame or within one delay of the filter before it"
    )


def left_at_root(force: Array) -> str:
    """Return a sentence if external forces and motion of inverse dynamics do not match, else "".

    force : (n, 3) residual force at the root that no external force explains [body weights]
    """
    size = np.linalg.norm(force, axis=1)
    left = float(np.median(size[np.isfinite(size)])) if np.isfinite(size).any() else 0.0
    if left <= MOST_LEFT:
        return ""
    return (
        f"{left:.2g} of the body weight remains as a residual at the root: the forces may be in other "
        "units, of another trial or incomplete; moments computed from them are not reliable"
    )


def of_table(table: Table, path: Path, names: Sequence[str]) -> JointMotion:
    """Read the motion of joints from a table with named columns. Columns that have only the name of a
    coordinate, as OpenSim writes angles, are in degrees if the table says so.
    """
    times = table.column("time" if "time" in table.columns else table.columns[0])
    scale = np.pi / 180.0 if table.in_degrees else 1.0
    named = "time" in table.columns
    notes = table.notes if named else (*table.notes, f"the column {table.columns[0]} was read as time [s]")

    def column(field: str, name: str) -> Array | None:
        if (found := f"{field}.{name}") in table.columns:
            return table.column(found)
        if field == FIELDS[0] and name in table.columns:
            return (1.0 if name in table.in_radians else scale) * table.column(name)
        if field == FIELDS[2] and name + MOMENT in table.columns:
            return table.column(name + MOMENT)
        return None

    return gathered(path, names, times, column, notes)


def gathered(
    path: Path,
    names: Sequence[str],
    times: Array,
    column: Callable[[str, str], Array | None],
    notes: Sequence[str],
) -> JointMotion:
    """Collect the motion of the joints that have an angle and a moment; compute missing speeds by differences
    of the angles.

    times : (n,) [s]; notes : sentences on the file, to which others are added
    column : function of the field (angle, speed or moment) and the joint's name that returns the values (n,),
        or None if the file does not have them
    """
    steps = np.diff(times)
    if len(times) < FEWEST or not ((steps >= SHORTEST_S) & np.isfinite(steps)).all():
        raise ConfigError(
            "the times of the motion are too few or do not increase", where=str(path),
            allowed=f"times that increase, and at least {FEWEST} rows",
        )  # fmt: skip
    found, rows, told = [], [], list(notes)
    lacking: dict[str, list[str]] = {}
    for name in names:
        angle, speed, moment = (column(field, name) for field in FIELDS)
        if angle is None or moment is None:
            lacking.setdefault("angle" if angle is None else "moment", []).append(name)
            continue
        if speed is None:
            lacking.setdefault("speed", []).append(name)
            speed = np.gradient(np.where(np.isfinite(angle), angle, np.nan), times)
        found.append(name)
        rows.append(tuple(np.where(np.isfinite(values), values, np.nan) for values in (angle, speed, moment)))
    for what, those in lacking.items():
        done = "speeds were computed from differences of angles" if what == "speed" else "joints left out"
        told.append(f"the file has no {what} of {name_some(those)}: {done}")
    if not found:
        half = next((name for name in lacking.get("angle", ()) if column(FIELDS[2], name) is not None), "")
        half = half or next(iter(lacking.get("moment", ())), "")
        lacks = "angle" if half in lacking.get("angle", ()) else "moment"
        raise ConfigError(
            f"the file has no {lacks} of {half}" if half else "the file has no joint of the model",
            where=str(path), allowed="an angle and a moment of at least one of " + ", ".join(names),
            remedy="use --model to name the model from which this file was computed",
        )  # fmt: skip
    angle, speed, moment = (np.column_stack([row[k] for row in rows]) for k in range(len(FIELDS)))
    told += judged(path, found, times, angle, speed, moment)
    known = np.asarray(np.isfinite(angle + speed + moment).any(axis=1))
    if not known.all():
        told.append(
            f"{int((~known).sum())} of {len(known)} frames left out, because no joint has its angle, "
            "speed and moment there"
        )
    return JointMotion(
        names=tuple(found),
        times=times[known],
        angle=angle[known],
        speed=speed[known],
        moment=moment[known],
        notes=tuple(told),
    )


def judged(
    path: Path, names: Sequence[str], times: Array, angle: Array, speed: Array, moment: Array
) -> list[str]:
    """Check the values of a joint motion for wrong units, and return warnings for the user.

    Raises ConfigError for values that no person's joint can have.

    names : names of the joints; times : (n,) [s]
    angle, speed, moment : (n, n_joint) [rad], [rad/s], [N m]
    """
    changes = np.gradient(angle, times, axis=0)
    for k, name in enumerate(names):
        turned, bent = largest(angle[:, k]), largest(moment[:, k])
        if turned > MOST_RAD:
            raise ConfigError(
                f"{name} reaches {turned:.4g} rad", where=str(path), allowed=f"up to {MOST_RAD:.3g} rad",
                remedy="if the angles are in degrees, state inDegrees=yes in the header, or [deg] in the "
                    "header of a .csv file",
            )  # fmt: skip
        if bent > MOST_NM:
            raise ConfigError(
                f"the moment of {name} reaches {bent:.4g} N m", where=str(path),
                allowed=f"up to {MOST_NM:g} N m", remedy="give moments in N m",
            )  # fmt: skip
        fast, seen = size(speed[:, k]), size(changes[:, k])
        if seen > 0.0 and moved(angle[:, k]) and fast > FASTER * seen:
            raise ConfigError(
                f"the speeds of {name} are {fast / seen:.3g} times the rate of change of the angles",
                where=str(path), remedy="give speeds in rad/s and times in s, or remove the speeds",
            )  # fmt: skip
    most = max(largest(column) for column in moment.T)
    if 0.0 < most < LEAST_NM:
        return [f"the greatest moment is only {most:.2g} N m; moments must be in N m, not N m per kg"]
    return []


def largest(values: Array) -> float:
    """Return the largest magnitude of the finite values; 0 if there are none."""
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


def moved(angle: Array) -> bool:
    """Return whether a joint moved during the recording; angle : (n,) [rad], NaN where it is not known."""
    known = angle[np.isfinite(angle)]
    return len(known) > 0 and float(np.ptp(known)) >= STILL


def size(values: Array) -> float:
    """Return the root mean square of the finite values; 0 if there are none."""
    known = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(known**2))) if len(known) else 0.0


def of_bare_tables(path: Path, names: Sequence[str], columns: Sequence[str]) -> JointMotion:
    """Read the motion of joints from q_TRIAL.csv and the tables beside it, which have no headers;
    `columns` names their columns.
    """
    if not columns:
        raise ConfigError(
            "the table has no header with the names of its columns", where=str(path),
            remedy="name a torque generator model that defines the columns, for example --model stoop_lift",
        )  # fmt: skip
    trial = path.stem.partition("_")[2]
    q, qd, tau, times = (numbers_of(path.with_name(f"{name}_{trial}{TABLE}")) for name in BARE)
    for name, rows in zip(BARE, (q, qd, tau), strict=False):
        if rows.shape != (len(times), len(columns)):
            raise ConfigError(
                f"the table has {rows.shape[0]} rows of {rows.shape[1]} numbers",
                where=str(path.with_name(f"{name}_{trial}{TABLE}")),
                allowed=f"{len(times)} rows, as in the table of times, and {len(columns)} columns",
            )
    by_field = dict(zip(FIELDS, (q, qd, tau), strict=True))

    def column(field: str, name: str) -> Array | None:
        return by_field[field][:, list(columns).index(name)] if name in columns else None

    return gathered(path, names, times[:, 0], column, ())


def numbers_of(path: Path) -> Array:
    """Read the numbers (n, k) of a table without a header."""
    lines = [line.replace(",", "\t") for line in read_lines(path, TABLE)]
    width = lines[0].count("\t") + 1
    rows, _ = table_lines(lines, 0, width)
    return parse_rows(rows, width, str(path), lambda k: str(k + 1))[0]


def read_csv(path: Path) -> Table:
    """Read a table of comma-separated values. Units in the header, as in `name [deg]`, are removed from the
    names, and these columns are converted to rad, m, s and N m. A column of another unit is not converted;
    `column` of the table refuses it.

    Columns without a unit are in degrees if they are angles and another column is in degrees.
    """
    lines = read_lines(path, TABLE)
    heads = [head.partition("[") for head in next(csv.reader([lines[0]]))]
    names, renamed = unique_names([name.strip() for name, _, _ in heads])
    stated = [unit.partition("]")[0].strip() for _, _, unit in heads]
    units, scales = [usual_spelling(unit) for unit in stated], [si_scale(unit) for unit in stated]
    if not any(names):
        raise ConfigError(
            "the first line of the table names no column", where=str(path), remedy="export the table again"
        )
    rows, notes = table_lines([line.replace(",", "\t") for line in lines], 1, len(names))
    data, told = parse_rows(rows, len(names), str(path), lambda k: names[k])
    data = data * [1.0 if scale is None else scale for scale in scales]
    unknown = [(name, unit) for name, unit, scale in zip(names, stated, scales, strict=True) if scale is None]
    return Table(
        columns=names, data=data, in_degrees="deg" in units, name=path.stem, source=str(path),
        notes=(*renamed, *notes, *told, *slow_times(names, data)),
        in_radians=tuple(name for name, unit in zip(names, units, strict=True) if unit in ANGLES),
        unknown_units=tuple(unknown),
    )  # fmt: skip
