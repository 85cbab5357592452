"""Triangle surfaces from formulas: balls, plates and sheets; refinement and joining of surfaces."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rtsim.files.surfaces.surfaces import TriangleSurface
from rtsim.models.packing.meshes import vertex_normals

Array = NDArray[np.float64]
MIRROR = np.array([1.0, 1.0, -1.0])


def ball(radius: float, n_lat: int, n_lon: int) -> TriangleSurface:
    """Return a sphere about the origin, z through its poles: 2 n_lon (n_lat - 1) triangles; radius [m]."""
    polar = np.pi * np.arange(1, n_lat) / n_lat
    around = 2.0 * np.pi * np.arange(n_lon) / n_lon
    a, b = (x.ravel() for x in np.meshgrid(polar, around, indexing="ij"))
    belt = np.column_stack((np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)))
    vertices = radius * np.vstack(((0.0, 0.0, 1.0), belt, (0.0, 0.0, -1.0)))
    here = np.arange(n_lon)
    there, last, row = (here + 1) % n_lon, len(vertices) - 1, 1 + n_lon * np.arange(n_lat - 1)
    triangles = [np.column_stack((np.zeros_like(here), row[0] + here, row[0] + there))]
    for upper, lower in pairwise(row):
        triangles.append(np.column_stack((upper + here, lower + here, lower + there)))
        triangles.append(np.column_stack((upper + here, lower + there, upper + there)))
    triangles.append(np.column_stack((np.full_like(here, last), row[-1] + there, row[-1] + here)))
    return TriangleSurface(vertices, np.vstack(triangles))


def sheet(place: Callable[[Array, Array], Array], u: Array, v: Array) -> TriangleSurface:
    """Return the open surface through the points place(u, v), (n, 3) [m], over a grid of two parameters.

    Its outer side is that of the cross product of the directions of rising u and rising v.

    u, v : (n_u,), (n_v,) - values of both parameters at the lines of the grid
    """
    a, b = (x.ravel() for x in np.meshgrid(u, v, indexing="ij"))
    n_v = len(v)
    i, j = (x.ravel() for x in np.meshgrid(np.arange(len(u) - 1), np.arange(n_v - 1), indexing="ij"))
    at: NDArray[np.int64] = i * n_v + j
    lower = np.column_stack((at, at + n_v, at + n_v + 1))
    upper = np.column_stack((at, at + n_v + 1, at + 1))
    return TriangleSurface(place(a, b), np.vstack((lower, upper)).astype(np.int64))


def plate(length: float, width: float, n: int) -> TriangleSurface:
    """Return a flat open surface about the origin, its outside towards z, of n x n squares; sizes along x and
    y [m]."""
    return sheet(
        lambda x, y: np.column_stack((x, y, np.zeros_like(x))),
        np.linspace(-0.5 * length, 0.5 * length, n + 1),
        np.linspace(-0.5 * width, 0.5 * width, n + 1),
    )


def joined(*surfaces: TriangleSurface) -> TriangleSurface:
    """Join several surfaces into one."""
    start = np.cumsum([0, *(len(surface.vertices) for surface in surfaces[:-1])])
    triangles = [surface.triangles + k for surface, k in zip(surfaces, start, strict=True)]
    return TriangleSurface(np.vstack([surface.vertices for surface in surfaces]), np.vstack(triangles))


def grown(surface: TriangleSurface, distance: float) -> TriangleSurface:
    """Move every vertex of a surface outwards along its normal [m], as for cartilage on bone."""
    vertices, triangles = surface
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    normal = vertex_normals(vertices, triangles, across / np.linalg.norm(across, axis=1)[:, None])
    return TriangleSurface(vertices + distance * normal / np.linalg.norm(normal, axis=1)[:, None], triangles)


def mirrored(surface: TriangleSurface) -> TriangleSurface:
    """Mirror a surface in the plane z = 0; in the other order of its corners the outside of each triangle
    stays outside."""
    return TriangleSurface(surface.vertices * MIRROR, np.ascontiguousarray(surface.triangles[:, ::-1]))


def refined(surface: TriangleSurface, longest: float) -> TriangleSurface:
    """Halve every edge longer than `longest` [m] once, without changing the surface."""
    vertices, triangles = surface
    sides = np.stack((triangles, np.roll(triangles, -1, axis=1)), axis=2)
    edges, edge = np.unique(np.sort(sides, axis=2).reshape(-1, 2), axis=0, return_inverse=True)
    halved = np.linalg.norm(vertices[edges[:, 0]] - vertices[edges[:, 1]], axis=1) > longest
    number = len(vertices) + np.cumsum(halved) - 1
    middle = np.where(halved, number, -1)[edge.reshape(-1, 3)]
    pieces = []
    for turn in range(3):  # corner a is where the first halved edge begins
        a, b, c = np.roll(triangles, -turn, axis=1).T
        ab, bc, ca = np.roll(middle, -turn, axis=1).T
        one, two = (ab >= 0) & (bc < 0) & (ca < 0), (ab >= 0) & (bc >= 0) & (ca < 0)
        three = (ab >= 0) & (bc >= 0) & (ca >= 0) & (turn == 0)
        for which, rows in (
            (one, ((a, ab, c), (ab, b, c))),
            (two, ((ab, b, bc), (a, ab, bc), (a, bc, c))),
            (three, ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))),
        ):
            pieces += [np.column_stack(row)[which] for row in rows]
    whole = triangles[(middle < 0).all(axis=1)]
    halves = vertices[edges[halved]].mean(axis=1)
    return TriangleSurface(np.vstack((vertices, halves)), np.vstack((whole, *pieces)))
