"""The shortest path between two points over the wrapping surfaces of a run, in a given order.

A surface is touched only if the path without it would run through it. `side` : (3,), a vector in the
surface's frame, chooses between the ways round; zeros choose the shortest path. Seen from the centre (along
the axis of a cylinder), P and Q enclose an angle, and its bisector is the middle of the short way. The path
takes the way whose middle has a positive product with `side`, also when the straight line would pass free on
the wrong side; if the line passes free on the given side, the surface is not touched.

With several surfaces, each in turn gets the shortest path between its neighbours' points, which shortens the
whole path every time, until nothing moves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels._jit import entry, njit
from kernels.copying import copy
from kernels.path.circular import FREE, wrap_cylinder, wrap_sphere
from kernels.path.surfaces import (
    CYLINDER,
    SPHERE,
    Placement,
    clearance,
    into_surface,
    new_placement,
    out_of_surface,
    place,
    turn_out_of_surface,
)

OK, POINT_INSIDE, NOT_CONVERGED = 0, 1, 2
STATUS_NAMES = ("ok", "point inside a wrapping surface", "wrapping not converged")

# Depth below a surface, of its size, that still counts as lying on it: points placed there by rounding.
INSIDE_TOLERANCE = 1e-7
N_SWEEP = 200
SWEEP_TOLERANCE = 1e-13


class WrapWork(NamedTuple):
    """Results of every wrap station, and working space."""

    touching: np.ndarray  # (n_station,) int64 - 1 = the path lies on the surface
    entry: np.ndarray  # (n_station, 3) - where it arrives, in ground [m]
    exit: np.ndarray  # (n_station, 3) - where it leaves [m]
    entry_direction: np.ndarray  # (n_station, 3) - unit direction of the path on arrival, in ground
    exit_direction: np.ndarray  # (n_station, 3) - and on leaving
    arc: np.ndarray  # (n_station,) - length on the surface [m]
    placement: Placement  # of the surfaces in ground
    ends: np.ndarray  # (n_station, 4, 3) - entry, exit and directions in the surface frame
    known: np.ndarray  # (n_station,) int64 - 1 = ends hold a former path: a first guess for the next one
    local: np.ndarray  # (2, 3) - neighbouring points in the surface frame [m]


def new_wrap_work(n_station: int, n_surface: int) -> WrapWork:
    """Allocate a WrapWork."""
    return WrapWork(
        np.zeros(n_station, dtype=np.int64),
        np.zeros((n_station, 3)),
        np.zeros((n_station, 3)),
        np.zeros((n_station, 3)),
        np.zeros((n_station, 3)),
        np.zeros(n_station),
        new_placement(n_surface),
        np.zeros((n_station, 4, 3)),
        np.zeros(n_station, dtype=np.int64),
        np.zeros((2, 3)),
    )


def forget(work: WrapWork) -> None:
    """Let the next path start without a first guess: it will be the same, but take longer."""
    work.known[:] = 0


@njit
def place_surfaces(surfaces, pose, work):
    """work.placement : frames of all surfaces in ground at a pose of the bodies."""
    place(surfaces, pose, work.placement)


@entry
def wrap_run(surfaces, stations_surface, side, first, last, P, Q, work):
    """Path from P to Q : (3,) in ground [m] over the stations first..last-1, after place_surfaces.

    stations_surface : (n_station,) int64, side : (n_station, 3). Writes touching, entry, exit, directions and
    arc of these stations. OK, POINT_INSIDE (an end of the path, or the neighbouring surface's contact, lies
    inside a surface, which is then left out), or NOT_CONVERGED.
    """
    for i in range(first, last):
        work.touching[i] = 0
        work.arc[i] = 0.0
    if last - first == 1:
        status, _ = wrap_station(surfaces, stations_surface[first], side[first], first, P, Q, work)
        return status
    for _ in range(N_SWEEP):
        status, moved = sweep(surfaces, stations_surface, side, first, last, P, Q, work)
        if moved <= SWEEP_TOLERANCE:
            return status
    return NOT_CONVERGED


@njit
def sweep(surfaces, stations_surface, side, first, last, P, Q, work):
    """Every station's path between its neighbours', once; (worst status, largest relative move)."""
    worst, largest = OK, 0.0
    before = P
    for i in range(first, last):
        after = Q
        for j in range(last - 1, i, -1):
            if work.touching[j] == 1:
                after = work.entry[j]
        status, moved = wrap_station(surfaces, stations_surface[i], side[i], i, before, after, work)
        worst = max(worst, status)
        largest = max(largest, moved)
        if work.touching[i] == 1:
            before = work.exit[i]
    return worst, largest


@njit
def wrap_station(surfaces, k, side, i, P, Q, work):
    """Station i alone, between P and Q : (3,) in ground; (status, how far its ends moved / size)."""
    ends, p, q = work.ends[i], work.local[0], work.local[1]
    was = work.touching[i]
    work.touching[i] = 0
    work.arc[i] = 0.0
    into_surface(work.placement, k, P, p)
    into_surface(work.placement, k, Q, q)
    kind, size = surfaces.kind[k], surfaces.size[k]
    if min(clearance(kind, size, p), clearance(kind, size, q)) < -INSIDE_TOLERANCE:
        return POINT_INSIDE, float(was)
    status = OK
    if kind == SPHERE:
        arc = wrap_sphere(size[0], p, q, side, ends)
    elif kind == CYLINDER:
        arc = wrap_cylinder(size[0], p, q, side, ends)
    else:
        arc = FREE
    if arc < 0.0:
        return status, float(was)
    work.touching[i] = 1
    work.arc[i] = arc
    copy(work.entry[i], p)
    copy(work.exit[i], q)
    out_of_surface(work.placement, k, ends[0], work.entry[i])
    out_of_surface(work.placement, k, ends[1], work.exit[i])
    turn_out_of_surface(work.placement, k, ends[2], work.entry_direction[i])
    turn_out_of_surface(work.placement, k, ends[3], work.exit_direction[i])
    if was == 0:
        return status, 1.0
    moved = 0.0
    for c in range(3):
        moved = max(moved, abs(p[c] - work.entry[i, c]), abs(q[c] - work.exit[i, c]))
    return status, moved / size[0]
