"""The shortest path between two points over several wrapping surfaces in a given order.

Each surface in turn gets the shortest path between the points before and after it (kernels/path/touch). This
shortens the whole path every time, and finds out which of the surfaces are touched; then kernels/path/chain
makes the path smooth. If the side of a surface is not given, this is done twice, beginning at either end, and
the shorter path is taken.
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
    """A run: the wrapping surfaces (stations first to last - 1) between the points P and Q, in the order of
    the path.
    """

    surfaces: Surfaces
    surface: np.ndarray  # (n_station,) int64 - surface of each station, -1 = none now
    side: np.ndarray  # (n_station, 3) - which way round in the surfaces' axes, zeros = the shorter one
    first: int  # station
    last: int  # the station after the last one
    P: np.ndarray  # (3,) - start of the path in ground [m]
    Q: np.ndarray  # (3,) - its end [m]


@njit
def place_surfaces(surfaces, pose, work):
    """Write the positions and axes of all surfaces in ground at a pose of the bodies into work.placement."""
    place(surfaces, pose, work.placement)


@njit
def wrap_run(surfaces, stations_surface, side, first, last, P, Q, work):
    """Find the shortest path from P to Q over the wrap stations first to last - 1; return its status.

    Call it after place_surfaces. For each station it writes whether the path touches the surface, the points
    of entry and exit, the directions there and the length of the arc. The status is OK, POINT_INSIDE or
    NOT_CONVERGED. POINT_INSIDE means that an end of the path, or the point of contact of the neighbouring
    surface, lies inside a surface; that surface is then left out.

    surfaces : Surfaces - the wrapping surfaces
    stations_surface : (n_station,) int64 - index of the surface of each wrap station
    side : (n_station, 3) - vectors in the surfaces' axes that point to the side on which the path passes;
      zeros = the shorter way
    first : int - first station of the run
    last : int - the station after the last one of the run
    P : (3,) - start of the path in ground [m]
    Q : (3,) - end of the path in ground [m]
    work : WrapWork - results of every wrap station, and working space, written
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
    """Find the shortest path over more than one wrapping surface; return OK, POINT_INSIDE or NOT_CONVERGED
    (see wrap_run).

    run : WrapRun - the successive wrapping surfaces (wrap stations) between two points
    work : WrapWork - results of every wrap station, and working space, written
    chain : ChainWork - the one in work; None if all paths are in closed form, so that the rest is not
        compiled
    """
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
    """Return whether any surface of the run has no given side, so that the path may pass it on either side.

    side : (n_station, 3) - sides, zeros = none; first, last : int - first station of the run, and the one
        after its last.
    """
    n_open = 0
    for i in range(first, last):
        n_open += side[i, 0] == 0.0 and side[i, 1] == 0.0 and side[i, 2] == 0.0
    return n_open > 0


@njit
def run_length(run, work):
    """Return the length of the path that has been found from P to Q over the surfaces of a run [m]."""
    total, at = 0.0, run.P
    for i in range(run.first, run.last):
        if work.touching[i] == 1:
            total += distance(at, work.entry[i]) + work.arc[i]
            at = work.exit[i]
    return total + distance(at, run.Q)


@njit
def settle(run, backwards, work):
    """Find the path over several surfaces by repeated sweeps and Newton's method, without a first guess;
    return its status.

    run : WrapRun - the successive wrapping surfaces (wrap stations) between two points
    backwards : bool - whether each sweep begins at the last station, not at the first one
    work : WrapWork - results of every wrap station, and working space, written
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
    """Fix the side on which the path passes each touched surface, and leave out the cylinders of finite
    length that it does not touch at present.

    Without this, repeated sweeps might change the sides of two surfaces for ever, or one surface might push
    the path over the end of the other and back.

    run : WrapRun - the surfaces between two points; work : WrapWork - its field way is written.
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
    """Store the present path over the wrapping surfaces of stations first to last - 1, for `restore`."""
    copy_state(first, last, work.ends, work.arc, work.ends_best, work.arc_best)
    for i in range(first, last):
        work.touching_best[i] = work.touching[i]


@njit
def restore(first, last, work):
    """Restore the path over the wrapping surfaces of stations first to last - 1 that `keep` has stored."""
    copy_state(first, last, work.ends_best, work.arc_best, work.ends, work.arc)
    for i in range(first, last):
        work.touching[i] = work.touching_best[i]


@njit
def copy_state(first, last, ends, arc, ends_out, arc_out):
    """Copy the end points and arc lengths of the path on the wrapping surfaces of stations first to last - 1.

    first : int - first station of the run
    last : int - the station after the last one of the run
    ends : (n_station, 4, 3) - entry, exit [m] and directions in the surface frames
    arc : (n_station,) - lengths of the path on the surfaces [m]
    ends_out : (n_station, 4, 3) - copy of ends, written
    arc_out : (n_station,) - copy of arc [m], written
    """
    for i in range(first, last):
        copy_matrix(ends[i], ends_out[i])
        arc_out[i] = arc[i]


@njit
def write_ends(stations_surface, first, last, work):
    """Convert entries, exits and directions of all touched stations from the surfaces' frames to ground."""
    for i in range(first, last):
        if work.touching[i] == 1:
            write_end(stations_surface[i], i, work)


@njit
def others_free(run, work):
    """Return whether the path just found runs through none of the surfaces that it does not touch; otherwise
    the caller searches on.
    """
    for i in range(run.first, run.last):
        if work.touching[i] == 0:
            wrap_between(run, i, work)
            if work.touching[i] == 1:
                work.touching[i] = 0  # the next sweep will find it
                return False
    return True


@njit
def sweep(run, backwards, work):
    """Find the path over each surface of a run once, between its neighbours; return (status, change,
    changed).

    status is the worst one, change the largest shift of a point of entry or exit, divided by the size of its
    surface [1], and changed whether contact with any surface began or ended.

    run : WrapRun - the successive wrapping surfaces (wrap stations) between two points
    backwards : bool - whether the sweep begins at the last station, not at the first one
    work : WrapWork - results of every wrap station, and working space, written
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
    """Find the path over wrap station i between the touched surfaces before and after it; return what
    wrap_station returns.

    The path passes the surface on the side that is stored in work.way.
    """
    before, after = neighbours(i, run.first, run.last, work.touching)
    start = run.P if before < 0 else work.exit[before]
    end = run.Q if after < 0 else work.entry[after]
    return wrap_station(run.surfaces, run.surface[i], work.way[i], i, start, end, work, work.chain)


@njit
def neighbours(i, first, last, touching):
    """Return (before, after): the indices of the nearest touched stations before and after station i, -1 =
    none.

    first, last : int - first station of the run, and the one after its last; touching : (n_station,) int64 -
        1 = touched.
    """
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
    """Return the distance between two points : (3,) [m]."""
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return math.sqrt(x * x + y * y + z * z)
