"""Lengths of muscle paths from where their points are: slow and obvious.

Between two points a path is straight, or, where a sphere or a cylinder is in the way, two tangents and the
arc between them, in the plane of the centre (seen along the axis of a cylinder). Two surfaces in a row: the
shortest way through any point near the middle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from kernels.joints.tree import Pose, Tree
from kernels.path.stations import CONDITIONAL, MOVING, WRAP, YIELDS, Stations
from kernels.path.surfaces import SPHERE, Surfaces
from tests.naive.functions import evaluated
from tests.naive.mechanisms import point, posed

Array = NDArray[np.floating]


def local_point(tree: Tree, stations: Stations, s: int, q: Array) -> Array:
    """Return where station s lies in its body (3,), a moving one at the coordinates q."""
    if stations.kind[s] != MOVING:
        return stations.point[s]
    x = q[stations.coordinate[s]]
    return np.array([evaluated(tree.functions, f, x)[0] for f in stations.function[s]])


def is_there(stations: Stations, s: int, q: Array) -> bool:
    """Return whether a station is part of the path at q: conditional ones within their range."""
    low, high = stations.range[s]
    return stations.kind[s] != CONDITIONAL or bool(low <= q[stations.coordinate[s]] <= high)


def tangents_and_arc(p: Array, q: Array, r: float) -> float:
    """Return the length round a circle or sphere of radius r about the origin; -1 = it is not in the way."""
    a, b = np.linalg.norm(p), np.linalg.norm(q)
    if min(a, b) < r:
        return float("inf")
    between = np.arccos(np.clip(p @ q / (a * b), -1.0, 1.0))
    touching = between - np.arccos(r / a) - np.arccos(r / b)
    return float(np.sqrt(a * a - r * r) + np.sqrt(b * b - r * r) + r * touching) if touching > 0.0 else -1.0


def length_over(at: Pose, surfaces: Surfaces, k: int, P: Array, Q: Array) -> float:
    """Return the length from P to Q (3,) over surface k, the short way round."""
    body = surfaces.body[k]
    centre = point(at, body, surfaces.position[k])
    axes = surfaces.rotation[k] if body < 0 else at.rotation[body] @ surfaces.rotation[k]
    p, q, r = (P - centre) @ axes, (Q - centre) @ axes, surfaces.size[k, 0]
    if surfaces.kind[k] == SPHERE:
        around = tangents_and_arc(p, q, r)
        return around if around >= 0.0 else float(np.linalg.norm(P - Q))
    around = tangents_and_arc(p[:2], q[:2], r)
    flat = around if around >= 0.0 else float(np.linalg.norm(p[:2] - q[:2]))
    return float(np.hypot(flat, p[2] - q[2]))


def length_over_all(at: Pose, surfaces: Surfaces, run: list[int], P: Array, Q: Array) -> float:
    """Return the length from P to Q (3,) over none, one or two surfaces in this order."""
    if not run:
        return float(np.linalg.norm(P - Q))
    if len(run) == 1:
        return length_over(at, surfaces, run[0], P, Q)
    first, second = run
    through = minimize(
        lambda X: length_over(at, surfaces, first, P, X) + length_over(at, surfaces, second, X, Q),
        0.5 * (P + Q),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-14, "maxiter": 2000},
    )
    return float(through.fun)


def met(at: Pose, stations: Stations, surfaces: Surfaces, run: list[int], P: Array, Q: Array) -> list[int]:
    """Return the surfaces of the stations of a run from P to Q (3,) that count."""
    found: list[int] = []
    for s in run:
        k = int(stations.surface[s])
        inside = np.isinf(length_over(at, surfaces, k, P, Q))
        if k not in found and not (inside and stations.manner[s] & YIELDS):
            found.append(k)
    return found


def length(
    tree: Tree, stations: Stations, surfaces: Surfaces, m: int, q: Array, q_points: Array | None = None
) -> float:
    """Return the length of muscle m [m] at q; moving points within their bodies as at q_points if given.

    Between two points a surface counts once, and one that yields not at all where a point lies inside it.
    """
    at, total = posed(tree, q), 0.0
    before: Array | None = None
    run: list[int] = []
    for s in range(stations.start[m], stations.start[m + 1]):
        if stations.kind[s] == WRAP:
            run.append(s)
        elif is_there(stations, s, q):
            local = local_point(tree, stations, s, q if q_points is None else q_points)
            here = point(at, stations.body[s], local)
            if before is not None:
                own = met(at, stations, surfaces, run, before, here)
                total += length_over_all(at, surfaces, own, before, here)
            before, run = here, []
    return total


def lengths(
    tree: Tree,
    stations: Stations,
    surfaces: Surfaces,
    q: Array,
    q_points: Array | None = None,
    muscles: Sequence[int] | None = None,
) -> Array:
    """Return the lengths of all muscles, or of those wanted (n_muscle,) m."""
    wanted = range(len(stations.start) - 1) if muscles is None else muscles
    return np.array([length(tree, stations, surfaces, m, q, q_points) for m in wanted])
