"""Child processes: their states, their words when they fail, and their end."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from rtsim.config.runs.run_schema import Ports, RunConfig
from rtsim.live.processes.children import Child, ChildFailedError
from rtsim.live.processes.requests import PlayerRequest, encoded
from streams.recording.recorded import read_messages
from tests.recorded_messages import await_messages

ROOT = Path(__file__).resolve().parents[4]
GUARD_S = 120.0


@pytest.fixture
def child(monkeypatch):
    """Starts rtsim processes that are ended after the test."""
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    )
    started = []

    def start(*arguments: str, asked_later: bool = False) -> Child:
        started.append(Child("player", list(arguments), asked_later))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.mark.process
def test_a_child_says_when_it_is_ready_and_ends_when_closed(child):
    """Protects the start of a run, and the machine from processes that stay behind."""
    player = child("replay", "walker", "--address", "tcp://127.0.0.1:0", "--states", "--loop")
    ready = player.wait_ready(GUARD_S)
    assert ready["markers"].startswith("tcp://127.0.0.1:")
    assert ready["n_frame"] == 1000
    assert player.running
    player.check()
    assert not player.wait(0.0)
    player.close()
    assert not player.running
    if sys.platform != "win32":
        with pytest.raises(ProcessLookupError):
            os.kill(player.pid, 0)


@pytest.mark.process
def test_a_child_that_is_asked_later_plays_what_it_was_asked(child):
    """Protects quick starts: a process loads first, waits as long as it takes, and plays then."""
    player = child("replay", "walker", "--states", "--request", asked_later=True)
    assert not player.wait(0.5)
    run = RunConfig(name="late", source="walker", ports=Ports(markers="tcp://127.0.0.1:0"))
    player.ask(encoded(PlayerRequest(run=run, duration_s=1.0, wait_s=GUARD_S)))
    assert player.wait_ready(GUARD_S)["n_frame"] == 100
    player.close()
    assert not player.running


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="exit codes of another kind")
def test_a_child_that_was_never_asked_is_ended_at_once(child):
    """Protects the quick answer to a wrong option: no process is waited for that has done nothing."""
    player = child("replay", "walker", "--states", "--request", asked_later=True)
    player.close()
    assert player.code == -signal.SIGKILL


@pytest.mark.process
def test_a_recorder_is_closed_without_a_signal(child, monkeypatch, tmp_path):
    """Protects recordings on Windows, where to terminate is a hard end: closing standard input is enough."""

    def hard(self):
        raise AssertionError("terminated")

    monkeypatch.setattr("subprocess.Popen.terminate", hard)
    monkeypatch.setattr("subprocess.Popen.kill", hard)
    player = child("replay", "walker", "--address", "tcp://127.0.0.1:0", "--states", "--loop")
    path = tmp_path / "walk.mcap"
    recorder = child("record", player.wait_ready(GUARD_S)["markers"], str(path))
    await_messages(path, 6, b"markers")
    recorder.close()
    player.close()
    assert not recorder.running
    messages = read_messages(path)
    assert sum(1 for _ in messages) > 5
    assert messages.note == ""


@pytest.mark.process
def test_a_child_that_fails_is_quoted(child):
    """Protects the user: the sentence of the process that failed, not only that one did."""
    player = child("replay", "nowhere.trc", "--states")
    with pytest.raises(ChildFailedError, match=r"^SOURCE: no such source 'nowhere\.trc'"):
        player.wait_ready(GUARD_S)
    with pytest.raises(ChildFailedError):
        player.check()


@pytest.mark.process
def test_a_child_that_never_says_ready_is_told(child):
    """Protects against waiting for ever."""
    player = child("replay", "walker", "--address", "tcp://127.0.0.1:0", "--loop")  # says no states
    with pytest.raises(ChildFailedError, match="the player was not ready within 0 s"):
        player.wait_ready(0.2)
    player.close()


@pytest.mark.process
def test_a_child_that_ends_well_without_ready_is_told(child):
    """Protects against a child that has nothing to say: no endless wait, no false success or time."""
    with pytest.raises(ChildFailedError, match=r"^the player ended before it was ready$"):
        child("--version").wait_ready(GUARD_S)


@pytest.mark.process
def test_a_failure_is_one_sentence(child, tmp_path):
    """Protects the line that tells a failure: what the process said before it is not told again."""
    path = tmp_path / "walk.mcap"
    recorder = child("record", "tcp://127.0.0.1:1", str(path), "--duration", "1.5")
    assert recorder.wait(GUARD_S)
    failure = recorder.failure()
    assert failure.startswith(f"{path}: no message was received")
    assert "\n" not in failure
    assert any(words.startswith("Nobody answers") for words in recorder.take_words())
