"""Runs over markers without names: by the stage, and as a user starts them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from rtsim.bench.markers.unnamed_markers import measured
from rtsim.cli.main import cli
from rtsim.errors import ConfigError
from rtsim.files.markers.markers import read_markers
from rtsim.files.markers.trc import write_trc
from rtsim.live.inputs.sources import load_trial


@pytest.mark.parametrize("variant", ["whole", "gaps"])
def test_the_walker_gets_its_names_back(variant: str) -> None:
    """Protects the whole stage: at least 99 % of frames are named right, and none is wrong under ok."""
    counts = measured("walker", variant)
    assert counts is not None
    assert counts.n_right >= 0.99 * counts.n_frame
    assert counts.n_wrong_ok == 0
    assert counts.n_sure > 0.5 * counts.n_frame


def test_a_file_without_names_is_solved_as_with_them(tmp_path: Path) -> None:
    """Protects `analyse --label-unnamed` in millimetres and with Z up: the angles of the named file."""
    trial = load_trial("walker", 3.0)
    named, unnamed = tmp_path / "named.trc", tmp_path / "unnamed.trc"
    write_trc(named, trial)
    numbers = tuple(f"*{k + 1}" for k in range(len(trial.names)))
    write_trc(unnamed, trial._replace(names=numbers))
    angles = []
    for path, more in ((named, []), (unnamed, ["--label-unnamed"])):
        out = path.with_suffix(".csv")
        arguments = ["analyse", str(path), "--subject", "walker", "--out", str(out), *more]
        result = CliRunner().invoke(cli, arguments)
        assert result.exit_code == 0, (result.output, result.exception)
        lines = out.read_text().splitlines()
        head = next(k for k, line in enumerate(lines) if line.startswith("time"))
        columns = [
            k for k, c in enumerate(lines[head].split(",")) if c.startswith(("joint_angles.", "status"))
        ]
        rows = [[float(line.split(",")[k] or "nan") for k in columns] for line in lines[head + 1 :]]
        angles.append(np.array(rows))
    sure = angles[1][:, 0] == 0
    assert sure.all()  # names are sought forwards and backwards
    np.testing.assert_allclose(angles[1][sure], angles[0][sure], atol=1e-6)


def test_gaps_of_two_seconds_and_phantoms() -> None:
    """Protects from wrong names under ok where much is hidden for long and points of nobody come up."""
    counts = measured("walker", "long_gaps")
    assert counts is not None
    assert counts.n_marker_right >= 0.97 * counts.n_marker
    assert counts.n_wrong_ok == 0


def test_somebody_else_is_an_error(tmp_path: Path) -> None:
    """Protects from angles of a stranger: a person of another size ends with a sentence."""
    trial = load_trial("walker", 3.0)
    unnamed = tmp_path / "unnamed.trc"
    numbers = tuple(f"*{k + 1}" for k in range(len(trial.names)))
    write_trc(unnamed, trial._replace(names=numbers, positions=0.8 * trial.positions))
    arguments = ["analyse", str(unnamed), "--subject", "walker", "--label-unnamed"]
    result = CliRunner().invoke(cli, [*arguments, "--out", str(tmp_path / "out.csv")])
    assert isinstance(result.exception, ConfigError)
    assert "walker" in str(result.exception)


def test_nobody_to_look_for_is_said() -> None:
    """Protects whoever asks for names of markers and gives no person."""
    result = CliRunner().invoke(cli, ["analyse", __file__.replace(".py", ".trc"), "--label-unnamed"])
    assert isinstance(result.exception, ConfigError)


def test_trajectories_without_names_are_kept_where_asked(shared: Path) -> None:
    """Protects C3D files of which only some trajectories have names: left out as before, kept when asked."""
    path = shared / "data" / "gait_mcgill" / "HC030A_turn.c3d"
    usual, kept = read_markers(path), read_markers(path, unnamed=True)
    assert kept.names[: len(usual.names)] == usual.names or set(usual.names) <= set(kept.names)
    assert all(name.startswith("*") for name in set(kept.names) - set(usual.names))


@pytest.mark.parametrize("recording", ["squat_opencap/squats1.trc", "gait_mcgill/HC030A_turn.c3d"])
def test_recordings_get_their_names_back(shared: Path, recording: str) -> None:
    """Protects real soft tissue, strangers among the points, and a child's foot of seven markers."""
    counts = measured(str(shared / "data" / recording), "whole")
    assert counts is not None
    assert counts.n_right >= 0.99 * counts.n_frame
    assert counts.n_wrong_ok == 0


def test_figures_are_json(tmp_path: Path) -> None:
    """Protects the bench as a program reads it."""
    result = CliRunner().invoke(
        cli, ["bench", "unnamed-markers", str(tmp_path), "--json", "--only", "walker"]
    )
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert "wrong_under_ok" in json.dumps(told)
