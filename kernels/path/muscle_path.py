"""Muscle paths as straight pieces between bodies: length, gradient, lengthening speed, forces on bodies.

A path is the shortest line through its points and over its surfaces, in their order, so it consists of
straight pieces and of geodesics, each of which lies on one body. When the bodies move, only changes of the
straight pieces count: as the path is the shortest, a shift of the contact points along a surface or a change
of a geodesic does not change its length to first order. A piece from body A to body B with the unit direction
e pulls A along e and B along -e. A dof that moves B alone, with the twist t (angular, linear velocity) per
unit speed, lengthens it by t . (r x e, e), r being a point of the piece; one that moves A alone shortens it
by that.

A coordinate that moves a path point within its body changes the length, too. By the principle of virtual
work, it then has a generalized force; without it, as in OpenSim of 2010, the muscle does spurious work
(Sherman, Seth, Delp 2010, assumption 1; OpenSim 4.6 has it). `gradients` and `add_forces` leave it out if
their argument moving_work is 0, for comparison only.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.compiler.jit import njit
from kernels.joints.tree import along
from kernels.path.stations import CONDITIONAL, PASSING, WRAP, YIELDS, Stations, place_station
from kernels.path.surfaces import CYLINDER, SPHERE, Surfaces
from kernels.path.touch import WrapWork, lies_inside, new_wrap_work, wrap_station
from kernels.path.wrap import place_surfaces, wrap_run

OK, POINT_INSIDE, NOT_CONVERGED, NO_LENGTH = 0, 1, 2, 3
STATUS_NAMES = (
    "ok",
    "a path point lies inside a wrapping surface",
    "wrapping not converged",
    "the path has no length",
)
SHORTEST = 1e-9
"""Length below which a piece has no direction, and a path is no path [m]."""


class PathWork(NamedTuple):
    """Straight pieces, lengths and gradients of all muscle paths, and working space.

    The rows of a muscle's pieces begin at the row of its first station (path point or wrapping surface)."""

    point: Annotated[np.ndarray, Floats("n_station", 3)]  # points in ground [m]
    # d point / d its coordinate within the body, in ground
    slip: Annotated[np.ndarray, Floats("n_station", 3)]
    # of each piece: (r x e, e) about the origin of body 0
    wrench: Annotated[np.ndarray, Floats("n_station", 6)]
    bodies: Annotated[np.ndarray, Integers("n_station", 2)]  # bodies at the start and end of each piece
    ends: Annotated[np.ndarray, Integers("n_station", 2)]  # stations there
    n_piece: Annotated[np.ndarray, Integers("n_muscle")]
    length: Annotated[np.ndarray, Floats("n_muscle")]  # [m]
    gradient: Annotated[np.ndarray, Floats("n_muscle", "n_v")]  # d length / d q along each dof
    status: Annotated[np.ndarray, Integers("n_muscle")]
    # 1 = a surface was left out: a point of the path lies inside it
    inside: Annotated[np.ndarray, Integers("n_muscle")]
    local: Annotated[np.ndarray, Floats(3)]
    wrap: WrapWork


def wraps_in_closed_form(stations: Stations, surfaces: Surfaces) -> bool:
    """Return whether every path can touch only one sphere or cylinder between two of its unconditional
    points.

    If so, no path needs an iterative solution.
    """
    if not np.isin(surfaces.kind, (SPHERE, CYLINDER)).all():
        return False
    for first, stop in zip(stations.start[:-1], stations.start[1:], strict=True):
        met: set[int] = set()
        for kind, surface in zip(stations.kind[first:stop], stations.surface[first:stop], strict=True):
            if kind == WRAP:
                met.add(int(surface))
            elif kind != CONDITIONAL:
                met.clear()
            if len(met) > 1:
                return False
    return True


def new_path_work(stations: Stations, surfaces: Surfaces, n_v: int, closed_form: bool = False) -> PathWork:
    """Allocate a PathWork. closed_form : result of wraps_in_closed_form; True leaves iterative solutions out
    of compilation.
    """
    n_station, n_muscle = len(stations.kind), len(stations.start) - 1
    return allocate(
        PathWork,
        n_station=n_station,
        n_muscle=n_muscle,
        n_v=n_v,
        wrap=new_wrap_work(n_station, len(surfaces.kind), closed_form),
    )


