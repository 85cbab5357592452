"""Benchmark in which a worker, the command and the scheduler of a study are killed at random: no row may be
lost or duplicated.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rtsim.bench.figures import BenchFigure, say
from rtsim.errors import RtsimError

STUDY = """
name = "impacts"
[simulate]
model = "impact"
[[parameters]]
name = "step"
key = "model.simulation.step_ms"
values = [0.002, 0.004, 0.008]
[[parameters]]
name = "mass"
key = "model.bodies.ball.mass_kg"
values = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4]
[[results]]
name = "force"
column = "contact_normal_forces.floor"
take = "largest"
"""
VICTIMS = ("worker", "client", "scheduler")
LONGEST_S = 600.0
"""A command that goes on for so long is taken for one that hangs."""
LOOK_S = 0.02
SILENT = subprocess.DEVNULL
NO_NANNY, NO_PAGE = "no-nanny", "no-dashboard"


class HangingError(RtsimError):
    """Raised for a command that does not end."""


class StudyKill(NamedTuple):
    """A study that was disturbed: its seed, the killed process, seconds in all, and what is wrong."""

    seed: int
    victim: str
    seconds: float
    fault: str


def run(count: int, seed: int) -> tuple[list[StudyKill], list[BenchFigure]]:
    """Disturb `count` studies, each with a seed of its own; return them, and the results."""
    with tempfile.TemporaryDirectory(prefix="rtsim-kills-") as folder:
        whole = undisturbed(Path(folder))
        found = []
        for number in range(count):
            one = disturbed(Path(tempfile.mkdtemp(dir=folder)), seed + number, whole)
            say(f"study {number}, seed {one.seed}: {one.victim} killed, {one.seconds:.1f} s {one.fault}")
            found.append(one)
    counted = Counter(one.victim for one in found)
    return found, [
        BenchFigure("kills", float(len(found)), "1"),
        *(BenchFigure(f"kills.{name}", float(counted[name]), "1") for name in VICTIMS),
        BenchFigure("seed", float(seed), "1"),
        BenchFigure("wrong", float(sum(bool(one.fault) for one in found)), "1", 0.0, "lower"),
        BenchFigure("seconds.most", max((one.seconds for one in found), default=0.0), "s"),
    ]


def undisturbed(folder: Path) -> bytes:
    """Return the table of the study without a kill."""
    (folder / "impacts.toml").write_text(STUDY)
    process = begun(folder, "--workers", "0")
    ended(process, folder)
    return (folder / "out" / "table.npz").read_bytes()


def disturbed(folder: Path, seed: int, whole: bytes) -> StudyKill:
    """Kill a process at random while the study runs, and complete it by the same command."""
    (folder / "impacts.toml").write_text(STUDY)
    chance = random.Random(seed)
    victim = chance.choice(VICTIMS)
    started = time.monotonic()
    fault = ""
    cluster: list[subprocess.Popen[bytes]] = []
    try:
        where = ["--workers", "2"]
        if victim == "scheduler":
            cluster, address = cluster_of(folder)
            where = ["--scheduler", address]
        process = begun(folder, *where)
        after(process, lambda: bool(children_of(process.pid) or cluster), chance.uniform(0.2, 5.0))
        if victim == "worker":
            killed(chance.choice(children_of(process.pid) or [0]))
        elif victim == "client":
            killed(process.pid)
        else:
            killed(chance.choice(cluster).pid)
        code = ended(process, folder)
        if code not in ({0} if victim == "worker" else {0, 1, -signal.SIGKILL}):
            fault = f"the command ended with exit code {code}"
        left = begun(folder, "--workers", "2")
        code = ended(left, folder)
        if code or (folder / "out" / "table.npz").read_bytes() != whole:
            fault = fault or f"the table differs from that of a study that was not killed, exit code {code}"
    except (HangingError, OSError) as error:
        fault = str(error)
    finally:
        for process_of in cluster:
            process_of.kill()
            process_of.wait()
    return StudyKill(seed, victim, time.monotonic() - started, fault)


def begun(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start the command in a folder; its output goes to a file there."""
    command = [sys.executable, "-X", "faulthandler", "-m", "rtsim.cli.main", "study", "impacts.toml"]
    with (folder / "printed.txt").open("ab") as printed:
        return subprocess.Popen(
            [*command, "--out", "out", *arguments], cwd=folder, stdin=SILENT, stdout=printed, stderr=printed,
            process_group=0,
        )  # fmt: skip


def ended(process: subprocess.Popen[bytes], folder: Path) -> int:
    """Return the exit code once the command has ended; HangingError if that takes too long, with the state
    of its threads.
    """
    try:
        return process.wait(LONGEST_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # has it print what its threads are at
        process.wait()
        raise HangingError(
            f"the command did not end:  {(folder / 'printed.txt').read_text()[-4000:]}"
        ) from None


def after(process: subprocess.Popen[bytes], asked: Callable[[], bool], pause_s: float) -> None:
    """Wait until a condition holds, and then pause_s more [s], or until the command has ended."""
    due = time.monotonic() + LONGEST_S
    while process.poll() is None and not asked() and time.monotonic() < due:
        time.sleep(LOOK_S)
    due = time.monotonic() + pause_s
    while process.poll() is None and time.monotonic() < due:
        time.sleep(LOOK_S)


def killed(pid: int) -> None:
    """Kill a process, unless it has ended by itself."""
    if pid:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def children_of(pid: int) -> list[int]:
    """The workers of a command, by /proc."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid and b"spawn_main" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return sorted(found)


def cluster_of(folder: Path) -> tuple[list[subprocess.Popen[bytes]], str]:
    """A Dask scheduler with two workers on this machine, all processes of their own, and its address."""
    path = folder / "scheduler.json"
    worker = ["worker", *options(path, nthreads="1", death_timeout="60"), f"--{NO_NANNY}"]
    kinds = [["scheduler", *options(path, host="127.0.0.1", port="0")], worker, worker]
    found = []
    for words in kinds:
        command = [sys.executable, "-m", "dask", *words]
        found.append(subprocess.Popen(command, cwd=folder, stdout=SILENT, stderr=SILENT))
        due = time.monotonic() + LONGEST_S
        while not path.exists() and time.monotonic() < due:
            time.sleep(LOOK_S)
    address = str(json.loads(path.read_text())["address"])
    from distributed import Client

    with Client(address, timeout=LONGEST_S, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=LONGEST_S)
    return found, address


def options(file: Path, **given: str) -> list[str]:
    """Options of Dask's commands: the file by which they find each other, and others by their names."""
    named = {"scheduler_file": str(file), **given}
    words = [word for name, value in named.items() for word in (f"--{name.replace('_', '-')}", value)]
    return [*words, f"--{NO_PAGE}"]
