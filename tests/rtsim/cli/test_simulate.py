"""`rtsim simulate`: summary, files, figures, options, Ctrl-C, and what it refuses."""

from __future__ import annotations

import csv
import json
import math
import os
import signal

import pytest

from rtsim.files.recording import read_results
from rtsim.files.tables.storage import read_storage
from rtsim.simulation import motion
from tests.rtsim.simulation.loose import MODEL

FIXED = ("--step", "1", "--method", "ros34pw2", "--kinks", "secant")  # whatever the model's file says
SHORT = ("simulate", "knee", "--duration", "0.02", *FIXED)


@pytest.fixture
def loose(tmp_path):
    """The loose model as a file of the test's folder, with a text replaced."""

    def write(right: str = "", wrong: str = "") -> str:
        assert right in MODEL
        (tmp_path / "loose.toml").write_text(MODEL.replace(right, wrong, 1) if right else MODEL)
        return "loose.toml"

    return write


def test_the_summary_of_the_knee(here):
    """Protects the plain command: a shipped model, its own settings, everything a reader asks first."""
    done = here("simulate", "knee", "--duration", "0.27", *FIXED)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].startswith(
        "knee: finished at 0.27 s, 270 steps of 1 ms by ros34pw2 (kinks of forces: secant)"
    )
    assert "real time" in lines[1]
    assert "static equilibrium of the model without weight and loads, found after" in lines[2]
    assert "flexion held" in lines[2]
    assert lines[3].startswith("time steps with a large estimated error: 0")
    ends = {line.split()[0]: line.split()[1:] for line in lines if line.endswith((" deg", " mm"))}
    assert list(ends) == [
        "flexion", "adduction", "internal_rotation", "lateral_shift", "anterior_drawer", "distraction",
    ]  # fmt: skip
    assert 80.0 < float(ends["flexion"][0]) < 95.0
    peaks = {tuple(line.split()[:-2]): line.split()[-2:] for line in lines if line.startswith("  contact ")}
    assert 240.0 < float(peaks["contact", "medial"][0]) < 290.0


def test_json_in_metres_and_radians(here):
    """Protects programs: the same figures in SI units under keys that say what they are."""
    told = json.loads(here(*SHORT, "--json").out)
    text = here(*SHORT).out
    assert (told["model"], told["outcome"], told["steps"], told["rows"]) == ("knee", "finished", 20, 21)
    assert told["time_s"] == pytest.approx(0.02)
    assert told["start"]["held"] == ["flexion"]
    assert told["start"]["iterations"] > 0
    flexion = told["final"]["flexion"]
    assert flexion["unit"] == "rad"
    assert f"{math.degrees(flexion['value']):.3f}" in text
    assert told["final"]["distraction"]["value"] == pytest.approx(0.213, abs=2e-3)
    peak = told["peaks"]["contact_normal_forces"]["medial"]
    assert peak["unit"] == "N"
    assert f"{peak['value']:.3f}" in text


def test_every_option_changes_the_run(here):
    """Protects options: each of them stands above what the model's file says."""
    plain = json.loads(here(*SHORT, "--json").out)
    for options, key, value in (
        (("--method", "rodas4p"), "method", "rodas4p"),
        (("--step", "0.5"), "steps", 40),
        (("--kinks", "exact"), "kinks", "exact"),
        (("--every", "7"), "rows", 4),
        (("--duration", "0.01"), "steps", 10),
    ):
        told = json.loads(here(*SHORT, *options, "--json").out)
        assert told[key] == value
        assert plain[key] != value
    still = json.loads(here(*SHORT, "--load", "pulse=0", "--json").out)
    twice = json.loads(here(*SHORT, "--load", "pulse=2", "--json").out)
    speeds = [told["final"]["flexion"]["speed"] for told in (still, plain, twice)]
    assert speeds[1] - speeds[0] == pytest.approx(speeds[2] - speeds[1], rel=0.02)


