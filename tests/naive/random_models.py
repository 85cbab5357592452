"""Random trees, markers and elements: all from the generator that is passed in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.constraints import Elements
from kernels.markers import Markers
from kernels.tree import BALL, FREE, HINGE, N_Q, SLIDER, WELD, Tree
from rtsim.models.packing.tree import Joint, build_tree
from tests.naive.constraints import path_between
from tests.naive.tree import integrate, matrix_quaternion

Array = NDArray[np.floating]

# Every kind under every other: a free root with two branches, a body welded to a branch, a second root.
BRANCHED_KINDS = (FREE, BALL, HINGE, WELD, SLIDER, FREE, HINGE, BALL)
BRANCHED_PARENTS = (-1, 0, 1, 2, 3, 0, 5, -1)


def unit_rows(rng: np.random.Generator, n: int) -> Array:
    """Return n random unit vectors, (n, 3)."""
    x = rng.normal(size=(n, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def tree_of(rng: np.random.Generator, kinds: tuple[int, ...], parents: tuple[int, ...]) -> Tree:
    """Return a tree of these joints with random axes and random joint frames on both bodies."""
    n = len(kinds)
    rows = zip(
        parents,
        kinds,
        unit_rows(rng, n),
        rng.uniform(-0.4, 0.4, (n, 3)),
        Rotation.random(n, rng).as_matrix(),
        rng.uniform(-0.4, 0.4, (n, 3)),
        Rotation.random(n, rng).as_matrix(),
        strict=True,
    )
    return build_tree([Joint(*row) for row in rows])


def random_tree(rng: np.random.Generator, n_body: int = 6) -> Tree:
    """Return a tree of random joints and random parents; body 0 is free, so that there is a dof."""
    kinds = (FREE, *(int(kind) for kind in rng.integers(WELD, FREE + 1, n_body - 1)))
    parents = (-1, *(int(rng.integers(-1, b)) for b in range(1, n_body)))
    return tree_of(rng, kinds, parents)


def branched_tree(rng: np.random.Generator) -> Tree:
    """Return a tree with two branches from body 0 and a second root, of all kinds of joints."""
    return tree_of(rng, BRANCHED_KINDS, BRANCHED_PARENTS)


def random_coordinates(rng: np.random.Generator, tree: Tree) -> Array:
    """Return random coordinates (n_q,) with unit quaternions."""
    q = rng.uniform(-1.5, 1.5, sum(N_Q[kind] for kind in tree.kind))
    for b, kind in enumerate(tree.kind):
        if kind in (BALL, FREE):
            stop = tree.q_start[b] + N_Q[kind]
            q[stop - 4 : stop] = matrix_quaternion(Rotation.random(None, rng).as_matrix())
    return q


def moved(rng: np.random.Generator, tree: Tree, q: Array, size: float) -> Array:
    """Return q after a random tangent step with this standard deviation [rad, m]."""
    return integrate(tree, q, rng.normal(0.0, size, len(tree.dof_body)))


def random_markers(rng: np.random.Generator, tree: Tree, n_per_body: int = 4) -> Markers:
    """Return markers on all bodies but the third, in shuffled order."""
    n_body = len(tree.parent)
    body = rng.permutation(np.repeat([b for b in range(n_body) if b != 2], n_per_body))
    return Markers(body.astype(np.int64), rng.uniform(-0.3, 0.3, (len(body), 3)))


def elements_between(
    rng: np.random.Generator, tree: Tree, kinds: tuple[int, ...], bodies: tuple[tuple[int, int], ...]
) -> Elements:
    """Return elements of these kinds between these bodies (A, B), with random points and normals."""
    n = len(kinds)
    paths = [path_between(tree, a, b) for a, b in bodies]
    path = np.zeros((n, max(1, *(len(p) for p in paths))), np.int64)
    side = np.zeros(path.shape)
    for e, steps in enumerate(paths):
        for k, (dof, sign) in enumerate(steps):
            path[e, k], side[e, k] = dof, sign
    return Elements(
        np.array(kinds, np.int64),
        np.array([a for a, _ in bodies], np.int64),
        np.array([b for _, b in bodies], np.int64),
        rng.uniform(-0.3, 0.3, (n, 3)),
        rng.uniform(-0.3, 0.3, (n, 3)),
        unit_rows(rng, n),
        np.array([len(p) for p in paths], np.int64),
        path,
        side,
    )
