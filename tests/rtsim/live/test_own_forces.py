"""Force plates and inverse dynamics of models that bring their own markers: analysed, live, and refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from kernels.compiler.jit import allow_compilation
from rtsim.cli.main import cli
from rtsim.config.runs.run_schema import RunConfig
from rtsim.files.markers.markers import read_markers
from rtsim.files.markers.trc import trc_text
from rtsim.files.recording import Results, read_results
from rtsim.live.compiled.group_table import groups_of
from rtsim.live.forces import has_forces
from rtsim.live.subjects.feet import told_feet
from rtsim.live.subjects.person_mass import mass_of_model
from rtsim.models.load import load_model
from tests.rtsim.models import legs

MASS = 40.0 + 2 * 12.5
BEAR_ALL = 'name = "bend"\n[plates]\nbear_all = true\n'


def run(*arguments: object) -> Result:
    allow_compilation()
    try:
        return CliRunner().invoke(cli, [*map(str, arguments)])
    finally:
        allow_compilation()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, a knee bend of it, plates with unequal loads, and a run config."""
    path = tmp_path_factory.mktemp("legs")
    legs.write_trial(path, legs.load(path))
    legs.write_plates(path, 0.6)
    (path / "run.toml").write_text(BEAR_ALL, encoding="utf-8")
    return path


def options(folder: Path) -> list[str]:
    return ["--model", str(folder / "legs.toml"), "--forces", str(folder / "bend_grf.mot"), "--up", "Y",
            "--config", str(folder / "run.toml")]  # fmt: skip


@pytest.fixture(scope="module")
def analysed(folder: Path) -> tuple[Result, Results]:
    done = run("analyse", folder / "bend.trc", *options(folder), "--out", folder / "bend.mcap")
    assert done.exit_code == 0, done.output
    return done, read_results(folder / "bend.mcap")


def test_the_quantities_are_those_of_the_model(analysed: tuple[Result, Results]) -> None:
    """Protects readers: names of coordinates and joints of the file, units, axes, the mass of the model."""
    done, results = analysed
    specs = {spec.name: spec for spec in results.session.fields}
    assert specs["coordinate_moments"].labels[:2] == ("tilt", "hip_flexion_r")
    assert specs["coordinate_forces"].labels == ("forward", "up")
    assert specs["reaction_forces_ground"].labels[:3] == ("hips", "hip_r", "lower_r")
    assert specs["reaction_moments_child"].frame == "the child body"
    assert {specs[name].unit for name in ("coordinate_moments", "reaction_moments_parent")} == {"N m"}
    assert results.session.meta["mass_kg"] == pytest.approx(MASS)
    assert "feet for force plates: right sole_r" in done.output
    assert f"Inverse dynamics for the model's mass of {MASS:.1f} kg" in done.output


def test_each_foot_has_its_plate_and_the_root_no_more_than_is_missing(analysed) -> None:
    """Protects the assignment and the sum: loads on the feet by side, momentum balanced at the root."""
    f = analysed[1].fields
    known = np.isfinite(f["coordinate_moments"]).all(axis=1)
    assert known.sum() > 0.6 * len(known)
    np.testing.assert_allclose(f["foot_loads"][known][:, 0], 0.6 * 65.0 * 9.81, rtol=1e-6)
    np.testing.assert_allclose(f["external_forces"][known][:, 1, 1], 0.4 * 65.0 * 9.81, rtol=1e-3)
    up = f["coordinate_forces"][known, 1]
    np.testing.assert_allclose(up, 65.0 * 9.81 * f["residual_force"][known, 1], atol=1e-8)
    np.testing.assert_allclose(f["reaction_forces_ground"][known][:, 0, 1], up, atol=1e-8)
    for name in ("forces", "moments"):  # the same vector in three frames
        lengths = [
            np.linalg.norm(f[f"reaction_{name}_{axes}"][known], axis=2)
            for axes in ("ground", "parent", "child")
        ]
        np.testing.assert_allclose(lengths[1], lengths[0], atol=1e-9)
        np.testing.assert_allclose(lengths[2], lengths[0], atol=1e-9)
    rows = {spec.name: spec.labels for spec in analysed[1].session.fields}
    column, joint = rows["coordinate_moments"].index("knee_r"), rows["joint_powers"].index("lower_r")
    np.testing.assert_allclose(
        f["reaction_moments_child"][known][:, joint, 2], f["coordinate_moments"][known][:, column], atol=1e-9
    )
    speed = f["coordinate_speeds"][known][:, rows["coordinate_speeds"].index("knee_r")]
    power = f["joint_powers"][known][:, joint].sum(axis=1)
    np.testing.assert_allclose(power, f["coordinate_moments"][known][:, column] * speed, atol=1e-8)


