"""Results of a benchmark, reported with the machine and the versions of the software."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
from collections.abc import Iterator
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rtsim.bench import reference

PACKAGES = ("numba", "numpy", "pyzmq", "msgspec")


class BenchFigure(NamedTuple):
    """One result of a benchmark: name, value and unit. `limit` is the bound that it must keep; `better` says
    whether lower or higher values are better.
    """

    name: str
    value: float
    unit: str
    limit: float | None = None
    better: str = ""  # "lower" or "higher"

    @property
    def holds(self) -> bool | None:
        """Return whether the value is within its limit; None if it has no limit."""
        if self.limit is None:
            return None
        return self.value <= self.limit if self.better == "lower" else self.value >= self.limit


def machine() -> dict[str, Any]:
    """Return a short description of the machine."""
    return {
        "cpu": cpu_name(),
        "n_core": len(os_cpus()),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{name: package_version(name) for name in PACKAGES},
        "reference": reference.VERSION,
        "date": date.today().isoformat(),
    }


def os_cpus() -> list[int]:
    """Return the numbers of the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def cpu_name() -> str:
    """Return the name of the processor, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def package_version(name: str) -> str:
    """Return the version of an installed package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def reference_figures() -> list[BenchFigure]:
    """Return reference_us, the median time of the fixed reference kernel (`rtsim.bench.reference`), and its
    minimum.
    """
    us = reference.time_solves()
    return [
        BenchFigure("reference_us", float(np.median(us)), "us"),
        BenchFigure("reference_us.least", float(us.min()), "us"),
    ]


def report(bench: str, measured: list[BenchFigure], as_json: bool) -> str:
    """Return the results as JSON or as a plain table, together with those of the reference kernel, which is
    timed now.
    """
    figures = [*measured, *reference_figures()]
    if as_json:
        rows = [{k: v for k, v in f._asdict().items() if v not in (None, "")} for f in figures]
        document = {
            "bench": bench,
            "version": package_version("rtsim"),
            "machine": machine(),
            "figures": rows,
        }
        return json.dumps(document, indent=1)
    lines = [f"{bench}  ({', '.join(f'{k} {v}' for k, v in machine().items())})"]
    for f in figures:
        verdict = {True: "holds", False: "MISSED", None: ""}[f.holds]
        limit = (
            f"  {'<=' if f.better == 'lower' else '>='} {f.limit:g} {verdict}" if f.limit is not None else ""
        )
        lines.append(f"  {f.name:36s} {f.value:12.4g} {f.unit}{limit}")
    return "\n".join(lines)


def say(text: str) -> None:
    """Print progress on standard error, separate from the results."""
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def apart_from_figures() -> Iterator[None]:
    """Redirect everything that is printed within the `with` block to standard error, including the output of
    C++ libraries.
    """
    sys.stdout.flush()
    figures = os.dup(1)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(figures, 1)
        os.close(figures)
