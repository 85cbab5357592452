"""Elements between two bodies: value, gradient and Hessian over all dofs, by derivatives of their points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.joints.tree import Tree
from kernels.solver.constraints import AZIMUTH, ELEVATION, SPHERE_ON_PLANE, Elements
from tests.naive.tree import State, dofs_of

Array = NDArray[np.floating]


def ends(at: State, elements: Elements, e: int) -> tuple[Array, Array, Array]:
    """Return both end points (3,) m and the normal (3,) of element e, in ground."""
    body_a, body_b = elements.body_a[e], elements.body_b[e]
    b = at.point(body_b, elements.point_b[e])
    tip = at.point(body_b, elements.point_b[e] + elements.normal_b[e])
    return at.point(body_a, elements.point_a[e]), b, tip - b


ANGLES = (AZIMUTH, ELEVATION)


def carried(elements: Elements, e: int) -> list[tuple[int, Array]]:
    """Return body and direction (3,) there of a, b, n and n X b of an angle e."""
    b, n = elements.point_b[e], elements.normal_b[e]
    body_a, body_b = int(elements.body_a[e]), int(elements.body_b[e])
    return [(body_a, elements.point_a[e]), *((body_b, x) for x in (b, n, np.cross(n, b)))]


def directions(at: State, elements: Elements, e: int) -> list[Array]:
    """Return a, b, n and n X b (3,) of an angle e, in ground."""
    return [at.point(body, x) - at.point(body, np.zeros(3)) for body, x in carried(elements, e)]


def angle_derivatives(at: State, elements: Elements, e: int) -> tuple[Array, Array]:
    """Return dPhi (n_v,) and d2Phi (n_v, n_v) of an angle e, by those of a . b, a . n and a . (n X b)."""
    rates = []
    for body, x in carried(elements, e):
        (tip, d2tip), (foot, d2foot) = (at.point_derivatives(body, y) for y in (x, np.zeros(3)))
        rates.append((tip - foot, d2tip - d2foot))
    a, *others = directions(at, elements, e)
    (da, d2a), *rest = rates
    products = []
    for x, (dx, d2x) in zip(others, rest, strict=True):
        cross = da.T @ dx
        second = np.tensordot(x, d2a, axes=1) + np.tensordot(a, d2x, axes=1) + cross + cross.T
        products.append((a @ x, x @ da + a @ dx, second))
    (u, du, d2u), (c, dc, d2c), (w, dw, d2w) = products
    if elements.kind[e] == ELEVATION:
        s = 1.0 / np.sqrt(1.0 - c * c)
        return s * dc, s * d2c + c * s**3 * np.outer(dc, dc)
    square, turned = u * u + w * w, u * dw - w * du
    d_square = 2.0 * (u * du + w * dw)
    second = u * d2w - w * d2u + np.outer(dw, du) - np.outer(du, dw)
    second = second / square - np.outer(turned, d_square) / square**2
    return turned / square, second


def value(at: State, elements: Elements, e: int, target: float) -> float:
    """Return Phi of element e."""
    if elements.kind[e] in ANGLES:
        a, b, n, s = directions(at, elements, e)
        if elements.kind[e] == ELEVATION:
            return float(np.arcsin(a @ n) - target)
        found = np.arctan2(a @ s, a @ b) - target
        return float(np.arctan2(np.sin(found), np.cos(found)))
    a, b, n = ends(at, elements, e)
    if elements.kind[e] == SPHERE_ON_PLANE:
        return float((a - b) @ n - target)
    return float((a - b) @ (a - b) - target**2)


def derivatives(at: State, elements: Elements, e: int) -> tuple[Array, Array]:
    """Return dPhi (n_v,) and d2Phi (n_v, n_v) of element e."""
    if elements.kind[e] in ANGLES:
        return angle_derivatives(at, elements, e)
    a, b, n = ends(at, elements, e)
    body_b, point_b = elements.body_b[e], elements.point_b[e]
    da, d2a = at.point_derivatives(elements.body_a[e], elements.point_a[e])
    db, d2b = at.point_derivatives(body_b, point_b)
    dx, d2x = da - db, d2a - d2b
    if elements.kind[e] == SPHERE_ON_PLANE:
        tip, d2tip = at.point_derivatives(body_b, point_b + elements.normal_b[e])
        dn, d2n = tip - db, d2tip - d2b
        cross = dx.T @ dn
        second = np.tensordot(n, d2x, axes=1) + np.tensordot(a - b, d2n, axes=1) + cross + cross.T
        return n @ dx + (a - b) @ dn, second
    return 2.0 * (a - b) @ dx, 2.0 * (dx.T @ dx + np.tensordot(a - b, d2x, axes=1))


def path_between(tree: Tree, body_a: int, body_b: int) -> list[tuple[int, float]]:
    """Return the dofs that move one body but not the other: +1 moves A, -1 moves B, ground first."""
    dofs_a, dofs_b = dofs_of(tree, body_a), dofs_of(tree, body_b)
    return [(d, 1.0) for d in dofs_a if d not in dofs_b] + [(d, -1.0) for d in dofs_b if d not in dofs_a]
