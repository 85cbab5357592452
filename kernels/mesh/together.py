"""Search for the closest triangles of several neighbouring vertices at once.

Every vertex has a triangle that was closest to it before; no triangle farther away than the farthest of these
can be closest now. The leaves of the tree of boxes within that distance of all the vertices are collected
once. Then, for each vertex, its distances from discs around the triangles in these leaves show which few
triangles must be examined.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import inlined, njit
from kernels.mesh.meshes import BOX, BOX_DEPTH, LEAF, MIDDLE, N_DISC, REACH, TRIANGLES_IN_LEAF, UPRIGHT
from kernels.mesh.nearest import gap_to


@inlined
def room_gap(box, room):
    """Return the squared distance [m^2] between two axis-parallel boxes, each (6,): lowest and highest x, y,
    z."""
    dx = max(box[0] - room[3], room[0] - box[3], 0.0)
    dy = max(box[1] - room[4], room[1] - box[4], 0.0)
    dz = max(box[2] - room[5], room[2] - box[5], 0.0)
    return dx * dx + dy * dy + dz * dz


@inlined
def add_to_room(x, y, z, first, room):
    """Extend a box to contain a point, or start the box at that point if it is the first one.

    x, y, z : float - the point [m]
    first : bool - whether it is the first point
    room : (6,) - lowest and highest x, y, z of the box [m], changed
    """
    at = (x, y, z)
    for i in range(3):
        room[i] = at[i] if first else min(room[i], at[i])
        room[3 + i] = at[i] if first else max(room[3 + i], at[i])


@inlined
def gather(meshes, row, reach, work):
    """Collect the leaves of a surface's tree of boxes that are within a distance of the box work.room, which
    contains the vertices whose closest triangles are searched for; return their number, -1 if too many.

    meshes : Meshes - the surfaces of all meshes
    row : (N_TABLE,) int64 - the surface's row of Meshes.table
    reach : float - square of the distance [m^2]
    work : MeshWork - room is read; near, near_disc and node are written
    """
    n = leaves_within(meshes.box[row[BOX] :], row[BOX_DEPTH], reach, work.room, work.node, work.near)
    lay_out(meshes.disc[row[LEAF] :], work.near, n, work.near_disc)
    return n


@njit
def leaves_within(boxes, depth, reach, room, node, near):
    """Find the leaves of a tree of boxes within a distance of a box; return their number, -1 if too many to
    be stored.

    boxes : (n_box, 6) - Meshes.box, from the root of a surface on
    depth : int - depth of the tree of boxes
    reach : float - square of the distance [m^2]
    room : (6,) - lowest and highest x, y, z of the box [m]
    node : (N_STACK,) int64 - working space
    near : (N_NEAR,) int64 - numbers of the leaves, written
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
    """Copy the discs around the triangles of n leaves, one leaf after the other, into near_disc.

    disc : (n_leaf, N_DISC, TRIANGLES_IN_LEAF) - Meshes.disc, from the first leaf of a surface on
    near : (N_NEAR,) int64 - numbers of the leaves
    n : int - number of leaves
    near_disc : (N_DISC, N_NEAR_TRIANGLE) - discs of their triangles, written
    """
    for k in range(n):
        leaf = disc[near[k]]
        for i in range(N_DISC):
            for j in range(TRIANGLES_IN_LEAF):
                near_disc[i, TRIANGLES_IN_LEAF * k + j] = leaf[i, j]


@njit
def screen(disc, n, x, y, z, gap):
    """Write the squared distances between a point and each disc around the triangles of n leaves.

    disc : (N_DISC, N_NEAR_TRIANGLE) - MeshWork.near_disc
    n : int - number of leaves
    x, y, z : float - the point [m]
    gap : (N_NEAR_TRIANGLE,) - squared distances [m^2], written
    """
    for j in range(n * TRIANGLES_IN_LEAF):
        dx, dy, dz = x - disc[MIDDLE, j], y - disc[MIDDLE + 1, j], z - disc[MIDDLE + 2, j]
        height = disc[UPRIGHT, j] * dx + disc[UPRIGHT + 1, j] * dy + disc[UPRIGHT + 2, j] * dz
        beside = math.sqrt(max(dx * dx + dy * dy + dz * dz - height * height, 0.0))
        beside = max(beside - disc[REACH, j], 0.0)
        gap[j] = height * height + beside * beside


@njit
def closest_of(triangles, leaves, gaps, x, y, z, found):
    """Return the number of the triangle closest to a point, among those in the collected leaves and the one
    found before.

    triangles : (n_triangle, N_TRIANGLE_ROW) - Meshes.triangle
    leaves : (near, n, first, number, depth) - numbers of the leaves, and how many they are; first triangle,
        number of triangles and depth of the tree of the surface
    gaps : (N_NEAR_TRIANGLE,) - squared distances of the point from the triangles' discs, from `screen` [m^2]
    x, y, z : float - the point, in the axes of the surface [m]
    found : (float, int) - squared distance [m^2] and number of the triangle found before
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
