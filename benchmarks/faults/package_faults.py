"""Faults of a stage from a user's own package, which is found by its entry point like an installed one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.faults.fault import FaultOutcome
from benchmarks.faults.rig import FaultRig

N = 60
STAGE = '''
"""Stages of a laboratory's own, which fail from the fortieth frame to the sixtieth."""

import time

import numpy as np

from rtsim.quantity import Quantity
from rtsim.stages.stage import FINE, Stage


class FaultyStage(Stage):
    def __init__(self, how):
        super().__init__()
        self.how, self.value, self.kept, self.k = how, np.zeros(1), [], 0

    def run(self, frame):
        self.k += 1
        self.value[:] = 1.0
        if 40 <= self.k < 60:
            if self.how == "raises":
                raise ZeroDivisionError("float division by zero")
            if self.how == "nan":
                self.value[:] = np.nan
            if self.how == "exits":
                raise SystemExit(0)
            if self.how == "leaks":
                self.kept.append(np.ones(2_000_000))
        if self.k == 40 and self.how == "hangs":
            time.sleep(1.0)
        return FINE

    def quantities(self):
        return [Quantity("of_the_lab", self.value, "1", ("value",))]


def of_kind(how):
    return lambda setting: FaultyStage(how)


raises, hangs, nan, leaks, exits = map(of_kind, ("raises", "hangs", "nan", "leaks", "exits"))
'''
KINDS = ("raises", "hangs", "nan", "leaks", "exits")
INFO = "Metadata-Version: 2.1\nName: labs-stages\nVersion: 1.0\n"


@contextlib.contextmanager
def package(kind: str) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Yield options and environment of an estimator with a stage of that kind."""
    with tempfile.TemporaryDirectory(prefix="rtsim-package-") as name:
        folder = Path(name)
        (folder / "labs_stages.py").write_text(STAGE, encoding="utf-8")
        info = folder / "labs_stages-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(INFO, encoding="utf-8")
        points = "".join(f"{kind} = labs_stages:{kind}\n" for kind in KINDS)
        (info / "entry_points.txt").write_text(f"[rtsim.stages]\n{points}", encoding="utf-8")
        run = folder / "run.toml"
        text = f'name = "lab"\nsource = "walker"\nstages = ["kinematics", "muscles", "{kind}"]\n'
        run.write_text(text, encoding="utf-8")
        path = os.pathsep.join(filter(None, (name, os.environ.get("PYTHONPATH", ""))))
        yield ["--config", str(run)], {"PYTHONPATH": path}


def of_package(kind: str) -> FaultOutcome:
    """Send frames through a run with a stage of that kind."""
    with package(kind) as (options, environment), FaultRig(options, environment=environment) as rig:
        rig.begin()
        rig.send(2 * N)
        rig.pause(0.2)
        rig.passed()
        rig.send(N)
        return rig.finish()


def raises() -> FaultOutcome:
    """A stage raises an exception in twenty frames."""
    return of_package("raises")


def hangs() -> FaultOutcome:
    """A stage takes a second for one frame."""
    return of_package("hangs")


def nan() -> FaultOutcome:
    """A stage returns NaN in twenty frames."""
    return of_package("nan")


def leaks() -> FaultOutcome:
    """A stage keeps 320 MB."""
    return of_package("leaks")


def exits() -> FaultOutcome:
    """A stage tries to end the process."""
    return of_package("exits")
