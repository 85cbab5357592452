"""The benchmark: the walker's frames solved in the usual way compared with other ways, with the allowed
differences.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rtsim.bench.figures import BenchFigure, say
from rtsim.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
ANGLE_RAD, RESIDUAL_M = 1e-9, 1e-9
"""Largest difference between results that counts as agreement: far below every stated deviation, far above
rounding."""


class SolvingVariant(NamedTuple):
    """A way to solve the frames: environment variables, number of threads, and allowed differences of
    results.
    """

    environment: Mapping[str, str]
    n_thread: int = 1
    allowed: float = ANGLE_RAD


def variants() -> dict[str, SolvingVariant]:
    """Return all ways by name; other processors only if this one has their instructions, too."""
    found = {
        "again": SolvingVariant({}, allowed=0.0),
        "three_threads": SolvingVariant({}, n_thread=3, allowed=0.0),
        "without_compiler": SolvingVariant({"NUMBA_DISABLE_JIT": "1"}),
    }
    if platform.machine().lower() in ("x86_64", "amd64"):
        plain = {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "+sse2"}
        found["without_avx"] = SolvingVariant(plain)
    return found


def run(n_frame: int, only: str = "") -> list[BenchFigure]:
    """Return the largest difference of an angle [rad] and of a residual [m] from the usual way, for each
    other way.

    ConfigError for an unknown way.
    """
    chosen = {name: way for name, way in variants().items() if only in ("", name)}
    if not chosen:
        raise ConfigError(f"no computation is named {only!r}", where="--only", allowed=", ".join(variants()))
    say("agreement: as usual")
    usual = solved(SolvingVariant({}), n_frame)
    figures = []
    for name, way in chosen.items():
        say(f"agreement: {name}")
        other = solved(way, n_frame)
        for quantity, unit in (("angles", "rad"), ("residuals", "m")):
            apart = max(
                float(np.nanmax(np.abs(rows - usual[key])))
                for key, rows in other.items()
                if key.endswith(f".{quantity}")
            )
            figures.append(BenchFigure(f"{name}.{quantity}", apart, unit, way.allowed, "lower"))
    return figures


def solved(way: SolvingVariant, n_frame: int) -> dict[str, np.ndarray]:
    """Return the results that a process using this way wrote."""
    with tempfile.TemporaryDirectory(prefix="rtsim-agreement-") as folder:
        path = Path(folder) / "numbers.npz"
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **way.environment}
        command = [
            sys.executable,
            "-m",
            "benchmarks.agreement.solve",
            str(path),
            str(n_frame),
            str(way.n_thread),
        ]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ConfigError(f"frames could not be solved: {done.stderr.strip()[-400:]}", where=command[2])
        with np.load(path) as numbers:
            return dict(numbers)
