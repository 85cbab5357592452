"""A whole OpenSim model through `rtsim analyse`: its walk, its set-up, and OpenSim where that is installed.

The mean weighted RMS over 0.4 to 1.6 s of OpenSim 4.6 at accuracy 1e-7 is 10.69965 mm without and 11.52856 mm
with the set-up's coordinate tasks.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from kernels._jit import allow_compilation
from rtsim.cli.main import cli
from rtsim.files.storage import Table, read_storage
from tests.reference import gait2354
from tests.reference.test_ik_gait2354 import START, STOP, opensim_coordinates

Array = NDArray[np.float64]


class Analysed(NamedTuple):
    """What one run wrote and printed."""

    motion: Table  # of the .mot file
    everything: Table  # of the .sto file
    summary: dict[str, Any]


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "data" / "gait_opensim" / "gait2354"


def without_tasks(setup: Path, path: Path) -> Path:
    """The set-up without what it asks of coordinates."""
    path.write_text(re.sub(r"<IKCoordinateTask.*?</IKCoordinateTask>", "", setup.read_text(), flags=re.S))
    return path


@pytest.fixture(scope="module", params=[False, True], ids=["markers", "tasks"])
def analysed(folder: Path, tmp_path_factory: pytest.TempPathFactory, request: Any) -> tuple[bool, Analysed]:
    """The walk by markers alone, and with the coordinate tasks."""
    allow_compilation()  # another test may have forbidden it
    out, setup = tmp_path_factory.mktemp("out"), folder / "subject01_Setup_IK.xml"
    setup = setup if request.param else without_tasks(setup, out / "setup.xml")
    done = CliRunner().invoke(cli, [
        "analyse", str(folder / "subject01_walk1.trc"), "--model", str(folder / "subject01_simbody.osim"),
        "--ik-setup", str(setup), "--out", str(out / "walk.mot"), "--out", str(out / "walk.sto"), "--json",
    ])  # fmt: skip
    allow_compilation()
    assert done.exit_code == 0, done.output
    read = read_storage(out / "walk.mot"), read_storage(out / "walk.sto")
    return request.param, Analysed(*read, json.loads(done.stdout))


def test_every_frame_is_the_optimum(analysed: tuple[bool, Analysed]) -> None:
    """Protects the acceptance: all frames solved, nothing weighed down, OpenSim's weighted residual."""
    tasks, run = analysed
    assert run.summary["status"] == {"ok": 151}
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


def test_coordinates_are_those_of_opensim(folder: Path, analysed: tuple[bool, Analysed]) -> None:
    """Protects the whole way from file to file: every coordinate of each frame within 0.01 degree."""
    opensim = pytest.importorskip("opensim")
    tasks, run = analysed
    setup = folder / "subject01_Setup_IK.xml"
    fit = gait2354.make_fit(folder / "subject01_simbody.osim", gait2354.weights_of(setup), {}, {})
    times, q, rms = opensim_coordinates(opensim, folder, fit, tasks)
    rows = [int(np.abs(run.motion.column("time") - time).argmin()) for time in times]
    for k, name in enumerate(fit.model.coordinates.names):
        if name.startswith("mtp") and not tasks:
            continue  # no marker says where it is
        turns = fit.model.coordinates.is_angle[k]
        own = run.motion.column(name)[rows]
        gap = np.abs(own - (np.degrees(q[:, k]) if turns else q[:, k])).max()
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
