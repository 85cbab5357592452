"""Muscles of a walk recruited by `rtsim analyse`: the load is borne, and by what OpenSim would choose."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from kernels.compiler.jit import allow_compilation
from rtsim.cli.main import cli
from rtsim.files.recording import read_results

CONFIG = """
name = "recruited"
[recruitment]
power = 2
reserves = { subtalar_angle_r = 20.0, subtalar_angle_l = 20.0 }
"""


def test_a_walk_is_borne_by_its_muscles(shared: Path, tmp_path: Path) -> None:
    """Protects the chain from markers and plates to activations: every frame proved, forces times arms are
    the moments of inverse dynamics, soleus and gluteus medius busy in stance and not in swing."""
    folder = shared / "data" / "gait_opensim" / "gait2354"
    if not folder.is_dir():
        pytest.skip("no recording")
    (tmp_path / "run.toml").write_text(CONFIG)
    out = tmp_path / "walk.mcap"
    allow_compilation()
    done = CliRunner().invoke(cli, [
        "analyse", str(folder / "subject01_walk1.trc"), "--config", str(tmp_path / "run.toml"),
        "--model", str(folder / "subject01_simbody.osim"),
        "--ik-setup", str(folder / "subject01_Setup_IK.xml"),
        "--forces", str(folder / "subject01_walk1_grf.xml"), "--out", str(out),
    ])  # fmt: skip
    allow_compilation()
    assert done.exit_code == 0, done.output
    walk = read_results(out)
    f, names = walk.fields, {spec.name: spec.labels for spec in walk.session.fields}
    known = np.isfinite(f["load_not_borne"]).all(axis=1)
    assert known.sum() >= 135
    borne = known & (np.abs(f["load_not_borne"]).max(axis=1) < 1e-6)
    assert borne.sum() >= 0.95 * known.sum()
    assert np.nanmax(f["recruitment_gap"][borne]) <= 1e-9
    activation = dict(zip(names["muscle_activations"], f["muscle_activations"][borne].T, strict=True))
    load = f["external_forces"][borne, names["external_forces"].index("calcn_r"), 1]
    stance, swing = load > 500.0, load < 5.0
    assert stance.sum() > 20
    assert swing.sum() > 20
    for muscle in ("soleus_r", "glut_med1_r"):
        assert activation[muscle][stance].max() > 0.15, muscle
        assert activation[muscle][stance].mean() > 3.0 * activation[muscle][swing].mean(), muscle
