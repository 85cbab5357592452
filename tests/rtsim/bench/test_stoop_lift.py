"""The stoop lift of Millard et al. (2019): inverse kinematics and dynamics against the authors' own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from kernels._jit import allow_compilation
from rtsim.bench.stoop_lift import COLUMNS, RATE, markers_of, signs, stoop_model, table_of, write_loads
from rtsim.cli.main import cli
from rtsim.files.model_toml import model_text
from rtsim.files.recording import Results, read_results

BORNE_BY = """
name = "stoop"
[plates.borne_by]
feet = { foot_r = 0.5, foot_l = 0.5 }
box = { hand_r = 0.5, hand_l = 0.5 }
"""
THEIRS = {"pelvis_x": (4.98, 3.95), "pelvis_y": (7.65, 3.67), "pelvis_tilt": (3.58, 2.51)}
"""What the authors' analysis leaves at the root: mean and deviation of its size [N, N, N m]."""


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    found = shared / "data" / "stoop_lift"
    if not found.is_dir():
        pytest.skip("the stoop lift is not here")
    return found


@pytest.fixture(scope="module")
def analysed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Results of `rtsim analyse` of markers and forces of the trial of the paper."""
    path = tmp_path_factory.mktemp("stoop")
    (path / "body.toml").write_text(model_text(stoop_model(folder)), encoding="utf-8")
    (path / "run.toml").write_text(BORNE_BY, encoding="utf-8")
    write_loads(folder, "stoop2", path / "loads.mot")
    allow_compilation()
    done = CliRunner().invoke(
        cli,
        ["analyse", str(markers_of(folder, "stoop2")), "--model", str(path / "body.toml"), "--forces",
         str(path / "loads.mot"), "--config", str(path / "run.toml"), "--out", str(path / "out.mcap")],
    )  # fmt: skip
    allow_compilation()
    assert done.exit_code == 0, done.output
    return read_results(path / "out.mcap")


def values(results: Results, name: str) -> np.ndarray:
    """The generalized force of a coordinate."""
    labels = {spec.name: spec.labels for spec in results.session.fields}
    field = next(f for f in ("coordinate_moments", "coordinate_forces") if name in labels[f])
    return results.fields[field][:, labels[field].index(name)]


def test_no_more_is_left_at_the_root_than_in_the_authors_own_analysis(analysed: Results) -> None:
    """Protects model, signs, axes and the loads on feet and hands, from markers to moments."""
    for name, (mean, deviation) in THEIRS.items():
        left = np.abs(values(analysed, name))
        left = left[np.isfinite(left)]
        assert len(left) > 180
        assert left.mean() <= mean, name
        assert left.std() <= deviation, name


def test_joint_moments_are_the_authors(analysed: Results, folder: Path) -> None:
    """Protects every joint: within 4 N m and 4 % of the greatest (RMS), at the delay of the filter; arms and
    trunk bear the box, whose horizontal force they took the other way round."""
    delay = analysed.session.meta["rates"]["delay_s"][0]
    theirs = signs() * table_of(folder, "ID_2D/tau_stoop2.csv")[:, 3:]
    for k, name in enumerate(COLUMNS[3:], start=3):
        ours = values(analysed, name)
        times = analysed.times - analysed.times[0]
        known = np.isfinite(ours)
        at = times[known] - delay
        expected = np.interp(at, np.arange(len(theirs)) / RATE, theirs[:, k])
        rms = np.sqrt(np.mean((ours[known] - expected) ** 2))
        assert rms < 4.0, (name, rms)
        if np.abs(theirs[:, k]).max() > 40.0:
            assert rms < 0.04 * np.abs(theirs[:, k]).max(), (name, rms)


def test_hip_extensors_need_what_the_paper_says(analysed: Results) -> None:
    """Protects the activations of live frames: before any fit the right hip's extensor needs 0.871 at most and
    less than 0 from 81.7 degrees of flexion on, which goes to 120.7."""
    labels = {spec.name: spec.labels for spec in analysed.session.fields}
    column = labels["generator_activations"].index("hip_flexion_r_extensor")
    activation = analysed.fields["generator_activations"][:, column]
    row = labels["coordinates"].index("hip_flexion_r")
    angle = np.degrees(analysed.fields["coordinates"][:, row])
    assert np.nanmax(angle) == pytest.approx(120.7, abs=0.2)
    assert np.nanmax(activation) == pytest.approx(0.871, abs=0.01)
    first = np.flatnonzero(activation < 0.0)[0]
    assert angle[first - 1] < 81.7 < angle[first] + 1.0
    limits = analysed.fields["generator_limits"][:, column]
    np.testing.assert_array_equal(limits == -1.0, activation < 0.0)
