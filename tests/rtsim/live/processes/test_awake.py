"""A processor that is kept awake while a loop with deadlines runs, and rests again however the loop ends."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rtsim.live import loop
from rtsim.live.inputs.recorded import TimesInput
from rtsim.live.loop import MAY_SLEEP, Loop
from rtsim.live.processes import awake
from rtsim.live.processes.awake import processor_awake, ranking
from streams.messages import marker_session

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such a setting")

CODE = """
import sys, time
from rtsim.live.processes import awake
awake.WAKING, awake.LOCKS, awake.START_S = sys.argv[1], sys.argv[2], 600.0
awake.processors = lambda: (0, 1)
with awake.processor_awake() as taken:
    print(taken, flush=True)
    time.sleep(600.0)
"""


class Settings:
    """Files in place of the system's, by processor, without limits."""

    def __init__(self, folder: Path) -> None:
        self.waking, self.locks = str(folder / "latency{}"), folder / "locks"
        for cpu in range(4):
            self.put(cpu, "0")

    def put(self, cpu: int, limit: str) -> None:
        """Set a limit as an owner does."""
        Path(self.waking.format(cpu)).write_text(f"{limit}\n", encoding="ascii")

    def of(self, cpu: int) -> str:
        """The present limit."""
        return Path(self.waking.format(cpu)).read_text(encoding="ascii").strip()


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings of two processors."""
    found = Settings(tmp_path)
    monkeypatch.setattr(awake, "WAKING", found.waking)
    monkeypatch.setattr(awake, "LOCKS", str(found.locks))
    monkeypatch.setattr(awake, "START_S", 600.0)
    monkeypatch.setattr(awake, "END_S", 600.0)
    monkeypatch.setattr(awake, "processors", lambda: (0, 1))
    return found


@pytest.mark.parametrize("former", ["0", "250", "n/a"])
def test_a_processor_stays_awake_within_the_block_only(settings: Settings, former: str) -> None:
    """Protects deadlines from a processor that sleeps, power afterwards, and what the owner has set."""
    settings.put(1, former)
    for _ in range(2):
        with processor_awake() as taken:
            assert taken == 1
            assert settings.of(1) == "n/a"
            assert settings.of(0) == "0"
        assert settings.of(1) == former
    assert settings.locks.stat().st_mode & 0o777 == 0o700


def test_two_runs_take_two_processors_and_one_is_left(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects two loops from each other, and the machine from a host that stops it where nothing rests."""
    with processor_awake() as first, processor_awake() as second:
        assert (first, second) == (1, None)
        assert [settings.of(cpu) for cpu in (0, 1)] == ["0", "n/a"]
    monkeypatch.setattr(awake, "processors", lambda: (0, 1, 2))
    stacks = ExitStack(), ExitStack()
    assert [stack.enter_context(processor_awake()) for stack in stacks] == [2, 1]
    stacks[0].close()
    assert [settings.of(cpu) for cpu in (0, 1, 2)] == ["0", "n/a", "0"]
    stacks[1].close()
    assert [settings.of(cpu) for cpu in (0, 1, 2)] == ["0", "0", "0"]
    monkeypatch.setattr(awake, "processors", lambda: (3,))
    with processor_awake() as taken:
        assert taken == 3  # where it has no other


def started(settings: Settings) -> subprocess.Popen[bytes]:
    """Another program that keeps a processor awake, once it does."""
    command = [sys.executable, "-c", CODE, settings.waking, str(settings.locks)]
    run = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert run.stdout is not None
    assert run.stdout.readline() == b"1\n"
    assert settings.of(1) == "n/a"
    return run


def companions(parent: int) -> list[int]:
    """The processes that a process has started."""
    return [int(one) for one in Path(f"/proc/{parent}/task/{parent}/children").read_text("ascii").split()]


def test_it_is_taken_back_after_a_kill(settings: Settings, eventually: Callable[..., None]) -> None:
    """Protects the machine's power from a run that was killed: its companion lives on until it is done."""
    settings.put(1, "250")
    with started(settings) as run:
        run.kill()
    eventually(lambda: settings.of(1) != "n/a")
    assert settings.of(1) in ("", "250")  # empty while it is written
    eventually(lambda: settings.of(1) == "250")


def test_what_a_killed_companion_leaves_the_next_one_sets_right(settings: Settings) -> None:
    """Protects what the owner has set from the end of both processes at once, as that of a container."""
    settings.put(1, "250")
    with started(settings) as run:
        (companion,) = companions(run.pid)
        os.kill(companion, signal.SIGKILL)
        run.kill()
    assert settings.of(1) == "n/a"
    with processor_awake() as taken:
        assert taken == 1
    assert settings.of(1) == "250"


