"""A processor that is kept awake while a loop with deadlines runs, and rests again however the loop ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from rtsim.live.processes import awake
from rtsim.live.processes.awake import best_of, on_processor_awake, processor_awake, urgent
from rtsim.live.processes.thread_priority import processors

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such a setting")


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in place of the system's, without a limit, for every processor."""
    found = tmp_path / "latency"
    found.write_text("0\n", encoding="ascii")
    monkeypatch.setattr(awake, "WAKING", str(found))
    return found


def test_a_processor_stays_awake_within_the_block_only(setting: Path) -> None:
    """Protects deadlines from a processor that sleeps, and power afterwards."""
    with processor_awake() as granted:
        assert granted
        assert setting.read_text(encoding="ascii") == "n/a"
    assert setting.read_text(encoding="ascii") == "0"


def test_the_former_limit_comes_back(setting: Path) -> None:
    """Protects what the owner of the machine has set."""
    for former in ("250", "n/a"):
        setting.write_text(f"{former}\n", encoding="ascii")
        with urgent():
            assert setting.read_text(encoding="ascii") == "n/a"
        assert setting.read_text(encoding="ascii") == former


@pytest.mark.parametrize("first", [0, 1])
def test_the_last_of_two_takes_it_back(setting: Path, first: int) -> None:
    """Protects a run from another one that ends earlier."""
    stacks = ExitStack(), ExitStack()
    for stack in stacks:
        assert stack.enter_context(processor_awake())
    stacks[first].close()
    assert setting.read_text(encoding="ascii") == "n/a"
    stacks[1 - first].close()
    assert setting.read_text(encoding="ascii") == "0"


def test_it_is_taken_back_after_a_kill(setting: Path, eventually: Callable[..., None]) -> None:
    """Protects the machine's power from a run that was killed: its companion lives on until it is done."""
    code = (
        "import sys, time\n"
        "from rtsim.live.processes import awake\n"
        "awake.WAKING = sys.argv[1]\n"
        "with awake.processor_awake() as granted:\n"
        "    print(granted, flush=True)\n"
        "    time.sleep(600.0)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(setting)], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"True\n"
        assert setting.read_text(encoding="ascii") == "n/a"
        run.kill()
    eventually(lambda: setting.read_text(encoding="ascii") == "0")


def test_the_companion_waits_for_its_parent_alone(setting: Path) -> None:
    """Protects a run that ends in its own time from a signal to all its processes."""
    with processor_awake() as granted:
        assert granted
        own = Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split()
        companions = [int(one) for one in own if str(setting).encode() in command(one)]
        assert len(companions) == 1
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(companions[0], number)
        assert setting.read_text(encoding="ascii") == "n/a"
    assert setting.read_text(encoding="ascii") == "0"
    assert not Path(f"/proc/{companions[0]}").exists()


def command(pid: str) -> bytes:
    """The command line of a process."""
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def test_the_loop_alone_is_kept_on_it(setting: Path) -> None:
    """Protects the emergency stop: other threads do not wait for the processor of the loop."""
    allowed = os.sched_getaffinity(0)
    with on_processor_awake() as granted:
        assert granted
        assert os.sched_getaffinity(0) == {best_of(processors() or (0,))}
    assert os.sched_getaffinity(0) == allowed
    with urgent():
        assert os.sched_getaffinity(0) == allowed


def test_what_is_not_permitted_or_wanted_is_no_failure(
    tmp_path: Path, setting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects runs on systems that say no: the caller is told, nothing is pinned, and the run goes on."""
    allowed = os.sched_getaffinity(0)
    with on_processor_awake(False) as granted:
        assert not granted
        assert setting.read_text(encoding="ascii") == "0\n"
    for path in (tmp_path / "nothing", "/dev/full"):
        monkeypatch.setattr(awake, "WAKING", str(path))
        with on_processor_awake() as granted:
            assert not granted
            assert os.sched_getaffinity(0) == allowed
    monkeypatch.setattr(awake.sys, "executable", "/nothing/here")
    with processor_awake() as granted:
        assert not granted


def test_the_fastest_processor_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects deadlines on processors of which some save power; the last of equals is farthest from the
    system's own work."""
    monkeypatch.setattr(awake, "FASTEST", str(tmp_path / "{}"))
    assert best_of((0, 1, 3)) == 3
    for cpu, speed in enumerate((3_000_000, 3_000_000, 1_800_000)):
        (tmp_path / str(cpu)).write_text(f"{speed}\n", encoding="ascii")
    assert best_of((0, 1, 2)) == 1
