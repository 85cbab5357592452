"""The ground without plates on real recordings: the error asked for, and plates that are wrong are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from kernels.compiler.jit import allow_compilation
from rtsim.bench.markers.recordings import RECORDINGS, arguments_of
from rtsim.bench.runs.ground_reaction import TOTAL
from rtsim.cli.main import cli
from rtsim.cli.terminal.options import make_run
from rtsim.files.forces.force_trial import ForceTrial
from rtsim.live.forces import forces_of, told_before
from rtsim.live.inputs.sources import load_trial

FOOT = ("--config", "foot", "--set", "level=whole_body")


def analysed(data: Path, name: str, *options: str) -> dict[str, Any]:
    """Return what the command prints of a recording, NaN where it is not there."""
    allow_compilation()
    source = data / RECORDINGS[name].source
    if not source.is_file():
        pytest.skip(f"{source.name} is not there")
    done = CliRunner().invoke(cli, ["analyse", str(source), *options, *FOOT, "--json"])
    allow_compilation()
    assert done.exit_code == 0, done.output
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("name", ["mcgill.HC030A_straight", "opencap.walking1"])
def test_a_walk_is_as_plates_have_it(shared: Path, name: str) -> None:
    """Protects the whole way on real walks: total within what is asked for, each foot and the share in a
    range that tells wrong sides, and peaks of the ankle as published."""
    data = shared / "data"
    found = analysed(data, name, *arguments_of(data, RECORDINGS[name]))["kinetics"]
    assert found["reaction"]["total"]["rms"] < TOTAL
    assert max(foot["rms"] for foot in found["reaction"]["feet"].values()) < 0.12
    assert found["reaction"]["share"]["rms"] < 0.08
    assert all(peak["within"] for muscles, peak in found["peaks"].items() if "ankle" in muscles)


def test_a_trial_without_plates_is_enough(shared: Path) -> None:
    """Protects laboratories without plates: forces, feet and moments come of markers and a mass alone."""
    data, name = shared / "data", "opencap.walking1"
    told = analysed(data, name, "--static", str(data / RECORDINGS[name].static), "--mass", "60.03")
    assert told["kinetics"] is None
    assert {"ground_reaction_force", "foot_contact_loads", "joint_moments"} <= {*told["fields"]}
    assert not {"ground_reaction_error", "foot_contact_errors", "plate_forces"} & {*told["fields"]}


def turned(forces: ForceTrial) -> ForceTrial:
    """Return forces along another axis."""
    turn = np.array([1, 2, 0])
    return forces._replace(force=forces.force[..., turn], moment=forces.moment[..., turn])


def in_millimetres(forces: ForceTrial) -> ForceTrial:
    """Return moments in N mm."""
    return forces._replace(moment=1e3 * forces.moment)


def elsewhere(forces: ForceTrial) -> ForceTrial:
    """Return plates that are pressed half a metre from the feet, as where cables of two are exchanged."""
    return forces._replace(moment=forces.moment + np.cross([0.4, 0.0, 0.3], forces.force))


def on_one(forces: ForceTrial) -> ForceTrial:
    """Return all that is borne on the first plate."""
    force, moment = np.zeros_like(forces.force), np.zeros_like(forces.moment)
    force[:, 0], moment[:, 0] = np.nansum(forces.force, axis=1), np.nansum(forces.moment, axis=1)
    return forces._replace(force=force, moment=moment)


@pytest.mark.parametrize(
    ("change", "said"),
    [(turned, "vertical"), (in_millimetres, "newton millimetres"), (elsewhere, "foot"), (on_one, "wo feet")],
)
def test_plates_that_are_wrong_are_told(shared: Path, change: Any, said: str) -> None:
    """Protects who compares with plates: what is wrong with them is said before the run, of this run too."""
    name = "opencap.walking1"
    source = shared / "data" / RECORDINGS[name].source
    if not source.is_file():
        pytest.skip(f"{source.name} is not there")
    forces = str(shared / "data" / RECORDINGS[name].forces)
    run = make_run("foot", ("level=whole_body",), source=str(source), forces=forces, mass_kg=60.03)
    trial = load_trial(run.source)
    right = forces_of(run, trial)
    assert right is not None
    assert told_before(run, trial, right) == []
    sentences = told_before(run, trial, change(right))
    assert any(said in sentence for sentence in sentences), sentences
