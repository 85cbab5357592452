"""The configs that are shipped, and how they are found."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest

from rtsim.cli.commands.check import check_config, kind_of
from rtsim.cli.terminal.options import make_run
from rtsim.config.paths import configs_root, find_config, shipped_names
from rtsim.errors import ConfigError
from rtsim.live.inputs.sources import brings_markers, load_trial, resolve_subject
from rtsim.methods.kinematics.choice import method_of
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.load import load_model

SHIPPED = sorted(configs_root().glob("*/*.toml"))
FOLDERS = {
    "models": "model", "labs": "lab", "inertia": "inertia", "subjects": "subject", "runs": "run",
    "generators": "generators",
    "devices": "device", "hil": "hil",
}  # fmt: skip


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_shipped_config_is_right(path):
    """Protects what is shipped: `rtsim check` passes, its kind is the folder's, its name the file's."""
    assert kind_of(path) == FOLDERS[path.parent.name]
    assert check_config(path)
    assert tomllib.loads(path.read_text(encoding="utf-8"))["name"] == path.stem


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_shipped_config_names_its_source(path):
    """Protects the ownership of numbers: every model, lab and subject says where its numbers come from."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    assert path.parent.name == "runs" or len(data["source"]) > 10


@pytest.mark.parametrize("name", shipped_names("runs"))
def test_a_shipped_run_can_be_run(name):
    """Protects shipped runs: model, method and subject fit together and a frame of the source is solved."""
    run = make_run(name)
    subject = None if brings_markers(run, load_model(run.model)) else resolve_subject(run)
    estimator = MultibodyEstimator(
        load_model(run.model),
        subject,
        method_of(run, load_model(run.model)),
        run.methods,
        run.solver,
        run.markers,
    )
    trial = load_trial(run.source, 0.1)
    columns = [trial.names.index(name) for name in estimator.model.names.markers]
    assert estimator.estimate(np.ascontiguousarray(trial.positions[0, columns]), 0.0).converged


def test_a_config_is_found_by_name_and_by_path(tmp_path):
    """Protects both ways to name a config."""
    assert find_config("walker", "subjects") == configs_root() / "subjects" / "walker.toml"
    mine = tmp_path / "mine.toml"
    mine.write_text("")
    assert find_config(str(mine), "subjects") == mine


@pytest.mark.parametrize("name", ["nobody", "nobody.toml", "", "../subjects"])
def test_an_unknown_config_is_told_with_those_there_are(name):
    """Protects the user from guessing names."""
    with pytest.raises(ConfigError) as caught:
        find_config(name, "subjects")
    assert "walker" in str(caught.value)
