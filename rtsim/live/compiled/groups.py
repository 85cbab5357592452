"""Compilation of kernels before a run, in groups: each group in its own process, as many at a time as there
are processors.

A command names the groups that it will call. Kernels that are already in the cache are skipped, so the
second start costs nothing; kernels left over after an interruption are compiled at the next start.
"""

from __future__ import annotations

import json
import math
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from kernels.compiler.cache import cache_fault, is_complete, mark_complete, tell_compiled
from rtsim.errors import RtsimError
from rtsim.live.compiled.group_table import ALL
from rtsim.live.processes.children import APART

POLL_S = 0.1
ENTRIES = (".from_held", ".from_python")
"""Endings of the names of kernels by which Python only calls another kernel (`kernels.compiler.jit`); they
are not counted."""


class CompileProgress(NamedTuple):
    """Progress of compilation: number of compiled kernels, number of all kernels, and descriptions of the
    groups being compiled.
    """

    n_done: int
    n_kernel: int
    at_work: tuple[str, ...]


class CompileCost(NamedTuple):
    """Cost of compiling a group: elapsed and processor time [s], and peak memory [MB]; nan = unknown."""

    seconds: float
    cpu_s: float
    peak_mb: float


Tell = Callable[[CompileProgress], None]


def compile_groups(
    names: Iterable[str], tell: Tell | None = None, anew: bool = False
) -> dict[str, CompileCost]:
    """Compile the groups that are not in the cache. Return the cost of each, {} if nothing had to be
    compiled.

    anew : whether to check every group, also those known to be complete
    tell : function called with the progress from time to time

    Raises RtsimError with the message of the compiler's process if a group cannot be compiled. An
    interruption ends the compiling processes. If the cache cannot be written (see
    `kernels.compiler.cache.cache_fault`), nothing is compiled here, and each process of the run compiles for
    itself.
    """
    waiting = [name for name in names if anew or not is_complete(name)]
    if not waiting or cache_fault():
        return {}
    n_kernel = sum(map(n_kernel_of, waiting))
    works: list[_Work] = []
    working: list[_Work] = []
    try:
        while waiting or working:
            while waiting and len(working) < (os.cpu_count() or 1):
                works.append(_Work(waiting.pop(0)))
                working.append(works[-1])
            time.sleep(POLL_S)
            working = [work for work in working if not work.over()]
            if tell is not None:
                at_work = tuple(ALL[work.name].what for work in working)
                tell(CompileProgress(sum(work.n_done for work in works), n_kernel, at_work))
    finally:
        for work in working:
            work.end()
    return {work.name: work.cost for work in works}


class _Work:
    """The process that compiles one group of kernels; after every kernel it reports how many are compiled."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.n_done = 0
        self.cost = CompileCost(0.0, math.nan, math.nan)
        self._start = time.monotonic()
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._words: list[str] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "rtsim.live.compiled.groups", name],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",  # of what only an error may say
            # colours in what is never read: 3 % of the time
            env={**os.environ, "NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1"},
            **APART,
        )
        self._readers = [
            threading.Thread(target=read, daemon=True) for read in (self._read_lines, self._read_words)
        ]
        for reader in self._readers:
            reader.start()

    def over(self) -> bool:
        """Read the process's output; return whether it has ended. Raises RtsimError if it failed."""
        ended = self._process.poll() is not None
        if ended:
            for reader in self._readers:
                reader.join()
        while not self._lines.empty():
            with suppress(ValueError, TypeError):  # something else was printed
                self._take(json.loads(self._lines.get()))
        if ended and self._process.returncode != 0:
            last = self._words[-1] if self._words else f"exit code {self._process.returncode}"
            raise RtsimError(f"the compiled code for {ALL[self.name].what} could not be built: {last}")
        if ended:
            self.n_done = n_kernel_of(self.name)  # the rest was in the cache
            self.cost = self.cost._replace(seconds=time.monotonic() - self._start)
        return ended

    def _take(self, said: Any) -> None:
        if isinstance(said, list):
            self.cost = self.cost._replace(cpu_s=float(said[0]), peak_mb=float(said[1]))
        else:
            self.n_done = int(said)

    def end(self) -> None:
        """Stop the process at any point; kernels compiled so far are in the cache."""
        self._process.kill()
        self._process.wait()

    def _read_lines(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)

    def _read_words(self) -> None:
        assert self._process.stderr is not None
        self._words.extend(line.rstrip("\n") for line in self._process.stderr if line.strip())


def n_kernel_of(name: str) -> int:
    """Return the number of kernels of a group: its entries and all kernels that they call."""
    from kernels.compiler.jit import reachable
    from rtsim.live.compiled.group_kernels import KERNELS

    return len(reachable(KERNELS[name].entries, KERNELS[name].without))


def compile_group(name: str) -> None:
    """Compile one group in this process; write a line with the number of compiled kernels after each, and at
    the end a line with processor time and memory.
    """
    done: set[str] = set()

    def say(kernel: str) -> None:
        for end in ENTRIES:
            kernel = kernel.removesuffix(end)
        done.add(kernel)
        print(len(done), flush=True)

    stop = tell_compiled(say)
    ALL[name].call()
    stop()
    mark_complete(name)
    print(json.dumps([time.process_time(), peak_mb()]), flush=True)


def peak_mb() -> float:
    """Return the peak memory of this process [MB]; nan if the system does not report it."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:  # Windows
        return math.nan
    units = 1e6 if sys.platform == "darwin" else 1e3
    return getrusage(RUSAGE_SELF).ru_maxrss / units


if __name__ == "__main__":
    compile_group(sys.argv[1])
