"""The shortest path between two points over the wrapping surfaces of a run, in a given order.

Each surface in turn gets the shortest path between its neighbours' points (kernels/path/touch), which
shortens the whole path every time and settles which of them are touched; kernels/path/chain then makes the
path smooth. If a side is left open, this is begun at either end of the run, and the shorter path taken.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kernels.algebra.copying import copy, copy_matrix
from kernels.compiler.jit import njit
from kernels.path.chain import refine
from kernels.path.surfaces import CYLINDER, Surfaces, place
from kernels.path.touch import NOT_CONVERGED, OFF, OK, wrap_station, write_end

N_SWEEP = 60
N_FREE_SWEEP = 8  # after these a surface no longer changes the way round
SWEEP_TOLERANCE = 1e-13
N_WAIT = 4  # sweeps before Newton's method is tried again
SAME = 1e-12  # difference of lengths that does not count
NEAR = 0.1  # move of a sweep, of the size, that Newton's method may start from


class WrapRun(NamedTuple):
    """Wrap stations between two points, in the order of the path."""

    surfaces: Surfaces
    surface: np.ndarray  # (n_station,) int64 - surface of each station, -1 = none now
    side: np.ndarray  # (n_station, 3) - which way round in the surfaces' axes, zeros = the shorter one
    first: int  # station
    last: int  # the station after the last one
    P: np.ndarray  # (3,) - start of the path in ground [m]
    Q: np.ndarray  # (3,) - its end [m]


@njit
def place_surfaces(surfaces, pose, work):
    """work.placement : frames of all surfaces in ground at a pose of the bodies."""
    place(surfaces, pose, work.placement)


@njit
def wrap_run(surfaces, stations_surface, side, first, last, P, Q, work):
    """Path from P to Q over the stations first..last-1, after place_surfaces.

    Writes touching, entry, exit, directions and arc of these stations. OK, POINT_INSIDE (an end of the path,
    or the neighbouring surface's contact, lies inside a surface, which is then left out), or NOT_CONVERGED.

    surfaces : Surfaces
    stations_surface : (n_station,) int64 - surface of each wrap station
    side : (n_station, 3) - which way round in the surfaces' axes, zeros = the shorter one
    first : int - first station of the run
    last : int - the station after its last
    P : (3,) - start of the path in ground [m]
    Q : (3,) - its end [m]
    work : WrapWork - written
    """
    if last - first == 1:
        work.touching[first] = 0
        status, _ = wrap_station(
            surfaces, stations_surface[first], side[first], first, P, Q, work, work.chain
        )
        return status
    return wrap_several(
        WrapRun(surfaces=surfaces, surface=stations_surface, side=side, first=first, last=last, P=P, Q=Q),
        work,
        work.chain,
    )


@njit
def wrap_several(run, work, chain):
    """wrap_run of more than one station; chain, that of work, is an argument so that None prunes the rest."""
    if chain is None:
        return NOT_CONVERGED
    first, last = run.first, run.last
    best, best_status = math.inf, NOT_CONVERGED
    n_turn = 2 if some_side_open(run.side, first, last) else 1
    for turn in range(n_turn):
        status = settle(run, turn == 1, work)
        length = run_length(run, work)
        if turn == 0 or (status == OK and (best_status != OK or length < best * (1.0 - SAME))):
            best, best_status = length, status
            keep(first, last, work)
    restore(first, last, work)
    write_ends(run.surface, first, last, work)
    return best_status


@njit
def some_side_open(side, first, last):
    """Whether some station takes the shortest way round."""
    n_open = 0
    for i in range(first, last):
        n_open += side[i, 0] == 0.0 and side[i, 1] == 0.0 and side[i, 2] == 0.0
    return n_open > 0


@njit
def run_length(run, work):
    """Length of a path found [m]."""
    total, at = 0.0, run.P
    for i in range(run.first, run.last):
        if work.touching[i] == 1:
            total += distance(at, work.entry[i]) + work.arc[i]
            at = work.exit[i]
    return total + distance(at, run.Q)


@njit
def settle(run, backwards, work):
    """Path over several stations from a cold start, each sweep begun at one end of the run or the other.

    backwards : whether sweeps begin at the last station
    """
    first, last = run.first, run.last
    for i in range(first, last):
        work.touching[i] = 0
        copy(run.side[i], work.way[i])
    wait = 1
    for i_sweep in range(N_SWEEP):
        if i_sweep >= N_FREE_SWEEP:
            hold_ways(run, work)
        status, moved, changed = sweep(run, backwards, work)
        if moved <= SWEEP_TOLERANCE:
            return status
        if changed or moved > NEAR or i_sweep < wait or status != OK:
            continue
        copy_state(first, last, work.ends, work.arc, work.ends_kept, work.arc_kept)
        wait = i_sweep + N_WAIT
        if refine(run, work, work.chain):
            write_ends(run.surface, first, last, work)
            if others_free(run, work):
                return status
        copy_state(first, last, work.ends_kept, work.arc_kept, work.ends, work.arc)
        write_ends(run.surface, first, last, work)
    return NOT_CONVERGED


@njit
def hold_ways(run, work):
    """From now on every touched surface keeps its way round, and a path that slipped off an end stays
    off: two may otherwise change sides for ever, or one push the path over the other's end and back.
    """
    surfaces = run.surfaces
    for i in range(run.first, run.last):
        k = run.surface[i]
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
def others_free(run, work):
    """Whether the stations that are not touched stay so."""
    for i in range(run.first, run.last):
        if work.touching[i] == 0:
            wrap_between(run, i, work)
            if work.touching[i] == 1:
                work.touching[i] = 0  # the next sweep will find it
                return False
    return True


@njit
def sweep(run, backwards, work):
    """Every station between its neighbours, once; (worst status, largest move / size, any touch changed).

    backwards : whether from the last station on
    """
    worst, largest, changed = OK, 0.0, False
    for step in range(run.last - run.first):
        i = run.last - 1 - step if backwards else run.first + step
        was = work.touching[i]
        status, moved = wrap_between(run, i, work)
        worst, largest = max(worst, status), max(largest, moved)
        changed = changed or was != work.touching[i]
    return worst, largest, changed


@njit
def wrap_between(run, i, work):
    """wrap_station of station i, the way work.way, between the touched ones before and after it."""
    before, after = neighbours(i, run.first, run.last, work.touching)
    start = run.P if before < 0 else work.exit[before]
    end = run.Q if after < 0 else work.entry[after]
    return wrap_station(run.surfaces, run.surface[i], work.way[i], i, start, end, work, work.chain)


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
def distance(a, b):
    """Distance [m] of two points : (3,)."""
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return math.sqrt(x * x + y * y + z * z)
