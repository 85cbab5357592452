"""Plates whose bearers a run states: analysed, and refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from kernels.compiler.jit import allow_compilation
from rtsim.cli.main import cli
from rtsim.errors import ConfigError
from rtsim.files.recording import read_results
from tests.rtsim.models import legs

FIRST, SECOND = "ground_force", "1_ground_force"
STATED = 'name = "stated"\n[plates.borne_by]\n{}\n'
HALVES = f"{FIRST} = {{ sole_r = 0.5, sole_l = 0.5 }}\n{SECOND} = {{ sole_r = 0.5, sole_l = 0.5 }}"


def run(*arguments: object) -> Result:
    allow_compilation()
    try:
        return CliRunner().invoke(cli, [*map(str, arguments)])
    finally:
        allow_compilation()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, a knee bend of it, and plates with unequal loads."""
    path = tmp_path_factory.mktemp("stated")
    legs.write_trial(path, legs.load(path))
    legs.write_plates(path, 0.6)
    return path


def analyse(folder: Path, borne_by: str, *more: object) -> Result:
    config = folder / "run.toml"
    config.write_text(STATED.format(borne_by), encoding="utf-8")
    return run(
        "analyse", folder / "bend.trc", "--model", folder / "legs.toml", "--forces", folder / "bend_grf.mot",
        "--up", "Y", "--config", config, *more,
    )  # fmt: skip


def test_feet_bear_halves_of_all_plates_where_that_is_stated(folder: Path) -> None:
    """Protects the shares: both feet bear half the weight though pressure is 60 and 40 %, moments follow, the
    root is as it is with the plates found."""
    done = analyse(folder, HALVES, "--out", folder / "halves.mcap")
    assert done.exit_code == 0, done.output
    assert "ground_force on sole_r (50 %), sole_l (50 %)" in done.output
    results = read_results(folder / "halves.mcap")
    f, labels = results.fields, {spec.name: spec.labels for spec in results.session.fields}
    assert labels["foot_loads"] == ("sole_r", "sole_l")
    assert "plate_shares" not in labels
    known = np.isfinite(f["coordinate_moments"]).all(axis=1)
    assert known.sum() > 0.6 * len(known)
    np.testing.assert_allclose(f["foot_loads"][known], 0.5 * 65.0 * 9.81, rtol=1e-6)
    np.testing.assert_array_equal(f["plate_parts"][known], 0.5)
    mirrored = [labels["coordinate_moments"].index(f"knee_{side}") for side in "rl"]
    right, left = f["coordinate_moments"][known][:, mirrored].T
    assert np.abs(right - left).max() < 30.0  # both press 0.1 m to the side, and the bend is the same
    up = f["coordinate_forces"][known, 1]
    np.testing.assert_allclose(up, 65.0 * 9.81 * f["residual_force"][known, 1], atol=1e-8)


def test_a_plate_that_nothing_bears_is_told(folder: Path) -> None:
    """Protects from a plate that is forgotten in silence."""
    done = analyse(folder, f"{FIRST} = {{ sole_r = 1.0 }}")
    assert done.exit_code == 0, done.output
    assert f"no body for {SECOND}: the force of such a plate is not used." in done.output


@pytest.mark.parametrize(
    ("borne_by", "words"),
    [
        (f"{FIRST} = {{ sole_r = 0.5, sole_l = 0.4 }}", "the parts of this plate sum to 0.9; allowed: 1"),
        (f"{FIRST} = {{ paw = 1.0 }}", "has no body 'paw'"),
        ("carpet = { sole_r = 1.0 }", "has no plate 'carpet'; allowed: ground_force, 1_ground_force"),
        (f"{FIRST} = {{ sole_r = -1.0, sole_l = 2.0 }}", "borne_by"),
        (f"{FIRST} = {{ sole_r = 1.0 }}\n[plates]\nfeet = ['sole_r']", "plates"),
    ],
)
def test_what_cannot_be_is_refused(folder: Path, borne_by: str, words: str) -> None:
    """Protects from shares that are none, and bodies and plates that are not there: one sentence."""
    fault = analyse(folder, borne_by).exception
    assert isinstance(fault, ConfigError)
    assert words in str(fault)


def test_persons_feet_are_found_not_stated(folder: Path) -> None:
    """Protects a run of a person: who bears what is for models with markers of their own."""
    config = folder / "person.toml"
    config.write_text(STATED.format(f"{FIRST} = {{ foot_r = 1.0 }}"), encoding="utf-8")
    fault = run("analyse", "walker", "--forces", "walker", "--config", config).exception
    assert isinstance(fault, ConfigError)
    assert "only for a model that defines its own markers" in str(fault)
