"""A processor kept from sleeping beside a loop with deadlines, and let go with it, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rtsim.live.processes import awake
from rtsim.live.processes.awake import best_of, has_quota, processor_awake
from tests.rtsim.live.rig import until

pytestmark = pytest.mark.skipif(
    not hasattr(os, "SCHED_IDLE") or has_quota(), reason="this system keeps no processor awake"
)
KEPT = """
import os, time
from rtsim.live.processes.awake import processor_awake
with processor_awake():
    print(open(f"/proc/self/task/{os.getpid()}/children").read(), flush=True)
    time.sleep(600)
"""


def children() -> set[int]:
    """Return the processes that the main thread has started and that are there."""
    return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()))


def test_the_loop_alone_stays_on_a_processor_beside_a_companion() -> None:
    """Protects time steps, by a processor that is never idle, and emergency stops, whose threads must not
    depend on a loop that needs all of it; whatever runs goes before the companion.
    """
    over, former = threading.Event(), os.sched_getaffinity(0)
    thread = threading.Thread(target=over.wait)
    thread.start()
    native, before = thread.native_id, children()
    assert native is not None
    try:
        with processor_awake() as granted:
            assert granted
            last = {best_of(sorted(former))}
            assert os.sched_getaffinity(0) == last
            assert os.sched_getaffinity(native) == former
            (companion,) = children() - before
            until(lambda: os.sched_getscheduler(companion) == os.SCHED_IDLE)
            until(lambda: os.sched_getaffinity(companion) == last)
            assert os.getsid(companion) == os.getsid(0)  # of another session it would have an equal share
            assert os.getpgid(companion) != os.getpgid(0)  # Ctrl-C is not for it
        assert os.sched_getaffinity(0) == former
        assert children() == before
        with processor_awake(wanted=False) as granted:
            assert not granted
            assert os.sched_getaffinity(0) == former
    finally:
        over.set()
        thread.join()


def test_a_companion_ends_with_a_process_that_is_killed() -> None:
    """Protects the machine: nothing goes on to use a processor after a run that could not clear up."""
    run = subprocess.Popen([sys.executable, "-c", KEPT], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    with run.stdout:
        companion = int(run.stdout.readline())
        run.send_signal(signal.SIGKILL)
        run.wait()

    def is_over() -> bool:
        try:
            return Path(f"/proc/{companion}/stat").read_text(encoding="ascii").split()[2] in "ZX"
        except OSError:
            return True

    until(is_over)


def test_a_fast_processor_is_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects time steps on machines some of whose processors are made to save power."""
    monkeypatch.setattr(awake, "FASTEST", str(tmp_path / "cpu{}"))
    assert best_of([0, 1, 2]) == 2
    for cpu, frequency in enumerate((5_000_000, 5_000_000, 3_800_000)):
        (tmp_path / f"cpu{cpu}").write_text(f"{frequency}\n", encoding="ascii")
    assert best_of([0, 1, 2]) == 1
    (tmp_path / "cpu1").write_text("<unknown>\n", encoding="ascii")
    assert best_of([0, 1, 2]) == 0


def test_a_limit_of_processor_time_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects runs in a container, whose limit would count the companion: in its group or one above."""
    own = tmp_path / "own"
    (tmp_path / "groups/above/mine").mkdir(parents=True)
    monkeypatch.setattr(awake, "CGROUPS", tmp_path / "groups")
    monkeypatch.setattr(awake, "OWN_CGROUP", own)
    assert not has_quota()  # no such file
    own.write_text("9:cpu:/\n0::/above/mine\n", encoding="ascii")
    assert not has_quota()
    limit = tmp_path / "groups/above/cpu.max"
    limit.write_text("max 100000\n", encoding="ascii")
    assert not has_quota()
    limit.write_text("150000 100000\n", encoding="ascii")
    assert has_quota()
    with processor_awake() as granted:
        assert not granted
    limit.unlink()
    assert not has_quota()
    of_former_version = tmp_path / "groups/cpu/cpu.cfs_quota_us"  # in a container: its own group is the root
    of_former_version.parent.mkdir()
    for text, limits in (("-1\n", False), ("50000\n", True)):
        of_former_version.write_text(text, encoding="ascii")
        assert has_quota() == limits


def test_what_the_system_refuses_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects runs on systems that say no: they go on without it."""

    def refused(*_: object, **__: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(awake.subprocess, "Popen", refused)
        with processor_awake() as granted:
            assert not granted
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", None)
        with processor_awake() as granted:
            assert not granted
    monkeypatch.setattr("rtsim.live.processes.thread_priority.os.sched_setaffinity", refused)
    with processor_awake() as granted:
        assert not granted
