"""The shortest path between two points over one wrapping surface.

The surface is touched only if the straight line would run through it. `side` : (3,), a vector in the
surface's frame, chooses between the ways round; zeros choose the shortest path. Seen from the centre (along
the axis of a cylinder), the points P and Q enclose an angle, whose bisector points to the middle of the short
way. The path takes the way round whose middle has a positive scalar product with `side`, even where the
straight line passes clear of the surface on the other side; where it passes clear on the given side, the
surface is not touched.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.algebra.copying import copy
from kernels.compiler.jit import njit
from kernels.path.chain import ChainWork, new_chain_work
from kernels.path.circular import wrap_cylinder, wrap_sphere
from kernels.path.ellipsoid import FAILED, N_SCRATCH, wrap_ellipsoid
from kernels.path.surfaces import (
    CYLINDER,
    ELLIPSOID,
    SPHERE,
    Placement,
    clearance,
    into_surface,
    new_placement,
    out_of_surface,
    turn_out_of_surface,
)

OK, POINT_INSIDE, NOT_CONVERGED = 0, 1, 2
# Depth below a surface, of its size, that still counts as lying on it: points placed there by rounding.
INSIDE_TOLERANCE = 1e-7
OFF = math.inf  # instead of a way round


class WrapWork(NamedTuple):
    """Path at every wrap station (place of a path where it may wrap around one surface), and working
    space.
    """

    touching: Annotated[np.ndarray, Integers("n_station")]  # 1 = the path lies on the surface
    entry: Annotated[np.ndarray, Floats("n_station", 3)]  # where it arrives, in ground [m]
    exit: Annotated[np.ndarray, Floats("n_station", 3)]  # where it leaves [m]
    # unit direction of the path on arrival, in ground
    entry_direction: Annotated[np.ndarray, Floats("n_station", 3)]
    exit_direction: Annotated[np.ndarray, Floats("n_station", 3)]  # and on leaving
    arc: Annotated[np.ndarray, Floats("n_station")]  # length on the surface [m]
    placement: Placement  # of the surfaces in ground
    ends: Annotated[np.ndarray, Floats("n_station", 4, 3)]  # entry, exit and directions in the surface frame
    # 1 = ends hold a former path: a first guess for the next one
    known: Annotated[np.ndarray, Integers("n_station")]
    local: Annotated[np.ndarray, Floats(2, 3)]  # neighbouring points in the surface frame [m]
    scratch: Annotated[np.ndarray, Floats(N_SCRATCH, 3)]
    way: Annotated[np.ndarray, Floats("n_station", 3)]  # side on which the path passes, given or fixed
    # surface of each station at the present pose, -1 = left out
    now: Annotated[np.ndarray, Integers("n_station")]
    no_side: Annotated[np.ndarray, Floats(3)]  # zeros
    ends_kept: Annotated[np.ndarray, Floats("n_station", 4, 3)]  # before Newton's method
    arc_kept: Annotated[np.ndarray, Floats("n_station")]
    ends_best: Annotated[np.ndarray, Floats("n_station", 4, 3)]  # of the run taken from its first end
    arc_best: Annotated[np.ndarray, Floats("n_station")]
    touching_best: Annotated[np.ndarray, Integers("n_station")]
    chain: ChainWork | None  # None where there are only single spheres and cylinders, in closed form


def new_wrap_work(n_station: int, n_surface: int, closed_form: bool = False) -> WrapWork:
    """Allocate a WrapWork for paths over wrapping surfaces.

    n_station, n_surface : int - numbers of stations and of wrapping surfaces
    closed_form : bool - True if no path touches more than one sphere or cylinder between two points; then
        iterative solutions are not compiled, which saves a third of the time
    """
    return allocate(
        WrapWork,
        n_station=n_station,
        placement=new_placement(n_surface),
        chain=None if closed_form else new_chain_work(n_station),
    )


@njit
def lies_inside(surfaces, k, X, work):
    """Return whether a point lies inside surface k; call it after place_surfaces.

    surfaces : Surfaces - the wrapping surfaces
    k : int - index of the surface
    X : (3,) - the point in ground [m]
    work : WrapWork - positions of the surfaces; local is written
    """
    into_surface(work.placement, k, X, work.local[0])
    return clearance(surfaces.kind[k], surfaces.size[k], work.local[0]) < -INSIDE_TOLERANCE


@njit
def wrap_station(surfaces, k, side, i, P, Q, work, chain):
    """Find the shortest path from P to Q over one surface; return (status, change of the points of entry and
    exit).

    The change is the largest shift of a coordinate of these points since the last call, divided by the size
    of the surface [1]; 1 if contact begins or ends.

    surfaces : Surfaces - the wrapping surfaces
    k : int - index of the surface, -1 = none
    side : (3,) - vector in the surface's frame that points to the side on which the path passes; zeros = the
        shorter way
    i : int - index of the wrap station
    P : (3,) - point of the path before the surface, in ground [m]
    Q : (3,) - point of the path after the surface, in ground [m]
    work : WrapWork - results of every wrap station, and working space, written
    chain : ChainWork - the one in work; None if all paths are in closed form, so that the rest is not
        compiled
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
    elif kind == ELLIPSOID:
        arc = wrap_ellipsoid(size, p, q, side, work.known[i], arc, ends, work.scratch)
        work.known[i] = 1 if arc >= 0.0 else 0
        if arc == FAILED:
            status = NOT_CONVERGED
    else:
        return NOT_CONVERGED, float(was)
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
def write_end(k, i, work):
    """Convert entry and exit of the path at wrap station i, and its unit directions there, from the frame of
    surface k to ground.

    A wrap station is a place in the path where it may wrap around one surface. Its entry is the point where
    the path arrives on the surface, its exit the point where it leaves. They are read from work.ends and
    written to work.entry, exit, entry_direction and exit_direction.
    """
    ends = work.ends[i]
    out_of_surface(work.placement, k, ends[0], work.entry[i])
    out_of_surface(work.placement, k, ends[1], work.exit[i])
    turn_out_of_surface(work.placement, k, ends[2], work.entry_direction[i])
    turn_out_of_surface(work.placement, k, ends[3], work.exit_direction[i])
