"""Results of a simulation as files: OpenSim storage, CSV, and a recording as of a live session."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rtsim.errors import ConfigError
from rtsim.files.output import check_folder
from rtsim.files.recorded import write_results
from rtsim.files.recording import Results
from rtsim.files.storage import Table, write_csv, write_storage
from rtsim.files.trial import unique_names
from rtsim.simulation.results import Field, at_the_face, body_fields, fields_of
from rtsim.simulation.run import Run
from rtsim.simulation.simulator import Simulator
from streams.clock import now_ns
from streams.messages import Session, Status, new_session_id

SUFFIXES = (".sto", ".csv", ".mcap")
RECORDING = ".mcap"


def check_outputs(paths: Sequence[Path], option: str = "--out") -> None:
    """ConfigError before a run where a file could not be written after it."""
    for k, path in enumerate(paths):
        if path.suffix.lower() not in SUFFIXES:
            raise ConfigError(
                f"cannot write {path.suffix or '(no suffix)'!r}",
                where=f"{option} {path}",
                allowed=", ".join(SUFFIXES),
            )
        if path in paths[:k]:
            raise ConfigError(f"{path} is given twice", where=option, remedy="give each file once")
        check_folder(path, option)
        if path.is_dir():
            raise ConfigError(f"{path} is a folder", where=option, remedy="give the name of a file")
        if path.suffix.lower() == RECORDING and path.exists():
            raise ConfigError(f"{path} exists already", where=option, remedy="choose another name")


def write(path: Path, simulator: Simulator, done: Run) -> None:
    """The results in the format that the suffix names."""
    suffix = path.suffix.lower()
    if suffix == RECORDING:
        write_results(path, recorded(simulator, done))
        return
    table, units = table_of(fields_of(simulator, done), done, simulator.model.name)
    if suffix == ".csv":
        names = tuple(f"{name} [{unit}]" for name, unit in zip(table.columns, units, strict=True))
        write_csv(path, table._replace(columns=names))
    else:
        pairs = [f"{name} [{unit}]" for name, unit in zip(table.columns, units, strict=True)]
        write_storage(path, table, lines=(f"units: {', '.join(pairs)}",))


def table_of(fields: Sequence[Field], done: Run, name: str) -> tuple[Table, tuple[str, ...]]:
    """All fields as columns after the time, rotations in degrees; and the units of the columns."""
    columns, units, data = ["time"], ["s"], [done.times[:, None]]
    for field in fields:
        values, unit = at_the_face(field)
        columns += field.columns()
        units += [unit] * values.shape[1]
        data.append(values)
    unique, _ = unique_names(columns)
    return Table(unique, np.hstack(data), True, name), tuple(units)


def recorded(simulator: Simulator, done: Run) -> Results:
    """The results as a live session would have sent them."""
    m, settings = simulator.model, simulator.settings
    fields = [*fields_of(simulator, done), *body_fields(simulator, done)]
    times = done.times
    rate = 1.0 / float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    session = Session(
        session=new_session_id(),
        stream="result",
        t_start=now_ns(),
        rate=rate,
        fields=tuple(field.spec() for field in fields),
        meta={
            "model": m.name,
            "method": settings.method,
            "source": "simulation",
            "step_ms": settings.step_ms,
            "kinks": settings.kinks,
            "up": "Z" if abs(m.system.gravity).argmax() == 2 else "Y",
            "stick": stick(simulator),
        },
    )
    large = done.trace.error > settings.tolerance
    status = np.where(large, int(Status.DEGRADED), int(Status.OK))
    return Results(session, {field.name: field.values for field in fields}, times, status)


def stick(simulator: Simulator) -> list[list[str]]:
    """Pairs of bodies that a joint connects."""
    names, parents = simulator.model.names.bodies, simulator.model.tree.parent
    return [[names[parent], names[b]] for b, parent in enumerate(parents) if parent >= 0]