def test_a_foot_without_markers_in_a_frame_is_unseen(folder: Path, analysed, tmp_path: Path) -> None:
    """Protects from a foot that is held where it was: while its markers are hidden it has no force, the other
    foot, far from its plate, has its own, and before and after all is as ever."""
    trial = read_markers(folder / "bend.trc", up="Y")
    hidden = [k for k, name in enumerate(trial.names) if name.startswith("sole_r")]
    trial.positions[40:46, hidden] = np.nan
    path = tmp_path / "hidden.trc"
    path.write_text(trc_text(trial, path.name, str(path)), encoding="utf-8")
    done = run("analyse", path, *options(folder), "--out", tmp_path / "hidden.mcap")
    assert done.exit_code == 0, done.output
    f, was = read_results(tmp_path / "hidden.mcap").fields, analysed[1].fields
    for side, gone in ((0, np.arange(40, 46)), (1, np.arange(0))):
        unknown = np.isnan(f["foot_forces"][:, side]).any(axis=1)
        np.testing.assert_array_equal(np.flatnonzero(unknown), gone)
        there = f["foot_forces"][~unknown, side]
        np.testing.assert_array_equal(there, was["foot_forces"][~unknown, side])
    assert "A foot without markers may be on a force plate" in done.output


def test_muscles_lengthen_as_fast_as_their_lengths_say(analysed) -> None:
    """Protects the sign of muscle speeds: positive while the length grows, at the filter's delay."""
    results = analysed[1]
    f, delay = results.fields, results.session.meta["rates"]["delay_s"][1]
    speed, length = f["muscle_speeds"][:, 0], f["muscle_lengths"][:, 0]
    known = np.isfinite(speed)
    slope = np.interp(results.times - delay, results.times, np.gradient(length, results.times))
    assert np.abs(slope[known]).max() > 0.02
    np.testing.assert_allclose(speed[known], slope[known], atol=0.1 * np.abs(slope[known]).max())


@pytest.mark.process
def test_live_it_gives_the_same_numbers(folder: Path, analysed: tuple[Result, Results]) -> None:
    """Protects real sockets with plates for any model: nothing lost, what analyse gives, to the last bit."""
    live = folder / "live.mcap"
    done = subprocess.run(
        [sys.executable, "-m", "rtsim.cli.entry", "live", "--source", str(folder / "bend.trc"),
         *options(folder), "--record", str(live), "--json", "--port-offset", "auto"],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    was, now = read_results(live), analysed[1]
    assert len(was.times) == legs.N_FRAME
    assert was.session.fields == now.session.fields
    for name, values in now.fields.items():
        np.testing.assert_array_equal(was.fields[name], values, err_msg=name)


LOADS = """<OpenSimDocument Version="20302"><ExternalLoads name="x"><objects>
<ExternalForce name="l"><isDisabled>false</isDisabled><applied_to_body> sole_l </applied_to_body>
</ExternalForce>
<ExternalForce name="r"><applied_to_body>sole_r</applied_to_body>{more}</ExternalForce>
<ExternalForce name="no"><isDisabled>true</isDisabled><applied_to_body>hips</applied_to_body></ExternalForce>
</objects><datafile>{file}</datafile></ExternalLoads></OpenSimDocument>"""


def test_external_loads_name_the_file_and_the_bodies(folder: Path, analysed: tuple[Result, Results]) -> None:
    """Protects who comes from OpenSim: its file says forces and bodies, with the same results."""
    loads, out = folder / "loads.xml", folder / "loads.mcap"
    loads.write_text(LOADS.format(file="bend_grf.mot", more=""), encoding="utf-8")
    given = [str(loads) if option.endswith(".mot") else option for option in options(folder)]
    done = run("analyse", folder / "bend.trc", *given, "--out", out)
    assert done.exit_code == 0, done.output
    found = read_results(out)
    for name, values in analysed[1].fields.items():
        np.testing.assert_array_equal(found.fields[name], values, err_msg=name)


@pytest.mark.parametrize(
    ("file", "more", "words"),
    [
        ("", "", "the file does not name a datafile"),
        ("none.mot", "", "none.mot', which does not exist"),
        ("bend_grf.mot", "<point_expressed_in_body>hips</point_expressed_in_body>", "allowed: ground"),
    ],
)
def test_external_loads_that_cannot_be_read(folder: Path, file: str, more: str, words: str) -> None:
    """Protects from forces elsewhere than they are meant: one sentence before anything slow begins."""
    loads = folder / "wrong.xml"
    loads.write_text(LOADS.format(file=file, more=more), encoding="utf-8")
    given = [str(loads) if option.endswith(".mot") else option for option in options(folder)]
    done = run("analyse", folder / "bend.trc", *given)
    assert done.exit_code != 0
    assert words in str(done.exception), done.output


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--mass", "70"), ("its own masses", "rtsim scale")),
        (("--feet", "heel"), ("no body 'heel'", "hips, upper_r")),
        (("--feet", "sole_r,sole_l,hips"), ("3 feet", "allowed: two")),
        (("--feet", "sole_r,sole_r"), ("named twice", "one body of each leg")),
    ],
)
def test_what_cannot_be_is_one_sentence(folder: Path, more: tuple[str, ...], words: tuple[str, ...]) -> None:
    """Protects the user before anything slow begins."""
    done = run("analyse", folder / "bend.trc", *options(folder), *more)
    told = done.output + str(done.exception)
    assert done.exit_code != 0
    assert all(word in told for word in words), told