def test_a_run_ends_with_the_motion(here, tmp_path, monkeypatch):
    """Protects the force that holds a motion to the last row: whole steps within it, none beyond; and that
    the file is read once."""
    read = []
    monkeypatch.setattr(motion, "read_storage", lambda path: read.append(path) or read_storage(path))
    rows = [f"{k / 60:.6f}\t{60.0 * math.cos(8.0 * k / 60):.9g}" for k in range(17)]  # 266.667 ms
    text = "\n".join(["m", "version=1", "inDegrees=yes", "endheader", "time\tknee", *rows, ""])
    (tmp_path / "knee.mot").write_text(text)
    done = here(
        "simulate", "kick", "--prescribe", "knee", "--motion", "knee.mot", "--step", "1", "--out", "kick.mcap"
    )
    assert done.code == 0, done.err
    assert read == ["knee.mot"]
    results = read_results(tmp_path / "kick.mcap")
    assert results.times[-1] == pytest.approx(0.266)
    label = next(s.labels for s in results.session.fields if s.name == "prescribed_moments").index("knee")
    moments = results.fields["prescribed_moments"][:, label]
    assert abs(moments[-1] - moments[-2]) < 2.0 * abs(moments[-2] - moments[-3])


def test_results_in_all_formats(here, tmp_path):
    """Protects --out: three files of one run hold the same, and export reads the recording."""
    done = here(*SHORT, "--out", "a.sto", "--out", "a.csv", "--out", "a.mcap", "--every", "2")
    assert done.code == 0, done.err
    assert done.err.splitlines() == ["wrote a.sto", "wrote a.csv", "wrote a.mcap"]
    table = read_storage(tmp_path / "a.sto")
    rows = list(csv.reader((tmp_path / "a.csv").open(newline="")))
    results = read_results(tmp_path / "a.mcap")
    assert len(table.data) == len(rows) - 1 == len(results.times) == 11
    assert table.in_degrees
    k = rows[0].index("ligament_forces.ACL_anterior [N]")
    assert [float(row[k]) for row in rows[1:]] == pytest.approx(
        list(table.column("ligament_forces.ACL_anterior"))
    )
    assert math.degrees(results.fields["joint_angles"][-1, 0]) == pytest.approx(table.column("flexion")[-1])
    assert here("export", "a.mcap", "b.sto").code == 0
    assert read_storage(tmp_path / "b.sto").column("flexion") == pytest.approx(table.column("flexion"))


