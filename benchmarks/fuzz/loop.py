"""Repeated feeding of one target: counts, the largest time and memory of one input, findings, new code
paths.
"""

from __future__ import annotations

import contextlib
import json
import math
import mmap
import os
import struct
import time
from pathlib import Path
from random import Random

from benchmarks.fuzz.corpus import FuzzFolder
from benchmarks.fuzz.judge import FuzzOutcome, judged
from benchmarks.fuzz.mutation.forms import MUTATIONS
from benchmarks.fuzz.target import FuzzTarget

NOTE_S = 0.5
HEAD = struct.Struct("<QQ")
"""Number of the input that is fed, and its length; its bytes follow."""
SOME = 64
MEGABYTE = 1 << 20
ROOM_BYTES = 4 << 30
"""Address space that a process may take beyond what it has at the beginning."""


class CurrentInput:
    """The input that is being fed, stored in a file that outlives the process."""

    def __init__(self, path: Path, longest: int) -> None:
        size = HEAD.size + longest
        path.write_bytes(bytes(size))
        self._file = path.open("r+b")
        self._map = mmap.mmap(self._file.fileno(), size)
        self._number = 0

    def put(self, data: bytes) -> None:
        """Record the input that is fed now."""
        self._number += 1
        HEAD.pack_into(self._map, 0, self._number, len(data))
        self._map[HEAD.size : HEAD.size + len(data)] = data


def current_input(path: Path) -> tuple[int, bytes]:
    """Return number and bytes of the input that a process is feeding, or was feeding at its end."""
    raw = path.read_bytes()
    number, n = HEAD.unpack_from(raw)
    return number, raw[HEAD.size : HEAD.size + n]


class FuzzLoop:
    """Feeds one target until the time is over.

    Parameters
    ----------
    folder : folder of the target; scratch : where files are written
    seconds : duration; seed : seed of what is drawn

    Attributes
    ----------
    n_fed : inputs so far
    """

    def __init__(
        self, target: FuzzTarget, folder: FuzzFolder, scratch: Path, seconds: float, seed: int
    ) -> None:
        self.target, self._folder, self._scratch = target, folder, scratch
        self._seconds, self._end = seconds, math.inf
        self.random = Random(seed)
        self.n_fed = 0
        self._largest_s = 0.0
        self._outcomes: set[tuple[str, str]] = set()
        self._noted = 0.0
        self._first_kb, self._peak_kb = 0, 0
        self._current = CurrentInput(scratch / "current", target.longest)
        self.seeds = [seed[: target.longest] for seed in target.seeds()]
        self.kept = folder.kept()
        for name, data in target.beside.items():
            (scratch / name).write_bytes(data)

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._end

    def warm_up(self) -> None:
        """Feed the seeds, which load and compile code that is not to be charged to the first input."""
        for seed in self.seeds:
            judged(self.target, seed, self._scratch)
        self._end = time.monotonic() + self._seconds
        with contextlib.suppress(OSError):  # only Linux forgets the peak of what came before
            Path("/proc/self/clear_refs").write_text("5")
        self._first_kb = self._peak_kb = peak_memory_kb()

    def mutated(self, data: bytes, random: Random) -> bytes:
        """Return a mutated input of the target's form."""
        others = [*self.seeds, *self.kept[-SOME:]]
        return MUTATIONS[self.target.form](data, others, random)[: self.target.longest]

    def feed(self, data: bytes) -> bool:
        """Feed an input; return whether its outcome is new."""
        data = data[: self.target.longest]
        self._current.put(data)
        outcome = judged(self.target, data, self._scratch)
        self.n_fed += 1
        self._largest_s = max(self._largest_s, outcome.seconds)
        peak_kb = peak_memory_kb()
        if peak_kb > self._peak_kb:
            self._peak_kb = peak_kb
            if peak_kb - self._first_kb > 1024 * self.target.megabytes and not outcome.is_finding:
                grown = (peak_kb - self._first_kb) // 1024
                what = f"{grown} MB of memory were used, {self.target.megabytes:g} MB are allowed"
                outcome = FuzzOutcome("memory", outcome.place, what, outcome.seconds)
        if outcome.is_finding:
            self._folder.report(data, outcome)
        key = (outcome.kind, outcome.place)
        is_new = key not in self._outcomes
        self._outcomes.add(key)
        if time.monotonic() - self._noted > NOTE_S:
            self.note()
        return is_new

    def note(self) -> None:
        """Write the present figures to where the parent process reads them."""
        self._noted = time.monotonic()
        figures = {
            "executions": self.n_fed,
            "outcomes": len(self._outcomes),
            "largest_ms": 1e3 * self._largest_s,
            "largest_mb": (self._peak_kb - self._first_kb) / 1024.0,
        }
        part = self._scratch / "figures.part"
        part.write_text(json.dumps(figures))
        part.replace(self._scratch / "figures.json")

    def run(self) -> None:
        """Fuzz without coverage: inputs with a new outcome are kept and mutated further."""
        pool = [*self.seeds, *self.kept] or [b""]
        for data in pool:
            self.feed(data)
        while not self.is_over:
            data = self.mutated(self.random.choice(pool), self.random)
            if self.feed(data):
                pool.append(data)
                self._folder.keep(data)
        self.note()


def peak_memory_kb() -> int:
    """Return the largest memory of this process so far [kB]; 0 where the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def limit_memory() -> None:
    """Limit the memory of this process to somewhat more than any input needs, if the system can."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):
        return
    most = pages * os.sysconf("SC_PAGE_SIZE") + ROOM_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
