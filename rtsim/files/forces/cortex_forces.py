"""Forces of Cortex (.forces): a row per sample, FX FY FZ, X Y Z and MZ of each plate, in N and mm."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from rtsim.errors import ConfigError
from rtsim.files.forces.force_trial import ForceTrial, RawForces, force_trial, levels
from rtsim.files.forces.force_units import moment_unit, newton_metres_per_unit
from rtsim.files.markers.axes import ROTATIONS, parse_up
from rtsim.files.tables.grid import parse_rows, read_lines, table_lines
from rtsim.files.units import METRES, length_unit, metres_per_unit

PER_PLATE = 7
MOST_HEADER = 30
MOST_PLATES = 64
ENTRY = re.compile(r"(NumberOfForcePlates|SampleRate)\s*=\s*(\d+(?:\.\d*)?(?:e[+-]?\d+)?)$", re.IGNORECASE)


@np.errstate(invalid="ignore", over="ignore")  # infinite and absurd samples are told by force_trial
def read_cortex_forces(path: str | Path, *, up: str | None = None, units: str | None = None) -> ForceTrial:
    """Read the force plates of a .forces file of Cortex as forces in ground; the first sample is at 0 s.

    The file has the axes of the TRC file of the same recording: Y up unless `up` says otherwise, and lengths
    in mm unless `units` says otherwise. MZ is the moment about the vertical through the centre of pressure
    [N mm].
    """
    path = Path(path)
    lines = read_lines(path, "force")
    row = next((i for i, line in enumerate(lines[:MOST_HEADER]) if line.lower().startswith("#sample")), None)
    head = {m[1].lower(): float(m[2]) for line in lines[: row or 0] if (m := ENTRY.match(line.strip()))}
    rate, n_plate = head.get("samplerate", 0.0), head.get("numberofforceplates", 0.0)
    if row is None or rate <= 0.0 or not 1 <= n_plate <= MOST_PLATES:
        raise ConfigError(
            "there is no #Sample line below NumberOfForcePlates and SampleRate, so this is not a "
            ".forces file",
            where=str(path),
            remedy="export the forces again",
        )
    labels = lines[row].split()
    n_column = 1 + PER_PLATE * int(n_plate)
    if len(labels) != n_column:
        raise ConfigError(
            f"the file has {len(labels)} columns, which does not fit {int(n_plate)} force plates",
            where=f"{path}, line {row + 1}",
            allowed=f"{n_column}",
        )
    rows, notes = table_lines(lines, row + 1, n_column)
    data, said = parse_rows(rows, n_column, str(path), lambda column: labels[column])
    axis = parse_up(up, "--up") if up is not None else "+Y"
    length, unit = length_unit(units), moment_unit(units)
    scale = metres_per_unit(length, "--units") if length else METRES["mm"]
    arm = newton_metres_per_unit(unit) or 1.0 if unit else scale
    values = data[:, 1:].reshape(len(rows), int(n_plate), PER_PLATE)
    force, point = values[..., :3] @ ROTATIONS[axis].T, scale * values[..., 3:6] @ ROTATIONS[axis].T
    moment = np.cross(point, force)
    moment[..., 1] += arm * values[..., 6]
    raw = RawForces(
        names=tuple(f"plate_{number + 1}" for number in range(int(n_plate))),
        times=np.arange(len(rows)) / rate,
        rate=rate,
        corners=np.full((int(n_plate), 4, 3), np.nan),
        level=levels(point, force),
        force=force,
        moment=moment,
        source=str(path),
        notes=(
            *notes,
            *said,
            f"units (N, N mm, mm) and up axis ({axis}) are those that the format defines; the file "
            "does not state them",
        ),
    )
    return force_trial(raw)
