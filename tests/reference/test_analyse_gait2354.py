"""A whole OpenSim model through `rtsim analyse`: its walk, its set-up, and OpenSim where that is installed.

The mean weighted RMS over 0.4 to 1.6 s of OpenSim 4.6 at accuracy 1e-7 is 10.69965 mm without and 11.52856 mm
with the set-up's coordinate tasks.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from kernels.compiler.jit import allow_compilation
from rtsim.cli.main import cli
from rtsim.files.tables.storage import Table, read_storage
from streams.codec import decode
from streams.messages import Result
from streams.recording.recorded import read_messages

Array = NDArray[np.float64]

START, STOP = 0.4, 1.6  # [s] of what is compared with OpenSim


class Analysed(NamedTuple):
    """What one run wrote and printed."""

    motion: Table  # of the .mot file
    everything: Table  # of the .sto file
    frames: list[Result]  # of the .mcap file
    summary: dict[str, Any]


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "data" / "gait_opensim" / "gait2354"


def without_tasks(setup: Path, path: Path) -> Path:
    """The set-up without what it asks of coordinates."""
    path.write_text(re.sub(r"<IKCoordinateTask.*?</IKCoordinateTask>", "", setup.read_text(), flags=re.S))
    return path


def analyse(folder: Path, model: Path, setup: Path, out: Path) -> Analysed:
    """The walk of this model, by this set-up."""
    allow_compilation()  # another test may have forbidden it
    paths = [out / f"walk.{suffix}" for suffix in ("mot", "sto", "mcap")]
    files = [word for path in paths for word in ("--out", str(path))]
    options = ["--model", str(model), "--ik-setup", str(setup), *files, "--json"]
    done = CliRunner().invoke(cli, ["analyse", str(folder / "subject01_walk1.trc"), *options])
    allow_compilation()
    assert done.exit_code == 0, done.output
    frames = [decode((topic, data)) for _, topic, data in read_messages(paths[2]) if topic == b"result"]
    return Analysed(read_storage(paths[0]), read_storage(paths[1]), frames, json.loads(done.stdout))


@pytest.fixture(scope="module", params=[False, True], ids=["markers", "tasks"])
def analysed(folder: Path, tmp_path_factory: pytest.TempPathFactory, request: Any) -> tuple[bool, Analysed]:
    """The walk by markers alone, and with the coordinate tasks."""
    out, setup = tmp_path_factory.mktemp("out"), folder / "subject01_Setup_IK.xml"
    setup = setup if request.param else without_tasks(setup, out / "setup.xml")
    return request.param, analyse(folder, folder / "subject01_simbody.osim", setup, out)


def test_every_frame_is_the_optimum(analysed: tuple[bool, Analysed]) -> None:
    """Protects custom joints with functions from the neutral pose on: all frames solved in a few steps,
    nothing weighed down, OpenSim's weighted residual."""
    tasks, run = analysed
    assert run.summary["status"] == {"ok": 151}
    assert len(run.frames) == 151
    assert max(frame.residual for frame in run.frames) <= 1e-11
    assert np.mean([frame.iterations for frame in run.frames[1:]]) < 5.0
    rms = run.everything.column("marker_rms_weighted")
    times = run.everything.column("time")
    inside = (times > START - 1e-3) & (times < STOP + 1e-3)
    assert 1e3 * rms[inside].mean() <= (11.52856 if tasks else 10.69965) + 2e-4
    weights = [name for name in run.everything.columns if name.startswith("marker_weights.")]
    assert len(weights) == 31
    assert all((run.everything.column(name) == 1.0).all() for name in weights)


def test_the_quantities_of_a_model(analysed: tuple[bool, Analysed]) -> None:
    """Protects results of any model: coordinates by name, muscles, arms; no joints it has not."""
    fields = analysed[1].summary["fields"]
    assert {"joint_angles", "joint_displacements", "muscle_lengths", "moment_arms"} <= {*fields}
    assert not {"knee_displacements", "ligament_lengthening", "contact_points"} & {*fields}
    arms = analysed[1].everything.column("moment_arms.rect_fem_r.knee_angle_r")
    assert ((arms > 0.02) & (arms < 0.08)).all()


