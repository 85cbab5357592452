"""`rtsim fit torque-generators`: from a file to a person's set, figures, and what is refused."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest

from rtsim.bench.contacts.stoop_recording import BORNE_BY, markers_of, stoop_model, write_loads
from rtsim.cli.commands.check import check_config
from rtsim.files.model_toml import model_text
from rtsim.methods.generators import torque_generator_fit
from rtsim.methods.generators.torque_generator_figures import panels_of_curves
from rtsim.models.generator_sets import generators_of
from rtsim.models.packing.torque_generators import pack_generators
from tests.rtsim.cli.joint_tables import HIP, KNEE, knee_and_hip

HEAD_OF_EMG = "e\nversion=1\nnRows=2\nnColumns=2\ninDegrees=no\nendheader\ntime\t"


@pytest.fixture
def motion(tmp_path):
    """A table of a knee and a hip by extensors 1.3 and 0.5 times as strong as the gymnast's."""
    return knee_and_hip(tmp_path)


def test_a_person_is_fitted_and_written(here, motion, tmp_path):
    """Protects the whole way: assessment, table, a set that `check` passes and that is read back."""
    out = tmp_path / "me.toml"
    done = here("fit", "torque-generators", str(motion), "--out", str(out))
    assert done.code == 0, done.err
    assert "knee_flexion_r_extensor" in done.out
    assert "too weak -> feasible, activation at most 1.000" in done.out
    assert check_config(out) == ["generators me: 16 torque generators, 15 joints"]
    k = next(k for k, one in enumerate(generators_of(str(out))) if one.name == f"{KNEE}_extensor")
    assert pack_generators(generators_of(str(out))).fit[k, 4] > 1.1
    assert "[fits.hip_flexion_r_extensor]" not in out.read_text()
    assert here("fit", "torque-generators", str(motion), "--out", str(out)).code == 1


def test_everything_is_there_as_json(here, motion):
    """Protects programs: parameters, minima, assessments, in rad and N m."""
    done = here("fit", "torque-generators", str(motion), "--json")
    found = json.loads(done.out)["generators"]
    knee = found[f"{KNEE}_extensor"]
    assert knee["before"]["words"] == "too weak"
    assert knee["after"]["activation"][1] == pytest.approx(1.0, abs=1e-6)
    assert knee["minima"][0]["objective"] == knee["objective"]
    assert not found[f"{HIP}_extensor"]["changed"]


def test_a_weaker_start_is_fitted_up(here, motion):
    """Protects --strength: the hip at a quarter of the gymnast has to become stronger, others not."""
    done = here("fit", "torque-generators", str(motion), "--json", "--strength", f"{HIP}=0.25")
    found = json.loads(done.out)["generators"]
    assert found[f"{HIP}_extensor"]["strength_Nm"] == pytest.approx(0.25 * 175.746)
    assert found[f"{HIP}_extensor"]["x"][4] > 1.3


def test_bounds_of_a_weak_person(here, motion):
    """Protects appendix B: extensors from 80 % of the peak, flexors by their ratio, the least as fitted, the
    greatest from isometric measurements."""
    done = here("fit", "torque-generators", str(motion), "--json", "--bounds", "--measured", f"{KNEE}=200@54")
    document = json.loads(done.out)
    knee, bent = (document["strength_Nm"][f"{KNEE}_{kind}"] for kind in ("extensor", "flexor"))
    fitted = document["generators"][f"{KNEE}_extensor"]
    assert knee["least"] == pytest.approx(fitted["strength_Nm"] * fitted["x"][4])
    assert bent["least"] == pytest.approx(0.533 * knee["least"], rel=1e-6)
    assert knee["greatest"] == pytest.approx(200.0, rel=1e-6)
    assert bent["greatest"] == pytest.approx(0.533 * 200.0, rel=1e-6)
    assert document["strength_Nm"][f"{HIP}_extensor"]["greatest"] is None


