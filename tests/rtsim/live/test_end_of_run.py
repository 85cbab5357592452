"""How a run with a device ends: a latched fault, and a process beside it that died, are no success."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rtsim.live.processes.thread_priority import may_have_priority
from streams.control.commands import request
from streams.recording.recorded import read_messages
from tests.rtsim.live.rig import ROOT, until

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="signals and /proc"),
]
ANY = [f"--{name}-address=tcp://127.0.0.1:0" for name in ("results", "control", "port")]
SMALL = 60_000
"""What a full disk takes of a recording [bytes]."""


class Run:
    """`rtsim hil` and the processes beside it."""

    def __init__(self, *options: str, disk: int = 0) -> None:
        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (disk, disk))

        self._lines: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rtsim.cli.main", "hil", "ankle", "--json", *ANY, *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, preexec_fn=limit if disk else None,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def errors(self) -> str:
        """What it has said on standard error."""
        return "".join(self._lines)

    def _read(self) -> None:
        assert self.process.stderr is not None
        self._lines.extend(self.process.stderr)

    def ready(self) -> Run:
        """Wait until it runs."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.errors
        self.control = json.loads(line)["control"]
        return self

    def ask(self, command: str) -> bool:
        """Send a command; whether it is done."""
        return request(self.control, command, timeout_s=120.0)[0]

    def said(self, words: str) -> str:
        """Wait until it has said so."""
        return until(lambda: self.errors if words in self.errors else "")

    def child(self, command: str) -> int:
        """Process id of a process of the run."""

        def find() -> int:
            for entry in Path("/proc").glob("[0-9]*"):
                try:
                    status = (entry / "stat").read_text().rpartition(")")[2].split()
                    arguments = (entry / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if int(status[1]) == self.process.pid and command.encode() in arguments:
                    return int(entry.name)
            return 0

        return until(find)

    def over(self) -> tuple[int, dict, str]:
        """Exit code, summary and what was said on standard error."""
        assert self.process.stdout is not None
        out = self.process.stdout.read()
        self.process.wait(timeout=120.0)
        self._reader.join()
        return self.process.returncode, json.loads(out.splitlines()[-1] if out else "{}"), self.errors


@pytest.fixture
def start() -> Iterator:
    """Start runs, which are ended with the test."""
    runs: list[Run] = []

    def begin(*options: str, disk: int = 0) -> Run:
        runs.append(Run(*options, disk=disk))
        return runs[-1]

    yield begin
    for run in runs:
        run.process.kill()
        run.process.wait()
        run._reader.join()


def arm(run: Run) -> None:
    """Arm as soon as nothing speaks against it; return when it is."""

    def armed() -> bool:
        text = request(run.control, "status", timeout_s=120.0)[1]
        if "device ramping" in text or "device armed" in text:
            return True
        run.ask("arm")
        return False

    until(lambda: run.ask("arm"))
    until(armed)


def test_a_run_that_ends_in_a_fault_is_no_success(start, tmp_path: Path) -> None:
    """Protects scripts and whoever comes back to the bench: what, when and remedy, and exit 1; again, too."""
    record = tmp_path / "run.mcap"
    run = start("--record", str(record)).ready()
    arm(run)
    assert run.ask("emergency_stop")
    assert run.ask("stop")
    code, summary, said = run.over()
    assert (code, summary["arming"]) == (1, "fault")
    assert summary["faults"] == 1
    assert summary["fault_s"] > 0.0
    assert f"the run ends in a fault that latched at {summary['fault_s']:.3f} s" in said
    assert "emergency stop by command; check the device" in said
    again = start("--fast", "--again", str(record))
    code, repeated, _ = again.over()
    assert (code, repeated["arming"], repeated["fault_s"]) == (1, "fault", summary["fault_s"])


def test_a_fault_that_was_armed_away_is_told_and_no_failure(start) -> None:
    """Protects long sessions: a person looked and armed again; the number stays in the summary."""
    run = start().ready()
    arm(run)
    assert run.ask("emergency_stop")
    arm(run)
    assert run.ask("stop")
    code, summary, said = run.over()
    assert code == 0
    assert summary["faults"] >= 1  # a busy machine may add its own
    assert "the run ends in a fault" not in said


def test_a_device_that_dies_is_told_and_the_run_is_no_success(start) -> None:
    """Protects whoever watches: the simulated device's process is named, and the fault latches."""
    run = start().ready()
    arm(run)
    os.kill(run.child("device"), signal.SIGKILL)
    run.said("the device was killed (signal 9); the run goes on without it")
    assert run.ask("stop")
    assert run.over()[0] == 1


def test_a_full_disk_is_told_at_once_and_at_the_end(start, tmp_path: Path) -> None:
    """Protects recordings: the run goes on, says that the disk takes nothing more, and is no success."""
    record = tmp_path / "run.mcap"
    run = start("--record", str(record), disk=SMALL).ready()
    said = run.said("cannot be written any more after")
    assert "rtsim keeps trying until the end" in said
    assert run.process.poll() is None
    assert run.ask("stop")
    code, summary, _ = run.over()
    assert code == 1
    assert summary["reason"] == "stopped"
    assert sum(1 for _ in read_messages(record)) > 10


def test_a_recorder_that_cannot_begin_ends_the_run_before_it_begins(start, tmp_path: Path) -> None:
    """Protects from a run without the recording that was asked for: no place for its first bytes."""
    run = start("--record", str(tmp_path / "run.mcap"), disk=50)
    code, told, said = run.over()
    assert (code, told) == (1, {})
    assert said.count("no file was kept; is the disk full?") == 1
    assert "Traceback" not in said
    assert "did not begin to listen within" not in said  # not only after all patience with a recorder


@pytest.mark.parametrize("command", ["record", "monitor"])
def test_a_killed_recorder_or_window_is_told_and_the_run_goes_on(
    command: str, start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects a measurement: it is known at once that nothing is recorded or shown."""
    if command == "monitor":
        pytest.importorskip("PySide6")
        pytest.importorskip("pyqtgraph")
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    option = ["--record", str(tmp_path / "run.mcap")] if command == "record" else ["--monitor"]
    run = start(*option).ready()
    os.kill(run.child(command), signal.SIGKILL)
    run.said("was killed (signal 9); the run goes on without it")
    assert run.ask("status")
    assert run.ask("stop")
    assert run.over()[0] == 1


def test_a_recorder_that_stood_still_says_what_is_missing(start, tmp_path: Path) -> None:
    """Protects who reads the recording later: what a recorder did not receive is said by the run, too."""
    record = tmp_path / "run.mcap"
    run = start("--record", str(record)).ready()
    recorder = run.child("record")
    os.kill(recorder, signal.SIGSTOP)
    time.sleep(6.0)  # more than waits on the way
    os.kill(recorder, signal.SIGCONT)
    time.sleep(2.0)  # it takes what waited for it, so that it hears of the end
    assert run.ask("stop")
    code, _, said = run.over()
    assert f"{record}: " in said
    assert " messages, 0 refused" in said
    assert code == 0


def test_a_sound_run_is_a_success(start, tmp_path: Path) -> None:
    """Protects the zero: armed, recorded, over."""
    record = tmp_path / "run.mcap"
    run = start("--fast", "--duration", "1.0", "--arm", "0.2", "--record", str(record))
    code, summary, _ = run.over()
    assert (code, summary["faults"], summary["fault_s"]) == (0, 0, -1.0)
    assert sum(topic == b"output" for _, topic, _ in read_messages(record)) == summary["ticks"] + 1


@pytest.mark.skipif(not may_have_priority(), reason="the system grants no priority here")
@pytest.mark.parametrize("priority", ["first", "ordinary"])
def test_a_run_and_its_device_go_before_ordinary_programs(start: Callable[..., Run], priority: str) -> None:
    """Protects the wearer from other programs of the machine: both sides have priority, if not declined."""
    options = [] if priority == "first" else ["--priority", priority]
    run = start("--duration", "600", *options).ready()
    device = run.child("device")

    def answers() -> bool:
        text = request(run.control, "status", timeout_s=120.0)[1]
        return "frames published" in text and " 0 frames published" not in text

    until(answers)
    policy = os.SCHED_FIFO if priority == "first" else os.SCHED_OTHER
    assert os.sched_getscheduler(run.process.pid) == policy
    assert os.sched_getscheduler(device) == policy
    tasks = Path(f"/proc/{run.process.pid}/task").iterdir()
    ours = [int(task.name) for task in tasks if not (task / "comm").read_text().startswith("ZMQ")]
    n_first = sum(os.sched_getscheduler(thread) == os.SCHED_FIFO for thread in ours)
    assert n_first >= 4 if priority == "first" else n_first == 0  # loop, commands, stops, their guard
