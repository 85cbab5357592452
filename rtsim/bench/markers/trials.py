"""Benchmark of every marker trial of a folder through `rtsim live` at its recorded rate: marker RMS, flagged
frames, lost frames.
"""

from __future__ import annotations

import json
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from rtsim.bench.figures import BenchFigure
from rtsim.bench.progress import BenchProgress

METHODS = ("zero", "minimised", "prescribed")
SUFFIXES = (".trc", ".c3d", ".npz")
STATIC = "static"


class TrialResult(NamedTuple):
    """Result of one trial by one method: the summary of `rtsim live`, or the fault that ended it."""

    trial: str
    method: str
    summary: dict
    fault: str


def run(folder: Path, methods: tuple[str, ...] = METHODS, only: str = "*") -> tuple[list[BenchFigure], str]:
    """Return the benchmark results and a Markdown table of the trials under `folder` whose path matches the
    pattern `only`; each trial is solved by every one of the methods (knee models).
    """
    cases = [(path, method) for path in trials(folder, only) for method in methods]
    results = []
    with BenchProgress("trials", len(cases)) as course:
        for path, method in cases:
            course.begin(f"{path.relative_to(folder)}, {method}")
            results.append(live(path, folder, method))
    figures = []
    for r in results:
        if not r.fault:
            name = f"{r.trial}.{r.method}"
            figures.append(BenchFigure(f"marker_rms_mm.{name}", rms_of(r.summary), "mm"))
            figures.append(BenchFigure(f"flagged.{name}", float(flagged(r.summary)), "frames"))
            figures.append(BenchFigure(f"lost.{name}", float(r.summary["lost"]), "frames", 0.0, "lower"))
    figures.append(BenchFigure("failed", float(sum(bool(r.fault) for r in results)), "trials", 0.0, "lower"))
    return figures, table(results, methods)


def trials(folder: Path, only: str) -> list[Path]:
    """Return the marker files below a folder whose path matches the pattern `only`."""
    files = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    return sorted(path for path in files if fnmatch(path.relative_to(folder).as_posix(), only))


def static_of(path: Path) -> Path | None:
    """Return the static trial that belongs to a trial: the one in the same folder that shares the longest
    beginning of its name.
    """
    beside = [p for p in path.parent.iterdir() if STATIC in p.stem.lower() and p.suffix.lower() in SUFFIXES]
    if not beside or path in beside:
        return None
    return max(beside, key=lambda p: shared_start(p.stem, path.stem))


def shared_start(a: str, b: str) -> int:
    """Return the length of the common beginning of two names."""
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


def live(path: Path, folder: Path, method: str) -> TrialResult:
    """Run one trial by a method through `rtsim live`, in real time, and return its result."""
    name = str(path.relative_to(folder))
    static = static_of(path)
    arguments = ["--source", str(path), "--method", method, "--json"]
    arguments += ["--static", str(static)] if static else []
    arguments += ["--results", "tcp://127.0.0.1:0", "--control", "tcp://127.0.0.1:0"]
    done = subprocess.run(
        [sys.executable, "-m", "rtsim.cli.main", "live", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        return TrialResult(name, method, {}, done.stderr.strip().splitlines()[-1])
    return TrialResult(name, method, json.loads(done.stdout), "")


def rms_of(summary: dict) -> float:
    """Return the marker RMS [mm] from the JSON summary of `rtsim live`; NaN where no frame was solved."""
    rms = summary["marker_rms_mm"]
    return float("nan") if rms is None else float(rms)


def flagged(summary: dict) -> int:
    """Return the number of frames whose status is not ok, from the JSON summary of `rtsim live`."""
    return sum(n for words, n in summary["statuses"].items() if words != "ok")


def table(results: list[TrialResult], methods: tuple[str, ...]) -> str:
    """Return a Markdown table: a row per trial, marker RMS and number of flagged frames per method."""
    lines = [
        "| trial | frames | " + " | ".join(f"{m}: marker RMS mm (flagged frames)" for m in methods) + " |",
        "|---|---|" + "---|" * len(methods),
    ]
    by_trial: dict[str, dict[str, TrialResult]] = {}
    for r in results:
        by_trial.setdefault(r.trial, {})[r.method] = r
    for name, row in by_trial.items():
        cells = []
        for method in methods:
            r = row[method]
            cells.append(r.fault or f"{rms_of(r.summary):.1f} ({flags(r.summary)})")
        frames = next((str(r.summary["frames"]) for r in row.values() if not r.fault), "-")
        lines.append(f"| {name} | {frames} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def flags(summary: dict) -> str:
    """Return a text with the number of frames of each status other than ok, from the JSON summary of `rtsim
    live`.
    """
    odd = [f"{n} {words}" for words, n in summary["statuses"].items() if words != "ok"]
    return "; ".join(odd) if odd else "0"