def test_figures_are_drawn(here, motion, tmp_path):
    """Protects the figures: planes of a fit, curves of generators, what parameters do; others are refused."""
    pytest.importorskip("PySide6")
    plot, curves, parameters = (tmp_path / f"{name}.svg" for name in ("fit", "curves", "parameters"))
    done = here(
        "fit", "torque-generators", str(motion), "--plot", str(plot), "--curves", str(curves), "--parameters",
        str(parameters),
    )  # fmt: skip
    assert done.code == 0, done.err
    assert parameters.stat().st_size > 5000
    others = ("--muscle", "elbow_flexion_r_flexor", "--plot", str(plot))
    assert (
        "'elbow_flexion_r_flexor' does not exist"
        in here("fit", "torque-generators", str(motion), *others).err
    )
    assert plot.stat().st_size > 5000
    assert curves.stat().st_size > 5000


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--a-max", "60"], "60 is out of range"),
        (["--a-max", "knee=0.5"], "'knee' does not exist"),
        (["--strength", "weak"], "'weak' is no number"),
        (["--t-pe-max", "0"], "0 is out of range"),
        (["--measured", f"{KNEE}=200@54"], "the option applies only together with --bounds"),
        (["--bounds", "--measured", f"{KNEE}=strong"], "does not state a torque at an angle"),
        (
            ["--bounds", "--measured", f"{KNEE}=nan@54"],
            "is out of range; allowed: a torque above 0, up to 2000 N m",
        ),
        (["--bounds", "--measured", f"{KNEE}=200@-120"], "at the measured angle of -120 deg"),
        (
            ["--bounds", "--measured", "elbow_flexion_r=20@54"],
            "'elbow_flexion_r' does not exist; allowed: hip",
        ),
        (["--bounds", "--measured", "knee_flexion_l=20@54"], "'knee_flexion_l' does not exist"),
        (["--bounds", "--measured", f"{KNEE}=2@5", "--measured", f"{KNEE}=2@5"], "is given twice"),
        (["--bounds", "--strength", "0.5"], "this option contradicts --bounds"),
        (["--a-max", "0.5", "--a-max", "0.7"], "the value of all generators is given twice"),
        (["--muscle", f"{KNEE}_extensor"], "the option applies only to figures"),
        (["--plot", "x.svg", "--curves", "x.svg"], "x.svg is already the file of --plot"),
        (["--force"], "the option applies only together with --out"),
        (["--co-contraction", "elbow_flexion_r=0.1"], "allowed: hip_flexion_r, knee_flexion_r"),
        (["--co-contraction-table", "MOTION"], "the file is a table of angles or of a motion"),
        (["--emg-within", "0.1"], "the option applies only together with --emg"),
        (["--model", "gymnast"], "gymnast has no joints"),
        (
            ["--model", "nobody"],
            "there is no file 'nobody', and no set or model of this name comes with rtsim; allowed: a .toml "
            "file",
        ),
        (["--model", "pin"], "the model has no torque generators"),
        (["--forces", "plates.mot"], "the option applies only if MOTION is a file of markers"),
        (["--out", "me.txt"], "cannot be the name of a file of torque generators"),
    ],
)
def test_what_cannot_be_meant_is_refused(here, motion, options, words):
    """Protects users from a fit to something else than they asked for: one sentence, exit code 1."""
    options = [str(motion) if option == "MOTION" else option for option in options]
    done = here("fit", "torque-generators", str(motion), *options)
    assert done.code == 1
    assert words in done.err
    assert "Traceback" not in done.err


def test_markers_without_plates_are_refused(here, tmp_path):
    """Protects users with markers: what is lacking is told before anything is read."""
    done = here("fit", "torque-generators", str(tmp_path / "walk.c3d"))
    assert done.code == 1
    assert "markers have to be analysed before generators can be fitted; give --forces" in done.err


