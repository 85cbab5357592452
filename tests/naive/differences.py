"""Derivatives of functions of the coordinates by central differences along the manifold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kernels.joints.tree import Tree
from tests.naive.tree import integrate

Array = NDArray[np.floating]


def first_derivative(f: Callable[[Array], Array], tree: Tree, q: Array, step: float = 1e-5) -> Array:
    """Return df (..., n_v) of f(q) by tangent steps of this size, error O(step^2)."""
    n_v = len(tree.dof_body)
    columns = [
        (f(integrate(tree, q, step * e)) - f(integrate(tree, q, -step * e))) / (2.0 * step)
        for e in np.eye(n_v)
    ]
    return np.stack(columns, axis=-1)


def second_along(
    f: Callable[[Array], Array], tree: Tree, q: Array, direction: Array, step: float = 3e-4
) -> Array:
    """Return u' d2f u (...) of f(q) along one tangent direction u (n_v,), error O(step^2)."""
    there, back = (f(integrate(tree, q, s * step * direction)) for s in (1.0, -1.0))
    return (there - 2.0 * f(q) + back) / step**2


def second_along_finer(f: Callable[[Array], Array], tree: Tree, q: Array, direction: Array) -> Array:
    """Return u' d2f u (...) by two steps, error O(step^4) (Richardson): for functions with steep curves."""
    return (4.0 * second_along(f, tree, q, direction) - second_along(f, tree, q, direction, 6e-4)) / 3.0


def random_directions(rng: np.random.Generator, tree: Tree, n: int = 25) -> Array:
    """Return n unit tangent directions (n, n_v): together they see every entry of a Hessian."""
    u = rng.normal(size=(n, len(tree.dof_body)))
    return u / np.linalg.norm(u, axis=1, keepdims=True)
