"""Mistakes of a first hour: told at once, before anything is compiled, started or listened to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rtsim.cli.patience import nothing_begins

ROOT = Path(__file__).resolve().parents[3]
GUARD_S = 120.0
STREAM = ("--source", "tcp://127.0.0.1:1", "--subject", "walker")
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX shells and signals")

# arguments, words of the sentence
AT_ONCE = [
    (("live", "--source", "."), (".: markers cannot be read from a folder", ".trc, .c3d, .mcap")),
    (("live", "--source", "text.txt"), ("text.txt: markers cannot be read from files of type", ".c3d")),
    (("live", "--subject", "walker", "--static", "text.txt"), ("text.txt", "cannot be read")),
    (("live", "--source", "walker", "--static", "a.trc"), ("--static: the synthetic walker is calibrated",)),
    (("live", "--units", "furlong"), ("--units", "'walker' are known", "leave it out")),
    (("live", "--up", "W"), ("--up", "'walker' are known", "leave it out")),
    (("live", "--source", "a.trc", "--units", "furlong"), ("--units: 'furlong'", "m, cm, mm, dm, in, ft")),
    (("live", "--source", "a.trc", "--up", "W"), ("--up: 'W' is not an up axis", "X, Y or Z")),
    (("live", "--source", "a.trc", "--rate", "50"), ("--rate: this option applies only", "leave it")),
    (("live", "--port-offset", "60000"), ("--port-offset 60000", "65561", "1 to 65535")),
    (("live", "--model", "finger"), ("--source: the synthetic walker has the markers of", "not those")),
    (("replay", "nowhere.c3d"), ("SOURCE: no such source 'nowhere.c3d'",)),
    (("analyse", "nowhere.c3d"), ("SOURCE: no such source 'nowhere.c3d'",)),
    (("analyse", "a.trc", "--knee-width", "0"), ("knee_width_mm: 0 mm is not a possible body measure",)),
    (("replay", "a.trc", "--duration", "3"), ("--duration: this option applies only", "a.trc")),
    (("estimate", *STREAM, "--client-key", "mine", "--server-key", "you"), ("mine cannot be read as a key",)),
    (("estimate", *STREAM, "--key", "mine", "--clients", "."), ("mine cannot be read as a key",)),
    (("moment-arms", "finger", "--angle", "elbow"), ("unknown angle 'elbow'", "mcp_flexion, pip_flexion")),
    (("moment-arms", "finger", "--at", "elbow=3"), ("unknown angle 'elbow'", "mcp_flexion, pip_flexion")),
    (("moment-arms", "finger", "--at", "mcp_flexion=x"), ("--at: 'x' is no number",)),
    (("moment-arms", "finger", "--sweep"), ("--angle: a sweep can move one angle only", "mcp_flexion")),
    (("tune", "--set", "k=3", "--set", "k=30"), ("--set: k is given twice", "keep one")),
    (("command", "mark", "label=a", "label=b"), ("command: label is given twice", "keep one")),
    (("simulate", "knee", "--load", "pulse=1", "--load", "pulse=2"), ("--load: pulse is given twice",)),
    (("analyse", "a.trc", "--forces", "a.mot", "--out", "a.mot"), ("--out: a.mot is read by this run",)),
    (("report", "a.trc", "b.trc", "--forces", "a.mot"), ("--forces: a.mot belongs to one", "b.trc")),
    (("report", "a.trc", "--static", "s.trc", "--before", "b.trc"), ("--static: s.trc belongs to one",)),
    (("report", "a.trc", "--subject", "walker", "--before", "b.trc"), ("--subject: walker belongs to one",)),
    (("simulate", "lower_limb"), ("anatomical landmarks of a subject; add --subject",)),
    (("simulate", "knee", "--load", "push=1"), ("unknown load 'push'", "allowed: pulse")),
    (("simulate", "knee", "--results", "tcp://127.0.0.1:7000"), ("--results: ", "to live runs", "--live")),
    (("simulate", "knee", "--port-offset", "10"), ("--port-offset: ", "only to live runs", "--live")),
    (("simulate", "knee", "--rate", "10"), ("--rate: ", "only to live runs", "--live")),
    (("simulate", "kick", "--motion", "tcp://127.0.0.1:7000"), ("a stream runs in real time", "--live")),
    (("analyse", "a.trc", "--static", "a.trc", "--static", "b.trc"), ("--static: 2 trials are given",)),
    (("live", "--source", "walker", "--knee-width", "99"), ("--knee-width: ", "only to ", "walker is "
    "synthetic")),
    (("calibrate", "a.trc", "--knee-width", "wide"), ("--knee-width: 'wide'", "RIGHT,LEFT")),
    (("live", *STREAM, "--knee-width", "99"), ("--knee-width: ", "only to a calibration", "leave it out")),
    (("calibrate", "a.trc", "--out", "anna.txt"), ("anna.txt cannot be the name of a subject file", ".toml")),
    (("calibrate", "a.trc", "--out", "no/anna.toml"), ("there is no folder no", "make it first")),
    (("doctor", "tcp://127.0.0.1:1", "--subject", "nobody"), ("no config named 'nobody' in subjects/",)),
    (("analyse", "jaw:opening", "--run", "mandible", "--static", "a.trc"), ("--static: the model mandible",)),
    (("analyse", "walker", "--frames", "ok"), ("--frames: ", "only to tables", "add --out FILE.csv")),
    (("analyse", "walker", "--frames", "all", "--out", "a.mcap"), ("--frames: ", "only to tables", "--out")),
    (("export", "a.mcap", "a.trc", "--frames", "ok"), ("--frames: ", "only to tables (.mot, .sto, .csv)",)),
    (("export", "a.mcap", "a.csv", "--model-markers"), ("--model-markers: ", "only to markers (.trc)",)),
    (("export", "a.mcap", "a.sto", "--units", "mm"), ("--units: ", "only to markers (.trc)", "leave it out")),
    (("export", "a.mcap", "-", "--format", "mot", "--up", "Z"), ("--up: ", "only to markers (.trc)",)),
    (("doctor", "--subject", "walker"), ("--subject: a subject can only be compared", "ADDRESS")),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), AT_ONCE, ids=[" ".join(a) for a, _ in AT_ONCE])
def test_what_can_be_told_at_once_is(here, monkeypatch, tmp_path, arguments, words):
    """Protects patience: a minute of compilation, or of listening, does not come before such a sentence."""
    (tmp_path / "text.txt").write_text("some text\n")
    (tmp_path / "a.trc").write_text("some text\n")
    (tmp_path / "a.mot").write_text("some text\n")
    nothing_begins(monkeypatch)
    for slow in ("rtsim.live.compiled.groups.compile_groups", "rtsim.report.doctor.examine_stream"):
        monkeypatch.setattr(slow, lambda *_, **__: pytest.fail("something slow began"))
    done = here(*arguments)
    assert (done.code, done.out) == (1, "")
    for word in words:
        assert word in done.sentence, done.err


@pytest.mark.process
def test_a_source_that_does_not_answer_is_told(start, any_ports, port):
    """Protects who mistyped an address: before the first frame there is no table, but a sentence."""
    live = start("live", "--source", f"tcp://127.0.0.1:{port}", "--subject", "walker", *any_ports)
    live.said(f"Nobody answers at tcp://127.0.0.1:{port} yet; still trying.")
    live.popen.terminate()
    done = live.wait()
    assert "0 frames" in done.out
    assert "()" not in done.out


@posix
@pytest.mark.process
@pytest.mark.parametrize("closed", ["", ">&-", "2>&-", ">&- 2>&-"])
def test_outputs_that_are_closed_change_nothing(tmp_path, closed):
    """Protects services, which are started without outputs: no traceback, and the true exit code."""
    (tmp_path / "mine.toml").write_text('name = "mine"\n')
    for name, code in (("mine", 0), ("nowhere", 1)):
        command = f"exec '{sys.executable}' -m rtsim.cli.main check {name}.toml {closed}"
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=GUARD_S,
            check=False,
        )
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr


@posix
@pytest.mark.process
@pytest.mark.parametrize("imported", ["click", "msgspec"])
def test_ctrl_c_in_the_first_moments_is_quiet(tmp_path, imported):
    """Protects the impatient: a Ctrl-C while Python still loads the program has no traceback."""
    (tmp_path / f"{imported}.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = subprocess.run(
        [sys.executable, "-m", "rtsim.cli.entry", "check"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))},
        capture_output=True,
        text=True,
        timeout=GUARD_S,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "rtsim: interrupted\n"