@pytest.mark.parametrize(
    "arguments", [("knee",), ("knee", "--over", "flexion"), ("stick_slip", *FIXED, "--duration", "4")]
)
def test_the_run_is_drawn(here, tmp_path, arguments):
    """Protects --plot: a PNG file with something on it, also without a display."""
    pytest.importorskip("pyqtgraph")
    done = here("simulate", *arguments, "--plot", "run.png")
    assert done.code == 0, done.err
    assert (tmp_path / "run.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert (tmp_path / "run.png").stat().st_size > 8000


def test_a_model_of_all_elements_and_joints(here, loose):
    """Protects free bodies and friction under a load: the summary has them too."""
    told = json.loads(here("simulate", loose(), "--json").out)
    assert {"position", "swing", "ball_x", "ball_y", "ball_z"} == set(told["final"])
    assert told["peaks"]["friction_forces"]["belt"]["value"] > 1.0
    assert told["peaks"]["contact_normal_forces"]["wall"]["value"] == 0.0
    assert "kinks" in told


def test_ctrl_c_keeps_what_is_done(here, tmp_path, monkeypatch):
    """Protects long runs: told and written up to the chunk in which Ctrl-C came, exit code of interrupts."""
    from rtsim.simulation.simulator import Simulator

    true, calls = Simulator.run, []

    def run(self, n_step, *arguments, **options):
        calls.append(n_step)
        if calls.count(1000) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return true(self, n_step, *arguments, **options)

    monkeypatch.setattr(Simulator, "run", run)
    before = signal.getsignal(signal.SIGINT)
    done = here(
        "simulate", "stick_slip", *FIXED, "--duration", "100", "--every", "100", "--out", "a.csv", "--json"
    )
    assert done.code == 130
    told = json.loads(done.out)
    assert (told["outcome"], told["steps"], told["steps_asked"]) == ("stopped", 2000, 100_000)
    assert done.sentence == "the simulation stopped at 2 s; the results up to that time were written"
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 22
    assert signal.getsignal(signal.SIGINT) is before


def test_a_step_too_large_is_told_after_the_run(here, tmp_path):
    """Protects against results of a step that the model does not bear: kept, but not without saying so."""
    done = here(*SHORT, "--step", "500", "--duration", "0.5", "--out", "a.csv", "--json")
    assert done.code == 1
    assert json.loads(done.out)["outcome"] == "step too large"
    for words in (
        "the estimated integration error is large in 1 of 1 time steps",
        "--step or simulation.step_ms",
        "were written",
    ):
        assert words in done.sentence
    assert (tmp_path / "a.csv").exists()


def test_a_run_that_breaks_down_is_told(here, tmp_path):
    """Protects against numbers that are none: when, what to do, and what was reached is kept."""
    done = here(*SHORT, "--load", "pulse=1e300", "--out", "a.csv")
    assert done.code == 1
    assert done.out.startswith("knee: failed at ")
    for words in ("knee: the state is no longer a finite number at 0 s", "--step", "were written"):
        assert words in done.sentence
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 2


STEP = "duration_s = 0.05"
FALLING = """
name = "falling"
source = "made up"
[[bodies]]
name = "block"
joint = "slider"
axis = "v"
mass_kg = 1.0
[simulation]
equilibrium = "loaded"
"""
# arguments, words of the sentence
BAD = [
    (("simulate",), ("Missing argument", "MODEL")),
    (("simulate", "nee"), ("'nee'", "knee", "stick_slip")),
    (("simulate", "nowhere.toml"), ("nowhere.toml",)),
    (("simulate", "knee", "--step", "0"), ("--step: 0.0", "more than 0 ms")),
    (("simulate", "knee", "--step", "nan"), ("--step: nan", "more than 0 ms")),
    (("simulate", "knee", "--step", "soon"), ("--step", "soon", "float")),
    (
        ("simulate", "knee", "--step", "500", "--duration", "0.27"),
        ("0.54 steps of 500 ms", "1 to", "--duration or --step"),
    ),
    (
        ("simulate", "knee", "--step", "1e-9", "--duration", "0.27"),
        ("2.7e+11 steps", "1 to 1000000000", "--duration or --step"),
    ),
    (("simulate", "knee", "--duration", "-1"), ("--duration: -1.0", "more than 0 s")),
    (("simulate", "knee", "--duration", "inf"), ("--duration: inf", "more than 0 s")),
    (("simulate", "knee", "--duration", "1e6", "--every", "1"), ("--every", "or more")),
    (("simulate", "knee", "--every", "0"), ("--every", "x>=1")),
    (("simulate", "knee", "--method", "rk4"), ("--method", "'rk4'", "ros34pw2")),
    (("simulate", "knee", "--kinks", "cut"), ("--kinks", "'cut'", "split", "secant", "exact")),
    (("simulate", "impact", "--split", "0.4"), ("--split", "2 arguments")),
    (("simulate", "impact", "--split", "1.5", "1"), ("--split: 1.5 1.0", "up to 1", "above 0")),
    (("simulate", "impact", "--split", "nan", "1"), ("--split: nan 1.0", "up to 1")),
    (("simulate", "impact", "--split", "0.4", "inf"), ("--split: 0.4 inf", "FLOOR above 0")),
    (("simulate", "knee", "--kinks", "secant", "--split", "0.4", "1"), ("--split", "add --kinks split")),
    (("simulate", "knee", "--load", "pulse"), ("--load: 'pulse'", "NAME=GAIN")),
    (("simulate", "knee", "--load", "pulse=much"), ("--load: 'pulse=much'", "NAME=GAIN")),
    (("simulate", "knee", "--load", "push=1"), ("knee: unknown load 'push'", "allowed: pulse")),
    (("simulate", "knee", "--out", "a.xls"), ("--out a.xls", "'.xls'", ".sto, .csv, .mcap")),
    (("simulate", "knee", "--out", "no/a.csv"), ("--out: there is no folder no",)),
    (("simulate", "knee", "--out", "there.mcap"), ("--out: there.mcap exists already", "another name")),
    (("simulate", "knee", "--plot", "a.jpg"), ("--plot", "a.jpg", ".png")),
    (("simulate", "knee", "--over", "flexion"), ("--over", "--plot FILE.png")),
    (
        ("simulate", "knee", "--over", "bend", "--plot", "a.png"),
        ("--over: unknown coordinate 'bend'", "flexion"),
    ),
    (
        ("simulate", "wheel"),
        ("wheel: rolls.ground_contact", "this constraint of velocity", "contact with friction"),
    ),
    (
        ("simulate", "falling.toml"),
        ("falling: simulation.equilibrium", "no static equilibrium", "hold a coord"),
    ),
    (
        ("simulate", "massless.toml"),
        ("bodies.block.mass_kg: the coordinate block does not move any mass", "give mass_kg"),
    ),
    (("simulate", "person.toml"), ("anatomical landmarks of a subject", "--subject")),
    (("simulate", "law.toml"), ("law.toml: key simulation.method", "'euler'", "ros34pw2")),
    (("check", "law.toml"), ("check: 1 of 1 configs",)),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=[" ".join(arguments[1:]) for arguments, _ in BAD])
def test_bad_input_is_one_sentence(here, tmp_path, arguments, words):
    """Protects the user: what is wrong, where, what is allowed; no result, no file, no traceback."""
    (tmp_path / "there.mcap").write_text("")
    loaded = '"loaded"'
    for name, right, wrong in (
        ("falling", "", ""),
        ("massless", "mass_kg = 1.0", ""),
        ("person", 'axis = "v"', 'axis = "v"\nin_child = { point = "knee" }'),
        ("law", f"equilibrium = {loaded}", 'method = "euler"'),
    ):
        (tmp_path / f"{name}.toml").write_text(FALLING.replace(right, wrong) if right else FALLING)
    before = sorted(tmp_path.iterdir())
    done = here(*arguments)
    assert done.code != 0
    assert done.out == ""
    assert done.sentence.startswith(("rtsim: ", "Error: ")), done.err
    for word in words:
        assert word in done.sentence, done.err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.own_kernels
def test_a_model_without_settings_runs(here):
    """Protects models made for moment arms: passive muscles are said, what leaves its range too."""
    excited = here("simulate", "finger", "--duration", "0.1", "--excite", "profundus=0.5")
    assert excited.code == 0, excited.err
    assert "no muscle" not in excited.err
    assert "note: pip_flexion leaves its range at" in excited.out
    done = here("simulate", "finger", "--duration", "0.1", "--json")
    assert done.code == 0, done.err
    assert (
        "note: no muscle has an excitation, so all muscles are passive, at their lowest activation"
        in done.err
    )
    bent = here("simulate", "finger", "--duration", "0.1", "--excite", "profundus=0.5", "--json")
    at_end = [json.loads(one.out)["final"]["pip_flexion"]["value"] for one in (done, bent)]
    assert at_end[1] > at_end[0] + 0.5


def test_what_is_given_twice_is_told(here):
    """Protects from one of two numbers being taken in silence."""
    for option, word in (("--excite", "profundus=0.5"), ("--load", "push=1")):
        done = here("simulate", "finger" if option == "--excite" else "knee", option, word, option, word)
        assert done.code != 0
        assert f"{option}: {word.partition('=')[0]} is given twice" in done.err


@pytest.mark.parametrize(("word", "said"), [
    ("biceps=0.5", "no muscle 'biceps' with a force; allowed: extensor, profundus, interosseous"),
    ("profundus=1.5", "profundus=1.5; allowed: 0 to 1"),
    ("profundus", "'profundus' lacks a number; allowed: NAME=PART"),
])  # fmt: skip
def test_what_cannot_be_excited_is_told(here, word, said):
    """Protects from a wrong name or number: one sentence before anything is compiled."""
    done = here("simulate", "finger", "--excite", word)
    assert done.code != 0
    assert said in done.err
