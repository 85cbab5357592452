"""A fuzzing lane: every target in turn, in a process that may crash or hang, with a growing corpus."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.fuzz.corpus import FuzzFinding, FuzzFolder
from benchmarks.fuzz.judge import ROOT, FuzzOutcome, judged
from benchmarks.fuzz.loop import current_input
from benchmarks.fuzz.target import FuzzTarget
from benchmarks.fuzz.targets import all_targets, module_of
from benchmarks.fuzz.worker import has_coverage
from rtsim.bench.figures import BenchFigure
from rtsim.bench.progress import BenchProgress
from rtsim.errors import ConfigError

CORPUS = ROOT / "build" / "fuzz"
LOOK_S = 0.2
PATIENCE = 5.0
"""Factor by which the time of an input may exceed its processor time before it counts as one that hangs."""
LEAST_PATIENCE_S = 20.0
START_S = 1800.0
"""Longest until the first input is fed: kernels may have to be compiled [s]."""
MEMORY = Path("/dev/shm")
"""Folder in which files cost no disk, on Linux."""
COVERAGE = re.compile(rb"\bcov: (\d+)")


class FuzzedTarget(NamedTuple):
    """Outcome of a target: results of all its processes, and findings."""

    name: str
    executions: int
    outcomes: int
    coverage: int | None
    largest_ms: float
    largest_mb: float
    findings: list[FuzzFinding]

    def figures(self) -> list[BenchFigure]:
        figures = [
            BenchFigure(f"executions.{self.name}", float(self.executions), "inputs"),
            BenchFigure(f"findings.{self.name}", float(len(self.findings)), "", 0.0, "lower"),
            BenchFigure(f"outcomes.{self.name}", float(self.outcomes), ""),
            BenchFigure(f"largest_ms.{self.name}", self.largest_ms, "ms"),
            BenchFigure(f"largest_mb.{self.name}", self.largest_mb, "MB"),
        ]
        if self.coverage is not None:
            figures.insert(2, BenchFigure(f"coverage.{self.name}", float(self.coverage), "branches"))
        return figures


def totals(found: Sequence[FuzzedTarget]) -> list[BenchFigure]:
    """Return results over all targets."""
    return [
        BenchFigure("executions", float(sum(target.executions for target in found)), "inputs"),
        BenchFigure("findings", float(sum(len(target.findings) for target in found)), "", 0.0, "lower"),
    ]


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for the files that are fed, in memory if the system has such a place."""
    return tempfile.TemporaryDirectory(prefix="rtsim-fuzz-", dir=MEMORY if MEMORY.is_dir() else None)


def chosen_targets(only: Sequence[str]) -> list[FuzzTarget]:
    """Return the targets with these names, or all; ConfigError for an unknown name."""
    every = all_targets()
    unknown = next((name for name in only if name not in every), None)
    if unknown is not None:
        raise ConfigError(f"there is no fuzz target {unknown!r}", where="--only", allowed=", ".join(every))
    return [every[name] for name in only] if only else list(every.values())


def run(minutes: float, only: Sequence[str] = (), root: Path = CORPUS, seed: int = 0) -> list[FuzzedTarget]:
    """Feed all targets for this time in total, each for its share of it."""
    targets = chosen_targets(only)
    total = sum(target.weight for target in targets)
    found = []
    with BenchProgress("fuzz", len(targets)) as course:
        for target in targets:
            course.begin(target.name)
            seconds = 60.0 * minutes * target.weight / total
            try:
                found.append(fuzzed(target, root, seconds, seed or int(time.time())))
            except ConfigError as error:  # the figures of the others are kept
                found.append(not_begun(target, str(error)))
    return found


def not_begun(target: FuzzTarget, why: str) -> FuzzedTarget:
    """Return the outcome of a target whose process did not begin: a finding without an input."""
    return FuzzedTarget(
        name=target.name, executions=0, outcomes=0, coverage=None, largest_ms=0.0, largest_mb=0.0,
        findings=[FuzzFinding(target.name, "crash", "before the first input", why, "")],
    )  # fmt: skip