@njit
def follow_paths(tree, stations, surfaces, pose, q, work):
    """Find the paths of all muscles at a pose: write their lengths, statuses and straight pieces into work.

    tree : Tree - the joint tree
    stations : Stations - path points and wrapping surfaces (stations) of all paths
    surfaces : Surfaces - the wrapping surfaces
    pose : Pose - positions and orientations of all bodies in ground
    q : (n_q,) - generalized coordinates [rad, m]
    work : PathWork - results and working space of all paths, written
    """
    place_surfaces(surfaces, pose, work.wrap)
    for m in range(stations.start.shape[0] - 1):
        follow_path(tree, stations, surfaces, pose, q, m, work)


@njit
def follow_path(tree, stations, surfaces, pose, q, m, work):
    """Find the path of muscle m: write its length, status and straight pieces into work; call it after
    wrap.place_surfaces.

    tree : Tree - the joint tree
    stations : Stations - path points and wrapping surfaces (stations) of all paths
    surfaces : Surfaces - the wrapping surfaces
    pose : Pose - positions and orientations of all bodies in ground
    q : (n_q,) - generalized coordinates [rad, m]
    m : int - index of the muscle
    work : PathWork - results and working space of all paths, written
    """
    first, stop = stations.start[m], stations.start[m + 1]
    work.n_piece[m], work.length[m], work.status[m], work.inside[m] = 0, 0.0, OK, 0
    before, first_wrap = -1, -1
    for s in range(first, stop):
        if stations.kind[s] == WRAP:
            first_wrap = s if first_wrap < 0 else first_wrap
            continue
        if not place_station(tree, stations, pose, q, s, work.local, work.point[s], work.slip[s]):
            continue
        if before >= 0:
            if first_wrap >= 0:
                status = wrap_between(stations, surfaces, m, before, s, first_wrap, work)
                work.status[m] = max(work.status[m], status)
            join(stations, pose, m, before, s, first_wrap, work)
        before, first_wrap = s, -1
    if not work.length[m] > SHORTEST:
        work.status[m] = NO_LENGTH


@njit
def wrap_between(stations, surfaces, m, before, after, first_wrap, work):
    """Find the path of muscle m between two of its points over the wrapping surfaces between them; return the
    status.

    A surface that the path may meet between any two of its points has a wrap station between each two. If the
    conditional point between two such stations is not active, both stations lie between the same two points;
    the surface is then used once. A surface that contains one of the points is left out if its station has
    the flag YIELDS; work.inside is then 1.

    stations : Stations - path points and wrapping surfaces (stations) of all paths
    surfaces : Surfaces - the wrapping surfaces
    m : int - index of the muscle
    before, after : int - stations of the two points
    first_wrap : int - first wrap station between them
    work : PathWork - results and working space of all paths, written
    """
    P, Q, wrap = work.point[before], work.point[after], work.wrap
    n, last, yields = 0, -1, False
    for i in range(first_wrap, after):
        wrap.touching[i] = 0
        wrap.now[i] = choose(stations, surfaces, m, i, first_wrap, P, Q, work)
        yields = yields or stations.manner[i] & YIELDS != 0
    for i in range(first_wrap, after):
        if wrap.now[i] >= 0:
            n, last = n + 1, i
    if n == 0:
        return OK
    first, stop = (last, last + 1) if n == 1 else (first_wrap, after)
    status = wrap_run(surfaces, wrap.now, stations.side, first, stop, P, Q, wrap)
    if status == POINT_INSIDE and yields:
        work.inside[m] = 1
        return OK
    return status


@njit
def choose(stations, surfaces, m, i, first_wrap, P, Q, work):
    """Return the index of the surface over which a wrap station leads the path between two points; -1 = none,
    as its surface contains a point, is used already or need not be passed.

    stations : Stations - path points and wrapping surfaces (stations) of all paths
    surfaces : Surfaces - the wrapping surfaces
    m : int - index of the muscle
    i : int - index of the wrap station
    first_wrap : int - first wrap station between the two points
    P, Q : (3,) - path points before and after the station, in ground [m]
    work : PathWork - results and working space, written; wrap.now is known for the stations before i
    """
    k, wrap, manner = stations.surface[i], work.wrap, stations.manner[i]
    if k < 0:
        return -1
    if manner & YIELDS and (lies_inside(surfaces, k, P, wrap) or lies_inside(surfaces, k, Q, wrap)):
        work.inside[m] = 1
        return -1
    for j in range(first_wrap, i):
        if wrap.now[j] != k:
            continue
        if manner & PASSING or not stations.manner[j] & PASSING:
            return -1
        wrap.now[j] = -1
    if manner & PASSING:
        side = stations.side[i]
        if side[0] != 0.0 or side[1] != 0.0 or side[2] != 0.0:
            wrap_station(surfaces, k, wrap.no_side, i, P, Q, wrap, wrap.chain)
            met = wrap.touching[i] == 1
            wrap.touching[i] = 0
            if not met:
                return -1
    return k


