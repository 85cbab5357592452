"""Newton's method for a path over several surfaces: it makes every straight piece tangent to the geodesics at
its ends.

The wrapping surfaces of a path, in their order, are called stations. Each touched surface has four unknowns.
The entry, where the path arrives on the surface, moves by alpha along the path and by beta sideways. The
direction at the entry rotates by omega. The exit, where the path leaves, moves along the path by an alpha of
its own. The Jacobi fields of the geodesic give the motion of the exit from beta and omega. The four residuals
are the components of the straight pieces before and after the surface along the surface normal n and the
binormal b = n x t, with the tangent t. The normal curvatures k_t, k_b and the geodesic torsion tau of the
surface determine how this frame rotates: dn = (k_t alpha + tau beta) t + (tau alpha + k_b beta) b, db = -(dn
. b) n - omega t. Scholz, Sherman, Stavness, Delp and Kecskemethy 2016, Multibody Syst Dyn 36, 195-219,
sections 3 and 4.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.algebra.rotation import rotate
from kernels.algebra.spatial import dot
from kernels.compiler.jit import njit
from kernels.path.geodesic import flow
from kernels.path.surfaces import curvatures, lay_on, normal

N_NEWTON = 8
CONVERGED = 1e-9  # step, of the sizes and in rad; the next one would be its square
STEP_MAX = 0.5  # beyond, the first guess was too far
PINNED = 1e-6  # a straight piece this short, of the size: the end of the path lies on the surface


class ChainWork(NamedTuple):
    """Frames and Jacobi fields of a path at the surfaces that it touches, and the linear system of a Newton
    step.
    """

    frame: Annotated[np.ndarray, Floats("n_station", 2, 3, 3)]  # rows t, n, b at entry and exit, in ground
    bend: Annotated[np.ndarray, Floats("n_station", 2, 3)]  # k_t, tau, k_b there [1/m]
    field: Annotated[np.ndarray, Floats("n_station", 4)]  # a, a', r, r'
    point: Annotated[np.ndarray, Floats("n_station", 2, 3)]  # entry and exit in ground [m]
    matrix: Annotated[np.ndarray, Floats("4 * n_station", "4 * n_station")]
    rhs: Annotated[np.ndarray, Floats("4 * n_station")]
    slot: Annotated[np.ndarray, Integers("n_station")]  # touched stations in order
    vector: Annotated[np.ndarray, Floats(6, 3)]


def new_chain_work(n_station: int) -> ChainWork:
    """Allocate a ChainWork for paths with n_station stations: frames, Jacobi fields and the linear system."""
    return allocate(ChainWork, n_station=n_station)


@njit
def refine(run, wraps, work):
    """Move the entry and exit points on all touched surfaces by Newton's method until the path has no corner;
    return whether that succeeded.

    run : WrapRun - the successive wrapping surfaces (stations) between two points of the path
    wraps : WrapWork - touching and placement are read; ends (in the surface frames) and arc [m] contain the
        first guess and, on return, the result
    work : ChainWork - frames, Jacobi fields and the linear system, written
    """
    surfaces, stations_surface, ends, arc = run.surfaces, run.surface, wraps.ends, wraps.arc
    n = 0
    for i in range(run.first, run.last):
        if wraps.touching[i] == 1:
            work.slot[n] = i
            n += 1
    for _ in range(N_NEWTON):
        for m in range(n):
            i = work.slot[m]
            geometry(surfaces, stations_surface[i], wraps.placement, ends[i], arc[i], i, work)
        assemble(surfaces, stations_surface, n, run.P, run.Q, work)
        if not solve(work.matrix, work.rhs, 4 * n):
            return False
        largest = 0.0
        for m in range(n):
            i = work.slot[m]
            size = surfaces.size[stations_surface[i], 0]
            x = work.rhs[4 * m : 4 * m + 4]
            largest = max(largest, abs(x[0]) / size, abs(x[1]) / size, abs(x[2]), abs(x[3]) / size)
        if not largest < STEP_MAX:
            return False
        for m in range(n):
            i = work.slot[m]
            x = work.rhs[4 * m : 4 * m + 4]
            move(surfaces, stations_surface[i], ends[i], x, work.vector)
            arc[i] += work.rhs[4 * m + 3] - work.rhs[4 * m]
            if not arc[i] > 0.0:
                return False
        if largest < CONVERGED:
            for m in range(n):
                i = work.slot[m]
                k = stations_surface[i]
                kind, size = surfaces.kind[k], surfaces.size[k]
                flow(kind, size, ends[i, 0], ends[i, 2], arc[i], ends[i, 1], ends[i, 3])
            return True
    return False


@njit
def geometry(surfaces, k, placement, ends, arc, i, work):
    """Follow the geodesic of one station from its entry; write frames and curvatures at both ends into work,
    and the exit into ends.

    surfaces : Surfaces - the wrapping surfaces
    k : int - index of the surface
    placement : Placement - positions and axes of the surfaces in ground
    ends : (4, 3) - entry, exit [m] and the directions there, in the surface frame; exit and its direction are
        written
    arc : float - length of the path on the surface [m]
    i : int - index of the station
    work : ChainWork - frames, Jacobi fields and the linear system, written
    """
    kind, size, R = surfaces.kind[k], surfaces.size[k], placement.rotation[k]
    field, v = work.field[i], work.vector
    field[0], field[1], field[2], field[3] = flow(kind, size, ends[0], ends[2], arc, ends[1], ends[3])
    for end in range(2):
        x, t, n, b = ends[end], ends[2 + end], v[0], v[1]
        normal(kind, size, x, n)
        b[0], b[1], b[2] = n[1] * t[2] - n[2] * t[1], n[2] * t[0] - n[0] * t[2], n[0] * t[1] - n[1] * t[0]
        bend = work.bend[i, end]
        bend[0], bend[1], bend[2] = curvatures(kind, size, x, t, b)
        rotate(R, t, work.frame[i, end, 0])
        rotate(R, n, work.frame[i, end, 1])
        rotate(R, b, work.frame[i, end, 2])
        rotate(R, x, work.point[i, end])
        for c in range(3):
            work.point[i, end, c] += placement.position[k, c]


@njit
def assemble(surfaces, stations_surface, n, P, Q, work):
    """Write the linear equations of a Newton step, which make all straight pieces tangent to the surfaces,
    into work.matrix and work.rhs.

    Each equation is multiplied by the length of its straight piece.

    surfaces : Surfaces - the wrapping surfaces
    stations_surface : (n_station,) int64 - index of the surface of each wrap station
    n : int - number of touched stations
    P : (3,) - start of the path in ground [m]
    Q : (3,) - end of the path in ground [m]
    work : ChainWork - frames, Jacobi fields and the linear system, written
    """
    for row in range(4 * n):
        for column in range(4 * n):
            work.matrix[row, column] = 0.0
    for m in range(n):
        i = work.slot[m]
        size = surfaces.size[stations_surface[i], 0]
        for end in range(2):
            j = m - 1 if end == 0 else m + 1
            if j < 0:
                other = P
            elif j == n:
                other = Q
            else:
                other = work.point[work.slot[j], 1 - end]
            piece(m, end, other, j if j < n else -1, size, work)


@njit
def piece(m, end, other, neighbour, size, work):
    """Write the two equations of a Newton step by which the straight piece from one end of the m-th touched
    station to the point `other` becomes tangent to the geodesic at that end.

    m : int - index of the touched station
    end : int - end of the contact, 0 = entry, 1 = exit
    other : (3,) - the other end of the piece, in ground [m]
    neighbour : int - index, among the touched stations, of the one at the other end; -1 = the other end is an
        end of the path
    size : float - size of the surface [m]
    work : ChainWork - frames, Jacobi fields and the linear system, written
    """
    i = work.slot[m]
    e, x, frame, bend = work.vector[2], work.point[i, end], work.frame[i, end], work.bend[i, end]
    sign = 1.0 if end == 0 else -1.0
    for c in range(3):
        e[c] = sign * (x[c] - other[c])
    d = math.sqrt(dot(e, e))
    row = 4 * m + 2 * end
    if d < PINNED * size:
        work.rhs[row], work.rhs[row + 1] = 0.0, 0.0
        put(m, end, row, 1.0, 0.0, 0.0, work)
        put(m, end, row + 1, 0.0, 1.0, -sign * d, work)
        return
    for c in range(3):
        e[c] /= d
    t_e, n_e, b_e = dot(frame[0], e), dot(frame[1], e), dot(frame[2], e)
    for part in range(2):
        m_e = n_e if part == 0 else b_e
        across = work.vector[3]
        for c in range(3):
            across[c] = sign * (frame[1 + part, c] - m_e * e[c])
        along, aside = dot(across, frame[0]), dot(across, frame[2])
        if part == 0:
            turn_a, turn_b = bend[0] * t_e + bend[1] * b_e, bend[1] * t_e + bend[2] * b_e
            put(m, end, row, along + d * turn_a, aside + d * turn_b, 0.0, work)
        else:
            turn_a, turn_b = -bend[1] * n_e, -bend[2] * n_e
            put(m, end, row + 1, along + d * turn_a, aside + d * turn_b, -d * t_e, work)
        if neighbour >= 0:
            there = work.frame[work.slot[neighbour], 1 - end]
            put(neighbour, 1 - end, row + part, -dot(across, there[0]), -dot(across, there[2]), 0.0, work)
        work.rhs[row + part] = -d * m_e


@njit
def put(m, end, row, alpha, beta, omega, work):
    """Add the terms of one end of the m-th touched station to an equation (row) of the linear system.

    m : int - index of the touched station
    end : int - end of the contact, 0 = entry, 1 = exit
    row : int - row of the linear system
    alpha : float - coefficient of the motion of that end along the path
    beta : float - coefficient of its motion sideways
    omega : float - coefficient of the rotation of the path's direction there
    work : ChainWork - frames, Jacobi fields and the linear system, written
    """
    H, c = work.matrix, 4 * m
    if end == 0:
        H[row, c] += alpha
        H[row, c + 1] += beta
        H[row, c + 2] += omega
        return
    field = work.field[work.slot[m]]
    H[row, c + 3] += alpha
    H[row, c + 1] += beta * field[0] + omega * field[1]
    H[row, c + 2] += beta * field[2] + omega * field[3]


@njit
def move(surfaces, k, ends, x, vector):
    """Apply a Newton step to the entry of a geodesic and to its direction there, and project both back onto
    the surface.

    surfaces : Surfaces - the wrapping surfaces
    k : int - index of the surface
    ends : (4, 3) - entry, exit [m] and the directions there, in the surface frame; entry and its direction
        are written
    x : (4,) - the step: alpha, beta [m] and omega [rad] of the entry, alpha of the exit [m], which is not
        used
    vector : (6, 3) - working space
    """
    kind, size = surfaces.kind[k], surfaces.size[k]
    point, t, n = ends[0], ends[2], vector[0]
    normal(kind, size, point, n)
    bx, by, bz = n[1] * t[2] - n[2] * t[1], n[2] * t[0] - n[0] * t[2], n[0] * t[1] - n[1] * t[0]
    point[0] += x[0] * t[0] + x[1] * bx
    point[1] += x[0] * t[1] + x[1] * by
    point[2] += x[0] * t[2] + x[1] * bz
    t[0], t[1], t[2] = t[0] + x[2] * bx, t[1] + x[2] * by, t[2] + x[2] * bz
    lay_on(kind, size, point, t, n)


@njit
def solve(H, x, n):
    """Solve the linear system H x = b by Gaussian elimination with row exchange; return False if H is
    singular.

    H : (n, n) or larger - matrix, destroyed
    x : (n,) - b on entry, the solution on return
    n : int - number of equations
    """
    for j in range(n):
        pivot = j
        for i in range(j + 1, n):
            if abs(H[i, j]) > abs(H[pivot, j]):
                pivot = i
        if not abs(H[pivot, j]) > 0.0:
            return False
        if pivot != j:
            for c in range(j, n):
                H[j, c], H[pivot, c] = H[pivot, c], H[j, c]
            x[j], x[pivot] = x[pivot], x[j]
        inverse = 1.0 / H[j, j]
        for i in range(j + 1, n):
            factor = H[i, j] * inverse
            if factor != 0.0:
                for c in range(j + 1, n):
                    H[i, c] -= factor * H[j, c]
                x[i] -= factor * x[j]
    for j in range(n - 1, -1, -1):
        s = x[j]
        for c in range(j + 1, n):
            s -= H[j, c] * x[c]
        x[j] = s / H[j, j]
    return True
