"""Workers, commands and schedulers that are killed while a study goes on: nothing is lost, nothing twice."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.rtsim.studies.impacts import impacts

if sys.platform == "win32":
    pytest.skip("processes are killed by signals here", allow_module_level=True)

STUDY = impacts(step=(0.002, 0.004, 0.008), mass=[k / 10 for k in range(5, 15)])
WAIT_S = 300.0


def begun(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """The command, at work in a folder."""
    command = [sys.executable, "-m", "rtsim.cli.main", "study", "impacts.toml", "--out", "out", *arguments]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0
    )


def children_of(pid: int) -> list[int]:
    """The processes that one has started as workers, the newest last."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            words = (entry / "cmdline").read_text()
            if int(fields[1]) == pid and "spawn_main" in words:
                found.append(int(entry.name))
    return sorted(found)


def until(process: subprocess.Popen[str], there: object, pause_s: float) -> bool:
    """Wait until something is there, or the command has ended; then so long again; whether it still runs."""
    end = time.monotonic() + WAIT_S
    while process.poll() is None and not there() and time.monotonic() < end:  # type: ignore[operator]
        time.sleep(0.01)
    time.sleep(pause_s)
    return process.poll() is None


def table_of(folder: Path) -> dict[str, np.ndarray]:
    """The table of the study in a folder."""
    with np.load(folder / "out" / "table.npz") as found:
        return {name: found[name] for name in found.files}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The table of the study where nothing is killed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "impacts.toml").write_text(STUDY)
    process = begun(folder, "--workers", "0")
    out, _ = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, out
    assert (table_of(folder)["status"] == "ok").all()
    return (folder / "out" / "table.npz").read_bytes()


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds workers in /proc")
@pytest.mark.parametrize("seed", [1])
def test_killed_workers_and_commands_cost_nothing(tmp_path: Path, undisturbed: bytes, seed: int) -> None:
    """Protects tables: a worker is killed, then the command, at random; the same command completes it."""
    (tmp_path / "impacts.toml").write_text(STUDY)
    chance = random.Random(seed)
    parts = tmp_path / "out" / "parts"
    for whom in ("worker", "command", "none"):
        process = begun(tmp_path, "--workers", "2")
        n_part = len(list(parts.glob("*.npz"))) if parts.is_dir() else 0
        if whom == "worker" and until(
            process, lambda p=process: children_of(p.pid), chance.uniform(0.5, 4.0)
        ):
            with contextlib.suppress(ProcessLookupError, IndexError):
                os.kill(chance.choice(children_of(process.pid)), signal.SIGKILL)
        if whom == "command" or whom == "worker":
            more = lambda n=n_part: parts.is_dir() and len(list(parts.glob("*.npz"))) > n  # noqa: E731
            until(process, more, chance.uniform(0.0, 0.5))
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        out, _ = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, out
    assert (tmp_path / "out" / "table.npz").read_bytes() == undisturbed


@pytest.mark.process
def test_an_interrupted_study_keeps_what_is_done(tmp_path: Path, undisturbed: bytes) -> None:
    """Protects from Ctrl-C: the exit code of a shell, a table of what is done, the rest afterwards."""
    (tmp_path / "impacts.toml").write_text(STUDY)
    process = begun(tmp_path, "--workers", "1")
    until(process, lambda: list((tmp_path / "out" / "parts").glob("*.npz")), 0.0)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130, out
    assert "interrupted; run the same command again" in out
    assert 0 < len(table_of(tmp_path)["case"]) <= 30
    process = begun(tmp_path, "--workers", "0")
    out, _ = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, out
    assert (tmp_path / "out" / "table.npz").read_bytes() == undisturbed


@contextlib.contextmanager
def scheduler_of(folder: Path, n_worker: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask scheduler on loopback with workers, all processes of their own; the scheduler is the first."""
    path = folder / "scheduler.json"
    usual = ["--scheduler-file", str(path), "--no-dashboard"]
    kinds = [["scheduler", "--host", "127.0.0.1", "--port", "0", *usual]]
    kinds += [["worker", *usual, "--nthreads", "1", "--no-nanny", "--death-timeout", "60"]] * n_worker
    silent = subprocess.DEVNULL
    processes = []
    try:
        for words in kinds:
            command = [sys.executable, "-m", "dask", *words]
            processes.append(subprocess.Popen(command, cwd=folder, stdout=silent, stderr=silent))
            end = time.monotonic() + WAIT_S
            while not path.exists() and time.monotonic() < end:
                time.sleep(0.05)
        address = json.loads(path.read_text())["address"]
        from distributed import Client

        with Client(address, timeout=WAIT_S, set_as_default=False) as client:
            client.wait_for_workers(n_worker, timeout=WAIT_S)
        yield address, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.process
def test_a_dask_scheduler_gives_the_same_table(tmp_path: Path, undisturbed: bytes) -> None:
    """Protects clusters: two workers as processes of their own, one of which is killed meanwhile."""
    pytest.importorskip("distributed")
    (tmp_path / "impacts.toml").write_text(STUDY)
    with scheduler_of(tmp_path, 2) as (address, processes):
        process = begun(tmp_path, "--scheduler", address)
        until(process, lambda: list((tmp_path / "out" / "parts").glob("*.npz")), 0.0)
        processes[1].kill()
        out, _ = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, out
    assert (tmp_path / "out" / "table.npz").read_bytes() == undisturbed


@pytest.mark.process
def test_a_scheduler_that_ends_is_told_and_costs_nothing(tmp_path: Path, undisturbed: bytes) -> None:
    """Protects what is done from the end of a scheduler: one sentence, and another command goes on."""
    pytest.importorskip("distributed")
    (tmp_path / "impacts.toml").write_text(STUDY)
    with scheduler_of(tmp_path, 1) as (address, processes):
        process = begun(tmp_path, "--scheduler", address)
        until(process, lambda: list((tmp_path / "out" / "parts").glob("*.npz")), 0.0)
        processes[0].kill()
        out, _ = process.communicate(timeout=WAIT_S)
    assert process.returncode in (0, 1), out  # it may have been quicker
    assert "Traceback" not in out
    process = begun(tmp_path, "--workers", "0")
    out, _ = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, out
    assert (tmp_path / "out" / "table.npz").read_bytes() == undisturbed