@njit
def join(stations, pose, m, before, after, first_wrap, work):
    """Write the straight pieces of muscle m between two points, over the surfaces touched between them.

    stations : Stations - path points and wrapping surfaces (stations) of all paths
    pose : Pose - positions and orientations of all bodies in ground
    m : int - index of the muscle
    before : int - station of the point before
    after : int - station of the point after
    first_wrap : int - first wrap station between them, -1 = there is none
    work : PathWork - results and working space of all paths, written
    """
    at, start = before, work.point[before]
    if first_wrap >= 0:
        for s in range(first_wrap, after):
            if work.wrap.touching[s]:
                add_piece(stations, pose, m, at, s, start, work.wrap.entry[s], work)
                work.length[m] += work.wrap.arc[s]
                at, start = s, work.wrap.exit[s]
    add_piece(stations, pose, m, at, after, start, work.point[after], work)


@njit
def add_piece(stations, pose, m, s_from, s_to, x_from, x_to, work):
    """Write the unit wrench of one straight piece of muscle m, and add its length to that of the path.

    stations : Stations - path points and wrapping surfaces (stations) of all paths
    pose : Pose - positions and orientations of all bodies in ground
    m : int - index of the muscle
    s_from : int - station where the piece begins
    s_to : int - station where the piece ends
    x_from : (3,) - start of the piece in ground [m]
    x_to : (3,) - end of the piece in ground [m]
    work : PathWork - results and working space of all paths, written
    """
    ex, ey, ez = x_to[0] - x_from[0], x_to[1] - x_from[1], x_to[2] - x_from[2]
    length = np.sqrt(ex * ex + ey * ey + ez * ez)
    work.length[m] += length
    # next to a surface the path's tangent is known, also where the point lies on the surface
    if stations.kind[s_to] == WRAP:
        e = work.wrap.entry_direction[s_to]
        ex, ey, ez = e[0], e[1], e[2]
    elif stations.kind[s_from] == WRAP:
        e = work.wrap.exit_direction[s_from]
        ex, ey, ez = e[0], e[1], e[2]
    elif length > SHORTEST:
        ex, ey, ez = ex / length, ey / length, ez / length
    else:  # no direction, no force
        return
    origin = pose.position[0]
    x, y, z = x_from[0] - origin[0], x_from[1] - origin[1], x_from[2] - origin[2]
    row = stations.start[m] + work.n_piece[m]
    w = work.wrench[row]
    w[0], w[1], w[2] = y * ez - z * ey, z * ex - x * ez, x * ey - y * ex
    w[3], w[4], w[5] = ex, ey, ez
    work.bodies[row, 0], work.bodies[row, 1] = stations.body[s_from], stations.body[s_to]
    work.ends[row, 0], work.ends[row, 1] = s_from, s_to
    work.n_piece[m] += 1


@njit
def gradients(tree, stations, pose, moving_work, work):
    """Write the derivatives of all muscles' lengths along each dof into work.gradient; call it after
    follow_paths.

    tree : Tree - the joint tree
    stations : Stations - path points and wrapping surfaces (stations) of all paths
    pose : Pose - positions and orientations of all bodies in ground
    moving_work : int - 1 = with the derivatives by coordinates that move path points, 0 = without
    work : PathWork - results and working space of all paths, written
    """
    for m in range(stations.start.shape[0] - 1):
        gradient(tree, stations, pose, moving_work, m, work)


