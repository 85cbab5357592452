"""Simulations and fits as cases: their inputs change what they should, and faults are rows with sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.simulation.load import load_simulator
from rtsim.simulation.results import results_of
from rtsim.simulation.run import run, whole_steps
from rtsim.studies import simulation_task
from rtsim.studies.plan import plan_of
from rtsim.studies.solving import FAILED, OK, REFUSED, solve_case
from tests.rtsim.cli.joint_tables import knee_and_hip

LOADED = """
name = "loads"
[simulate]
model = "knee"
[design]
kind = "list"
[[parameters]]
name = "push"
key = "input.load.pulse"
values = [0.0, 1.0, 1.0, 1.0]
[[parameters]]
name = "duration"
key = "model.simulation.duration_s"
values = [0.05, 0.05, -1.0, 0.05]
[[parameters]]
name = "step"
key = "model.simulation.step_ms"
values = [1.0, 1.0, 1.0, 1000.0]
[[results]]
name = "speed"
column = "coordinate_speeds.flexion"
take = "last"
"""
FITTED = """
name = "fits"
[fit]
name = "torque-generators"
arguments = ["MOTION"]
options = { t-pe-max = 1.4, one-start = true }
[[parameters]]
name = "passive"
key = "input.t-pe-max"
values = [1.4, -1.0]
[[results]]
name = "strength"
column = "generators.knee_flexion_r_extensor.strength_Nm"
take = "number"
"""


def column_of(model: str) -> str:
    """A column that a simulation of this model has for each of its coordinates."""
    simulator = load_simulator(model)
    results = results_of(simulator, run(simulator, 1))
    spec = next(spec for spec in results.session.fields if spec.unit == "rad" and len(spec.shape) == 1)
    return f"{spec.name}.{spec.labels[0]}"


def test_a_load_changes_a_simulation(tmp_path: Path) -> None:
    """Protects inputs of simulations: the load's part is the case's, 1 is the model's own."""
    column = column_of("knee")
    plan = plan_of(LOADED.replace("coordinate_speeds.flexion", column), str(tmp_path), "study")
    rows = [solve_case(plan, k) for k in range(4)]
    assert [row.status for row in rows] == [OK, OK, REFUSED, FAILED], [row.reason for row in rows]
    assert rows[0].numbers != rows[1].numbers
    assert "steps" in rows[3].reason
    simulator = load_simulator("knee", duration_s=0.05, step_ms=1.0)
    done = run(simulator, whole_steps(simulator))
    field, _, label = column.partition(".")
    results = results_of(simulator, done)
    spec = next(spec for spec in results.session.fields if spec.name == field)
    value = np.degrees(results.fields[field][-1, list(spec.labels).index(label)])
    assert rows[1].numbers[0] == value


def test_names_of_loads_that_are_not_there_are_told(tmp_path: Path) -> None:
    """Protects whoever names a load: before anything is solved."""
    with pytest.raises(ConfigError, match="no 'puls' below load; allowed: pulse"):
        plan_of(LOADED.replace("load.pulse", "load.puls"), str(tmp_path), "study")


MOVED = """
name = "motions"
[simulate]
model = "knee"
[design]
kind = "list"
[[parameters]]
name = "motion"
key = "input.motion"
values = [VALUE]
[[results]]
name = "speed"
column = "coordinate_speeds.flexion"
take = "last"
"""


@pytest.mark.parametrize("named", ["walk.mot", "/FOLDER/walk.mot"])
def test_a_motion_of_a_case_is_the_file_beside_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """Protects from another file of that name in the working folder: its motion, under the hash of ours."""
    (tmp_path / "study").mkdir()
    (tmp_path / "walk.mot").write_text("another person's")
    monkeypatch.chdir(tmp_path)
    motion, found, digests = tmp_path / "study" / "walk.mot", [], set()

    def setup(*_: object, motion: str, **__: object) -> None:
        found.append(motion)
        raise ConfigError("nothing is simulated here")

    monkeypatch.setattr(simulation_task, "read_setup", setup)
    text = MOVED.replace("VALUE", repr(named.replace("/FOLDER", (tmp_path / "study").as_posix())))
    for content in ("one", "two"):
        motion.write_text(content)
        plan = plan_of(text, str(tmp_path / "study"), "study")
        digests.add(plan.digest)
        solve_case(plan, 0)
    assert {Path(path) for path in found} == {motion}
    assert len(digests) == 2


@pytest.mark.process
def test_a_fit_is_a_case(tmp_path: Path) -> None:
    """Protects studies of fits: a figure of its JSON, and its own sentence where it refuses an option."""
    motion = knee_and_hip(tmp_path)
    plan = plan_of(FITTED.replace("MOTION", Path(motion).name), str(tmp_path), "study")
    good, bad = (solve_case(plan, k) for k in range(2))
    assert good.status == OK, good.reason
    assert good.numbers[0] > 10.0
    assert bad.status == FAILED
    assert "--t-pe-max" in bad.reason
