"""Faults of the machine: clocks that leap, a processor used by others, memory that is short, suspension."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.faults.fault import CannotTryError, FaultOutcome
from benchmarks.faults.rig import PATIENCE_S, FaultRig
from benchmarks.strangers.slowed import BURN
from rtsim.live.processes.thread_priority import pinned, processors
from streams.control.commands import request

HOUR_S = 3600.0
N = 60
LEAPING = Path(__file__).parent / "leaping_clock"
SHORT_MB = 4
"""Memory that may still be added to a running process [MB]."""


def leap(clock: str, by_s: float) -> FaultOutcome:
    """A clock of the estimator's process leaps while frames come."""
    if not hasattr(signal, "SIGUSR2"):
        raise CannotTryError("this operating system has no signal for it")
    path = os.pathsep.join(filter(None, (str(LEAPING), os.environ.get("PYTHONPATH", ""))))
    variables = {"LEAPING_CLOCK": clock, "LEAP_BY_S": str(by_s), "PYTHONPATH": path}
    with FaultRig(environment=variables) as rig:
        rig.begin()
        rig.send(N)
        os.kill(rig.estimator.pid, signal.SIGUSR2)
        rig.send(N)
        rig.passed()
        rig.send(N)
        return rig.finish()


def leap_forwards() -> FaultOutcome:
    """The clock of all stamps leaps an hour forwards, as where a machine slept whose counter went on."""
    return leap("perf_counter", HOUR_S)


def leap_backwards() -> FaultOutcome:
    """The clock of all stamps leaps an hour back, which no system should do."""
    return leap("perf_counter", -HOUR_S)


def step_forwards() -> FaultOutcome:
    """The clock on the wall is set an hour forwards."""
    return leap("time", HOUR_S)


def step_backwards() -> FaultOutcome:
    """The clock on the wall is set an hour back."""
    return leap("time", -HOUR_S)


def suspended() -> FaultOutcome:
    """The estimator is suspended for a second while frames come, and goes on."""
    stop, go_on = (getattr(signal, name, None) for name in ("SIGSTOP", "SIGCONT"))
    if stop is None or go_on is None:
        raise CannotTryError("this operating system cannot suspend a process")
    with FaultRig() as rig:
        rig.begin()
        rig.send(N)
        os.kill(rig.estimator.pid, stop)
        try:
            rig.send(2 * N)
        finally:
            os.kill(rig.estimator.pid, go_on)
        rig.pause(0.3)
        rig.passed()
        rig.send(N)
        return rig.finish()


def all_suspended() -> FaultOutcome:
    """All processes of `rtsim live` are suspended at once for a second, as where a machine sleeps."""
    stop, go_on = (getattr(signal, name, None) for name in ("SIGSTOP", "SIGCONT"))
    if stop is None or go_on is None or not Path("/proc/self/task").exists():
        raise CannotTryError("this operating system cannot suspend a process, or has no list of processes")
    asked = ["live", "--loop", "--json", "--results", "tcp://127.0.0.1:0", "--control", "tcp://127.0.0.1:0"]
    command = [sys.executable, "-m", "rtsim.cli.main", *asked]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert run.stderr is not None
        head = run.stderr.readline()
        control = head.split("commands at ")[1].split()[0]
        n_before = frames_at(control, 1)
        children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text(encoding="ascii").split()
        everybody = [*map(int, children), run.pid]
        for pid in everybody:
            os.kill(pid, stop)
        time.sleep(1.0)
        for pid in everybody:
            os.kill(pid, go_on)
        n_after = frames_at(control, n_before + N)
        request(control, "stop", timeout_s=PATIENCE_S)
        out, err = run.communicate(timeout=PATIENCE_S)
    finally:
        run.kill()
        run.wait()
    n = int(json.loads(out)["frames"])
    return FaultOutcome(n, n, n_after - n_before, {}, head + err, {"live": run.returncode})


def frames_at(control: str, n: int) -> int:
    """Wait until n frames are published, or patience ends; return their number."""
    due = time.monotonic() + PATIENCE_S
    while time.monotonic() < due:
        found = re.search(r"(\d+) frames published", request(control, "status", timeout_s=1.0)[1])
        if found and int(found[1]) >= n:
            return int(found[1])
        time.sleep(0.05)
    return 0


def starved() -> FaultOutcome:
    """Three busy processes have the estimator's processor beside it, for three seconds."""
    if not processors():
        raise CannotTryError("this operating system cannot bind a process to a processor")
    with contextlib.ExitStack() as stack:
        with pinned(processors()[-1]):  # which its children take over
            rig = stack.enter_context(FaultRig())
            busy = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(3)]
        try:
            rig.begin()
            rig.send(3 * N)
        finally:
            for process in busy:
                process.kill()
                process.wait()
        rig.passed()
        rig.send(N)
        return rig.finish()


def memory_short_at_start() -> FaultOutcome:
    """The estimator may have 200 MB of addresses, which is less than it needs to start."""
    import resource

    asked = ["estimate", "--source", "walker", "--markers", "tcp://127.0.0.1:9", "--results"]
    asked += ["tcp://127.0.0.1:0", "--control", "tcp://127.0.0.1:0"]
    most = 200 << 20
    done = subprocess.run(
        [sys.executable, "-m", "rtsim.cli.main", *asked], capture_output=True, text=True, check=False,
        timeout=120.0, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
    )  # fmt: skip
    return FaultOutcome(0, 0, 0, {}, done.stdout + done.stderr, {"estimator": done.returncode})


def memory_short() -> FaultOutcome:
    """While it runs, a limit leaves the estimator little memory; sessions of many markers come."""
    import resource

    if not hasattr(resource, "prlimit") or not Path("/proc/self/statm").exists():
        raise CannotTryError("this operating system cannot limit the memory of a running process")
    with FaultRig() as rig:
        rig.begin()
        rig.send(N)
        pid = rig.estimator.pid
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + (SHORT_MB << 20)
        former = resource.prlimit(pid, resource.RLIMIT_AS)
        resource.prlimit(pid, resource.RLIMIT_AS, (most, former[1]))
        for k in range(4):
            rig.begin((*rig.trial.names, *(f"far_{k}_{j}" for j in range(4000))))
            rig.send(20)
        resource.prlimit(pid, resource.RLIMIT_AS, former)
        rig.passed()
        rig.begin()
        rig.send(N)
        return rig.finish()
