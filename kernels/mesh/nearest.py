"""Closest point of a triangle surface to a given point, and the side of the surface on which that point is.

The closest point of one triangle follows Ericson (2005), Real-Time Collision Detection, section 5.1.5, by the
regions of its corners, edges and face. The side follows Baerentzen, Aanaes (2005), IEEE Trans Vis Comput
Graph 11:243-253: it is the sign of (point - closest) . N, where N is the normal of the face, the sum of the
normals at the edge, or the sum of the normals at the corner weighted by angle.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import entry, inlined, njit
from kernels.mesh.meshes import (
    BOX,
    BOX_DEPTH,
    DOTS,
    N_TRIANGLE,
    NORMAL,
    ORIGIN,
    SIDE_AB,
    SIDE_AC,
    TRIANGLE,
)

FACE, EDGE, CORNER = 0, 1, 4
"""The feature that is closest: the face, EDGE + k (ab, bc, ca), or CORNER + k (a, b, c)."""


@inlined
def on_triangle(row, x, y, z):
    """Find the point of a triangle that is closest to a given point; return (squared distance [m^2], u, v,
    feature).

    The closest point is a + u ab + v ac, with corner a and sides ab and ac of the triangle; it lies on its
    feature, which is FACE, EDGE + k or CORNER + k.

    row : (N_TRIANGLE_ROW,) - the triangle's row of Meshes.triangle
    x, y, z : float - the point, in the axes of the surface [m]
    """
    px, py, pz = x - row[ORIGIN], y - row[ORIGIN + 1], z - row[ORIGIN + 2]
    d1 = row[SIDE_AB] * px + row[SIDE_AB + 1] * py + row[SIDE_AB + 2] * pz
    d2 = row[SIDE_AC] * px + row[SIDE_AC + 1] * py + row[SIDE_AC + 2] * pz
    bb, bc, cc = row[DOTS], row[DOTS + 1], row[DOTS + 2]
    d3, d4, d5, d6 = d1 - bb, d2 - bc, d1 - bc, d2 - cc
    of_c, of_b, of_a = d1 * d4 - d3 * d2, d5 * d2 - d1 * d6, d3 * d6 - d5 * d4
    if d1 <= 0.0 and d2 <= 0.0:
        u, v, what = 0.0, 0.0, CORNER
    elif d3 >= 0.0 and d4 <= d3:
        u, v, what = 1.0, 0.0, CORNER + 1
    elif d6 >= 0.0 and d5 <= d6:
        u, v, what = 0.0, 1.0, CORNER + 2
    elif of_c <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        u, v, what = d1 / bb, 0.0, EDGE
    elif of_b <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        u, v, what = 0.0, d2 / cc, EDGE + 2
    elif of_a <= 0.0 and d4 >= d3 and d5 >= d6:
        v = (d4 - d3) / (bb - 2.0 * bc + cc)
        u, what = 1.0 - v, EDGE + 1
    else:
        per_area = 1.0 / (of_a + of_b + of_c)
        u, v, what = of_b * per_area, of_c * per_area, FACE
    dx = px - u * row[SIDE_AB] - v * row[SIDE_AC]
    dy = py - u * row[SIDE_AB + 1] - v * row[SIDE_AC + 1]
    dz = pz - u * row[SIDE_AB + 2] - v * row[SIDE_AC + 2]
    return dx * dx + dy * dy + dz * dz, u, v, what


@inlined
def triangle_gap(row, px, py, pz, height):
    """Return the squared distance between a triangle and a point [m^2].

    The distances to the face and to all three edges are computed without branches, and one is chosen: which
    one is closest changes from triangle to triangle, and a wrongly predicted branch would cost the processor
    more.

    row : (N_TRIANGLE_ROW,) - the triangle's row of Meshes.triangle
    px, py, pz : float - vector from corner a to the point [m]
    height : float - height of the point above the triangle's plane [m]
    """
    d1 = row[SIDE_AB] * px + row[SIDE_AB + 1] * py + row[SIDE_AB + 2] * pz
    d2 = row[SIDE_AC] * px + row[SIDE_AC + 1] * py + row[SIDE_AC + 2] * pz
    bb, bc, cc = row[DOTS], row[DOTS + 1], row[DOTS + 2]
    d3, d4, d5, d6 = d1 - bb, d2 - bc, d1 - bc, d2 - cc
    least = min(d1 * d4 - d3 * d2, d5 * d2 - d1 * d6, d3 * d6 - d5 * d4)
    pp, across = px * px + py * py + pz * pz, bb - 2.0 * bc + cc
    t = min(max(d1 / bb, 0.0), 1.0)
    s = min(max(d2 / cc, 0.0), 1.0)
    r = min(max((d4 - d3) / across, 0.0), 1.0)
    at_ab, at_ac = t * (t * bb - 2.0 * d1), s * (s * cc - 2.0 * d2)
    at_bc = bb - 2.0 * d1 + r * (r * across - 2.0 * (d4 - d3))
    edge = pp + min(at_ab, at_ac, at_bc)
    return height * height if least >= 0.0 else edge


@inlined
def gap_to(row, x, y, z):
    """Return the squared distance [m^2] between the point x, y, z [m] and a triangle, row : (N_TRIANGLE_ROW,)
    of Meshes.triangle.
    """
    px, py, pz = x - row[ORIGIN], y - row[ORIGIN + 1], z - row[ORIGIN + 2]
    return triangle_gap(row, px, py, pz, row[NORMAL] * px + row[NORMAL + 1] * py + row[NORMAL + 2] * pz)


@inlined
def box_gap(box, x, y, z):
    """Return the squared distance [m^2] between a point and a box : (6,), lowest and highest x, y, z [m]; 0
    inside.
    """
    dx = max(box[0] - x, x - box[3], 0.0)
    dy = max(box[1] - y, y - box[4], 0.0)
    dz = max(box[2] - z, z - box[5], 0.0)
    return dx * dx + dy * dy + dz * dz


@inlined
def in_leaf(triangles, first, end, x, y, z, found):
    """Search the triangles of one leaf for one closer to a point than `found`; return `found` or the closer
    one.

    triangles : (n_triangle, N_TRIANGLE_ROW) - Meshes.triangle
    first, end : int - the leaf's first triangle, and the one after its last
    x, y, z : float - the point, in the axes of the surface [m]
    found : (float, int) - squared distance [m^2] and number of the closest triangle so far; returned likewise
    """
    gap, triangle = found
    for t in range(first, end):
        row = triangles[t]
        px, py, pz = x - row[ORIGIN], y - row[ORIGIN + 1], z - row[ORIGIN + 2]
        height = row[NORMAL] * px + row[NORMAL + 1] * py + row[NORMAL + 2] * pz
        if height * height < gap:
            other = triangle_gap(row, px, py, pz, height)
            if other < gap:
                gap, triangle = other, t
    return gap, triangle


@njit
def below(surface, top, x, y, z, found, node, gap):
    """Search the boxes below a node of the tree for a triangle closer to a point than `found`; return `found`
    or the closest one.

    surface : (boxes, triangles, root, depth, first, n) - Meshes.box and triangle; root and depth of the
        surface's tree, its first triangle and number of triangles
    top : int - the node from which the search starts; gap[0] is its squared distance [m^2]
    x, y, z : float - the point, in the axes of the surface [m]
    found : (float, int) - squared distance [m^2] and number of the closest triangle so far; returned likewise
    node : (N_STACK,) int64, gap : (N_STACK,) - working space, nodes and their squared distances
    """
    box, triangles, root, depth, first, n = surface
    inner, n_ahead, node[0] = (1 << depth) - 1, 1, top
    while n_ahead > 0:
        n_ahead -= 1
        i, near = node[n_ahead], gap[n_ahead]
        while near < found[0] and i < inner:
            i = 2 * i + 1
            near, far = box_gap(box[root + i], x, y, z), box_gap(box[root + i + 1], x, y, z)
            other = i + 1
            if far < near:
                near, far, i, other = far, near, other, i
            if far < found[0]:
                node[n_ahead], gap[n_ahead] = other, far
                n_ahead += 1
        if near < found[0]:
            leaf = i - inner
            start, end = (leaf * n) >> depth, ((leaf + 1) * n) >> depth
            found = in_leaf(triangles, first + start, first + end, x, y, z, found)
    return found


@njit
def search(meshes, m, x, y, z, guess, node, gap):
    """Return (squared distance [m^2], number) of the triangle of a surface that is closest to a point.

    With a guess, the search begins in its leaf and climbs to the root of the tree of boxes; most of the other
    branches are then discarded by their first box.

    meshes : Meshes - the surfaces of all meshes
    m : int - index of the surface
    x, y, z : float - the point, in the axes of the surface [m]
    guess : int - index of a triangle that may be close, -1 = none
    node : (N_STACK,) int64, gap : (N_STACK,) - working space, nodes and their squared distances
    """
    row = meshes.table[m]
    root, depth, first, n = row[BOX], row[BOX_DEPTH], row[TRIANGLE], row[N_TRIANGLE]
    surface = meshes.box, meshes.triangle, root, depth, first, n
    found = math.inf, -1
    if guess < 0:
        gap[0] = 0.0
        return below(surface, 0, x, y, z, found, node, gap)
    leaf = (((guess - first + 1) << depth) - 1) // n
    start, end = (leaf * n) >> depth, ((leaf + 1) * n) >> depth
    found = gap_to(meshes.triangle[guess], x, y, z), guess
    found = in_leaf(meshes.triangle, first + start, first + end, x, y, z, found)
    i = leaf + (1 << depth) - 1
    while i > 0:
        other = i + 1 if i % 2 == 1 else i - 1
        near = box_gap(meshes.box[root + other], x, y, z)
        if near < found[0]:
            gap[0] = near
            found = below(surface, other, x, y, z, found, node, gap)
        i = (i - 1) >> 1
    return found


@njit
def nearest(meshes, m, x, y, z, guess, node, gap):
    """Find the point of a surface that is closest to a given point; return (squared distance [m^2], u, v,
    triangle, feature). The closest point is a + u ab + v ac on this triangle, and lies on this feature of it:
    FACE, EDGE + k or CORNER + k.

    meshes : Meshes - the surfaces of all meshes
    m : int - index of the surface
    x, y, z : float - the point, in the axes of the surface [m]
    guess : int - index of a triangle that may be close, -1 = none
    node : (N_STACK,) int64, gap : (N_STACK,) - working space, nodes and their squared distances
    """
    _, t = search(meshes, m, x, y, z, guess, node, gap)
    square, u, v, what = on_triangle(meshes.triangle[t], x, y, z)
    return square, u, v, t, what


@inlined
def way_from(row, u, v, x, y, z):
    """Return the vector (x, y, z) from a point of a triangle to another point [m].

    row : (N_TRIANGLE_ROW,) - the triangle's row of Meshes.triangle
    u, v : float - coordinates of the triangle's point along ab and ac [1]
    x, y, z : float - the other point [m]
    """
    return (
        x - row[ORIGIN] - u * row[SIDE_AB] - v * row[SIDE_AC],
        y - row[ORIGIN + 1] - u * row[SIDE_AB + 1] - v * row[SIDE_AC + 1],
        z - row[ORIGIN + 2] - u * row[SIDE_AB + 2] - v * row[SIDE_AC + 2],
    )


@inlined
def side_normal(meshes, t, what):
    """Return (x, y, z) of the normal that decides on which side of a surface a point is, and whether the
    closest feature is on the boundary of an open surface.

    meshes : Meshes - the surfaces of all meshes
    t : int - index of the closest triangle
    what : int - its closest feature: FACE, EDGE + k or CORNER + k
    """
    if what == FACE:
        row = meshes.triangle[t]
        return row[NORMAL], row[NORMAL + 1], row[NORMAL + 2], False
    if what < CORNER:
        k = what - EDGE
        N = meshes.edge_normal[t, k]
        return N[0], N[1], N[2], meshes.edge_rim[t, k] == 1
    k = meshes.corner[t, what - CORNER]
    N = meshes.vertex_normal[k]
    return N[0], N[1], N[2], meshes.vertex_rim[k] == 1


@entry
def signed_distance(meshes, m, point, guess, work):
    """Return (signed distance of a point from a surface [m], closest triangle, closest feature, boundary).

    The distance is negative inside. boundary is 1 if the closest point is on the boundary of an open surface;
    the sign of the distance then has no meaning.

    meshes : Meshes - the surfaces of all meshes
    m : int - index of the surface
    point : (3,) - the point in the axes of the surface [m]
    guess : int - index of a triangle that may be close, -1 = none
    work : MeshWork - results and working space; node and gap are written
    """
    x, y, z = point[0], point[1], point[2]
    square, u, v, t, what = nearest(meshes, m, x, y, z, guess, work.node, work.gap)
    dx, dy, dz = way_from(meshes.triangle[t], u, v, x, y, z)
    nx, ny, nz, rim = side_normal(meshes, t, what)
    inside = dx * nx + dy * ny + dz * nz < 0.0
    return (-math.sqrt(square) if inside else math.sqrt(square)), t, what, 1 if rim else 0
