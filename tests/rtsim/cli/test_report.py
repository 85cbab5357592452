"""`rtsim report` and `rtsim norms` on results in files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rtsim.cli.commands.norms import trials_in
from rtsim.cli.commands.report import date_of
from rtsim.cli.runs.report_trials import label_trials, with_own_source
from rtsim.errors import ConfigError
from rtsim.files.markers.c3d import read_c3d
from rtsim.files.norms.norm_set import read_norms, write_norms
from rtsim.files.recording import Results
from rtsim.files.tables.recorded import write_results
from rtsim.methods.gait.summary import gait_of, recorded_with
from rtsim.report.clinical.session import ReportSession, trial_of
from streams.messages import FieldSpec, Session
from tests.rtsim.files.conftest import c3d_bytes
from tests.rtsim.report.clinical.made_up import gait_results, norms_of

ROOT = Path(__file__).resolve().parents[3]
PARAMETERS = {
    "POINT": {
        "UNITS": ["mm"], "RATE": 100.0, "USED": 3, "SCALE": -0.1, "FRAMES": 200, "Y_SCREEN": ["+Z"],
        "LABELS": ["RASI", "RKNE", "RHEE"],
    }
}  # fmt: skip


def recording(path, seed: int = 0, **meta: object):
    """A recording of a made-up walk."""
    results = gait_results(seed=seed, **meta)
    write_results(path, recorded_with(results, gait_of(results, "made up")))
    return path


@pytest.fixture
def trial(tmp_path):
    """A recording of a made-up walk, and norms of its own."""
    path = recording(tmp_path / "walk.mcap", subject="Anna")
    norms = norms_of(ReportSession("now", (trial_of(gait_results(), "walk"),)))
    write_norms(tmp_path / "isb.toml", norms)
    write_norms(tmp_path / "cgm.toml", norms._replace(convention="cgm"))
    return path


@pytest.fixture
def run(here):
    """Exit code of a command; what it says on standard error is kept as `err`."""

    def call(*words: object) -> int:
        done = here(*words)
        call.err = done.err
        return done.code

    return call


def test_a_report_is_html_by_itself(run, trial, tmp_path):
    """Protects the shortest command: a file beside, named as the source, with the person's code."""
    assert run("report", trial) == 0
    text = (tmp_path / "walk.html").read_text("utf-8")
    assert text.count("<svg") >= 5
    assert "Anna" in text
    assert "wrote walk.html" in run.err
    assert run("report", trial) == 1
    assert "exists already" in run.err
    assert run("report", trial, "--force", "--name", "B <i>") == 0
    assert "B &lt;i&gt;" in (tmp_path / "walk.html").read_text("utf-8")


