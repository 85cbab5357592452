"""The commands that look after the installation: doctor, warmup and bench."""

from __future__ import annotations

import json
import re
import threading

import numpy as np
import pytest

from rtsim.live.compiled.group_table import GROUPS
from streams.clock import now_ns
from streams.messages import marker_session
from streams.publisher import Publisher
from streams.recording.player import MarkerFrames, play

GUARD_S = 120.0


def test_the_doctor_of_this_installation(here):
    """Protects `rtsim doctor`: a line per finding, and success where the tests run."""
    done = here("doctor")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert len(lines) > 10
    assert all(line.startswith("ok ") for line in lines)


def test_the_doctor_of_a_silent_stream(here):
    """Protects the user of a wrong address: what was found, and an exit code for scripts."""
    with Publisher("tcp://127.0.0.1:0") as publisher:
        done = here("doctor", publisher.address, "--seconds", 0.1)
    assert done.code == 1
    assert done.out.startswith("BAD  nothing arrived from tcp://127.0.0.1:")
    assert done.sentence == "rtsim: doctor: 1 of 1 checks failed; read the lines above, which say what failed"


def test_the_doctor_shows_labels_as_they_are(here):
    """Protects the terminal from a stranger's labels: neither colours nor control codes, on one line each."""
    labels = ("[bold]RASI[/bold]", "\x1b[2JLASI", "RPSI\r\nok  all is well", "[us]", ":cat:")
    frames = MarkerFrames(np.arange(100) * 0.01, np.ones((100, len(labels), 3)))
    with Publisher("tcp://127.0.0.1:0") as publisher:
        session = marker_session(labels, rate=100.0, t_start=now_ns())
        player = threading.Thread(target=play, args=(publisher, session, frames), kwargs={"wait_s": GUARD_S})
        player.start()
        done = here("doctor", publisher.address, "--seconds", 1.0, "--subject", "walker")
        player.join(GUARD_S)
    told = next(line for line in done.out.splitlines() if "the subject's 17 markers are not" in line)
    for shown in ("[bold]RASI[/bold]", r"\x1b[2JLASI", r"RPSI\r\nok  all is well", "[us]", ":cat:"):
        assert shown in told
    assert "\x1b" not in done.out + done.err
    assert not any(line.startswith("ok  all") for line in done.out.splitlines())


@pytest.mark.process
def test_warming_up_compiles_and_says_where(here, monkeypatch):
    """Protects `rtsim warmup`: every group that there is, here two, is ready afterwards, and the user knows
    where they are.
    """
    two = {name: GROUPS[name] for name in ("moment-arms", "muscles")}
    monkeypatch.setattr("rtsim.live.compiled.group_table.GROUPS", two)
    done = here("warmup")
    assert done.code == 0
    said = " ".join(done.err.split())
    assert re.search(r"kernels ready in \S+ s \(moment arms \S+ s, muscles of live frames \S+ s\)", said)
    assert "kept in" in said


@pytest.mark.process
def test_figures_come_as_json(rtsim):
    """Protects programs that read --json of a benchmark: figures with names and units, progress apart."""
    done = rtsim("bench", "mbo", "--seconds", 0.05, "--json")
    assert done.code == 0
    document = json.loads(done.out)
    figures = {figure["name"]: figure for figure in document["figures"]}
    for method in ("zero", "minimised", "prescribed"):
        assert figures[f"frames_per_second.{method}"]["value"] > 0.0
        assert figures[f"residual.{method}"]["value"] < 1e-10
    assert "mbo: zero" in done.err


@pytest.mark.process
def test_an_attack_is_measured(rtsim, here):
    """Protects the bench of attacks: source, estimator and attacker run, what came of it is told."""
    done = rtsim("bench", "hostile", "--seconds", 0.5, "--only", "3_subscribe_all", "--json")
    assert done.code == 0
    figures = {figure["name"]: figure["value"] for figure in json.loads(done.out)["figures"]}
    assert figures["frames_sent.3_subscribe_all"] > 50
    assert figures["hostile_sent.3_subscribe_all"] > 0
    assert figures["answered_percent.3_subscribe_all"] > 0.0
    assert figures["reference_us"] > 0.0
    done = here("bench", "hostile", "--only", "9")
    assert done.code == 1
    assert "no attack has a name that begins with '9'" in done.sentence


def test_damage_is_measured(rtsim, here):
    """Protects the bench of damage: figures as JSON, worst cases and progress apart, a table in a file."""
    options = ("--only", "marker_missing", "--method", "minimised", "--side", "right")
    done = rtsim("bench", "damage", *options, "--worst", 1, "--table", "damage.md", "--json")
    assert done.code == 0, done.err
    figures = {figure["name"]: figure["value"] for figure in json.loads(done.out)["figures"]}
    assert figures["cases.marker_missing"] == 30
    assert figures["reference_us"] > 0.0
    case = done.err.rsplit("--case ", 1)[1].split()[0]
    assert here("bench", "damage", "--case", case).out.startswith(case)
    done = here("bench", "damage", "--only", "nothing")
    assert done.code == 1
    assert "no 'nothing'" in done.sentence