@njit
def gradient(tree, stations, pose, moving_work, m, work):
    """Write the derivative of muscle m's length along each dof into work.gradient[m]; call it after
    follow_path.

    tree : Tree - the joint tree
    stations : Stations - path points and wrapping surfaces (stations) of all paths
    pose : Pose - positions and orientations of all bodies in ground
    moving_work : int - 1 = with the derivatives by coordinates that move path points, 0 = without
    m : int - index of the muscle
    work : PathWork - results and working space of all paths, written
    """
    row = work.gradient[m]
    for d in range(row.shape[0]):
        row[d] = 0.0
    for k in range(stations.start[m], stations.start[m] + work.n_piece[m]):
        piece_gradient(tree, pose, work.bodies[k, 0], work.bodies[k, 1], work.wrench[k], row)
        if moving_work:
            for end in range(2):
                s = work.ends[k, end]
                if stations.dof[s] >= 0 and stations.kind[s] != WRAP:
                    row[stations.dof[s]] += (2 * end - 1) * pull_on_slip(work, k, s)


@njit
def pull_on_slip(work, k, s):
    """Return the derivative of the length of a straight piece with respect to the coordinate that moves its
    end within a body.

    It is the unit direction of the piece times the derivative of the point; the sign, which differs between
    the two ends of a piece, is left to the caller.

    work : PathWork - pieces of the path; k : int - row of the piece; s : int - station at that end.
    """
    w, slip = work.wrench[k], work.slip[s]
    return w[3] * slip[0] + w[4] * slip[1] + w[5] * slip[2]


@njit
def piece_gradient(tree, pose, body_a, body_b, w, row):
    """Add the derivative of a straight piece's length along each dof to row.

    From both bodies the dofs are followed towards ground, each time from the body with the later dof, until
    both meet: dofs nearer to ground move both ends alike.

    tree : Tree - the joint tree
    pose : Pose - positions and orientations of all bodies in ground
    body_a, body_b : int - indices of the bodies at start and end, -1 = ground
    w : (6,) - wrench (r x e, e) of the piece about the origin of body 0
    row : (n_v,) - derivative of the length, added to
    """
    a = tree.last_dof[body_a] if body_a >= 0 else -1
    b = tree.last_dof[body_b] if body_b >= 0 else -1
    while a != b:
        if a > b:
            row[a] -= along(pose.twist, a, w[0], w[1], w[2], w[3], w[4], w[5])
            a = tree.dof_parent[a]
        else:
            row[b] += along(pose.twist, b, w[0], w[1], w[2], w[3], w[4], w[5])
            b = tree.dof_parent[b]


@njit
def add_forces(stations, m, tension, moving_work, work, wrench, tau):
    """Add the forces of muscle m under a given tension on all bodies; call it after follow_paths (Sherman,
    Seth, Delp 2010, eq. 2).

    stations : Stations - path points and wrapping surfaces (stations) of all paths
    m : int - index of the muscle
    tension : float - tension of the muscle [N]
    moving_work : int - 1 = with the forces on the coordinates by which path points move within their bodies,
        0 = without
    work : PathWork - pieces of the path
    wrench : (n_body, 6) - moment about the origin of body 0 and force on every body that the path touches
    tau : (n_v,) - forces on the coordinates by which path points move, which act on no body
    """
    for k in range(stations.start[m], stations.start[m] + work.n_piece[m]):
        for end in range(2):
            sign = (1 - 2 * end) * tension
            body, s = work.bodies[k, end], work.ends[k, end]
            if body >= 0:
                for i in range(6):
                    wrench[body, i] += sign * work.wrench[k, i]
            if moving_work and stations.dof[s] >= 0 and stations.kind[s] != WRAP:
                tau[stations.dof[s]] += sign * pull_on_slip(work, k, s)


@njit
def lengthening_speed(stations, velocities, v, m, work):
    """Return the lengthening speed dl/dt of muscle m's path [m/s]; call it after follow_paths.

    stations : Stations - path points and wrapping surfaces (stations) of all paths
    velocities : (n_body, 6) - spatial velocities of the bodies [rad/s, m/s]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    m : int - index of the muscle
    work : PathWork - pieces of the path
    """
    speed = 0.0
    for k in range(stations.start[m], stations.start[m] + work.n_piece[m]):
        w = work.wrench[k]
        for end in range(2):
            sign = 2.0 * end - 1.0
            body, s = work.bodies[k, end], work.ends[k, end]
            if body >= 0:
                speed += sign * along(velocities, body, w[0], w[1], w[2], w[3], w[4], w[5])
            if stations.dof[s] >= 0 and stations.kind[s] != WRAP:
                speed += sign * v[stations.dof[s]] * pull_on_slip(work, k, s)
    return speed
