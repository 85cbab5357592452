"""The shortest path between two points over the wrapping surfaces of a run, in a given order.

A surface is touched only if the path without it would run through it. `side` : (3,), a vector in the
surface's frame, chooses between the ways round; zeros choose the shortest path. Seen from the centre (along
the axis of a cylinder), P and Q enclose an angle, and its bisector is the middle of the short way. The path
takes the way whose middle has a positive product with `side`, also when the straight line would pass free on
the wrong side; if the line passes free on the given side, the surface is not touched.

With several surfaces, each in turn gets the shortest path between its neighbours' points, which shortens the
whole path every time and settles which of them are touched; kernels/path/chain then makes the path smooth. If
a side is left open, this is begun at either end of the run, and the shorter path taken.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kernels._jit import entry, njit
from kernels.copying import copy, copy_matrix
from kernels.path.chain import ChainWork, new_chain_work, refine
from kernels.path.circular import wrap_cylinder, wrap_sphere
from kernels.path.ellipsoid import FAILED, N_SCRATCH, wrap_ellipsoid
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
N_SWEEP = 60
N_FREE_SWEEP = 8  # after these a surface no longer changes the way round
SWEEP_TOLERANCE = 1e-13
N_WAIT = 4  # sweeps before Newton's method is tried again
SAME = 1e-12  # difference of lengths that does not count
OFF = math.inf  # instead of a way round
NEAR = 0.1  # move of a sweep, of the size, that Newton's method may start from


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
    scratch: np.ndarray  # (N_SCRATCH, 3)
    way: np.ndarray  # (n_station, 3) - side, or the way held
    ends_kept: np.ndarray  # (n_station, 4, 3) - before Newton's method
    arc_kept: np.ndarray  # (n_station,)
    ends_best: np.ndarray  # (n_station, 4, 3) - of the run taken from its first end
    arc_best: np.ndarray  # (n_station,)
    touching_best: np.ndarray  # (n_station,) int64
    chain: ChainWork | None  # None where there are only single spheres and cylinders, in closed form


def new_wrap_work(n_station: int, n_surface: int, closed_form: bool = False) -> WrapWork:
    """Allocate a WrapWork.

    closed_form : every run is one sphere or cylinder, so that nothing else need be compiled (a third of all)
    """
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
        np.zeros((N_SCRATCH, 3)),
        np.zeros((n_station, 3)),
        np.zeros((n_station, 4, 3)),
        np.zeros(n_station),
        np.zeros((n_station, 4, 3)),
        np.zeros(n_station),
        np.zeros(n_station, dtype=np.int64),
        None if closed_form else new_chain_work(n_station),
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

    surfaces : Surfaces
    first : int - first station of the run
    last : int - the station after its last
    P : (3,) - start of the path in ground [m]
    work : WrapWork - written
    """
    if last - first == 1:
        work.touching[first] = 0
        status, _ = wrap_station(
            surfaces, stations_surface[first], side[first], first, P, Q, work, work.chain
        )
        return status
    return wrap_several(surfaces, stations_surface, side, first, last, P, Q, work, work.chain)


@njit
def wrap_several(surfaces, stations_surface, side, first, last, P, Q, work, chain):
    """wrap_run of more than one station; chain, that of work, is an argument so that None prunes the rest.

    surfaces : Surfaces
    stations_surface : (n_station,) int64 - surface of each wrap station
    side : (n_station, 3) - which way round in the surfaces' axes, zeros = the shorter one
    first : int - first station of the run
    last : int - the station after its last
    P : (3,) - start of the path in ground [m]
    Q : (3,) - its end [m]
    work : WrapWork - written
    chain : ChainWork - that of work, or None, which prunes what is not in closed form
    """
    if chain is None:
        return NOT_CONVERGED
    best, best_status = math.inf, NOT_CONVERGED
    n_turn = 2 if some_side_open(side, first, last) else 1
    for turn in range(n_turn):
        status = settle(surfaces, stations_surface, side, first, last, P, Q, turn == 1, work)
        length = run_length(first, last, P, Q, work)
        if turn == 0 or (status == OK and (best_status != OK or length < best * (1.0 - SAME))):
            best, best_status = length, status
            keep(first, last, work)
    restore(first, last, work)
    write_ends(stations_surface, first, last, work)
    return best_status


@njit
def some_side_open(side, first, last):
    """Whether some station takes the shortest way round."""
    n_open = 0
    for i in range(first, last):
        n_open += side[i, 0] == 0.0 and side[i, 1] == 0.0 and side[i, 2] == 0.0
    return n_open > 0


