"""`rtsim live` and its processes: what is told, and what goes on, when one of them dies or falls silent."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from rtsim.files.recording import read_results
from streams.control.commands import request
from tests.rtsim.live.rig import until

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds processes in /proc"),
]


class LiveRun:
    """An endless run of the walker that is recorded."""

    def __init__(self, start, any_ports, *arguments: str) -> None:
        self.process = start("live", "--loop", "--json", *any_ports, *arguments)
        said = self.process.said("commands at")
        self.control = re.search(r"commands at (\S+)", said)[1]
        until(lambda: "published" in (said := request(self.control, "status")[1]) and " 0 frames" not in said)

    def child(self, command: str) -> int:
        """Process id of the child that runs a command."""
        own = self.process.popen.pid

        def find() -> int:  # it may not have begun yet
            words = ["ps", "-o", "pid=,args=", "--ppid", str(own)]
            told = subprocess.run(words, capture_output=True, text=True).stdout.splitlines()
            return next((int(line.split()[0]) for line in told if f" {command} " in line), 0)

        return until(find)


@pytest.fixture
def live_run(start, any_ports):
    return lambda *arguments: LiveRun(start, any_ports, *arguments)


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (signal.SIGKILL, "the player was killed (signal 9); the run ends"),
        (signal.SIGTERM, "the player was asked to end by another process (signal 15)"),
    ],
    ids=["kill -9", "terminate"],
)
def test_a_dead_player_ends_the_run(live_run, how, words, tmp_path):
    """Protects who watches a table that no markers reach: it is said, the run ends with an error, and summary
    and recording are whole.
    """
    run = live_run("--record", "walk.mcap")
    others = [run.child(name) for name in ("estimate", "record")]
    os.kill(run.child("replay"), how)
    done = run.process.wait()
    assert done.code == 1
    assert f"rtsim: {words}" in done.err
    assert json.loads(done.out)["frames"] > 0
    notes = read_results(tmp_path / "walk.mcap").notes
    assert [
        note for note in notes if "number of results left out because they" not in note
    ] == []  # a busy machine repeats
    assert all(map(gone, others))


def test_a_dead_estimator_ends_the_run(live_run):
    """Protects against a table that stands still for ever: the estimator is gone, and that is said."""
    run = live_run()
    player = run.child("replay")
    os.kill(run.child("estimate"), signal.SIGKILL)
    done = run.process.wait()
    assert done.code == 1
    assert done.sentence == "rtsim: the estimator was killed (signal 9); the run ends"
    assert json.loads(done.out)["statuses"]
    assert gone(player)


def test_a_dead_recorder_or_monitor_is_told_and_the_run_goes_on(live_run, monkeypatch):
    """Protects a measurement: it is known at once that nothing is recorded or shown; the results still come,
    and the end is no success.
    """
    pytest.importorskip("PySide6")
    pytest.importorskip("pyqtgraph")
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    run = live_run("--record", "walk.mcap", "--monitor")
    for command, name in (("record", "recorder"), ("monitor", "monitor")):
        os.kill(run.child(command), signal.SIGKILL)
        run.process.said(f"the {name} was killed (signal 9); the run goes on without it")
        assert request(run.control, "status", timeout_s=120.0)[0]
    assert request(run.control, "stop", timeout_s=120.0)[0]
    done = run.process.wait()
    assert done.code == 1
    assert json.loads(done.out)["frames"] > 0


def test_a_process_that_stands_still_is_told(live_run):
    """Protects who watches: a suspended process is named, and once more when it goes on; the run survives."""
    run = live_run()
    for command, name in (("replay", "player"), ("estimate", "estimator")):
        child = run.child(command)
        os.kill(child, signal.SIGSTOP)
        try:
            run.process.said(f"the {name} has sent nothing for 0.7 s; waiting for it")
        finally:
            os.kill(child, signal.SIGCONT)
        run.process.said(f"the {name} is sending again")
    assert request(run.control, "stop", timeout_s=120.0)[0]
    assert run.process.wait().code == 0


def test_a_run_whose_estimator_stands_still_can_be_ended(live_run):
    """Protects Ctrl-C: no process stays behind, though one of them does not answer."""
    run = live_run()
    children = [run.child(name) for name in ("estimate", "replay")]
    os.kill(children[0], signal.SIGSTOP)
    run.process.popen.send_signal(signal.SIGINT)
    assert run.process.wait().code == 130
    assert all(map(gone, children))


def test_a_player_that_fails_at_the_start_is_quoted(rtsim, any_ports, tmp_path):
    """Protects the user: the words of the process that failed, before the estimator is waited for."""
    (tmp_path / "walk.trc").write_text("no markers\n")
    done = rtsim("live", "--source", "walk.trc", "--subject", "walker", *any_ports)
    assert done.code == 1
    assert done.sentence.startswith("rtsim: walk.trc: ")


def test_a_source_that_sends_nothing_is_told(start, any_ports, port):
    """Protects who waits before an empty terminal: that nothing comes from the source is said at once, and
    what the run waits for.
    """
    source = f"tcp://127.0.0.1:{port}"
    process = start("live", "--source", source, "--subject", "walker", "--json", *any_ports)
    process.said(f"rtsim: the source {source} has sent nothing yet; waiting for it (Ctrl-C ends the run)")
    process.popen.send_signal(signal.SIGINT)
    done = process.wait()
    assert done.code == 130
    assert json.loads(done.out)["frames"] == 0
