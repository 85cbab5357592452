"""Contact of meshes, vertex by vertex and triangle by triangle: slow, without trees and memory."""

from __future__ import annotations

import numpy as np


def closest_points(corners, x):
    """(n, 3) - closest point of each triangle (n, 3, 3) to x: the best of the face, if x is over it, and of
    the three edges.
    """
    a, b, c = corners.transpose(1, 0, 2)
    normal = np.cross(b - a, c - a)
    normal = normal / np.linalg.norm(normal, axis=1)[:, None]
    foot = x - dots(x - a, normal)[:, None] * normal
    ends = ((a, b), (b, c), (c, a))
    over = np.all([dots(np.cross(q - p, foot - p), normal) >= 0.0 for p, q in ends], axis=0)
    feet = np.array([closest_on_lines(p, q, x) for p, q in ends])
    best = np.linalg.norm(x - feet, axis=2).argmin(axis=0)
    return np.where(over[:, None], foot, feet[best, np.arange(len(best))])


def closest_on_lines(p, q, x):
    """(n, 3) - closest point to x of each line from p to q (n, 3)."""
    return p + np.clip(dots(x - p, q - p) / dots(q - p, q - p), 0.0, 1.0)[:, None] * (q - p)


def dots(x, y):
    """Of each two rows."""
    return np.einsum("ni,ni->n", x, y)


def signed_distance(vertices, triangles, x):
    """(distance, negative inside; unit gradient; area of the closest triangle; whether beyond the boundary).

    The side is that of the sum of the unit normals of all triangles at the closest point, weighted by angle.
    """
    points = closest_points(vertices[triangles], x)
    gaps = np.linalg.norm(points - x, axis=1)
    k = int(gaps.argmin())
    near = np.flatnonzero(np.linalg.norm(points - points[k], axis=1) < 1e-12)
    near = near[gaps[near] < gaps[k] + 1e-12]
    normal, angles = np.zeros(3), 0.0
    for t in near:
        corners = vertices[triangles[t]]
        unit = np.cross(corners[1] - corners[0], corners[2] - corners[0])
        angle = angle_at(corners, points[k])
        normal += angle * unit / np.linalg.norm(unit)
        angles += angle
    side = 1.0 if (x - points[k]) @ normal >= 0.0 else -1.0
    away = side * (x - points[k]) / gaps[k] if gaps[k] > 1e-10 else normal / np.linalg.norm(normal)
    corners = vertices[triangles[k]]
    area = 0.5 * np.linalg.norm(np.cross(corners[1] - corners[0], corners[2] - corners[0]))
    return side * gaps[k], away, area, is_rim(vertices, triangles, points[k])


def angle_at(corners, point):
    """Angle of a triangle at one of its points: 2 pi inside, pi on an edge, its own at a corner."""
    for k in range(3):
        if np.linalg.norm(corners[k] - point) < 1e-12:
            x, y = corners[(k + 1) % 3] - point, corners[(k + 2) % 3] - point
            return np.arccos(np.clip(x @ y / np.linalg.norm(x) / np.linalg.norm(y), -1.0, 1.0))
    for k in range(3):
        a, b = corners[k], corners[(k + 1) % 3]
        if np.linalg.norm(np.cross(b - a, point - a)) < 1e-12 * np.linalg.norm(b - a):
            return np.pi
    return 2.0 * np.pi


def is_rim(vertices, triangles, point):
    """Whether a point lies on an edge that only one triangle has."""
    ends = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2))
    edges, n = np.unique(ends, axis=0, return_counts=True)
    a, b = vertices[edges[n == 1]].transpose(1, 0, 2)
    return bool((np.linalg.norm(closest_on_lines(a, b, point) - point, axis=1) < 1e-12).any())


def third_areas(vertices, triangles):
    """(n_vertex,) - a third of the area of the triangles of each vertex."""
    share = np.zeros(len(vertices))
    for t in triangles:
        a, b, c = vertices[t]
        share[t] += np.linalg.norm(np.cross(b - a, c - a)) / 6.0
    return share


def own_normals(vertices, triangles):
    """(n_vertex, 3) - unit, mean of the normals of each vertex's triangles by their angles there."""
    normals = np.zeros((len(vertices), 3))
    for t in triangles:
        corners = vertices[t]
        across = np.cross(corners[1] - corners[0], corners[2] - corners[0])
        for k in range(3):
            normals[t[k]] += angle_at(corners, corners[k]) * across / np.linalg.norm(across)
    return normals / np.linalg.norm(normals, axis=1)[:, None]


def pressed(source, target, R, p, offset, depth_max=np.inf, paper=False, own=False):
    """(wrench for modulus 1 on the source about the origin of target, area, volume) of the source's vertices.

    R, p - pose of the source in the axes of target; own: against the vertices' own normals
    """
    wrench, area, volume = np.zeros(6), 0.0, 0.0
    share, normals = third_areas(*source), own_normals(*source)
    for i, vertex in enumerate(source[0]):
        y = R @ vertex + p
        distance, away, closest_area, rim = signed_distance(*target, y)
        depth = offset - distance
        if rim or depth <= 0.0 or depth > depth_max:
            continue
        a = closest_area if paper else share[i]
        force = a * depth * (-R @ normals[i] if own else away)
        wrench += np.concatenate((np.cross(y, force), force))
        area, volume = area + a, volume + a * depth
    return wrench, area, volume


def twin(a, b, R, p, passes, offset, depth_max=np.inf, paper=False, own=False):
    """(wrench on A about its origin in its axes, area, volume) for modulus 1; R, p - pose of B in A."""
    total, area, volume = np.zeros(6), 0.0, 0.0
    for k in {"a": (0,), "b": (1,), "both": (0, 1)}[passes]:
        weight = 0.5 if passes == "both" else 1.0
        if k == 0:
            w, s, v = pressed(a, b, R.T, -R.T @ p, offset, depth_max, paper, own)
            force = R @ w[3:]
            w = np.concatenate((R @ w[:3] + np.cross(p, force), force))
        else:
            w, s, v = pressed(b, a, R, p, offset, depth_max, paper, own)
            w = -w
        total, area, volume = total + weight * w, area + weight * s, volume + weight * v
    return total, area, volume