@njit
def run_length(first, last, P, Q, work):
    """Length [m] of the path from P to Q : (3,).

    first : int - first station of the run
    last : int - the station after its last
    P : (3,) - start of the path in ground [m]
    work : WrapWork - written
    """
    total, at = 0.0, P
    for i in range(first, last):
        if work.touching[i] == 1:
            total += distance(at, work.entry[i]) + work.arc[i]
            at = work.exit[i]
    return total + distance(at, Q)


@njit
def settle(surfaces, stations_surface, side, first, last, P, Q, backwards, work):
    """Path over several stations from a cold start, each sweep begun at one end of the run or the other.

    surfaces : Surfaces
    stations_surface : (n_station,) int64 - surface of each wrap station
    side : (n_station, 3) - which way round in the surfaces' axes, zeros = the shorter one
    first : int - first station of the run
    last : int - the station after its last
    P : (3,) - start of the path in ground [m]
    Q : (3,) - its end [m]
    backwards : int - 1 = sweeps begin at the run's last station
    work : WrapWork - written
    """
    for i in range(first, last):
        work.touching[i] = 0
        copy(side[i], work.way[i])
    wait, way = 1, work.way
    for i_sweep in range(N_SWEEP):
        if i_sweep >= N_FREE_SWEEP:
            hold_ways(surfaces, stations_surface, first, last, work)
        status, moved, changed = sweep(surfaces, stations_surface, way, first, last, P, Q, backwards, work)
        if moved <= SWEEP_TOLERANCE:
            return status
        if changed or moved > NEAR or i_sweep < wait or status != OK:
            continue
        copy_state(first, last, work.ends, work.arc, work.ends_kept, work.arc_kept)
        wait = i_sweep + N_WAIT
        if refine(surfaces, stations_surface, first, last, P, Q, work, work.chain):
            write_ends(stations_surface, first, last, work)
            if others_free(surfaces, stations_surface, way, first, last, P, Q, work):
                return status
        copy_state(first, last, work.ends_kept, work.arc_kept, work.ends, work.arc)
        write_ends(stations_surface, first, last, work)
    return NOT_CONVERGED


@njit
def hold_ways(surfaces, stations_surface, first, last, work):
    """From now on every touched surface keeps its way round, and a path that slipped off an end stays
    off: two may otherwise change sides for ever, or one push the path over the other's end and back.

    surfaces : Surfaces
    stations_surface : (n_station,) int64 - surface of each wrap station
    first : int - first station of the run
    last : int - the station after its last
    work : WrapWork - written
    """
    for i in range(first, last):
        k = stations_surface[i]
        if k >= 0 and surfaces.kind[k] == CYLINDER and surfaces.size[k, 1] > 0.0 and work.touching[i] == 0:
            work.way[i, 0] = OFF
        open_way = work.way[i, 0] == 0.0 and work.way[i, 1] == 0.0 and work.way[i, 2] == 0.0
        if open_way and work.touching[i] == 1:
            for c in range(3):
                work.way[i, c] = work.ends[i, 0, c] + work.ends[i, 1, c]


@njit
def keep(first, last, work):
    """Remember the path of the stations first..last-1."""
    copy_state(first, last, work.ends, work.arc, work.ends_best, work.arc_best)
    for i in range(first, last):
        work.touching_best[i] = work.touching[i]


@njit
def restore(first, last, work):
    """Take back the path remembered."""
    copy_state(first, last, work.ends_best, work.arc_best, work.ends, work.arc)
    for i in range(first, last):
        work.touching[i] = work.touching_best[i]


@njit
def copy_state(first, last, ends, arc, ends_out, arc_out):
    """Copy the local ends and arcs of the stations first..last-1.

    first : int - first station of the run
    last : int - the station after its last
    ends : (n_station, 4, 3) - entry, exit and directions in the surface frames
    arc : (n_station,) [m]
    ends_out : (n_station, 4, 3)
    arc_out : (n_station,) [m]
    """
    for i in range(first, last):
        copy_matrix(ends[i], ends_out[i])
        arc_out[i] = arc[i]


@njit
def write_ends(stations_surface, first, last, work):
    """Entries, exits and directions in ground of all touched stations, from their local ends."""
    for i in range(first, last):
        if work.touching[i] == 1:
            write_end(stations_surface[i], i, work)


@njit
def write_end(k, i, work):
    """Entry, exit and directions in ground of station i on surface k."""
    ends = work.ends[i]
    out_of_surface(work.placement, k, ends[0], work.entry[i])
    out_of_surface(work.placement, k, ends[1], work.exit[i])
    turn_out_of_surface(work.placement, k, ends[2], work.entry_direction[i])
    turn_out_of_surface(work.placement, k, ends[3], work.exit_direction[i])


