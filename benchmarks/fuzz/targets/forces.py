"""Targets for files of force plates and of pressure: .mot, .sto, .forces, external loads; .asf, .lst,
.apd.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.fuzz.seeds import N_FRAME, recordings
from benchmarks.fuzz.target import FuzzTarget, require
from benchmarks.fuzz.targets.markers import check_notes
from rtsim.errors import RtsimError
from rtsim.files.forces.cortex_forces import read_cortex_forces
from rtsim.files.forces.force_storage import read_external_forces, read_storage_forces
from rtsim.files.forces.force_trial import ForceTrial
from rtsim.files.pressure.pressure import read_pressure, told
from rtsim.files.tables.storage import known_part, read_storage, storage_parts

PLATE = ("ground_force_vx", "ground_force_vy", "ground_force_vz", "ground_force_px", "ground_force_py",
         "ground_force_pz", "ground_torque_x", "ground_torque_y", "ground_torque_z")  # fmt: skip
LOADED = (1.0, 700.0, -20.0, 0.3, 0.0, 0.1, 0.0, 2.0, 0.0)
CORTEX = ("FX1", "FY1", "FZ1", "X1", "Y1", "Z1", "MZ1")


def storage_text(columns: tuple[str, ...], row: tuple[float, ...]) -> bytes:
    """Return a storage file whose rows differ only in their times."""
    rows = ["\t".join(f"{x:.6f}" for x in (k / 100.0, *row)) for k in range(N_FRAME)]
    head = [
        "grf",
        "version=1",
        f"nRows={N_FRAME}",
        f"nColumns={1 + len(columns)}",
        "inDegrees=no",
        "endheader",
    ]
    return "\n".join([*head, "\t".join(("time", *columns)), *rows, ""]).encode()


def storage_seeds() -> list[bytes]:
    two = (*PLATE, *(f"1_{name}" for name in PLATE))
    flat = tuple(f"{what}1_{axis}" for what in "fpm" for axis in "xyz")
    seeds = [storage_text(PLATE, LOADED), storage_text(two, LOADED * 2), storage_text(flat, LOADED)]
    return [*seeds, storage_text(("hip_flexion", "knee_angle"), (10.0, 20.0)), *recordings(".mot", 6000)]


def check_forces(trial: ForceTrial) -> None:
    """Check a trial of forces for what everything behind the readers takes for granted."""
    n, n_plate, _ = trial.force.shape
    require(n > 0 and n_plate > 0, "an empty trial of forces")
    require(len(set(trial.names)) == n_plate, "names whose number is not that of the plates")
    require(trial.times.shape == (n,) and np.isfinite(trial.times).all(), "a time is not a number")
    require((np.diff(trial.times) > 0.0).all(), "times that do not increase")
    require(np.isfinite(trial.rate) and trial.rate > 0.0, f"a rate of {trial.rate}")
    for name in ("force", "moment", "centre", "free_moment", "corners", "zero"):
        require(not np.isinf(getattr(trial, name)).any(), f"{name} is at infinity")
    check_notes(trial.notes)


def feed_storage(path: Path) -> None:
    """Read the table and check that it is written and read again identically; then read its forces."""
    table = read_storage(path)
    require(table.data.shape[1] == len(table.columns) == len(set(table.columns)), "columns without names")
    check_notes(table.notes)
    forces: ForceTrial | RtsimError
    try:
        forces = read_storage_forces(path)
    except RtsimError as error:
        forces = error
    try:
        text = "".join(storage_parts(table, str(path), "again"))
    except RtsimError:
        text = ""  # what no storage file can hold
    if text:
        path.write_bytes(text.encode("utf-8"))
        again, kept = read_storage(path), known_part(table)[0]
        require(again.columns == kept.columns, "columns change when they are written and read")
        require(again.data.shape == kept.data.shape, "rows change when they are written and read")
        same = np.isclose(again.data, kept.data, rtol=1e-6, atol=1e-6, equal_nan=True)
        require(bool(same.all()), "numbers change in a file")
    if isinstance(forces, RtsimError):
        raise forces
    check_forces(forces)


def cortex_seeds() -> list[bytes]:
    rows = [f"{k + 1}\t1\t700\t-20\t300\t0\t100\t2000" for k in range(N_FRAME)]
    head = [
        "NumberOfForcePlates=1",
        "SampleRate=1000.0",
        f"NumberOfSamples={N_FRAME}",
        "\t".join(("#Sample", *CORTEX)),
    ]
    return ["\n".join([*head, *rows, ""]).encode(), *recordings(".forces", 6000)]


def feed_cortex(path: Path) -> None:
    check_forces(read_cortex_forces(path))


def external_seeds() -> list[bytes]:
    force = (
        "<ExternalForce name='right'><isDisabled>false</isDisabled><applied_to_body>calcn_r</applied_to_body>"
        "<force_expressed_in_body>ground</force_expressed_in_body>"
        "<point_expressed_in_body>ground</point_expressed_in_body>"
        "<force_identifier>ground_force_v</force_identifier><point_identifier>ground_force_p</point_identifier>"
        "<torque_identifier>ground_torque_</torque_identifier></ExternalForce>"
    )
    text = f"<ExternalLoads name='l'><objects>{force}</objects><datafile>grf.mot</datafile></ExternalLoads>"
    return [f'<?xml version="1.0"?><OpenSimDocument Version="40000">{text}</OpenSimDocument>'.encode()]


def feed_external(path: Path) -> None:
    check_forces(read_external_forces(path))


def tekscan_seeds() -> list[bytes]:
    head = ["DATA_TYPE MOVIE", "ROWS 3", "COLS 4", "ROW_SPACING 8.4 mm", "COL_SPACING 8.4 mm", "UNITS kPa",
            "SECONDS_PER_FRAME 0.01", "START_FRAME 1", "END_FRAME 2", "SATURATION_PRESSURE 800 kPa",
            "ASCII_DATA @@"]  # fmt: skip
    frames = [line for k in (1, 2) for line in (f"Frame {k}", "B,1,2,B", "3,40,5,6", "B,7,8.5,0", "")]
    return ["\n".join([*head, *frames, "@@"]).encode(), *recordings(".asf", 12000)]


def emed_seeds() -> list[bytes]:
    head = ["novel emed", "Matrix: 40x60", "Sensor size: 0.5x0.5 cm", "Time/picture: 20.0 ms", ""]
    pages = []
    for k in (1, 2):
        rows = ["\t3\t4\t5\tForce", "10\t10\t20\t30\t1.5", "11\t0\t40\t10\t1.25", "Force\t0.25\t1.5\t1\t2.75"]
        pages += [f"Pict-No.: {k}", *rows, ""]
    return ["\n".join([*head, *pages]).encode(), *recordings(".lst", 12000)]


def zebris_seeds() -> list[bytes]:
    head = ["[Header]", "SensCountX=3", "SensCountY=4", "UnitDistance=mm", "UnitPressure=kPa", "LDistX=8.5",
            "LDistY=8.5", "StartSensX=4", "StartSensY=2", "[Data]"]  # fmt: skip
    rows = ["-1 10 20 -1", "5.5 100 90 1", "-1 -1 30 2"]
    return ["\n".join([*head, *rows, ""]).encode(), *recordings(".apd", 12000)]


def feed_pressure(path: Path) -> None:
    """Read a trial of pressure and the notes on it."""
    trial = read_pressure(path)
    n = len(trial.pressure)
    require(n > 0 and trial.times.shape == (n,), "the number of times is not that of the rows")
    require(np.isfinite(trial.times).all() and np.isfinite(trial.rate), "a time is not a number")
    require(trial.rate >= 0.0, f"a rate of {trial.rate}")
    require((np.diff(trial.times) > 0.0).all(), "times that do not increase")
    require(np.isfinite(trial.cell).all() and (trial.cell > 0.0).all(), "a cell without a size")
    require(np.isfinite(trial.origin).all(), "an origin that is not a position")
    require(not (trial.pressure < 0.0).any() and not np.isinf(trial.pressure).any(), "an invalid pressure")
    require(np.isfinite(trial.force).all(), "a force is not a number")
    require(not np.isinf(trial.centre).any(), "a centre of pressure is at infinity")
    require(all(told(trial)), "an empty sentence")
    check_notes(trial.notes)


TARGETS = (
    FuzzTarget("storage", feed_storage, storage_seeds, form="text", suffix=".mot", weight=2.0),
    FuzzTarget("cortex", feed_cortex, cortex_seeds, form="text", suffix=".forces"),
    FuzzTarget("external", feed_external, external_seeds, form="markup", suffix=".xml",
               beside={"grf.mot": storage_text(PLATE, LOADED)}),
    FuzzTarget("tekscan", feed_pressure, tekscan_seeds, form="text", suffix=".asf"),
    FuzzTarget("emed", feed_pressure, emed_seeds, form="text", suffix=".lst"),
    FuzzTarget("zebris", feed_pressure, zebris_seeds, form="text", suffix=".apd"),
)  # fmt: skip
