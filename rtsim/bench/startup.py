"""Time from the command to the first result: with an empty kernel cache, and with a filled one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from time import monotonic_ns

from rtsim.bench.figures import Figure, say
from rtsim.errors import RtsimError

COLD_S, WARM_S = 60.0, 3.0
N_WARM = 3


def run() -> list[Figure]:
    """cold_s and warm_s (median of three) of `rtsim live`, from the start of its process."""
    with tempfile.TemporaryDirectory() as cache:
        say("startup: cold (compiles everything, may take a minute)")
        cold = first_result_s(cache)
        say("startup: warm")
        warm = sorted(first_result_s(cache) for _ in range(N_WARM))
    return [
        Figure("cold_s", cold, "s", COLD_S, "lower"),
        Figure("warm_s", warm[N_WARM // 2], "s", WARM_S, "lower"),
    ]


def first_result_s(cache: str) -> float:
    """Seconds from the start of `rtsim live` to its first result, with kernels cached in `cache`."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    environment.pop("RTSIM_WRAP_KERNELS", None)
    start = monotonic_ns()
    done = subprocess.run(
        [sys.executable, "-m", "rtsim.cli.main", "live", "--duration", "0.5", "--json",
         "--results", "tcp://127.0.0.1:0", "--control", "tcp://127.0.0.1:0"],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RtsimError(f"rtsim live failed: {done.stderr.strip()}")
    return 1e-9 * (json.loads(done.stdout)["first_result_ns"] - start)