def test_a_companion_that_nobody_hears_sets_the_limit_back(settings: Settings) -> None:
    """Protects from a limit that stays where the run ends before it was told."""
    settings.put(1, "250")
    command = [sys.executable, "-I", "-S", "-c", awake.COMPANION, settings.waking, str(settings.locks), "1"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(write)
    assert done.returncode != 0
    assert settings.of(1) == "250"


def test_the_companion_waits_for_its_parent_alone(settings: Settings) -> None:
    """Protects a run that ends in its own time from a signal to all its processes."""
    with processor_awake() as taken:
        assert taken == 1
        own = [one for one in companions(os.getpid()) if settings.waking.encode() in command_of(one)]
        assert len(own) == 1
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(own[0], number)
        assert settings.of(1) == "n/a"
    assert settings.of(1) == "0"
    assert not Path(f"/proc/{own[0]}").exists()


def command_of(pid: int) -> bytes:
    """The command line of a process; nothing where it is over."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("kind", ["open", "link", "file"])
def test_a_folder_of_locks_that_others_could_hold_is_not_used(settings: Settings, kind: str) -> None:
    """Protects the start of a run from whoever holds a lock for ever."""
    if kind == "open":
        settings.locks.mkdir()
        settings.locks.chmod(0o755)
    elif kind == "link":
        (settings.locks.parent / "mine").mkdir(mode=0o700)
        settings.locks.symlink_to(settings.locks.parent / "mine")
    else:
        settings.locks.touch()
    with processor_awake() as taken:
        assert taken is None
    assert settings.of(1) == "0"


def test_a_lock_that_somebody_holds_is_not_waited_for(settings: Settings) -> None:
    """Protects the start of a run: it goes on without."""
    settings.locks.mkdir(mode=0o700)
    with (settings.locks / "awake-1").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with processor_awake() as taken:
            assert taken is None
    assert settings.of(1) == "0"


def test_what_is_not_permitted_or_wanted_is_no_failure(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects runs on systems that say no, or are slow to answer: the run goes on without."""
    with processor_awake(False) as taken:
        assert taken is None
    with monkeypatch.context() as patched:
        patched.setattr(awake, "WAKING", str(settings.locks.parent / "nothing" / "{}"))
        with processor_awake() as taken:
            assert taken is None
    with monkeypatch.context() as patched:
        patched.setattr(awake, "readable", lambda files, timeout_s: [])
        with processor_awake() as taken:
            assert taken is None
        assert settings.of(1) == "0"
    monkeypatch.setattr(awake.sys, "executable", "/nothing/here")
    with processor_awake() as taken:
        assert taken is None
    assert settings.of(1) == "0"


def test_the_fastest_processors_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects deadlines on processors of which some save power; the last of equals is farthest from the
    system's own work."""
    monkeypatch.setattr(awake, "FASTEST", str(tmp_path / "{}"))
    assert ranking((0, 1, 3)) == [3, 1, 0]
    for cpu, speed in enumerate((3_000_000, 3_000_000, 1_800_000)):
        (tmp_path / str(cpu)).write_text(f"{speed}\n", encoding="ascii")
    assert ranking((0, 1, 2)) == [1, 0, 2]


class Placed(TimesInput):
    """Two frames that note on which processors their thread may run, as they open and later."""

    def __init__(self) -> None:
        super().__init__(np.array([0.0, 0.01]), marker_session(["LASI"], rate=100.0, t_start=0))
        self.places: list[set[int]] = []

    def __enter__(self) -> Placed:
        self.places.append(os.sched_getaffinity(0))
        return self

    def wait(self, apply):
        self.places.append(os.sched_getaffinity(0))
        return super().wait(apply)


@pytest.mark.parametrize("given", [True, False])
def test_the_loop_alone_is_kept_on_it(monkeypatch: pytest.MonkeyPatch, given: bool) -> None:
    """Protects a source's sockets and an emergency stop: their threads do not wait for the loop's processor;
    where none is kept awake, this is told.
    """
    allowed = os.sched_getaffinity(0)
    taken = max(allowed) if given else None
    monkeypatch.setattr(loop, "processor_awake", lambda wanted: nullcontext(taken))
    source, told = Placed(), []
    output = SimpleNamespace(
        events=deque(), announce=lambda session: None, send=told.append, service=lambda: None,
        end=lambda reason: None,
    )  # fmt: skip
    Loop(source, [], output, urgently=True).run()
    assert source.places == [allowed, *[{taken} if given else allowed] * 2]
    assert os.sched_getaffinity(0) == allowed
    said = [sentence for message in told for sentence in getattr(message, "text", ())]
    assert (MAY_SLEEP in said) == (not given)
