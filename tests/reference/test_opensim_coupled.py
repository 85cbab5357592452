"""Coordinates of OpenSim's motion type Coupled in storage files: ours in OpenSim, and OpenSim's here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.files.osim.model import read_osim
from rtsim.files.recording import Results
from rtsim.files.tables.export import table_parts
from rtsim.files.tables.storage import read_storage
from rtsim.models.model import build
from rtsim.quantity import Fields
from rtsim.simulation.motion import read_motion
from rtsim.stages.poses.coordinates import CoordinateValues
from tests.reference.opensim_peer import quiet
from tests.rtsim.files.osim_texts import (
    GROUND,
    LINE,
    SPLINE,
    Coordinate,
    Joint,
    Model,
    spatial_transform,
    transform_axis,
)
from tests.rtsim.files.test_osim_joints import COUPLED, moved_by

Array = NDArray[np.float64]
COUPLED_TYPE = 3
CAP = spatial_transform(
    transform_axis("rotation1", "1 0 0"), transform_axis("rotation2", "0 1 0"),
    transform_axis("rotation3", "0 0 1", "cap", SPLINE),
    transform_axis("translation1", "1 0 0", "cap", SPLINE),
    transform_axis("translation2", "0 1 0", "cap", LINE.replace("1 0", "0.05 0.1")),
    transform_axis("translation3", "0 0 1"),
)  # fmt: skip
LEG = Model((
    Joint("PinJoint", GROUND, "thigh", (Coordinate("hip"),)),
    Joint("PinJoint", "thigh", "shank", (Coordinate("knee"),)),
    Joint("CustomJoint", "thigh", "kneecap", (Coordinate("cap"),), CAP),
))  # fmt: skip


@pytest.fixture
def leg(tmp_path: Path) -> Path:
    """A leg whose kneecap splines move, as a file."""
    path = tmp_path / "leg.osim"
    path.write_text(LEG.text(40000), encoding="utf-8")
    return path


@pytest.mark.parametrize(("axes", "coupled"), COUPLED)
def test_motion_types(tmp_path: Path, axes: dict[str, str], coupled: bool) -> None:
    """Protects which coordinates stay in radians: those that OpenSim itself calls Coupled, and turn."""
    osim = quiet(pytest.importorskip("opensim"))
    path = tmp_path / "a.osim"
    path.write_text(moved_by(axes).text(40000), encoding="utf-8")
    model = osim.Model(str(path))
    model.initSystem()
    kind = model.getCoordinateSet().get("q").getMotionType()
    turns = any(name.startswith("rotation") for name in axes)
    assert (turns and kind != 1) is coupled  # 1: rotational, which alone it converts


def ours(path: Path) -> tuple[Array, dict[str, Array], str]:
    """Times, coordinates [rad] of a motion, and the text of our .mot file of it."""
    model, times = build(read_osim(path)[0]), np.linspace(0.0, 2.0, 201)
    moved = {
        "hip": 0.4 * np.sin(3.0 * times),
        "knee": 0.6 * np.sin(2.0 * times),
        "cap": 0.7 * np.sin(2.5 * times),
    }
    told, q = CoordinateValues(model), model.q_neutral.copy()
    fields = Fields(told.quantities(), 100.0, 0, {})
    values = {name: np.empty((len(times), *array.shape)) for name, array in fields.arrays.items()}
    for row in range(len(times)):
        for name, at in zip(model.coordinates.names, model.coordinates.q, strict=True):
            q[at] = moved[name][row]
        told.report(q)
        for name, array in fields.arrays.items():
            values[name][row] = array
    results = Results(fields.session, values, times, np.zeros(len(times), np.int64))
    parts, _ = table_parts(results, ".mot", "a.mot", "a", "here", "all")
    return times, moved, "".join(parts)


def moments(osim: Any, model: Path, motion: Path) -> dict[str, Array]:
    """OpenSim's generalized forces of a motion by coordinate."""
    tool = osim.InverseDynamicsTool()
    read = osim.Model(str(model))
    tool.setModel(read)
    tool.setCoordinatesFileName(str(motion))
    tool.setLowpassCutoffFrequency(-1)
    tool.setStartTime(0.1)
    tool.setEndTime(1.9)
    tool.setResultsDir(str(motion.parent))
    tool.setOutputGenForceFileName(f"{motion.stem}_id.sto")
    tool.run()
    table = read_storage(motion.parent / f"{motion.stem}_id.sto")
    return {name: table.column(name) for name in table.columns[1:]}


def test_our_file_in_opensims_inverse_dynamics(leg: Path, tmp_path: Path) -> None:
    """Protects moments from our motion files: those of the same motion in radians, to 1e-3 of each peak."""
    osim = quiet(pytest.importorskip("opensim"))
    times, moved, text = ours(leg)
    (tmp_path / "ours.mot").write_text(text, encoding="utf-8")
    rows = "\n".join("\t".join(f"{x:.12g}" for x in row) for row in np.column_stack([times, *moved.values()]))
    head = f"true\nversion=1\nnRows={len(times)}\nnColumns=4\ninDegrees=no\nendheader\n"
    (tmp_path / "true.mot").write_text(f"{head}time\t" + "\t".join(moved) + f"\n{rows}\n", encoding="utf-8")
    found, right = (moments(osim, leg, tmp_path / name) for name in ("ours.mot", "true.mot"))
    for name, expected in right.items():
        assert np.abs(found[name] - expected).max() <= 1e-3 * np.abs(expected).max(), name


def test_opensims_file_here(leg: Path, tmp_path: Path) -> None:
    """Protects motions that OpenSim writes in degrees: they are read as they were, coupled ones too."""
    osim = quiet(pytest.importorskip("opensim"))
    _, moved, text = ours(leg)
    (tmp_path / "ours.mot").write_text(text, encoding="utf-8")
    model, storage = osim.Model(str(leg)), osim.Storage(str(tmp_path / "ours.mot"))
    model.initSystem()
    model.getSimbodyEngine().convertDegreesToRadians(storage)
    model.getSimbodyEngine().convertRadiansToDegrees(storage)
    storage.printResult(storage, "theirs", str(tmp_path), -1, ".mot")
    splines, _ = read_motion(read_osim(leg)[0], ("hip", "cap"), tmp_path / "theirs.mot", print)
    for name, spline in splines.items():
        np.testing.assert_allclose(spline.value, moved[name], atol=1e-7)
