"""A copy of the project in a folder of its own, in which one module at a time is changed and tests run."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

PARTS = (
    "kernels",
    "streams",
    "rtsim",
    "benchmarks",
    "configs",
    "tests",
    "examples",
    "docs",
    "pyproject.toml",
    "README.md",
)
PASSED = 0
"""Exit code of pytest; others are failed tests, an error in one, or a module that cannot be imported."""


class RunOfTests(NamedTuple):
    """Outcome of a run: cpu_s : processor time [s]; timed_out : whether time was up."""

    passed: bool
    cpu_s: float
    timed_out: bool
    told: str


class MutatedTree:
    """The copy of the project, used within a `with` block; the checkout itself is only read."""

    def __init__(self, root: Path) -> None:
        self._checkout = root
        self._folder = tempfile.TemporaryDirectory(prefix="rtsim-mutation-")
        self.root = Path(self._folder.name) / "tree"
        self._n_change = 0

    def __enter__(self) -> Self:
        self.root.mkdir()
        ignored = shutil.ignore_patterns("__pycache__")
        for part in PARTS:
            source, copy = self._checkout / part, self.root / part
            if source.is_dir():
                shutil.copytree(source, copy, ignore=ignored)
            elif source.exists():
                shutil.copy(source, copy)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    @contextlib.contextmanager
    def changed(self, module: str, text: str) -> Iterator[None]:
        """Replace the text of a module within the `with` block."""
        path = self.root / module
        former = path.read_text(encoding="utf-8")
        self._write(path, text)
        try:
            yield
        finally:
            self._write(path, former)

    def _write(self, path: Path, text: str) -> None:
        """Write a text with a modification time of its own, because otherwise the bytecode of another text
        of the same length and time would be used.
        """
        path.write_text(text, encoding="utf-8")
        self._n_change += 1
        os.utime(path, (2_000_000_000 + self._n_change,) * 2)

    def run(self, tests: Sequence[str], compiler: bool, cpu_s: float, wall_s: float) -> RunOfTests:
        """Run tests until the first that fails; compiler : whether kernels are compiled.

        cpu_s, wall_s : seconds, of the processor and of the clock, after which they are ended
        """
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
        environment = {**os.environ, "PYTHONPATH": str(self.root), "PYTHONHASHSEED": "0", **LONE}
        environment.pop("PYTEST_ADDOPTS", None)  # which may name options of the checkout's conftest alone
        if not compiler:
            environment["NUMBA_DISABLE_JIT"] = "1"
            command += ["-m", "not compiled"]
        before = cpu_of_children()
        output = self.root.parent / "output"
        with output.open("w", encoding="utf-8") as file:
            process = subprocess.Popen(
                limited(command, cpu_s), cwd=self.root, env=environment, stdin=subprocess.DEVNULL,
                stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                code: int | None = process.wait(wall_s)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                end_group(process)
        told = output.read_text(encoding="utf-8", errors="replace")
        by_limit = code is None or code in BY_LIMIT
        return RunOfTests(code == PASSED, cpu_of_children() - before, by_limit, told)


LONE: Mapping[str, str] = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
BY_LIMIT = frozenset(-getattr(signal, name) for name in ("SIGXCPU",) if hasattr(signal, name))


def limited(command: Sequence[str], cpu_s: float) -> list[str]:
    """Return the command with a limit of processor time, if the system has one."""
    if os.name != "posix":
        return list(command)
    starter = (
        "import os, resource, sys; n = int(sys.argv[1]); "
        "resource.setrlimit(resource.RLIMIT_CPU, (n, n + 5)); os.execv(sys.argv[2], sys.argv[2:])"
    )
    return [sys.executable, "-c", starter, str(int(cpu_s) + 1), *command]


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End the process, and on POSIX whatever it has started and left behind."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.kill()
    process.wait()


def cpu_of_children() -> float:
    """Return the processor time of all ended child processes [s]; 0 where the system does not report it."""
    times = os.times()
    return times.children_user + times.children_system