def test_from_markers_to_fits(here, shared, tmp_path):
    """Protects the whole way of the paper: markers and forces of its lift to better minima of both hips."""
    folder = shared / "data" / "stoop_lift"
    if not folder.is_dir():
        pytest.skip("the stoop lift is not here")
    body = model_text(stoop_model(folder))
    more = "" if "[torque_generators]" in body else '\n[torque_generators]\nset = "planar"\n'
    (tmp_path / "body.toml").write_text(body + more, encoding="utf-8")
    (tmp_path / "run.toml").write_text(BORNE_BY, encoding="utf-8")
    write_loads(folder, "stoop2", tmp_path / "loads.mot")
    done = here(
        "fit", "torque-generators", str(markers_of(folder, "stoop2")), "--model", str(tmp_path / "body.toml"),
        "--forces", str(tmp_path / "loads.mot"), "--config", str(tmp_path / "run.toml"), "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "wrote" not in done.err
    found = json.loads(done.out)["generators"]
    assert len(found) == 30
    for side, own in (("r", 0.7324), ("l", 0.6958)):
        hip = found[f"hip_flexion_{side}_extensor"]
        assert hip["before"]["words"] == "too stiff"
        assert hip["objective"] == pytest.approx(own, rel=0.02)
        assert hip["after"]["words"] == "feasible"


def walk_of_child(here, shared, tmp_path, child, mass):
    """Analyse the walk of a child of gait_mcgill; the recording of what came of it."""
    folder = shared / "data" / "gait_mcgill"
    if not folder.is_dir():
        pytest.skip("the recordings of children are not here")
    walk, out = folder / f"{child}_straight.c3d", tmp_path / "walk.mcap"
    done = here(
        "analyse", str(walk), "--static", str(folder / f"{child}_static.c3d"), "--lab", "mcgill", "--forces",
        str(walk), "--mass", mass, "--side", "both", "--out", str(out),
    )  # fmt: skip
    assert done.code == 0, done.err
    return out


def test_the_least_strength_of_a_child(here, shared, tmp_path):
    """Protects appendix B on a recording of a walk: legs of a child, weaker than the gymnast by far, and each
    extensor stronger than it began; beside the control of table B.4, weaker at the ankle, which is told."""
    out = walk_of_child(here, shared, tmp_path, "HC002D", "30.9")
    control = [f"--measured={name}" for name in ("knee_flexion_r=64.6@54", "ankle_dorsiflexion_l=25.5@23")]
    done = here("fit", "torque-generators", str(out), "--bounds", "--skip-unknown", "--json", *control)
    assert done.code == 0, done.err
    assert "ankle_dorsiflexion_l_flexor: the least strength is above the greatest" in done.err
    document = json.loads(done.out)
    strength = {name: found["least"] for name, found in document["strength_Nm"].items()}
    assert len(strength) == 12
    assert document["strength_Nm"]["knee_flexion_r_flexor"]["greatest"] == pytest.approx(34.4, abs=0.05)
    for joint, ratio in (("hip_flexion", 0.702), ("knee_flexion", 0.533), ("ankle_dorsiflexion", 0.347)):
        for side in "rl":
            extensor = document["generators"][f"{joint}_{side}_extensor"]
            flexor = document["generators"][f"{joint}_{side}_flexor"]
            assert extensor["before"]["words"] != "feasible"
            assert extensor["after"]["words"] == flexor["after"]["words"] == "feasible"
            assert 5.0 < strength[f"{joint}_{side}_extensor"] < 80.0
            assert flexor["strength_Nm"] == pytest.approx(ratio * strength[f"{joint}_{side}_extensor"])


def test_the_least_strength_of_another_child(here, shared, tmp_path):
    """Protects the figures of the second child in the documents, within 2 %, of both sides."""
    out = walk_of_child(here, shared, tmp_path, "HC030A", "45.8")
    done = here("fit", "torque-generators", str(out), "--bounds", "--skip-unknown", "--json")
    found = json.loads(done.out)["strength_Nm"]
    for joint, ways in {
        "hip_flexion": ((28.7, 26.1), (27.5, 23.4)), "knee_flexion": ((33.6, 41.3), (21.5, 24.9)),
        "ankle_dorsiflexion": ((54.5, 69.8), (18.9, 24.2)),
    }.items():  # fmt: skip
        for kind, sides in zip(("extensor", "flexor"), ways, strict=True):
            for side, least in zip("rl", sides, strict=True):
                assert found[f"{joint}_{side}_{kind}"]["least"] == pytest.approx(least, rel=0.02)


def test_emg_limits_what_a_generator_reaches(here, motion, tmp_path):
    """Protects --emg: the peak of a column is the activation that its generator may reach."""
    emg = tmp_path / "emg.sto"
    emg.write_text(HEAD_OF_EMG + f"{KNEE}_extensor\n0\t0.2\n1\t0.5\n")
    done = here("fit", "torque-generators", str(motion), "--json", "--emg", str(emg))
    found = json.loads(done.out)["generators"][f"{KNEE}_extensor"]
    assert found["after"]["activation"][1] == pytest.approx(0.5, abs=1e-6)


def written(path, columns):
    """A storage file of these columns."""
    rows = "\n".join("\t".join(f"{x:.9f}" for x in row) for row in np.column_stack(list(columns.values())))
    head = f"e\nversion=1\nnRows={len(rows)}\nnColumns={len(columns)}\ninDegrees=no\nendheader\n"
    path.write_text(head + "\t".join(columns) + "\n" + rows + "\n")
    return path


def test_emg_over_time_finds_the_strength(here, motion, tmp_path):
    """Protects --emg-within on a knee whose strength is known: activations of every frame, at another rate;
    columns of nobody are told."""
    t = np.linspace(-0.1, 1.1, 500)
    emg = {"time": t, f"{KNEE}_extensor": np.exp(-(((t - 0.25) / 0.1) ** 2)), "deltoid": 0.0 * t}
    done = here(
        "fit", "torque-generators", str(motion), "--json", "--emg", str(written(tmp_path / "emg.sto", emg)),
        "--emg-within", "0.03",
    )  # fmt: skip
    assert done.code == 0, done.err
    knee = json.loads(done.out)["generators"][f"{KNEE}_extensor"]
    assert knee["x"][4] == pytest.approx(1.3, rel=0.05)
    assert knee["after"]["words"] == "feasible"
    assert "do not belong to a generator: deltoid" in done.err


def test_co_contraction_over_time_is_added(here, motion, tmp_path):
    """Protects --co-contraction-table: what both bear against each other is asked of both."""
    t = np.linspace(0.0, 1.0, 11)
    table = written(tmp_path / "co.sto", {"time": t, KNEE: 40.0 + 0.0 * t})
    done = here("fit", "torque-generators", str(motion), "--json", "--co-contraction-table", str(table))
    assert done.code == 0, done.err
    found = json.loads(done.out)["generators"]
    without = json.loads(here("fit", "torque-generators", str(motion), "--json").out)["generators"]
    assert found[f"{KNEE}_extensor"]["x"][4] > without[f"{KNEE}_extensor"]["x"][4] + 0.1
    assert found[f"{KNEE}_flexor"]["after"]["activation"][1] > 0.3
    assert without[f"{KNEE}_flexor"]["after"]["activation"][1] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        (
            {"time": [0.0, 0.5], "E": [0.1, 0.2]},
            [],
            "the table of EMG lasts from 0 to 0.5 s, but the motion from 0 to 1 s",
        ),
        ({"time": [0.0, 1.0], "E": [10.0, 60.0]}, [], "the peak of knee_flexion_r_extensor is 60"),
        ({"time": [0.0, 1.0], "E": [-0.4, 0.6]}, [], "has values down to -0.4; allowed: 0 to 1; rectify"),
        ({"time": [0.0, 0.5, 1.0], "E": [0.1, np.nan, 0.2]}, [], "has no value in 1 of 3 rows"),
        ({"time": [0.0, 1.0], "E": [np.nan, np.nan]}, [], "contains no number"),
        ({"time": [1.0, 0.0], "E": [0.1, 0.2]}, [], "the times of the table do not increase"),
        ({"t": [0.0, 1.0], "E": [0.1, 0.2]}, [], "the table has no column time"),
        ({"time": [0.0, 1.0], "elbow": [0.1, 0.2]}, [], "the table has none of the columns"),
        ({"time": [0.0, 1.0], "E": [0.1, 0.2]}, ["--a-max", "E=0.5"], "has EMG over time"),
        ({"time": [0.0, 1.0], "E": [0.1, 0.2]}, ["--bounds"], "this option contradicts --bounds"),
        ({"time": [0.0, 1.0], "E": [0.1, 0.2]}, ["--emg-within", "5"], "5 is out of range"),
    ],
)
def test_emg_that_cannot_be_meant_is_refused(here, motion, tmp_path, columns, options, words):
    """Protects EMG over time: other spans, percents, gaps, names and options that contradict it."""
    name = f"{KNEE}_extensor"
    columns = {(name if key == "E" else key): np.array(values) for key, values in columns.items()}
    options = [option.replace("E=", f"{name}=") for option in options]
    path = written(tmp_path / "emg.sto", columns)
    given = ["--emg", str(path), "--emg-within", "0.1", *options]
    done = here("fit", "torque-generators", str(motion), *given)
    assert done.code == 1
    assert words in done.err
    assert "Traceback" not in done.err


