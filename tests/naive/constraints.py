"""Elements between two bodies: value, gradient and Hessian over all dofs, by derivatives of their points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.constraints import SPHERE_ON_PLANE, Elements
from kernels.tree import Tree
from tests.naive.tree import State, dofs_of

Array = NDArray[np.floating]


def ends(at: State, elements: Elements, e: int) -> tuple[Array, Array, Array]:
    """Return both end points (3,) m and the normal (3,) of element e, in ground."""
    body_a, body_b = elements.body_a[e], elements.body_b[e]
    b = at.point(body_b, elements.point_b[e])
    tip = at.point(body_b, elements.point_b[e] + elements.normal_b[e])
    return at.point(body_a, elements.point_a[e]), b, tip - b


def value(at: State, elements: Elements, e: int, target: float) -> float:
    """Return Phi of element e."""
    a, b, n = ends(at, elements, e)
    if elements.kind[e] == SPHERE_ON_PLANE:
        return float((a - b) @ n - target)
    return float((a - b) @ (a - b) - target**2)


def derivatives(at: State, elements: Elements, e: int) -> tuple[Array, Array]:
    """Return dPhi (n_v,) and d2Phi (n_v, n_v) of element e."""
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
