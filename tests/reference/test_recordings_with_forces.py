"""Every recording with force plates next to the project, through `rtsim analyse`, both legs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from kernels.compiler.jit import allow_compilation
from rtsim.bench.markers.recordings import RECORDINGS, Recording, arguments_of
from rtsim.cli.main import cli
from rtsim.files.forces.cortex_forces import read_cortex_forces
from rtsim.methods.plates.plate_check import UNDER

TWO_FEET = {"bmc.walk2": 14, "mcgill.HC002D_static": 51, "mcgill.HC030A_static": 300}
STANDING = (
    "mcgill.HC002D_static",
    "mcgill.HC030A_static",
    "opencap.static1",
    "opencap.squats1",
    "opencap.STS1",
)
WALKING = ("bmc", "lenhart", "opensim", "mcgill.HC002D_straight", "mcgill.HC030A_straight",
           "mcgill.HC030A_turn", "opencap.walking1")  # fmt: skip


def analysed(data: Path, recording: Recording) -> dict[str, Any]:
    """What the command prints."""
    allow_compilation()
    source = data / recording.source
    if not source.is_file():
        pytest.skip(f"{recording.source} is not there")
    done = CliRunner().invoke(cli, ["analyse", str(source), *arguments_of(data, recording), "--json"])
    allow_compilation()
    assert done.exit_code == 0, done.output
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("name", sorted(RECORDINGS))
def test_signs_axes_and_units_are_right(shared: Path, name: str) -> None:
    """Protects the whole chain: pressure under the feet, peaks as published, the weight, and at the pelvis no
    more than the part of the body that is not in the model."""
    told = analysed(shared / "data", RECORDINGS[name])
    found = told["kinetics"]
    assert told["model"] == "both_legs"
    assert found["flagged"].get("two_feet", 0) == TWO_FEET.get(name, 0)
    if not name.startswith("mcgill") or "static" not in name:
        assert found["under"] >= UNDER
        for foot in found["feet"].values():
            assert foot["loaded"] == 0 or foot["under"] >= UNDER
    assert found["walks"] == name.startswith(WALKING)
    if found["walks"]:
        assert [k for k, peak in found["peaks"].items() if not peak["within"]] == []
        assert len(found["peaks"]) == 4
    assert (found["weight"] is not None) == (name in STANDING)
    if found["weight"]:
        assert not found["weight"]["warning"]
    if found["residual"]:
        forwards, _, sideways = found["residual"]["mean_force"]
        assert abs(found["residual"]["unexplained_up"]) < 0.11  # masses of two are assumed, one sits
        assert max(abs(forwards), abs(sideways)) < 0.07
        assert found["residual"]["most_moment_m"] < 0.25


def test_the_last_step_of_walk2_lacks_vertical_force_in_the_file(shared: Path) -> None:
    """Protects what docs/forces.md says of gait_bmc walk2: the fourth plate has the horizontal force of a
    whole step, and far less vertical force than the same foot one stride before on the fifth plate."""
    path = shared / "data" / "gait_bmc" / "walk2.forces"
    if not path.is_file():
        pytest.skip(f"{path.name} is not there")
    trial = read_cortex_forces(path)
    steps = []
    for plate in (3, 4):
        force = trial.force[:, plate]
        start = int(np.argmax(force[:, 1] > 20.0))
        steps.append(force[start + round(0.05 * trial.rate) : start + round(0.09 * trial.rate)])
    last, before = steps
    np.testing.assert_allclose(last[:, [0, 2]], before[:, [0, 2]], atol=7.0)
    assert (last[:, 1] < 0.5 * before[:, 1]).all()
