"""Benchmark of the duration of `rtsim report` on solved results: the whole command, including its start.

Elapsed time and processor time are reported; other programs on the machine do not lengthen the latter (0
where the system does not measure it).
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from rtsim.bench.figures import BenchFigure, say
from rtsim.bench.markers.recordings import called
from rtsim.errors import ConfigError
from rtsim.files.recording import read_results

LIMIT_S = 5.0
KINDS = ("html", "pdf", "xlsx")


def run(recording: Path) -> list[BenchFigure]:
    """Return the seconds for each kind of report file, for a recording with results; ConfigError if it has
    none.
    """
    read_results(recording)
    figures = []
    with TemporaryDirectory() as folder:
        for kind in KINDS:
            say(f"report: {kind}")
            path = Path(folder) / f"report.{kind}"
            begun, used = perf_counter(), processor_s()
            called("report", str(recording), "-o", str(path))
            seconds, used = perf_counter() - begun, processor_s() - used
            if not path.is_file():
                raise ConfigError(f"no {kind} file was written", where=str(recording))
            figures.append(BenchFigure(f"{kind}_s", seconds, "s", LIMIT_S, "lower"))
            figures.append(BenchFigure(f"{kind}_cpu_s", used, "s"))
    return figures


def processor_s() -> float:
    """Return the processor time of all finished child processes of this process [s]."""
    spent = os.times()
    return spent.children_user + spent.children_system
