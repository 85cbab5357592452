"""Runs of wrapping surfaces for the tests: built from plain lists, solved, and measured."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.path.surfaces import Surfaces
from kernels.path.touch import WrapWork, new_wrap_work
from kernels.path.wrap import wrap_run

Array = NDArray[np.floating]


class Run(NamedTuple):
    """Surfaces in ground in the order of a path, and the side of each."""

    surfaces: Surfaces
    side: Array
    work: WrapWork


class Path(NamedTuple):
    """A path found: copies of the results, and its length."""

    status: int
    length: float
    touching: Array
    entry: Array
    exit: Array
    arc: Array
    entry_direction: Array
    exit_direction: Array
    start: Array  # unit direction at P
    end: Array  # and at Q


def run_of(*parts: tuple, side: Array | None = None) -> Run:
    """Return a run of parts (kind, size, position, rotation) fixed to ground."""
    n = len(parts)
    surfaces = Surfaces(
        np.array([p[0] for p in parts]),
        np.full(n, -1),
        np.array([p[2] for p in parts], dtype=float),
        np.array([p[3] for p in parts], dtype=float),
        np.array([np.pad(p[1], (0, 3 - len(p[1]))) for p in parts], dtype=float),
    )
    work = new_wrap_work(n, n)
    work.placement.position[:] = surfaces.position
    work.placement.rotation[:] = surfaces.rotation
    return Run(
        surfaces, np.zeros((n, 3)) if side is None else np.array(side, dtype=float).reshape(n, 3), work
    )


def at_origin(kind: int, size: list[float], side: Array | None = None) -> Run:
    """Return a run of one surface whose frame is ground's."""
    return run_of((kind, size, np.zeros(3), np.eye(3)), side=side)


def solve(run: Run, P: Array, Q: Array, warm: bool = False) -> Path:
    """Return the path from P to Q; from a cold start unless warm."""
    n, work = len(run.side), run.work
    if not warm:
        work.known[:] = 0
    P, Q = np.array(P, dtype=float), np.array(Q, dtype=float)
    status = wrap_run(run.surfaces, np.arange(n), run.side, 0, n, P, Q, work)
    at, length, start, end = P, 0.0, None, None
    for i in range(n):
        if work.touching[i]:
            length += np.linalg.norm(work.entry[i] - at) + work.arc[i]
            start = work.entry_direction[i].copy() if start is None else start
            at, end = work.exit[i].copy(), work.exit_direction[i].copy()
    length += np.linalg.norm(Q - at)
    if start is None:
        start = end = (Q - P) / max(np.linalg.norm(Q - P), 1e-300)
    return Path(
        status,
        float(length),
        work.touching.copy(),
        work.entry.copy(),
        work.exit.copy(),
        work.arc.copy(),
        work.entry_direction.copy(),
        work.exit_direction.copy(),
        start,
        end,
    )


def moved(run: Run, R: Array, shift: Array, scale: float = 1.0) -> Run:
    """Return the run turned by R, scaled and shifted."""
    s = run.surfaces
    parts = [
        (s.kind[i], scale * s.size[i], scale * R @ s.position[i] + shift, R @ s.rotation[i])
        for i in range(len(run.side))
    ]
    return run_of(*parts, side=run.side)


def reversed_run(run: Run) -> Run:
    """Return the run in the opposite order."""
    s = run.surfaces
    parts = [(s.kind[i], s.size[i], s.position[i], s.rotation[i]) for i in range(len(run.side))][::-1]
    return run_of(*parts, side=run.side[::-1])


def parts_of(run: Run) -> list[tuple]:
    """Return kind, size, position and rotation of all surfaces, as the naive twin takes them."""
    s = run.surfaces
    return [(int(s.kind[i]), s.size[i], s.position[i], s.rotation[i]) for i in range(len(run.side))]


def turned(seed: int) -> Array:
    """Return a random rotation matrix."""
    return Rotation.random(random_state=seed).as_matrix()