def test_a_range_of_the_knee_is_kept_in_every_frame(folder: Path, tmp_path: Path) -> None:
    """Protects clamped coordinates of chains: a knee that would bend further stops at 30 degrees."""
    text, setup = (folder / "subject01_simbody.osim").read_text(), folder / "subject01_Setup_IK.xml"
    before, knee, after = text.partition('<Coordinate name="knee_angle_r">')
    after = re.sub(r"<range>.*?</range>", f"<range>{np.radians(-30.0)} 0</range>", after, count=1)
    after = after.replace("<clamped>false<", "<clamped>true<", 1)
    (tmp_path / "stiff.osim").write_text(before + knee + after)
    run = analyse(folder, tmp_path / "stiff.osim", without_tasks(setup, tmp_path / "setup.xml"), tmp_path)
    angles = run.motion.column("knee_angle_r")
    assert len(run.frames) == 151
    assert max(frame.residual for frame in run.frames) <= 1e-11
    assert (angles >= -30.0 - 1e-12).all()
    assert 10 < np.count_nonzero(angles <= -30.0 + 1e-12) < len(angles)


def weights_of(setup: Path, kind: str) -> dict[str, float]:
    """Weight of every task of this kind that takes part (all coordinates are drawn to their defaults)."""
    return {
        task.get("name", ""): float(task.findtext("weight") or "nan")
        for task in ElementTree.parse(setup).getroot().iter(kind)
        if (task.findtext("apply") or "").strip() == "true"
    }


def opensim_coordinates(
    opensim: object, folder: Path, tasks: bool
) -> tuple[list[float], dict[str, Array], list[float]]:
    """Return times, every coordinate's values (n_frame,) by its name, and weighted RMS [m], of OpenSim."""
    opensim.Logger.setLevelString("error")
    setup = folder / "subject01_Setup_IK.xml"
    weights = weights_of(setup, "IKMarkerTask")
    model = opensim.Model(str(folder / "subject01_simbody.osim"))
    state = model.initSystem()
    marker_weights = opensim.SetMarkerWeights()
    for name, weight in weights.items():
        marker_weights.cloneAndAppend(opensim.MarkerWeight(name, weight))
    markers = opensim.MarkersReference(str(folder / "subject01_walk1.trc"), marker_weights)
    drawn = opensim.SimTKArrayCoordinateReference()
    coordinates = model.getCoordinateSet()
    for name, weight in (weights_of(setup, "IKCoordinateTask") if tasks else {}).items():
        value = coordinates.get(name).getDefaultValue()
        reference = opensim.CoordinateReference(name, opensim.Constant(value))
        reference.setWeight(weight)
        drawn.push_back(reference)
    solver = opensim.InverseKinematicsSolver(model, markers, drawn, float("inf"))
    solver.setAccuracy(1e-7)
    table = opensim.TimeSeriesTableVec3(str(folder / "subject01_walk1.trc"))
    times = [t for t in table.getIndependentColumn() if START - 1e-3 < t < STOP + 1e-3]
    state.setTime(times[0])
    solver.assemble(state)
    names = [coordinates.get(k).getName() for k in range(coordinates.getSize())]
    q, rms = [], []
    for time in times:
        state.setTime(time)
        solver.track(state)
        q.append([coordinates.get(name).getValue(state) for name in names])
        used = [solver.getMarkerNameForIndex(i) for i in range(solver.getNumMarkersInUse())]
        square = sum(weights[n] * solver.computeCurrentMarkerError(n) ** 2 for n in used)
        rms.append(np.sqrt(square / sum(weights[n] for n in used)))
    return times, dict(zip(names, np.array(q).T, strict=True)), rms


def test_coordinates_are_those_of_opensim(folder: Path, analysed: tuple[bool, Analysed]) -> None:
    """Protects the whole way from file to file: every coordinate of each frame within 0.01 degree."""
    opensim = pytest.importorskip("opensim")
    tasks, run = analysed
    times, coordinates, rms = opensim_coordinates(opensim, folder, tasks)
    rows = [int(np.abs(run.motion.column("time") - time).argmin()) for time in times]
    for name, values in coordinates.items():
        if name.startswith("mtp") and not tasks:
            continue  # no marker says where it is
        turns = name not in ("pelvis_tx", "pelvis_ty", "pelvis_tz")
        own = run.motion.column(name)[rows]
        gap = np.abs(own - (np.degrees(values) if turns else values)).max()
        assert gap < (0.01 if turns else 1e-6), name
    own = run.everything.column("marker_rms_weighted")[rows]
    np.testing.assert_allclose(own, rms, rtol=1e-5)


def test_opensim_opens_the_motion(folder: Path, analysed: tuple[bool, Analysed], tmp_path: Path) -> None:
    """Protects users who go on in OpenSim: the .mot has every coordinate of the model under its name, and the
    status of each frame."""
    opensim = pytest.importorskip("opensim")
    motion = analysed[1].motion
    model = opensim.Model(str(folder / "subject01_simbody.osim"))
    model.initSystem()
    found = model.getCoordinateSet()
    names = {found.get(k).getName() for k in range(found.getSize())}
    assert names == {*motion.columns} - {"time", "status"}
