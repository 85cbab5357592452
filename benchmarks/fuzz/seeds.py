"""Seeds of fuzzing: recordings beside the checkout, a walking body of five markers, files by our own
writers.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.fuzz.judge import ROOT
from rtsim.files.markers.trial import MarkerTrial

DATA = ROOT.parent / "shared" / "data"
MOST_SEEDS = 4
N_FRAME = 12
NAMES = ("LASI", "RASI", "SACR", "RKNE", "RANK")


def recordings(suffix: str, longest: int, whole: bool = False) -> list[bytes]:
    """Return the smallest recordings with a suffix, cut to a length unless they are needed whole."""
    found = (
        sorted((p.stat().st_size, p) for p in DATA.rglob(f"*{suffix}") if p.is_file())
        if DATA.is_dir()
        else []
    )
    sizes = [(size, path) for size, path in found if not whole or size <= longest]
    seeds = []
    for _, path in sizes[:MOST_SEEDS]:
        with path.open("rb") as file:
            seeds.append(file.read(longest))
    return seeds


def written(suffix: str, write: Callable[[Path], object]) -> bytes:
    """Return the bytes of the file that a writer creates."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"seed{suffix}"
        write(path)
        return path.read_bytes()


def walking() -> MarkerTrial:
    """Return some frames of a standing body that moves forwards; one marker is missing for a while."""
    place = np.array([[0, 1.0, 0.12], [0, 1.0, -0.12], [-0.15, 1.02, 0], [0.05, 0.5, -0.1], [0, 0.08, -0.1]])
    times = np.arange(N_FRAME) / 100.0
    positions = place + times[:, None, None] * [1.2, 0.0, 0.0]
    positions[3:5, 2] = np.nan
    return MarkerTrial(names=NAMES, times=times, positions=positions, rate=100.0, source="seed")
