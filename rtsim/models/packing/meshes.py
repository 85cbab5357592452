"""Triangle surfaces, written into the tables of kernels/mesh."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernels.mesh.meshes import (
    FAR,
    MIDDLE,
    N_DISC,
    N_TRIANGLE_ROW,
    OF_A,
    OF_B,
    TRIANGLES_IN_LEAF,
    VERTICES_IN_LEAF,
    Meshes,
)
from rtsim.files.surfaces.surfaces import TriangleSurface

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


def pack_meshes(surfaces: Sequence[TriangleSurface]) -> Meshes:
    """Return the triangles, vertices and bounding boxes of these surfaces as the record Meshes of
    kernels/mesh, numbered in their order.

    The surfaces must be valid, as `check_surface` of rtsim/files/surfaces/surfaces ensures: every triangle
    has an area, and no edge belongs to more than two triangles.
    """
    rows, parts = [], []
    begin = np.zeros(5, np.int64)  # vertex, triangle, box, ball, leaf
    for surface in surfaces:
        part = _pack(surface)
        size = [len(part.vertex), len(part.triangle), len(part.box), len(part.ball), len(part.disc)]
        depth = [(n + 1).bit_length() - 2 for n in size[2:4]]
        closed = not part.edge_rim.any()
        row = [begin[0], size[0], begin[1], size[1], begin[2], depth[0], begin[3], depth[1], begin[4], closed]
        rows.append(row)
        parts.append(part._replace(corner=part.corner + begin[0]))
        begin += size
    columns = [np.ascontiguousarray(np.concatenate(arrays)) for arrays in zip(*parts, strict=True)][1:]
    return Meshes._make([np.array(rows, np.int64), *columns])


def finer(a: TriangleSurface, b: TriangleSurface) -> int:
    """Return which of two surfaces has the smaller triangles: OF_A or OF_B."""
    size = [triangle_areas(surface).mean() for surface in (a, b)]
    return OF_A if size[0] <= size[1] else OF_B


def triangle_areas(surface: TriangleSurface) -> Array:
    """Compute the areas of the triangles, (n_triangle,) [m^2]."""
    a, b, c = (surface.vertices[surface.triangles[:, k]] for k in range(3))
    areas: Array = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    return areas


def _pack(surface: TriangleSurface) -> Meshes:
    """Pack all arrays of one surface except its row in `table`."""
    vertices, triangles = np.asarray(surface.vertices, float), np.asarray(surface.triangles, np.int64)
    order, ball_depth = spatial_order(vertices, VERTICES_IN_LEAF)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    vertices, triangles = vertices[order], rank[triangles]
    order, box_depth = spatial_order(vertices[triangles].mean(axis=1), TRIANGLES_IN_LEAF)
    triangles = triangles[order]
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    double = np.linalg.norm(across, axis=1)
    normal = across / double[:, None]
    edge_normal, edge_rim = edge_tables(triangles, normal)
    vertex_rim = np.zeros(len(vertices), np.int64)
    for k in range(3):
        ends = triangles[edge_rim[:, k] == 1][:, [k, (k + 1) % 3]]
        vertex_rim[ends.ravel()] = 1
    row = np.zeros((len(triangles), N_TRIANGLE_ROW))
    row[:, 0:3], row[:, 3:6], row[:, 6:9], row[:, 9:12] = a, normal, b - a, c - a
    for k, (x, y) in enumerate(((b - a, b - a), (b - a, c - a), (c - a, c - a))):
        row[:, 12 + k] = np.einsum("ij,ij->i", x, y)
    row[:, 15] = 0.5 * double
    share = np.bincount(triangles.ravel(), np.repeat(double / 6.0, 3), len(vertices))
    corners = np.stack((a, b, c), axis=1)
    return Meshes(
        table=np.zeros((0, 0), np.int64),
        vertex=vertices,
        share=share,
        vertex_normal=vertex_normals(vertices, triangles, normal),
        vertex_rim=vertex_rim,
        corner=triangles,
        triangle=row,
        disc=by_leaf(np.hstack((normal, discs(a, b, c))), box_depth),
        edge_normal=edge_normal,
        edge_rim=edge_rim,
        box=boxes(corners.min(axis=1), corners.max(axis=1), box_depth),
        ball=balls(vertices, ball_depth),
    )


def spatial_order(points: Array, in_leaf: int) -> tuple[Whole, int]:
    """Sort points : (n, 3) into a binary tree whose nodes are halved along their longest side until a leaf
    has at most in_leaf points; return the order of the points (n,) and the depth of the tree.
    """
    n = len(points)
    depth = 0
    while (n - 1) >> depth >= in_leaf:
        depth += 1
    order: Whole = np.arange(n, dtype=np.int64)
    for level in range(depth):
        start = (np.arange((1 << level) + 1) * n) >> level
        placed = points[order]
        long = np.maximum.reduceat(placed, start[:-1]) - np.minimum.reduceat(placed, start[:-1])
        node = np.repeat(np.arange(1 << level), np.diff(start))
        order = order[np.lexsort((placed[np.arange(n), long.argmax(axis=1)[node]], node))]
    return order, depth


def edge_tables(triangles: Whole, normal: Array) -> tuple[Array, Whole]:
    """Compute for the edges ab, bc, ca of each triangle abc the sum of the normals of the triangles at the
    edge, (n_triangle, 3, 3), and whether it is a boundary edge, (n_triangle, 3), 1 = boundary.

    triangles : (n_triangle, 3) indices of vertices; normal : (n_triangle, 3) normals
    """
    edges = np.sort(np.stack((triangles, np.roll(triangles, -1, axis=1)), axis=2), axis=2).reshape(-1, 2)
    _, edge, count = np.unique(edges, axis=0, return_inverse=True, return_counts=True)
    edge = edge.reshape(-1)
    total = np.stack([np.bincount(edge, np.repeat(normal[:, i], 3)) for i in range(3)], axis=1)
    rim = np.array(count[edge] == 1, np.int64).reshape(-1, 3)
    sums = np.array(total[edge], np.float64).reshape(-1, 3, 3)
    return sums, rim


def by_leaf(disc: Array, depth: int) -> Array:
    """Arrange the discs around triangles by the leaves of a tree of this depth, (n_leaf, N_DISC,
    TRIANGLES_IN_LEAF); unused entries are far away.

    disc : (n_triangle, N_DISC) - unit normal of each triangle, centre and radius of its disc, in the order of
        the tree
    """
    n, n_leaf = len(disc), 1 << depth
    start = (np.arange(n_leaf + 1) * n) >> depth
    leaf = np.repeat(np.arange(n_leaf), np.diff(start))
    found = np.zeros((n_leaf, N_DISC, TRIANGLES_IN_LEAF))
    found[:, MIDDLE : MIDDLE + 3] = FAR
    found[leaf, :, np.arange(n) - start[leaf]] = disc
    return found


def discs(a: Array, b: Array, c: Array) -> Array:
    """Compute centre and radius of the smallest disc around each triangle, (n_triangle, 4).

    a, b, c : (n_triangle, 3) corners

    For an obtuse triangle it is the disc whose diameter is the longest side, else that of the circumscribed
    circle.
    """
    corners = np.stack((a, b, c), axis=1)
    side = np.stack([((corners[:, k - 2] - corners[:, k - 1]) ** 2).sum(axis=1) for k in range(3)], axis=1)
    part = side * (side.sum(axis=1, keepdims=True) - 2.0 * side)  # barycentric, of the circumscribed one
    wide = part.min(axis=1) <= 0.0
    part[wide] = side[wide] < side[wide].max(axis=1, keepdims=True)
    centre = np.einsum("nk,nki->ni", part / part.sum(axis=1, keepdims=True), corners)
    reach = np.linalg.norm(corners - centre[:, None], axis=2).max(axis=1)
    return np.column_stack((centre, reach * (1.0 + 1e-9)))


def vertex_normals(vertices: Array, triangles: Whole, normal: Array) -> Array:
    """Compute the unit normals of vertices, (n_vertex, 3): means of their triangles' normals, weighted by
    angle."""
    total = np.zeros_like(vertices)
    for k in range(3):
        at = vertices[triangles[:, k]]
        x, y = (vertices[triangles[:, (k + i) % 3]] - at for i in (1, 2))
        angle = np.arctan2(np.linalg.norm(np.cross(x, y), axis=1), np.einsum("ij,ij->i", x, y))
        np.add.at(total, triangles[:, k], angle[:, None] * normal)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return total / np.where(length > 0.0, length, 1.0)  # of a vertex without triangles it is zero


def boxes(low: Array, high: Array, depth: int) -> NDArray[np.float32]:
    """Compute the axis-aligned bounding boxes of all nodes of a tree over n items, (n_box, 6): lower and
    upper corner of each, from the root to the leaves.

    low, high : (n, 3) - lower and upper corners of the items, in the order of the tree
    """
    n = len(low)
    start = (np.arange(1 << depth) * n) >> depth
    level = np.hstack((np.minimum.reduceat(low, start), np.maximum.reduceat(high, start)))
    levels = [level]
    while len(level) > 1:
        level = np.hstack(
            (np.minimum(level[::2, :3], level[1::2, :3]), np.maximum(level[::2, 3:], level[1::2, 3:]))
        )
        levels.append(level)
    exact = np.concatenate(levels[::-1])
    outwards = np.array([-np.inf] * 3 + [np.inf] * 3, np.float32)
    return np.nextafter(exact.astype(np.float32), outwards)


def balls(points: Array, depth: int) -> Array:
    """Compute the bounding ball of each node of a tree over points (n, 3), from the root to the leaves:
    centre and radius, (n_ball, 4).
    """
    n, found = len(points), []
    for level in range(depth + 1):
        start = (np.arange((1 << level) + 1) * n) >> level
        low, high = np.minimum.reduceat(points, start[:-1]), np.maximum.reduceat(points, start[:-1])
        centre = 0.5 * (low + high)
        node = np.repeat(np.arange(1 << level), np.diff(start))
        reach = np.linalg.norm(points - centre[node], axis=1)
        found.append(np.column_stack((centre, np.maximum.reduceat(reach, start[:-1]) * (1.0 + 1e-12))))
    return np.concatenate(found)