def test_an_interruption_keeps_and_tells_what_was_fitted(here, motion, tmp_path, monkeypatch):
    """Protects long fits: Ctrl-C in the second generator leaves the first in the set and in the table."""
    fitted, out = [], tmp_path / "me.toml"
    whole = torque_generator_fit.fit_one

    def interrupted(*given):
        fitted.append(1)
        if len(fitted) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return whole(*given)

    monkeypatch.setattr(torque_generator_fit, "fit_one", interrupted)
    done = here("fit", "torque-generators", str(motion), "--out", str(out))
    assert done.code == 130
    assert "interrupted: 1 of 4 generators were fitted" in done.err
    assert "interrupted before the fit" in done.out
    assert "interrupted" in out.read_text()


def test_passive_curves_end_where_the_panel_does():
    """Protects readers of the figure of all curves: a passive torque is drawn as it is or not at all, never
    as a level line that the model has not."""
    curves = [
        curve
        for panel in panels_of_curves(generators_of("planar"))
        for name, curve in panel.curves.items()
        if name.endswith("passive")
    ]
    assert any(np.isnan(curve).any() for curve in curves)
    for curve in curves:
        risen = np.abs(curve[np.isfinite(curve) & (curve != 0.0)])
        assert np.all(np.diff(np.sort(risen)) > 0.0)