def fuzzed(target: FuzzTarget, root: Path, seconds: float, seed: int) -> FuzzedTarget:
    """Feed one target; a process that crashes or hangs is a finding, and another process continues."""
    folder = FuzzFolder(root, target)
    start, end = time.time(), time.monotonic() + seconds
    rows: list[dict[str, float]] = []
    coverages: list[int] = []
    while (left := end - time.monotonic()) > 0.0 or not rows:
        with scratch_folder() as scratch:
            row, coverage = one_process(target, root, Path(scratch), max(left, 1.0), seed + len(rows), folder)
        rows.append(row)
        coverages += coverage
    return FuzzedTarget(
        name=target.name,
        executions=int(sum(row.get("executions", 0.0) for row in rows)),
        outcomes=int(max(row.get("outcomes", 0.0) for row in rows)),
        coverage=max(coverages, default=None),
        largest_ms=max(row.get("largest_ms", 0.0) for row in rows),
        largest_mb=max(row.get("largest_mb", 0.0) for row in rows),
        findings=folder.findings(start - 1.0),
    )


def one_process(
    target: FuzzTarget, root: Path, scratch: Path, seconds: float, seed: int, folder: FuzzFolder
) -> tuple[dict[str, float], list[int]]:
    """Run one process until it ends by itself or has to be ended; return its results and coverage."""
    engine = "coverage" if has_coverage() else "outcomes"
    words = [module_of(target.name), target.name, str(root), str(scratch), str(seconds), str(seed), engine]
    with (scratch / "words").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.fuzz.worker", *words],
            cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
        hung = watched(process, target, scratch)
    said = (scratch / "words").read_bytes()
    if hung or process.returncode != 0:
        number, data = current_input(scratch / "current") if (scratch / "current").exists() else (0, b"")
        if number == 0:
            tail = said[-500:].decode("utf-8", "replace")
            raise ConfigError(
                f"the process that tests {target.name} did not start: {tail}", where="rtsim bench fuzz"
            )
        kind = "hang" if hung else "crash"
        slow = "the input was not processed in the allowed time"
        what = slow if hung else f"the process ended with {ending(process.returncode)}"
        folder.report(data, FuzzOutcome(kind, what, what, 0.0))
    figures = scratch / "figures.json"
    row = json.loads(figures.read_text()) if figures.exists() else {}
    return row, [int(number) for number in COVERAGE.findall(said)]


def watched(process: subprocess.Popen[bytes], target: FuzzTarget, scratch: Path) -> bool:
    """Wait for the end of a process; return True if it had to be ended because one input hung."""
    patience = max(LEAST_PATIENCE_S, PATIENCE * target.seconds)
    number, since = 0, time.monotonic()
    try:
        while process.poll() is None:
            time.sleep(LOOK_S)
            current = scratch / "current"
            now = current_input(current)[0] if current.exists() else 0
            if now != number:
                number, since = now, time.monotonic()
            elif time.monotonic() - since > (patience if number else START_S):
                process.kill()
                process.wait()
                return True
    except BaseException:
        process.kill()
        process.wait()
        raise
    return False


def ending(code: int) -> str:
    """Return an exit code, or the name of the signal that ended a process, as text."""
    if code < 0:
        return signal.Signals(-code).name
    return f"exit code {code}"


def repeated(name: str, path: Path) -> FuzzOutcome:
    """Feed one input in this process and return the outcome."""
    (target,) = chosen_targets([name])
    with scratch_folder() as scratch:
        for other, data in target.beside.items():
            (Path(scratch) / other).write_bytes(data)
        for seed in target.seeds():  # loads and compiles what would be charged to the input
            judged(target, seed, Path(scratch))
        return judged(target, path.read_bytes(), Path(scratch))
