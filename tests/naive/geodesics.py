"""Shortest paths over surfaces the slow way: a string of points, and geodesics by an adaptive integrator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from kernels.path.surfaces import CYLINDER, SPHERE

Array = NDArray[np.floating]


def height(kind: int, size: Array, x: Array) -> Array:
    """Return F at the points x (n, 3) of the surface frame: 0 on the surface, negative inside."""
    return ((x / half_axes(kind, size)) ** 2).sum(axis=1) - 1.0


def half_axes(kind: int, size: Array) -> Array:
    """Return the half axes of a quadric."""
    if kind == SPHERE:
        return np.full(3, size[0])
    if kind == CYLINDER:
        return np.array([size[0], size[0], np.inf])
    return np.asarray(size)


def gradient(kind: int, size: Array, x: Array) -> Array:
    """Return dF/dx (n, 3)."""
    return 2.0 * x / half_axes(kind, size) ** 2


def normal(kind: int, size: Array, x: Array) -> Array:
    """Return the unit outward normal (3,) at one point."""
    g = gradient(kind, size, x[None])[0]
    return g / np.linalg.norm(g)


def geodesic(kind: int, size: Array, x: Array, t: Array, s: float) -> tuple[Array, Array]:
    """Return point and direction after the length s from x along t: x'' = -(t' dn/ds) n, by DOP853."""
    step = 1e-6 * min(v for v in size if v > 0.0)

    def rate(_: float, state: Array) -> Array:
        here, along = state[:3], state[3:]
        n = normal(kind, size, here)
        ahead = normal(kind, size, here + step * along) - normal(kind, size, here - step * along)
        return np.concatenate((along, -(along @ ahead) / (2.0 * step) * n))

    found = solve_ivp(rate, (0.0, s), np.concatenate((x, t)), method="DOP853", rtol=1e-12, atol=1e-14)
    return found.y[:3, -1], found.y[3:, -1]


def string_length(
    surfaces: list[tuple[int, Array, Array, Array]], through: Array, n: int = 160, n_step: int = 6000
) -> float:
    """Return the length [m] of the shortest string of n pieces near a first guess.

    surfaces : kind, size, position and rotation of each. through : (n_point, 3) first guess from P to Q.
    Every node moves to where its neighbours pull it, less what would press it into a surface it lies on.
    Chords are counted as arcs where their ends lie on a surface.
    """
    legs = np.linalg.norm(np.diff(through, axis=0), axis=1)
    at = np.concatenate(([0.0], np.cumsum(legs)))
    x = np.column_stack([np.interp(np.linspace(0.0, at[-1], n + 1), at, through[:, i]) for i in range(3)])
    velocity, damping = np.zeros((n - 1, 3)), 1.0 - 6.0 / n
    for _ in range(n_step):
        pull = 0.25 * (x[2:] + x[:-2] - 2.0 * x[1:-1])
        velocity = damping * (velocity + pull)
        inner = x[1:-1] + velocity
        for kind, size, position, R in surfaces:
            for _ in range(2):
                y = (inner - position) @ R
                depth, g = height(kind, size, y), gradient(kind, size, y)
                steepness = (g * g).sum(axis=1)
                push = (np.where(depth < 0.0, -depth, 0.0) / steepness)[:, None] * g
                inner = inner + push @ R.T
            outward = g @ R.T / np.sqrt(steepness)[:, None]
            pressing = np.where(depth < 1e-9, np.minimum((velocity * outward).sum(axis=1), 0.0), 0.0)
            velocity = velocity - pressing[:, None] * outward
        x[1:-1] = inner
    return float(chords_as_arcs(surfaces, x).sum())


def chords_as_arcs(surfaces: list[tuple[int, Array, Array, Array]], x: Array) -> Array:
    """Return the lengths (n,) of the pieces of a string, those on a surface as arcs between its normals."""
    chord = np.linalg.norm(np.diff(x, axis=0), axis=1)
    for kind, size, position, R in surfaces:
        y = (x - position) @ R
        on = np.abs(height(kind, size, y)) < 1e-6
        g = gradient(kind, size, y)
        along = np.diff(y, axis=0) / chord[:, None]
        tilt = np.diff(g / np.linalg.norm(g, axis=1)[:, None], axis=0)
        turn = (tilt * along).sum(axis=1)
        chord = np.where(on[1:] & on[:-1], chord * (1.0 + turn**2 / 24.0), chord)
    return chord