def test_norms_sessions_and_tables_in_one_command(run, trial, tmp_path):
    """Protects scores, before and after, and a folder of tables."""
    old = recording(tmp_path / "old.mcap", seed=3)
    words = ("--before", old, "--norms", tmp_path / "isb.toml")
    assert run("report", trial, *words, "-o", tmp_path / "tables", "-o", tmp_path / "a.html") == 0
    scores = (tmp_path / "tables" / "scores.csv").read_text()
    assert "before,left,knee_flexion" in scores
    pytest.importorskip("PySide6")
    assert run("report", trial, "-o", tmp_path / "a.png", "-o", tmp_path / "a.pdf") == 0
    assert (tmp_path / "a-1.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert run("report", trial, "-o", tmp_path / "a.png") == 1
    assert "now,both,gait_profile_score" in scores
    assert run("report", trial, "-o", tmp_path / "tables") == 1
    assert "already contains tables" in run.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--norms", "cgm.toml"), "convention 'cgm'"),
        (("--norms", "cgm.toml", "--angles", "isb"), "different conventions must not be compared"),
        (("--norms", "none.toml"), "no such file"),
        (("--norms", "walk.mcap"), "not a file of norms"),
        (("--angles", "cgm"), "convention 'cgm'"),
        (("-o", "x.docx"), "has no known suffix"),
        (("-o", "plain"), "plain is a file"),
        (("-o", "-"), "standard output"),
        (("--before", "walk.mcap"), "is given twice"),
        (("-o", "none/x.html"), "there is no folder"),
        (("--before", "gone.mcap"), "no such file"),
        (("--before", "tcp://127.0.0.1:5560"), "is a stream"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(run, trial, tmp_path, words, says):
    """Protects users from tracebacks, and from half a report."""
    (tmp_path / "plain").write_text("x")
    assert run("report", trial, *words) == 1
    said = run.err
    assert says in said
    assert "Traceback" not in said
    assert not (tmp_path / "walk.html").exists()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_may_not_be_written_is_told(run, trial, tmp_path):
    """Protects from work whose result is lost."""
    (tmp_path / "shut").mkdir(mode=0o500)
    assert run("report", trial, "-o", tmp_path / "shut" / "x.html") == 1
    assert "cannot be written" in run.err


def test_sessions_of_different_methods_are_told(run, trial, tmp_path):
    """Protects a comparison of sessions from a difference that is one of methods."""
    other = recording(tmp_path / "other.mcap", seed=3, method="minimised")
    assert run("report", trial, "--before", other) == 0
    assert "different methods (minimised, zero)" in run.err


def test_trials_of_persons_of_other_sizes_are_not_averaged(run, tmp_path):
    """Protects the mean of one person from trials of another."""
    for name, size in (("a", 1.70), ("b", 1.73), ("c", 1.48)):
        recording(tmp_path / f"{name}.mcap", stature_m=size)
    recording(tmp_path / "heavy.mcap", stature_m=1.70, mass_kg=90.0)
    assert run("report", "a.mcap", "b.mcap") == 0
    for other, says in (("c", "1.48 m"), ("heavy", "90 kg")):
        assert run("report", "a.mcap", f"{other}.mcap", "--force") == 1
        assert says in run.err
        assert "--before" in run.err
    assert run("report", "a.mcap", "c.mcap", "--force", "--anyway") == 0
    assert "not of one person" in run.err


def test_trials_of_persons_of_other_names_need_a_word(run, tmp_path):
    """Protects a person's curves from those of another of the same size, in one session or the earlier."""
    for name in ("anna", "bob"):
        recording(tmp_path / f"{name}.mcap", subject_name=name.capitalize())
    for words in (("anna.mcap", "bob.mcap"), ("anna.mcap", "--before", "bob.mcap")):
        assert run("report", *words, "--force") == 1
        assert "anna.mcap names Anna, bob.mcap names Bob" in run.err
        assert run("report", *words, "--anyway", "--force") == 0
        assert "not of one person" in run.err


def test_events_and_date_are_not_those_of_another_file_of_this_name(run, tmp_path, monkeypatch):
    """Protects a report that is made in another folder: its walk.c3d may be of another person."""
    for name, height in (("a", 900.0), ("b", 1000.0)):
        (tmp_path / name).mkdir()
        points = np.full((200, 3, 3), 500.0)
        points[..., 2] = np.array([height, 0.5 * height, 0.1 * height])
        points[..., 0] += 5.0 * np.arange(200)[:, None]
        (tmp_path / name / "walk.c3d").write_bytes(c3d_bytes(points, None, 100.0, 100, PARAMETERS, "<"))
    trial = read_c3d(tmp_path / "a" / "walk.c3d")
    spec = FieldSpec("markers_measured", trial.positions.shape[1:], "m", trial.names, frame="ground")
    meta = {"source": "walk.c3d"}
    session = Session(
        session="s", stream="result", t_start=0, rate=100.0, fields=(spec,), meta={**meta, "up": "Y"}
    )
    status = np.zeros(200, np.int64)
    results = Results(session, {"markers_measured": trial.positions}, trial.times, status)
    monkeypatch.chdir(tmp_path / "a")
    assert with_own_source(results) is results
    turned = {"markers_measured": 1e-3 * trial.positions[..., [2, 0, 1]]}  # other axes and another unit
    assert with_own_source(results._replace(fields=turned)).session.meta["source"] == "walk.c3d"
    monkeypatch.chdir(tmp_path / "b")
    elsewhere = with_own_source(results)
    assert elsewhere.session.meta["source"] == ""
    assert "walk.c3d was not used for gait events and the date" in elsewhere.notes[0]
    others = {"POINT": {**PARAMETERS["POINT"], "LABELS": ["L1", "L2", "L3"]}}  # of another marker set
    (tmp_path / "b" / "walk.c3d").write_bytes(c3d_bytes(points, None, 100.0, 100, others, "<"))
    assert with_own_source(results).session.meta["source"] == ""
    monkeypatch.chdir(tmp_path)
    assert with_own_source(results) is results


def test_the_date_is_not_that_of_another_file_of_this_name(tmp_path, monkeypatch):
    """Protects the date of a person's session: the walk.trc of another folder may be of somebody else."""
    monkeypatch.chdir(tmp_path)
    for name, day in (("walk.trc", 1_000_000_000), ("anna.mcap", 1_500_000_000)):
        (tmp_path / name).write_text("")
        os.utime(name, (day, day))
    trials = (trial_of(gait_results(source="walk.trc"), "anna.mcap"),)
    assert date_of("anna.mcap", trials).startswith("file of 2017-07-1")
    assert date_of("walk.trc", trials).startswith("file of 2001-09-")
    assert "not given" in date_of("gone.mcap", trials)


def test_the_page_has_the_whole_name_of_the_trial(run, tmp_path):
    """Protects reports of trials with dots in their names from one that replaces the other."""
    for name in ("1.5 m_s", "P01.walk2"):
        recording(tmp_path / f"{name}.mcap")
        assert run("report", f"{name}.mcap") == 0
        assert (tmp_path / f"{name}.html").exists()


@pytest.mark.parametrize(
    ("paths", "labels"),
    [
        (("x/a.c3d", "y/b.c3d"), ["a.c3d", "b.c3d"]),
        (("x/w.c3d", "y/w.c3d", "y/v.c3d"), ["x/w.c3d", "y/w.c3d", "v.c3d"]),
        (("A/s1/w.c3d", "B/s1/w.c3d"), ["A/s1/w.c3d", "B/s1/w.c3d"]),
        (("w.c3d", "s/w.c3d"), ["w.c3d", "s/w.c3d"]),
    ],
)
def test_labels_tell_trials_apart(paths, labels):
    """Protects tables of trials: files of one name have as much of their folders as makes them distinct."""
    assert label_trials(paths) == labels


def test_folders_of_norms_are_persons(run, tmp_path):
    """Protects norms from persons who are merged because their folders are called alike; all are told."""
    for k, name in enumerate(("adults/one", "adults/two", "children/one", "children/two")):
        (tmp_path / "walks" / name).mkdir(parents=True)
        recording(tmp_path / "walks" / name / "walk.mcap", seed=k)
    assert run("norms", "make", tmp_path / "walks", "--out", tmp_path / "lab.toml") == 0
    assert read_norms(tmp_path / "lab.toml").n_person == 4
    assert "adults/one" in run.err


def test_no_picture_is_written_over_and_each_is_told(run, trial, tmp_path):
    """Protects pictures of other work that have the name of a page."""
    pytest.importorskip("PySide6")
    (tmp_path / "a-3.png").write_bytes(b"mine")
    (tmp_path / "a-b.png").write_bytes(b"mine")
    assert run("report", trial, "-o", "a.png") == 1
    assert "a-3.png: the file exists already" in run.err
    (tmp_path / "a-3.png").rename(tmp_path / "a-99.png")
    assert run("report", trial, "-o", "a.png", "--force") == 0
    assert "wrote a-1.png to a-" in run.err
    assert "a-99.png is left over from a longer report" in run.err


def test_the_static_trial_of_a_recording_is_its_own(tmp_path):
    """Protects norms from trials solved with the static trial of somebody else in the folder."""
    for name in ("P1_static", "P2_static", "P1_walk", "P2_walk"):
        (tmp_path / f"{name}.c3d").write_bytes(b"")
    found = [(trial.stem, static.stem) for trial, static in trials_in(tmp_path)]
    assert found == [("P1_walk", "P1_static"), ("P2_walk", "P2_static")]
    (tmp_path / "gait.c3d").write_bytes(b"")
    with pytest.raises(ConfigError, match="several static trials might belong to this trial"):
        trials_in(tmp_path)


def test_results_without_legs_are_reported_without_an_error(run, tmp_path):
    """Protects results of another kind: a page that says what is not known, or a sentence."""
    results = gait_results()
    few = [spec for spec in results.session.fields if spec.name == "marker_residuals"]
    from msgspec import structs

    bare = results._replace(
        session=structs.replace(results.session, fields=tuple(few)),
        fields={"marker_residuals": results.fields["marker_residuals"]},
    )
    write_results(tmp_path / "bare.mcap", bare)
    assert run("report", "bare.mcap") == 0
    assert "no strides are found" in run.err


def test_norms_are_made_and_read(run, tmp_path):
    """Protects norms of a laboratory's own, by persons in folders, and those of other programs."""
    for person in ("A", "B"):
        (tmp_path / "lab" / person).mkdir(parents=True)
        recording(tmp_path / "lab" / person / "w.mcap", seed=ord(person))
    out = tmp_path / "lab.toml"
    assert run("norms", "make", tmp_path / "lab", "-o", out, "--source", "us") == 0
    norms = read_norms(out)
    assert (norms.n_person, norms.convention, norms.source, len(norms.curves)) == (2, "isb", "us", 9)
    assert run("norms", "make", tmp_path / "lab", "-o", out) == 1
    assert run("norms", "make", tmp_path / "lab", "-o", tmp_path / "c.toml", "--angles", "cgm") == 1
    assert run("norms", "make", tmp_path / "lab", "-o", tmp_path / "c.csv") == 1
    assert "ends in .toml" in run.err
    (tmp_path / "empty").mkdir()
    assert run("norms", "make", tmp_path / "empty", "-o", tmp_path / "e.toml") == 1
    assert re.search("the folder contains no trial", run.err)
    rows = "\n".join(f"hip_flexion,{k},{k},1" for k in range(101))
    (tmp_path / "n.csv").write_text(f"variable,percent,mean,sd\n{rows}\n")
    assert run("norms", "read", tmp_path / "n.csv", "-o", tmp_path / "n.toml", "--convention", "cgm") == 0
    assert read_norms(tmp_path / "n.toml").curves["hip_flexion"].mean[40] == 40.0


@pytest.mark.parametrize("kind", ["html", "xlsx", "pdf"])
def test_pages_of_results_need_no_compiler(trial, tmp_path, kind):
    """Protects the wait for a page: neither the compiler nor what only windows or filters need is loaded."""
    pytest.importorskip({"html": "numpy", "xlsx": "xlsxwriter", "pdf": "PySide6.QtSvg"}[kind])
    code = (
        "import sys\nfrom rtsim.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "heavy = {'numba', 'scipy', 'ezc3d', 'rich', 'pyqtgraph'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    out = tmp_path / f"anna.{kind}"
    done = subprocess.run(
        [sys.executable, "-c", code, "report", str(trial), "-o", str(out)],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert out.stat().st_size > 0
