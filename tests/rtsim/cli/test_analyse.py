"""`rtsim analyse`: the numbers of a live run, files and figures of a recording."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from kernels.compiler.jit import allow_compilation
from rtsim.cli.commands.analyse import INTERRUPTED, AnalysedRecording, check_usable
from rtsim.cli.main import cli, outcome
from rtsim.errors import ConfigError
from rtsim.files.markers.trc import trc_text
from rtsim.files.recording import Results, read_results
from rtsim.files.tables.storage import read_storage
from rtsim.live.inputs.sources import load_trial
from rtsim.live.loop import Loop
from streams.messages import Session, Status


@pytest.fixture
def walk(tmp_path):
    """Half a second of the walker as a file, the thigh unseen for a while."""
    trial = load_trial("walker", 0.5)
    trial.positions[20:30, 5:8] = np.nan
    path = tmp_path / "walk.trc"
    path.write_text(trc_text(trial, "walk.trc", str(path)), encoding="utf-8")
    return path


def analyse(*arguments):
    allow_compilation()
    try:
        return CliRunner().invoke(cli, ["analyse", *map(str, arguments)])
    finally:
        allow_compilation()


def test_it_writes_what_it_found(walk, tmp_path):
    """Protects the user of a recording: summary, motion, table and recording of the same numbers."""
    outs = [tmp_path / f"a{suffix}" for suffix in (".mot", ".sto", ".csv", ".mcap")]
    done = analyse(walk, "--subject", "walker", "--json", *(f"--out={out}" for out in outs))
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["frames"], told["method"], told["subject"]) == (50, "minimised", "walker")
    assert sum(told["status"].values()) == 50
    assert 0.0 < told["marker_rms_mm"] < 12.0
    results = read_results(outs[-1])
    motion = read_storage(outs[0])
    flexion = results.fields["joint_angles"][:, 3]
    np.testing.assert_allclose(motion.column("knee_flexion"), np.degrees(flexion), rtol=1e-11)
    assert set(told["fields"]) == set(results.fields)


@pytest.mark.process
def test_it_gives_the_numbers_of_a_live_run(walk, tmp_path):
    """Protects the promise: live and offline are the same to the last bit, gaps included."""
    live = tmp_path / "live.mcap"
    command = ["live", "--source", walk, "--subject", "walker", "--record", live, "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "rtsim.cli.entry", *map(str, command), "--port-offset", "auto"],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    offline = tmp_path / "offline.mcap"
    assert analyse(walk, "--subject", "walker", f"--out={offline}").exit_code == 0
    was, now = read_results(live), read_results(offline)
    np.testing.assert_array_equal(was.times, now.times)
    assert was.session.fields == now.session.fields
    for name, values in now.fields.items():
        np.testing.assert_array_equal(was.fields[name], values, err_msg=name)
    late = 1  # of the live run alone
    np.testing.assert_array_equal(was.status & ~late, now.status)


def test_plates_that_cannot_be_right_end_with_a_fault(shared, tmp_path):
    """Protects from figures of plates whose vertical is another axis: files are written, none is claimed."""
    folder, out = shared / "data" / "gait_bmc", tmp_path / "out.csv"
    lines = (folder / "walk1.forces").read_text().splitlines()
    head = next(k for k, line in enumerate(lines) if line.startswith("#Sample"))
    rows = [line.split() for line in lines[head + 1 :] if line.strip()]
    order = [0, *(1 + 7 * p + k for p in range(7) for k in (0, 2, 1, 3, 4, 5, 6))]
    turned = ["\t".join(row[k] for k in order) for row in rows]
    (tmp_path / "turned.forces").write_text("\n".join([*lines[: head + 1], *turned]) + "\n")
    options = ["--run", "foot", "--forces", tmp_path / "turned.forces", f"--out={out}", "--json"]
    done = analyse(folder / "walk1.trc", *options)
    assert done.exit_code == 1
    assert "the results of the force plates cannot be used: The forces act along" in str(done.exception)
    assert json.loads(done.stdout)["kinetics"] is None
    assert out.is_file()


@pytest.mark.parametrize(
    ("plates", "fields", "refused"),
    [
        (False, ("joint_angles", "plate_forces"), False),
        (True, ("joint_angles", "plate_forces"), True),
        (False, ("joint_angles", "plate_forces", "joint_moments"), True),
        (False, ("coordinates", "plate_forces", "coordinate_moments"), True),
        (False, ("joint_angles", "plate_forces", "foot_contact_forces"), True),
    ],
)
def test_wrong_plates_are_a_fault_of_what_needs_them_alone(plates, fields, refused):
    """Protects angles, and --compare of angles, from plates of a C3D that nobody asked for."""
    results: Any = SimpleNamespace(status=np.zeros(3, np.int64), fields=dict.fromkeys(fields, np.zeros(3)))
    solved = AnalysedRecording(results, 1.0, "end", {}, [], "askew", plates)
    if not refused:
        check_usable(solved, "a.c3d")
        return
    with pytest.raises(ConfigError, match="results of the force plates cannot be used: askew"):
        check_usable(solved, "a.c3d")


def test_forces_of_a_recording_become_moments(tmp_path):
    """Protects the way from files to joint moments: mass and filter in the recording, and a table."""
    outs = [tmp_path / "a.mcap", tmp_path / "a.sto"]
    done = analyse("walker", "--forces", "walker", "--mass", 72, *(f"--out={out}" for out in outs))
    assert done.exit_code == 0, done.output
    results = read_results(outs[0])
    assert results.session.meta["mass_kg"] == 72.0
    assert results.session.meta["rates"]["kind"] == "butterworth"
    moments = results.fields["joint_moments"]
    assert 0.2 < np.isfinite(moments).all(axis=1).mean() < 1.0
    table = read_storage(outs[1])
    rows = np.isin(np.round(results.times, 9), np.round(table.column("time"), 9))
    assert 0.9 < rows.mean() < 1.0  # without those at the ends, of which OpenSim's Storage would take none
    np.testing.assert_allclose(table.column("joint_moments.knee_flexion"), moments[rows, 3], rtol=1e-11)
    assert "Inverse dynamics for a body mass of 72.0 kg" in done.output


def test_without_a_mass_there_are_plates_and_no_moments(tmp_path):
    """Protects from moments of nobody: told what to give, everything else as ever."""
    out = tmp_path / "a.mcap"
    done = analyse("walker", "--forces", "walker", f"--out={out}")
    assert done.exit_code == 0, done.output
    assert "The mass of the person is not known" in done.output
    fields = read_results(out).fields
    assert "plate_forces" in fields
    assert "joint_moments" not in fields


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("walker", "--forces", "none.mot"), ("--forces", "no file 'none.mot'")),
        (("walker", "--forces", "tcp://127.0.0.1:5560"), ("--forces", "allowed", ".mot")),
        (("walker", "--forces", "walker", "--mass", "1"), ("--mass",)),
        (("walker", "--forces", __file__), ("--forces", "not a file of forces")),
        (("tcp://127.0.0.1:5560",), ("is a stream", "rtsim live")),
        (("nothing.trc",), ("nothing.trc",)),
        (("walker", "--out", "a.xls"), ("cannot write", ".mot")),
        (("walker", "--method", "best"), ("best", "minimised")),
    ],
)
def test_what_cannot_be_is_told(arguments, words):
    """Protects the user: one sentence, no traceback, an exit code."""
    done = analyse(*arguments)
    assert done.exit_code != 0
    assert all(word in done.output + str(done.exception) for word in words), (done.output, done.exception)


def test_a_run_with_plates_is_told_in_figures_and_in_words():
    """Protects the summary of runs with forces: the same figures as JSON and as sentences."""
    options = ["walker", "--forces", "walker", "--mass", "72"]
    done = analyse(*options, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["kinetics"]
    assert found["under"] == 1.0
    assert found["feet"]["right"]["loaded"] == found["loaded"] > 0
    assert found["mass_kg"] == 72.0
    assert set(found["peaks"]) == {"ankle plantarflexors", "knee extensors"}
    said = analyse(*options).stdout
    assert "the centre of pressure lies under the foot in 100.0 % of all readings" in said
    most = found["peaks"]["ankle plantarflexors"]["value"]
    assert f"peak moment of the ankle plantarflexors: {most:.2f} N m/kg" in said
    assert "residual force at the pelvis in body weights" in said


@pytest.mark.own_kernels
def test_choices_of_a_run_are_set_beside_each_other():
    """Protects the mandible's tables: places within 2 mm of where the markers have them, forces told."""
    done = analyse("jaw:chewing", "--run", "mandible", "--compare", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["frequency_hz"] == pytest.approx(1.0, rel=0.01)
    assert told["cycles"] == 5
    places = [row for row in told["rows"] if row["field"] == "joint_point_displacements"]
    assert len(places) == 12
    assert max(row["mean"]["rmsd"] for row in places) < 2.0
    forces = {(row["entry"], row["choice"], row["beside"]) for row in told["rows"][12:]}
    assert ("left SI", "pop", "fdk") in forces


@pytest.mark.own_kernels
def test_a_motion_drives_the_mandible(tmp_path):
    """Protects determinate kinematics at the command line: a .mot file in, a balance and a table out."""
    source, out = tmp_path / "jaw.mot", tmp_path / "out.sto"
    rows = [f"{0.01 * k:.2f}\t{3.0 + 0.1 * k:.3f}\t{0.001 + 2e-5 * k:.6f}\t0.0" for k in range(20)]
    head = ["jaw", "inDegrees=yes", "endheader", "time\topening\tprotrusion\tdeviation"]
    source.write_text("\n".join([*head, *rows, ""]), encoding="utf-8")
    options = (source, "--config", "mandible", "--set", "joint=fdk")
    done = analyse(*options, "--json", f"--out={out}")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["frames"], told["status"], told["method"]) == (20, {"ok": 20}, "pop")
    table = read_storage(out)
    np.testing.assert_allclose(table.column("opening"), 3.0 + 0.1 * np.arange(20), atol=1e-6)
    assert "20 frames (ok 20)" in analyse(*options).stdout


