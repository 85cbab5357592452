"""A walk of an OpenSim model with its force plates through `rtsim analyse`: results beside OpenSim's.

Level walking has ankle moments of 1.1 to 1.9 N m/kg and knee extensors of 0.2 to 1.0 N m/kg at their peaks
(docs/kinetics.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from benchmarks.opensim_peer.opensim_dynamics import Moved, largest_relative, their_loads
from kernels.compiler.jit import allow_compilation
from rtsim.cli.main import cli
from rtsim.files.recording import Results, read_results
from tests.reference.opensim_peer import quiet

Array = NDArray[np.float64]
MODEL, MASS = "subject01_simbody.osim", 72.6
ALIKE = 1e-9


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "data" / "gait_opensim" / "gait2354"


@pytest.fixture(scope="module")
def walk(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The whole walk, its forces by the external loads of OpenSim's own example."""
    allow_compilation()
    out = tmp_path_factory.mktemp("out") / "walk.mcap"
    done = CliRunner().invoke(cli, [
        "analyse", str(folder / "subject01_walk1.trc"), "--model", str(folder / MODEL),
        "--ik-setup", str(folder / "subject01_Setup_IK.xml"),
        "--forces", str(folder / "subject01_walk1_grf.xml"), "--out", str(out),
    ])  # fmt: skip
    allow_compilation()
    assert done.exit_code == 0, done.output
    assert "Inverse dynamics for" in done.output
    return read_results(out)


def labels(results: Results, name: str) -> list[str]:
    return list(next(spec.labels for spec in results.session.fields if spec.name == name))


def test_published_loads_are_those_of_opensim(walk: Results, folder: Path) -> None:
    """Protects whoever compares: from the published motion and external forces OpenSim has the same forces of
    coordinates and reactions of joints, in all frames that have them."""
    opensim: Any = quiet(pytest.importorskip("opensim"))
    f = walk.fields
    known = np.isfinite(f["coordinate_moments"]).all(axis=1)
    assert known.sum() >= 135
    names = labels(walk, "coordinates")
    bodies = labels(walk, "external_forces")
    wrench = np.concatenate([f["external_moments"], f["external_forces"]], axis=2)[known]
    moved = Moved(
        walk.times[known], tuple(names), f["coordinates"][known], f["coordinate_speeds"][known],
        f["coordinate_accelerations"][known], {body: wrench[:, k] for k, body in enumerate(bodies)},
    )  # fmt: skip
    theirs = their_loads(opensim, folder / MODEL, moved)
    for name in ("coordinate_moments", "coordinate_forces"):
        columns = [names.index(label) for label in labels(walk, name)]
        assert largest_relative(f[name][known], theirs.tau[:, columns]) < ALIKE
    for k, joint in enumerate(labels(walk, "reaction_forces_ground")):
        ours = np.hstack(
            [f["reaction_moments_ground"][known][:, k], f["reaction_forces_ground"][known][:, k]]
        )
        assert largest_relative(ours, theirs.reactions[joint]) < ALIKE, joint


@pytest.mark.parametrize("side", ["r", "l"])
def test_peaks_are_those_of_walking(walk: Results, side: str) -> None:
    """Protects signs, axes, units and feet: plantarflexors and knee extensors in the published range."""
    moments = walk.fields["coordinate_moments"] / MASS
    names = labels(walk, "coordinate_moments")
    ankle = moments[:, names.index(f"ankle_angle_{side}")]
    knee = moments[:, names.index(f"knee_angle_{side}")]
    loads = walk.fields["foot_loads"][:, "rl".index(side)]
    stance = loads > 20.0
    assert 1.1 < -np.nanmin(ankle[stance]) < 1.9
    assert 0.2 < np.nanmax(knee[stance]) < 1.0  # flexion of this model is negative


def test_the_residual_is_small(walk: Results) -> None:
    """Protects the mass and the plates together: what nothing explains is a small part of body weight."""
    residual = walk.fields["residual_force"]
    assert np.nanmax(np.abs(residual[:, 1])) < 0.2
    assert np.nanmedian(np.abs(residual[:, 1])) < 0.04


def test_muscle_speeds_are_those_of_opensim(walk: Results, folder: Path) -> None:
    """Protects sign and delay of muscle speeds: OpenSim's lengthening speeds at the published motion."""
    opensim: Any = quiet(pytest.importorskip("opensim"))
    model = opensim.Model(str(folder / MODEL))
    state = model.initSystem()
    found, muscles = model.getCoordinateSet(), model.getMuscles()
    names, f = labels(walk, "coordinates"), walk.fields
    rows = np.flatnonzero(np.isfinite(f["muscle_speeds"]).all(axis=1))[::10]
    assert len(rows) > 10
    expected = []
    for k in rows:
        for name, q, v in zip(names, f["coordinates"][k], f["coordinate_speeds"][k], strict=True):
            found.get(name).setValue(state, float(q), False)
            found.get(name).setSpeedValue(state, float(v))
        model.realizeVelocity(state)
        expected.append(
            [muscles.get(name).getLengtheningSpeed(state) for name in labels(walk, "muscle_speeds")]
        )
    assert largest_relative(f["muscle_speeds"][rows], np.array(expected)) < ALIKE