def test_an_arm_and_a_lying_ground_are_refused(folder: Path, shared: Path, tmp_path: Path) -> None:
    """Protects from plates on what has no feet, or another up axis; and feet are no option for persons."""
    arm, lying = shared / "data/osim_models/arm26.osim", tmp_path / "lying.toml"
    text = legs.text().replace('source = "made up"', 'source = "made up"\ngravity_m_s2 = [0, 0, -9.81]', 1)
    lying.write_text(text, encoding="utf-8")
    for model, words in ((arm, "no foot for force plates"), (lying, "gravity in the model is along")):
        done = run("analyse", folder / "bend.trc", "--model", model, "--forces", folder / "bend_grf.mot")
        assert done.exit_code != 0
        assert words in str(done.exception)
    done = run("analyse", "walker", "--forces", "walker", "--feet", "foot")
    assert "a model that defines its own markers" in str(done.exception)


def test_plates_that_a_source_may_bring_are_left_out_without_feet(folder: Path, shared: Path) -> None:
    """Protects C3D sources, which may hold plates that nobody asked for: no feet, no forces, one sentence."""
    legged = RunConfig(name="test", source="walk.c3d", model=str(folder / "legs.toml"))
    arm = RunConfig(name="test", source="walk.c3d", model=str(shared / "data/osim_models/arm26.osim"))
    assert has_forces(legged)
    assert not has_forces(arm)
    assert "forces" in groups_of(legged)
    assert "forces" not in groups_of(arm)
    assert "plates act on sole_r" in told_feet(legged, load_model(legged.model))[0]
    assert "are not used: " in told_feet(arm, load_model(arm.model))[0]


def test_plates_under_the_wrong_foot_are_told_before(folder: Path, tmp_path: Path) -> None:
    """Protects the standing check of such models: weight by their own mass, feet by their own pose."""
    light = tmp_path / "light.toml"
    light.write_text(legs.text().replace("mass_kg = 40.0", "mass_kg = 30.0", 1), encoding="utf-8")
    done = run("analyse", folder / "bend.trc", *options(folder)[2:], "--model", light)
    assert done.exit_code == 0, done.output
    assert "55 kg weigh" in done.output


def test_the_mass_is_that_of_the_bodies(folder: Path) -> None:
    """Protects from a person's table: a model with its own markers weighs what its file says."""
    spec = load_model(str(folder / "legs.toml"))
    assert mass_of_model(spec) == pytest.approx(MASS)


def test_a_leg_that_is_found_again_is_not_told_until_its_filter_has_settled(
    folder: Path, analysed, tmp_path: Path
) -> None:
    """Protects moments, and speeds of muscles, from the step of a leg whose markers come back: what is told
    is right, and the moments of the other leg go on."""
    trial = read_markers(folder / "bend.trc", up="Y")
    hidden = [k for k, name in enumerate(trial.names) if name.startswith(("sole_r", "lower_r"))]
    trial.positions[30:50, hidden] = np.nan
    path = tmp_path / "found.trc"
    path.write_text(trc_text(trial, path.name, str(path)), encoding="utf-8")
    done = run("analyse", path, *options(folder), "--out", tmp_path / "found.mcap")
    assert done.exit_code == 0, done.output
    results, was = read_results(tmp_path / "found.mcap"), analysed[1].fields
    labels = next(spec.labels for spec in results.session.fields if spec.name == "coordinate_moments")
    other = np.array([label.endswith("_l") for label in labels])
    assert (results.status[52:] == 0).all()
    for field, left in (("coordinate_moments", other), ("muscle_speeds", np.zeros(1, bool))):
        found, right = results.fields[field], was[field]
        scale = np.abs(right[50:]).max()
        assert np.isnan(found[52:65][:, ~left]).all(), field
        np.testing.assert_allclose(found[74:], right[74:], atol=0.05 * scale, err_msg=field)
        np.testing.assert_allclose(found[50:][:, left], right[50:][:, left], atol=1e-6 * scale)
