"""Benchmark of compilation, and of the time from the command to the first result with an empty and with a
filled kernel cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from rtsim.bench.figures import BenchFigure, say
from rtsim.errors import RtsimError
from streams.clock import now_ns

WARMUP_S, GROUP_S, COLD_S, WARM_S = 120.0, 60.0, 60.0, 3.0
N_WARM = 3


def run() -> list[BenchFigure]:
    """Return the results: warmup_s and the seconds of each group of `rtsim warmup`, elapsed and of the
    processor, the memory of the largest group, and the size of the cache; cold_s and warm_s (median of
    three) of `rtsim live`, from the start of its process.
    """
    with tempfile.TemporaryDirectory() as cache:
        say("startup: warmup (compiles everything)")
        done = json.loads(output_of("warmup", cache))
    with tempfile.TemporaryDirectory() as cache:
        say("startup: cold (compiles what live needs)")
        cold = first_result_s(cache)
        say("startup: warm")
        warm = sorted(first_result_s(cache) for _ in range(N_WARM))
    return [
        BenchFigure("warmup_s", done["seconds"], "s", WARMUP_S, "lower"),
        *(
            BenchFigure(f"group.{name}_s", cost["seconds"], "s", GROUP_S, "lower")
            for name, cost in done["groups"].items()
        ),
        *(BenchFigure(f"compile_cpu_s.{name}", cost["cpu_s"], "s") for name, cost in done["groups"].items()),
        BenchFigure("peak_MB", max(cost["peak_mb"] for cost in done["groups"].values()), "MB"),
        BenchFigure("cache_MB", done["cache_MB"], "MB"),
        BenchFigure("cold_s", cold, "s", COLD_S, "lower"),
        BenchFigure("warm_s", warm[N_WARM // 2], "s", WARM_S, "lower"),
    ]


def first_result_s(cache: str) -> float:
    """Return the seconds from the start of `rtsim live` to its first result, with the kernel cache in the
    folder `cache`.
    """
    start = now_ns()
    where = ("--results", "tcp://127.0.0.1:0", "--control", "tcp://127.0.0.1:0")
    told = output_of("live", cache, "--duration", "0.5", *where)
    return 1e-9 * (json.loads(told)["first_result_ns"] - start)


def output_of(command: str, cache: str, *arguments: str) -> str:
    """Run an rtsim command with --json and the kernel cache in the folder `cache`; return its output."""
    done = subprocess.run(
        [sys.executable, "-m", "rtsim.cli.main", command, "--json", *arguments],
        capture_output=True, text=True, env={**os.environ, "NUMBA_CACHE_DIR": cache}, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RtsimError(f"rtsim {command} failed: {done.stderr.strip()}")
    return done.stdout
