"""Prescribed motions of a simulated model: coordinates follow columns of a file or a stream. In a model file,
couplers with `of = "motion"` declare these coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from rtsim.config.models.function_schema import MOTION, Spline
from rtsim.config.models.joint_schema import coordinates_of, in_degrees, is_angular
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.model_tables import Coupler
from rtsim.config.runs.run_schema import LONGEST_S
from rtsim.errors import ConfigError
from rtsim.files.tables.storage import STORAGE_SUFFIXES, Table, read_storage
from streams.addresses import is_stream

Array = NDArray[np.float64]
OPTION = "--motion"
FEWEST_ROWS = 4
ROUNDING = 1e-12
"""Part of its time by which the last sample is put later, so that the clock's rounding does not lead past
it, where nothing is curved."""
OVER = 1e-9
"""Part of the length of a motion by which a duration may exceed it, as both are rounded."""
HOLE = 10.0
"""A step between rows that is so many times the usual one is told."""


def with_prescribed(spec: ModelSpec, names: tuple[str, ...]) -> ModelSpec:
    """Return the model with the named coordinates prescribed by a file or a stream, in addition to those that
    its own couplers prescribe.
    """
    own = [c.name for body in spec.bodies for c in coordinates_of(body)]
    given = {coupler.coordinate: coupler for coupler in spec.couplers}
    for name in names:
        if name not in own:
            raise ConfigError(
                f"unknown coordinate {name!r}", where="--prescribe", allowed=", ".join(own) or "none"
            )
        if name in given and given[name].of not in (MOTION, ""):
            raise ConfigError(
                f"the coordinate {name} is already determined by {given[name].of}",
                where="--prescribe",
                remedy="remove it from --prescribe",
            )
    kept = [coupler for coupler in spec.couplers if coupler.coordinate not in names]
    more = [Coupler(coordinate=name, of=MOTION) for name in dict.fromkeys(names)]
    return replace(spec, couplers=(*kept, *more))


def moved_names(spec: ModelSpec) -> tuple[str, ...]:
    """Return the names of the coordinates whose motion is prescribed by a file or a stream."""
    return tuple(coupler.coordinate for coupler in spec.couplers if coupler.of == MOTION)


def with_motion(
    spec: ModelSpec, path: str | Path, note: Callable[[str], None] = lambda text: None
) -> tuple[ModelSpec, float]:
    """Put the motion of a .mot or .sto file into the model's couplers; return the model and the motion's
    duration [s].

    Cubic splines go through all samples. Their second derivative at both ends is estimated from the samples
    there; if it were zero, the accelerations and with them the forces would be wrong there. The file's first
    time is the start of the simulation. Raises ConfigError if a coordinate has no column, or if a column has
    gaps.
    """
    splines, times = read_motion(spec, moved_names(spec), path, note)
    couplers = tuple(
        Coupler(coordinate=c.coordinate, of=MOTION, spline=splines[c.coordinate]) if c.of == MOTION else c
        for c in spec.couplers
    )
    return replace(spec, couplers=couplers), float(times[-1] - times[0])


def read_motion(
    spec: ModelSpec, names: tuple[str, ...], path: str | Path, note: Callable[[str], None]
) -> tuple[dict[str, Spline], Array]:
    """Read the motion of the named coordinates of a model from a file; return splines [rad, m] over the time
    since the first time of the file, and the times of the file [s].

    note : called with sentences on oddities of the file. Raises ConfigError if a coordinate has no column, or
        if a column has gaps.
    """
    table = read_storage(path)
    times = table.data[:, 0]
    bad = table.columns[0].lower() != "time" or len(times) < FEWEST_ROWS or not (np.diff(times) > 0.0).all()
    if bad or not np.isfinite(times).all() or not float(times[-1]) - float(times[0]) <= LONGEST_S:
        raise ConfigError(
            "the times of the motion are missing, too few, not increasing or too long", where=str(path),
            allowed=f"a first column `time` that increases, at least {FEWEST_ROWS} rows, and at most "
                f"{LONGEST_S:g} s",
        )  # fmt: skip
    for text in table.notes:
        note(f"{path}: {text}")
    turning = {
        c.name: in_degrees(body, k) for body in spec.bodies for k, c in enumerate(coordinates_of(body))
    }
    at = times - times[0]
    at[-1] *= 1.0 + ROUNDING
    rows = {name: column_of(table, name, turning[name], str(path)) for name in names}
    splines = {
        name: Spline(at=tuple(at.tolist()), value=tuple(row.tolist()), ends="cubic")
        for name, row in rows.items()
    }
    for text in odd_things(spec, splines):
        note(f"{path}: {text}")
    return splines, times


def odd_things(spec: ModelSpec, motions: Mapping[str, Spline]) -> list[str]:
    """Return warnings about a motion: gaps in its times, and coordinates far outside their range."""
    at = np.array(next(iter(motions.values())).at)
    steps, told = np.diff(at), []
    if steps.max() > HOLE * np.median(steps):
        k = int(steps.argmax())
        told.append(
            f"the motion has no rows from {at[k]:g} to {at[k + 1]:g} s after its start; the gap "
            "was filled by a spline"
        )
    for body in spec.bodies:
        for k, coordinate in enumerate(coordinates_of(body)):
            if coordinate.name not in motions:
                continue
            low, high = coordinate.range
            values = np.array(motions[coordinate.name].value)
            if max(low - values.min(), values.max() - high) > high - low:
                unit, scale = ("deg", np.degrees(1.0)) if is_angular(body, k) else ("mm", 1e3)
                told.append(
                    f"{coordinate.name} goes from {scale * values.min():.4g} to {scale * values.max():.4g} "
                    f"{unit}, far beyond its range of {scale * low:.4g} to {scale * high:.4g} {unit}: are "
                    "its numbers in the unit that the header says?"
                )
    return told


def column_of(table: Table, name: str, turns: bool, where: str) -> Array:
    """Return the values of a coordinate in all rows of a motion's table [rad, m]. Its column has the name of
    the coordinate, or the path by which OpenSim names the coordinate.

    turns : whether the coordinate is an angle; if the table states degrees, it is converted; where : file,
        for errors
    """
    paths = [label for label in table.columns if label.endswith(f"/{name}/value")]
    label = name if name in table.columns else paths[0] if len(paths) == 1 else ""
    if not label:
        raise ConfigError(
            f"the motion has no column for the coordinate {name!r}",
            where=where, allowed=", ".join(table.columns[1:]),
            remedy="export the motion with this coordinate",
        )  # fmt: skip
    values = table.column(label)
    holes = np.flatnonzero(~np.isfinite(values))
    if len(holes):
        raise ConfigError(
            f"{label} has no value at {table.data[holes[0], 0]:g} s ({len(holes)} of {len(values)} rows)",
            where=where, remedy="fill the gaps, or shorten the file",
        )  # fmt: skip
    return np.radians(values) if turns and table.in_degrees else values


def awaiting(spec: ModelSpec) -> ModelSpec:
    """Return the model with its prescribed coordinates at rest, until a stream moves them."""
    couplers = tuple(
        Coupler(coordinate=c.coordinate, of=MOTION) if c.of == MOTION else c for c in spec.couplers
    )
    return replace(spec, couplers=couplers)


def within(length: float, duration: float | None, where: str) -> float:
    """Return the duration of a simulation that a prescribed motion drives [s]: the requested duration, or if
    that is None the whole motion. ConfigError for a duration beyond the motion.

    length : duration of the motion [s]; where : its file, for errors
    """
    if duration is not None and duration > length * (1.0 + OVER):
        raise ConfigError(
            f"the motion lasts {length:g} s, but the simulation {duration:g} s", where=where,
            remedy=f"give --duration {length:g}, or less",
        )  # fmt: skip
    return length if duration is None else min(duration, length)


def check_motion(spec: ModelSpec, motion: str) -> None:
    """Raise ConfigError for a motion that is given but not needed, needed but not given, or unreadable."""
    names = moved_names(spec)
    if motion and not names:
        raise ConfigError(
            f"no coordinate of {spec.name} is prescribed by a motion", where=OPTION,
            remedy="name the coordinates that the motion moves, with --prescribe or, in the model, in "
            '[[couplers]] with of = "motion"',
        )  # fmt: skip
    open_names = [c.coordinate for c in spec.couplers if c.of == MOTION and c.is_identity]
    if open_names and not motion:
        raise ConfigError(
            f"{', '.join(open_names)}: the prescribed motion is missing", where=f"model {spec.name}",
            remedy=f"add {OPTION} FILE.mot, or with --live {OPTION} tcp://HOST:PORT",
        )  # fmt: skip
    if motion and not is_stream(motion) and Path(motion).suffix.lower() not in STORAGE_SUFFIXES:
        raise ConfigError(
            f"a motion cannot be read from {motion}", where=OPTION,
            allowed=f"{', '.join(STORAGE_SUFFIXES)}, or with --live tcp://HOST:PORT",
        )  # fmt: skip
