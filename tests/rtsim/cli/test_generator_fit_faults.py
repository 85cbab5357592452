"""`rtsim fit torque-generators` where not all can be fitted, and again from a person's set."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.methods.generators.joint_motion import read_joint_motion
from rtsim.models.generator_sets import generators_of
from tests.rtsim.cli.joint_tables import HIP, KNEE, N, knee_and_hip

FIT = ("fit", "torque-generators")


def test_a_second_fit_says_that_nothing_changes(here, tmp_path):
    """Protects persons' sets: the table of a second fit to the same motion has what the set has and says that
    nothing has to change, and the new set is the same person."""
    motion, first, second = (str(tmp_path / name) for name in ("motion.sto", "me.toml", "again.toml"))
    knee_and_hip(tmp_path)
    assert here(*FIT, motion, "--out", first).code == 0
    done = here(*FIT, motion, "--model", first, "--out", second)
    assert done.code == 0, done.err
    assert "no generator has to change" in done.out
    row = next(line for line in done.out.splitlines() if line.startswith(f"{KNEE}_extensor"))
    fitted = next(one.fit for one in generators_of(first) if one.name == f"{KNEE}_extensor")
    assert fitted[4] > 1.2
    assert f" {fitted[4]:.3f}  feasible -> feasible" in row
    assert "[fits" not in (tmp_path / "again.toml").read_text()
    assert [one.fit for one in generators_of(second)] == [one.fit for one in generators_of(first)]


def test_nobody_fitted_is_an_error_with_every_fault(here, tmp_path):
    """Protects from empty sets: unknown moments of all joints are named for each, nothing is written."""
    unknown = {name: np.full(N, np.nan) for name in (KNEE, HIP)}
    motion, out, plot = knee_and_hip(tmp_path, unknown), tmp_path / "me.toml", tmp_path / "me.svg"
    done = here(*FIT, str(motion), "--out", str(out), "--plot", str(plot))
    assert done.code == 1
    assert "no generator could be fitted" in done.err
    assert done.out.count("not fitted: ") == 4
    assert not out.exists()
    assert not plot.exists()


def test_one_that_was_not_fitted_is_not_drawn_as_another(here, tmp_path):
    """Protects readers of figures: --muscle of a generator without a fit ends in a sentence and no figure;
    what it lacked before stands in the table and in JSON."""
    motion, plot = knee_and_hip(tmp_path), tmp_path / "me.svg"
    narrow = [f"--bound={name}=1:1" for name in ("strength_scale", "angle_scale", "speed_scale")]
    asked = ("--muscle", f"{KNEE}_extensor", "--plot", str(plot))
    done = here(*FIT, str(motion), *narrow, *asked)
    assert done.code == 1
    assert f"{KNEE}_extensor is not drawn: it was not fitted, no parameters within the bounds" in done.err
    assert not plot.exists()
    assert "before the fit: the generator is too weak, first at" in done.out
    fault = json.loads(here(*FIT, str(motion), *narrow, "--json").out)["generators"][f"{KNEE}_extensor"]
    assert "no parameters within the bounds" in fault["fault"]
    assert fault["before"]["words"] == "too weak"
    assert fault["before"]["activation"][1] > 1.2


def test_bounds_of_what_is_fitted_are_kept(here, tmp_path):
    """Protects --bound: with the strength held lower, the rest of the way is gone by the other parameters."""
    motion = knee_and_hip(tmp_path)
    free = json.loads(here(*FIT, str(motion), "--json").out)["generators"]
    done = here(*FIT, str(motion), "--json", "--bound", "strength_scale=1:1.2")
    held = json.loads(done.out)["generators"][f"{KNEE}_extensor"]
    assert free[f"{KNEE}_extensor"]["x"][4] > 1.25
    assert held["x"][1] > free[f"{KNEE}_extensor"]["x"][1]
    assert held["x"][4] <= 1.2 + 1e-9
    assert held["after"]["words"] == "feasible"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--bound", "width=1:2"],
            "'width' does not exist; allowed: angle_scale, speed_scale, ",
        ),
        (["--bound", "angle_scale=2:1"], "allowed: LOW to HIGH, with LOW below HIGH, both within 1 to 100"),
        (
            ["--bound", "angle_scale=0.5:1"],
            "is out of range; allowed: LOW to HIGH, with LOW below HIGH, both within 1 to 100",
        ),
        (["--bound", "passive_shift_deg=-100:0"], "both within -90 to 90"),
        (["--bound", "angle_scale=1.2"], "does not state bounds; allowed: NAME=LOW:HIGH"),
        (["--bound", "angle_scale=1:2", "--bound", "angle_scale=1:3"], "angle_scale is given twice"),
        (["--strength", "0.001"], "0.001 is out of range; allowed: 0.01 to 100"),
        (["--strength", "60"], "N m; allowed: up to 5000 N m"),
    ],
)
def test_what_cannot_be_meant_is_refused(here, tmp_path, options, words):
    """Protects from bounds that contradict each other and strengths of nobody, before the work."""
    done = here(*FIT, str(knee_and_hip(tmp_path)), *options)
    assert done.code == 1
    assert words in done.err
    assert not done.out


def test_a_spike_is_told(here, tmp_path):
    """Protects from strengths that a single wrong moment asks for: who became how strong, and when."""
    moment = np.full(N, -20.0)
    moment[40] = -1500.0
    done = here(*FIT, str(knee_and_hip(tmp_path, {KNEE: moment})))
    assert f"{KNEE}_extensor has become 5." in done.err
    assert "may have a spike, as at 0.50 s" in done.err


def test_a_set_without_anything_is_told_as_a_set(here, tmp_path):
    """Protects writers of sets: one that has neither a base nor generators is no run config."""
    (tmp_path / "me.toml").write_text('name = "me"\nsource = "me"\n')
    done = here(*FIT, str(knee_and_hip(tmp_path)), "--model", str(tmp_path / "me.toml"))
    assert (
        "generators: no generators are given; add [generators.NAME], or base = the set to start from"
        in done.err
    )


def test_an_activation_of_hardly_anything_is_no_violation(here, tmp_path):
    """Protects the sentence of a fit that was not finished: a row within what counts as fulfilled is none."""
    done = here(*FIT, str(knee_and_hip(tmp_path)), "--a-max", f"{KNEE}_extensor=1e-6")
    assert "the fit did not converge: parameters that fulfil all constraints were found" in done.out
    assert "stays violated" not in done.out


def test_a_bad_cell_is_found(tmp_path):
    """Protects tables without a header: the column of a word is said once."""
    for name in ("q", "qDot", "tau", "time"):
        (tmp_path / f"{name}_a.csv").write_text("1,b\n3,4\n")
    with pytest.raises(ConfigError, match="'b' in column 2 is not"):
        read_joint_motion(tmp_path / "q_a.csv", [KNEE], [KNEE, HIP])


def test_emg_of_a_motion_without_a_known_frame_is_no_other_fault(here, tmp_path):
    """Protects the sentence of who could not be fitted where tables over time have no frames to be for."""
    motion = knee_and_hip(tmp_path, {name: np.full(N, np.nan) for name in (KNEE, HIP)})
    table = tmp_path / "both.sto"
    table.write_text(
        f"e\nversion=1\nnRows=2\nnColumns=2\ninDegrees=no\nendheader\ntime\t{KNEE}\n0\t1\n1\t1\n"
    )
    done = here(*FIT, str(motion), "--co-contraction-table", str(table))
    assert done.code == 1
    assert "no generator could be fitted" in done.err
    assert "Traceback" not in done.err
