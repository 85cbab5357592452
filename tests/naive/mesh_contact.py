"""Contact of meshes, vertex by vertex and triangle by triangle: slow, without trees and memory."""

from __future__ import annotations

import numpy as np


def closest_point(a, b, c, x):
    """Closest point of a triangle to x: the best of the face, if x is over it, and of the three edges."""
    normal = np.cross(b - a, c - a)
    normal = normal / np.linalg.norm(normal)
    foot = x - ((x - a) @ normal) * normal
    over = all(np.cross(q - p, foot - p) @ normal >= 0.0 for p, q in ((a, b), (b, c), (c, a)))
    if over:
        return foot
    ends = ((a, b), (b, c), (c, a))
    feet = [p + np.clip((x - p) @ (q - p) / ((q - p) @ (q - p)), 0.0, 1.0) * (q - p) for p, q in ends]
    return min(feet, key=lambda y: np.linalg.norm(x - y))


def signed_distance(vertices, triangles, x):
    """(distance, negative inside; unit gradient; area of the closest triangle; whether beyond the boundary).

    The side is that of the sum of the unit normals of all triangles at the closest point, weighted by angle.
    """
    points = np.array([closest_point(*vertices[t], x) for t in triangles])
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
    edges = [tuple(sorted((int(t[k]), int(t[(k + 1) % 3])))) for t in triangles for k in range(3)]
    for i, j in {edge for edge in edges if edges.count(edge) == 1}:
        a, b = vertices[i], vertices[j]
        s = np.clip((point - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
        if np.linalg.norm(a + s * (b - a) - point) < 1e-12:
            return True
    return False


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
