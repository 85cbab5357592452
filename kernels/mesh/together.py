"""The closest triangles of vertices that lie near each other, found together.

Each has a triangle that was closest before, so that none farther than the farthest of these can be now. The
leaves of boxes within that of all of them are gathered once; of each vertex then a disc around every triangle
in them tells which few have to be looked at.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import inlined, njit
from kernels.mesh.meshes import BOX, BOX_DEPTH, LEAF, MIDDLE, N_DISC, REACH, TRIANGLES_IN_LEAF, UPRIGHT
from kernels.mesh.nearest import gap_to


@inlined
def room_gap(box, room):
    """Squared distance of two boxes : (6,) [m^2]."""
    dx = max(box[0] - room[3], room[0] - box[3], 0.0)
    dy = max(box[1] - room[4], room[1] - box[4], 0.0)
    dz = max(box[2] - room[5], room[2] - box[5], 0.0)
    return dx * dx + dy * dy + dz * dz


@inlined
def add_to_room(x, y, z, first, room):
    """room : (6,) - holds a point, too, or that alone where it is the first one [m].

    x, y, z : float - point [m]
    first : bool
    """
    at = (x, y, z)
    for i in range(3):
        room[i] = at[i] if first else min(room[i], at[i])
        room[3 + i] = at[i] if first else max(room[3 + i], at[i])


@inlined
def gather(meshes, row, reach, work):
    """How many leaves of boxes lie within reach of work.room; -1 where they are too many.

    meshes : Meshes
    row : (N_TABLE,) int64 - of the surface
    reach : float - squared [m^2]
    work : MeshWork - near, near_disc and node written
    """
    n = leaves_within(meshes.box[row[BOX] :], row[BOX_DEPTH], reach, work.room, work.node, work.near)
    lay_out(meshes.disc[row[LEAF] :], work.near, n, work.near_disc)
    return n


@njit
def leaves_within(boxes, depth, reach, room, node, near):
    """How many leaves lie within reach of a room; -1 where they are too many to be gathered.

    boxes : (n_box, 6) - of Meshes, from the root of a surface on
    depth : int - of their tree
    reach : float - squared [m^2]
    room : (6,) - of MeshWork
    node : (N_STACK,) int64 - working space
    near : (N_NEAR,) int64 - written
    """
    inner, found, n_ahead, node[0] = (1 << depth) - 1, 0, 1, 0
    while n_ahead > 0:
        n_ahead -= 1
        i = node[n_ahead]
        while i < inner:
            i = 2 * i + 1
            one, other = room_gap(boxes[i], room) <= reach, room_gap(boxes[i + 1], room) <= reach
            if not (one or other):
                break
            if one and other:
                node[n_ahead] = i + 1
                n_ahead += 1
            elif other:
                i += 1
        else:
            if found == near.shape[0]:
                return -1
            near[found] = i - inner
            found += 1
    return found


@njit
def lay_out(disc, near, n, near_disc):
    """near_disc : (N_DISC, N_NEAR_TRIANGLE) - the discs of n leaves, one leaf after the other.

    disc : (n_leaf, N_DISC, TRIANGLES_IN_LEAF) - of Meshes, from the first leaf of a surface on
    near : (N_NEAR,) int64 - leaves
    n : int
    """
    for k in range(n):
        leaf = disc[near[k]]
        for i in range(N_DISC):
            for j in range(TRIANGLES_IN_LEAF):
                near_disc[i, TRIANGLES_IN_LEAF * k + j] = leaf[i, j]


@njit
def screen(disc, n, x, y, z, gap):
    """gap : (N_NEAR_TRIANGLE,) - squared distances of a point and each disc of n leaves [m^2].

    disc : (N_DISC, N_NEAR_TRIANGLE) - of MeshWork.near_disc
    n : int
    x, y, z : float - point [m]
    """
    for j in range(n * TRIANGLES_IN_LEAF):
        dx, dy, dz = x - disc[MIDDLE, j], y - disc[MIDDLE + 1, j], z - disc[MIDDLE + 2, j]
        height = disc[UPRIGHT, j] * dx + disc[UPRIGHT + 1, j] * dy + disc[UPRIGHT + 2, j] * dz
        beside = math.sqrt(max(dx * dx + dy * dy + dz * dz - height * height, 0.0))
        beside = max(beside - disc[REACH, j], 0.0)
        gap[j] = height * height + beside * beside


@njit
def closest_of(triangles, leaves, gaps, x, y, z, found):
    """The triangle found, or one gathered that is closer to a point.

    triangles : (n_triangle, N_TRIANGLE_ROW) - of Meshes
    leaves : (near, n, first, number, depth) - leaves and how many, triangles and depth of the surface
    gaps : (N_NEAR_TRIANGLE,) - after screen
    x, y, z : float - point, in the axes of the surface [m]
    found : (float, int) - squared distance [m^2] of a triangle that may be closest
    """
    near, n, first, number, depth = leaves
    gap, triangle = found
    for k in range(n):
        leaf = gaps[TRIANGLES_IN_LEAF * k : TRIANGLES_IN_LEAF * (k + 1)]
        least = math.inf
        for j in range(TRIANGLES_IN_LEAF):
            least = min(least, leaf[j])
        if least < gap:
            start = first + ((near[k] * number) >> depth)
            for j in range(TRIANGLES_IN_LEAF):
                if leaf[j] < gap:
                    other = gap_to(triangles[start + j], x, y, z)
                    if other < gap:
                        gap, triangle = other, start + j
    return triangle
