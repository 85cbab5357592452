"""A leg that was never marked with a pelvis, in the loop, with the made-up plate and over sockets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from kernels.compiler.jit import allow_compilation
from rtsim.cli.main import cli
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.files.markers.trc import write_trc
from rtsim.files.markers.trial import MarkerTrial
from rtsim.files.recording import read_results
from rtsim.models.load import load_model
from rtsim.subjects.calibration.calibration import subject_for
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.made_up.walker_forces import walker_forces
from rtsim.subjects.subject import load_subject
from streams.messages import Status
from tests.rtsim.live.test_with_forces import Analysed, analysed

HIP_ONLY = ("hip_flexion", "hip_adduction", "hip_internal_rotation")


@pytest.fixture(scope="module")
def spec() -> ModelSpec:
    return load_model("lower_limb")


@pytest.fixture(scope="module")
def trial(spec: ModelSpec) -> MarkerTrial:
    """The walker, whole."""
    return walk(spec, load_subject(find_config("walker", "subjects")), 1.2)


@pytest.fixture(scope="module")
def bare(trial: MarkerTrial) -> MarkerTrial:
    """The walker's thigh, shank and foot."""
    kept = [k for k, name in enumerate(trial.names) if name not in ("RASI", "LASI", "RPSI", "LPSI")]
    return trial._replace(names=tuple(trial.names[k] for k in kept), positions=trial.positions[:, kept])


def labels(result: Analysed, field: str) -> tuple[str, ...]:
    """Labels of a field's first axis."""
    return tuple(next(spec.labels for spec in result.session.fields if spec.name == field))


def test_knee_and_ankle_with_forces(spec: ModelSpec, trial: MarkerTrial, bare: MarkerTrial) -> None:
    """Protects a leg alone: no hip in any field, no residual, every frame fine, moments as with a pelvis."""
    allow_compilation()
    forces = walker_forces(trial)
    whole = analysed(spec, load_subject(find_config("walker", "subjects")), trial, forces)
    seen = analysed(spec, subject_for(bare, side=""), bare, forces)
    assert (seen.status == Status.OK).all()
    assert labels(seen, "segment_positions") == ("thigh", "shank", "foot")
    assert not {"residual_force", "residual_moment"} & set(seen.fields)
    for name in ("joint_angles", "joint_moments", "joint_angle_speeds"):
        assert labels(seen, name) == labels(whole, name)[3:]
        assert labels(whole, name)[:3] == HIP_ONLY
        np.testing.assert_array_equal(np.isfinite(seen.fields[name]), np.isfinite(whole.fields[name][:, 3:]))
    angles = np.degrees(seen.fields["joint_angles"] - whole.fields["joint_angles"][:, 3:])
    assert np.abs(angles[:, [0, 3]]).max() < 5.0
    moments, known = seen.fields["joint_moments"], whole.fields["joint_moments"][:, 3:]
    for k in (0, 3):
        assert np.nanmax(np.abs(moments[:, k] - known[:, k])) < 0.05 * np.nanmax(np.abs(known[:, k]))


@pytest.mark.process
def test_commands_take_a_leg_alone(bare: MarkerTrial, tmp_path: Path) -> None:
    """Protects calibrate, analyse and live --static on thigh, shank and foot alone: one sentence, same
    numbers."""
    path, person, live = tmp_path / "walk.trc", tmp_path / "a.toml", tmp_path / "live.mcap"
    write_trc(path, bare)
    out = tmp_path / "a.mcap"
    for arguments, said in (
        (
            ["calibrate", path, "--out", person],
            "the pelvis has no markers: hip centre computed from the marker",
        ),
        (["analyse", path, "--static", path, "--out", out], "The person was calibrated without a pelvis"),
    ):
        allow_compilation()
        done = CliRunner().invoke(cli, [str(word) for word in arguments])
        assert done.exit_code == 0, done.output
        assert done.output.count(said) == 1, done.output
    command = [
        "live",
        "--source",
        path,
        "--static",
        path,
        "--record",
        live,
        "--json",
        "--port-offset",
        "auto",
    ]
    ran = subprocess.run(
        [sys.executable, "-m", "rtsim.cli.entry", *map(str, command), "--port-offset", "auto"],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["frames"] == len(bare.times)
    offline, recorded = read_results(out), read_results(live)
    for name, values in offline.fields.items():
        np.testing.assert_array_equal(recorded.fields[name], values, err_msg=name)