@njit
def neighbours(i, first, last, touching):
    """Indices of the touched stations before and after station i, -1 for the ends of the path."""
    before, after = -1, -1
    for j in range(first, i):
        if touching[j] == 1:
            before = j
    for j in range(last - 1, i, -1):
        if touching[j] == 1:
            after = j
    return before, after


@njit
def others_free(surfaces, stations_surface, side, first, last, P, Q, work):
    """Whether the stations that are not touched stay so.

    surfaces : Surfaces
    stations_surface : (n_station,) int64 - surface of each wrap station
    side : (n_station, 3) - which way round in the surfaces' axes, zeros = the shorter one
    first : int - first station of the run
    last : int - the station after its last
    P : (3,) - start of the path in ground [m]
    Q : (3,) - its end [m]
    work : WrapWork - written
    """
    for i in range(first, last):
        if work.touching[i] == 0:
            before, after = neighbours(i, first, last, work.touching)
            start = P if before < 0 else work.exit[before]
            end = Q if after < 0 else work.entry[after]
            wrap_station(surfaces, stations_surface[i], side[i], i, start, end, work, work.chain)
            if work.touching[i] == 1:
                work.touching[i] = 0  # the next sweep will find it
                return False
    return True


@njit
def sweep(surfaces, stations_surface, side, first, last, P, Q, backwards, work):
    """Every station between its neighbours, once; (worst status, largest move / size, any touch changed).

    surfaces : Surfaces
    stations_surface : (n_station,) int64 - surface of each wrap station
    side : (n_station, 3) - which way round in the surfaces' axes, zeros = the shorter one
    first : int - first station of the run
    last : int - the station after its last
    P : (3,) - start of the path in ground [m]
    Q : (3,) - its end [m]
    backwards : int - 1 = sweeps begin at the run's last station
    work : WrapWork - written
    """
    worst, largest, changed = OK, 0.0, False
    for step in range(last - first):
        i = last - 1 - step if backwards else first + step
        before, after = neighbours(i, first, last, work.touching)
        start = P if before < 0 else work.exit[before]
        end = Q if after < 0 else work.entry[after]
        was = work.touching[i]
        status, moved = wrap_station(surfaces, stations_surface[i], side[i], i, start, end, work, work.chain)
        worst, largest = max(worst, status), max(largest, moved)
        changed = changed or was != work.touching[i]
    return worst, largest, changed


@njit
def wrap_station(surfaces, k, side, i, P, Q, work, chain):
    """Station i alone, between P and Q : (3,) in ground; (status, how far its ends moved / size).

    surfaces : Surfaces
    k : int - surface
    side : (3,) - which way round
    i : int - station
    P : (3,) - start of the path in ground [m]
    work : WrapWork - written
    chain : ChainWork - that of work, or None, which prunes what is not in closed form
    """
    ends, p, q = work.ends[i], work.local[0], work.local[1]
    was, arc = work.touching[i], work.arc[i]
    work.touching[i] = 0
    work.arc[i] = 0.0
    if k < 0 or side[0] == OFF:  # a conditional point that is not there now, or slipped off
        return OK, float(was)
    into_surface(work.placement, k, P, p)
    into_surface(work.placement, k, Q, q)
    kind, size = surfaces.kind[k], surfaces.size[k]
    if min(clearance(kind, size, p), clearance(kind, size, q)) < -INSIDE_TOLERANCE:
        return POINT_INSIDE, float(was)
    status = OK
    if kind == SPHERE:
        arc = wrap_sphere(size[0], p, q, side, ends)
    elif kind == CYLINDER:
        arc = wrap_cylinder(size[0], size[1], p, q, side, ends)
    elif chain is None:
        return NOT_CONVERGED, float(was)
    else:
        arc = wrap_ellipsoid(size, p, q, side, work.known[i], arc, ends, work.scratch)
        work.known[i] = 1 if arc >= 0.0 else 0
        if arc == FAILED:
            status = NOT_CONVERGED
    if arc < 0.0:
        return status, float(was)
    work.touching[i] = 1
    work.arc[i] = arc
    copy(work.entry[i], p)
    copy(work.exit[i], q)
    write_end(k, i, work)
    if was == 0:
        return status, 1.0
    moved = 0.0
    for c in range(3):
        moved = max(moved, abs(p[c] - work.entry[i, c]), abs(q[c] - work.exit[i, c]))
    return status, moved / size[0]


@njit
def distance(a, b):
    """Distance [m] of two points : (3,)."""
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return math.sqrt(x * x + y * y + z * z)
