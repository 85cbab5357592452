"""Faults of markers by their definitions, in NumPy and SciPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.floating]


def rigid_gaps(local: Array, measured: Array) -> Array:
    """(n,) - distances of n points from where their best rigid fit has them (Kabsch 1976) [m]."""
    a, b = local - local.mean(axis=0), measured - measured.mean(axis=0)
    turn, _ = Rotation.align_vectors(b, a)
    gaps: Array = np.linalg.norm(b - turn.apply(a), axis=1)
    return gaps


def strays(innovation: Array, own: Array, unforeseen: float) -> NDArray[np.bool_]:
    """(n,) - which of the markers at these distances from their expected places are strays; NaN = hidden.

    own : (n,) - bound of each [m]; unforeseen : motion of a frame that nobody foresaw [m]. Three lower
    medians of the visible ones are added; below five of them there are no strays.
    """
    seen = np.sort(innovation[np.isfinite(innovation)])
    if len(seen) < 5:
        return np.zeros(len(innovation), bool)
    return np.nan_to_num(innovation) > own + unforeseen + 3.0 * seen[(len(seen) - 1) // 2]


def rings(measured: Array, expected: Array, least: float) -> list[tuple[int, ...]]:
    """Cycles of markers each of which is nearest to the expected place of the next, and at most half as far
    as from its own; nearer expected places than `least` [m] are no two places.
    """
    n, following = len(measured), {}
    apart = np.linalg.norm(expected[:, None] - expected, axis=2)
    away = np.linalg.norm(measured[:, None] - expected, axis=2)
    for m in range(n):
        if 1.5 * away[m, m] < least:  # it has hardly moved
            continue
        others = [k for k in range(n) if k != m and apart[m, k] > least and away[m, k] < 0.5 * away[m, m]]
        if others:
            following[m] = min(others, key=lambda k: away[m, k])
    found = set()
    for m in following:
        ring = [m]
        while ring[-1] in following and following[ring[-1]] not in ring:
            ring.append(following[ring[-1]])
        if following.get(ring[-1]) == m:
            start = ring.index(min(ring))
            found.add(tuple(ring[start:] + ring[:start]))
    return sorted(found)


def added_motion(at: Array, way: Array, flat: float) -> tuple[Array, Array]:
    """Shift and turn (3,), (3,) that fit the ways of n points best; at, way : (n, 3) [m].

    Least squares over both, with a ridge on the turn: `flat` times the mean moment of inertia.
    """
    r = at - at.mean(axis=0)
    crosses = np.stack([np.cross(axis, r) for axis in np.eye(3)], axis=2).reshape(-1, 3)
    shift = way.mean(axis=0)
    inertia = crosses.T @ crosses
    inertia += flat * np.trace(inertia) / 3.0 * np.eye(3)
    turn: Array = np.linalg.solve(inertia, crosses.T @ (way - shift).ravel())
    return shift, turn


def moves_as_one(at: Array, way: Array, flat: float, part: float, rigid: float) -> bool:
    """Whether ways of n points are one rigid displacement: all but one of them move, or, of four or more, two
    do and all of them go where it takes them; at, way : (n, 3) [m].

    flat : as in `added_motion`; part : of the largest way, from which a point moves, and up to which it may
    be beside its way; rigid : largest root mean square beside the ways, as part of that of the ways
    """
    shift, turn = added_motion(at, way, flat)
    beside = np.linalg.norm(way - shift - np.cross(turn, at - at.mean(axis=0)), axis=1)
    ways = np.linalg.norm(way, axis=1)
    n_moved = int((ways > part * ways.max()).sum())
    fits = len(at) >= 4 and beside.max() <= part * ways.max()
    enough = 2 if fits else max(2, len(at) - 1)
    return n_moved >= enough and float((beside**2).sum()) <= rigid**2 * float((ways**2).sum())