@pytest.mark.parametrize(("arguments", "words"), [
    (("jaw.mot", "--run", "mandible"), "there is no file 'jaw.mot'"),
    (("walker", "--compare"), "a run config with a table [compare]"),
    (("jaw:chewing", "--run", "mandible", "--compare", "--out", "a.csv"), "single choice, not to --compare"),
    (("jaw:chewing", "--run", "mandible", "--set", "joint=knee"), "joint=pop, joint=fdk, joint=markers"),
    (("jaw:chewing", "--run", "mandible", "--compare", "--set", "joint=fdk"), "--compare runs all of them"),
    (("jaw:singing", "--run", "mandible"), "jaw:chewing, jaw:protrusion, jaw:opening"),
])  # fmt: skip
def test_choices_that_cannot_be_are_told(arguments, words):
    """Protects users from a comparison of nothing, before anything is compiled."""
    done = analyse(*arguments)
    assert done.exit_code != 0
    assert words in str(done.exception) + done.output


def test_a_comparison_tells_what_its_runs_say(monkeypatch):
    """Protects from a table of a jaw without markers, and of runs in which nothing was solved, in silence."""
    frames = np.array([int(Status.DEGRADED), int(Status.NOT_CONVERGED)])
    said = ["Too few markers determine mandible: it stays near its last pose and is degraded."]

    def solved(run, anyway, console):
        session = Session(session="s", stream="result", t_start=0, rate=100.0, fields=())
        status = frames if run.chosen != ("joint=markers",) else frames[1:]
        return AnalysedRecording(
            Results(session, {}, 0.01 * np.arange(len(status)), status), 0.1, "over", {}, said
        )

    monkeypatch.setattr("rtsim.cli.commands.analyse.solve", solved)
    done = analyse("jaw:chewing", "--run", "mandible", "--compare")
    assert done.exit_code != 0
    assert done.output.count(said[0]) == 3
    said = f"{done.exception}{done.output}"
    assert "jaw:chewing, joint=markers: none of 1 frames gave usable results" in said


def test_an_end_before_the_first_frame_is_an_interruption(monkeypatch, capsys):
    """Protects scripts: Ctrl-C while the loop begins is 130, as at any other time."""
    monkeypatch.setattr(Loop, "run", lambda self: self.stop(INTERRUPTED))
    assert outcome(["analyse", "walker"]) == 130
    assert "rtsim: interrupted" in capsys.readouterr().err
