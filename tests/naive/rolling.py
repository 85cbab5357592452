"""Rolling without slipping from poses alone: the lowest point of a rim, and material points followed by
differences.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.rolling import Rolls
from kernels.joints.tree import Pose, Tree
from tests.naive.constrained import first_along
from tests.naive.mechanisms import moved, point, posed

Array = NDArray[np.floating]


def axes_of(at: Pose, body: int) -> Array:
    """Return the axes of a body in ground, (3, 3) columns; ground's own for -1."""
    return at.rotation[body] if body >= 0 else np.eye(3)


def contact(at: Pose, rolls: Rolls, r: int) -> Array:
    """Return the point (3,) of the rim, or the ball, that lies lowest above the plane."""
    a, b = int(rolls.body_a[r]), int(rolls.body_b[r])
    up = axes_of(at, b) @ rolls.plane[r, 0]
    centre, axis = point(at, a, rolls.centre[r]), axes_of(at, a) @ rolls.axis[r]
    if not axis.any():
        return centre - rolls.radius[r] * up
    one = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    one /= np.linalg.norm(one)
    other = np.cross(axis, one)
    angle = np.arctan2(-other @ up, -one @ up)  # height goes as one.up cos + other.up sin
    return centre + rolls.radius[r] * (np.cos(angle) * one + np.sin(angle) * other)


def gap(at: Pose, rolls: Rolls, r: int) -> float:
    """Return the height of the lowest point above the plane."""
    b = int(rolls.body_b[r])
    away = contact(at, rolls, r) - point(at, b, rolls.point[r])
    return float(away @ axes_of(at, b) @ rolls.plane[r, 0])


def slip(tree: Tree, rolls: Rolls, r: int, q: Array, v: Array) -> Array:
    """Return the velocity (3,) of A's material point at the contact against B's, along normal and plane."""
    at = posed(tree, q)
    x = contact(at, rolls, r)
    speeds = []
    for body in (int(rolls.body_a[r]), int(rolls.body_b[r])):
        where = at.position[body] if body >= 0 else np.zeros(3)
        local = axes_of(at, body).T @ (x - where)
        speeds.append(first_along(lambda there, b=body, y=local: point(posed(tree, there), b, y), tree, q, v))
    return rolls.plane[r] @ axes_of(at, int(rolls.body_b[r])).T @ (speeds[0] - speeds[1])


def order(rolls: Rolls, slips: list[Array]) -> Array:
    """Return what belongs to normal and slips of each roll in the kernel's order: normals first."""
    return np.concatenate([[s[0] for s in slips], *(s[1:] for s in slips)])


def rows(tree: Tree, rolls: Rolls, q: Array) -> Array:
    """Return G (3 n_roll, n_v): slips at unit speeds."""
    n = range(len(rolls.radius))
    return np.stack(
        [order(rolls, [slip(tree, rolls, r, q, u) for r in n]) for u in np.eye(len(tree.dof_body))], axis=1
    )


def bias(tree: Tree, rolls: Rolls, q: Array, v: Array, step: float = 1e-3) -> Array:
    """Return d/dt (G v) (3 n_roll,) at constant speeds."""
    n = range(len(rolls.radius))
    a, b, c, d = (
        order(rolls, [slip(tree, rolls, r, moved(tree, q, v, s * step), v) for r in n])
        for s in (-2.0, -1.0, 1.0, 2.0)
    )
    return (a - 8.0 * b + 8.0 * c - d) / (12.0 * step)
