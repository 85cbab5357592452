"""Random trees, bodies, markers and elements: all from the generator that is passed in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.algebra.functions import Functions
from kernels.dynamics.inertia import Bodies
from kernels.dynamics.system import System
from kernels.joints.kinds import BALL, CHAIN, ELLIPSOIDAL, FREE, HINGE, SLIDER, WELD
from kernels.joints.tree import Tree
from kernels.markers.marker_cost import ModelMarkers
from kernels.solver.constraints import AZIMUTH, ELEVATION, Elements
from rtsim.models.packing.tree import (
    ChainMotion,
    JointRow,
    build_functions,
    build_tree,
    constant,
    linear,
    polynomial,
    sine,
    spline,
)
from tests.naive.constraints import path_between
from tests.naive.tree import TURNING, integrate, matrix_quaternion, n_coordinates, slices

Array = NDArray[np.floating]

# Every kind under every other: a free root with two branches, a body welded to a branch, a second root.
BRANCHED_KINDS = (FREE, BALL, HINGE, WELD, SLIDER, FREE, HINGE, BALL)
BRANCHED_PARENTS = (-1, 0, 1, 2, 3, 0, 5, -1)


def unit_rows(rng: np.random.Generator, n: int) -> Array:
    """Return n random unit vectors, (n, 3)."""
    x = rng.normal(size=(n, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def tree_of(
    rng: np.random.Generator,
    kinds: tuple[int, ...],
    parents: tuple[int, ...],
    motions: dict[int, tuple[ChainMotion, ...]] | None = None,
    functions: Functions | None = None,
) -> Tree:
    """Return a tree of these joints with random axes and random joint frames on both bodies.

    motions : those of each chain joint, by body.
    """
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
    own = motions or {}
    return build_tree([JointRow(*row, own.get(b, ())) for b, row in enumerate(rows)], functions)


def random_tree(rng: np.random.Generator, n_body: int = 6) -> Tree:
    """Return a tree of random joints and random parents; body 0 is free, so that there is a dof."""
    kinds = (FREE, *(int(kind) for kind in rng.integers(WELD, FREE + 1, n_body - 1)))
    parents = (-1, *(int(rng.integers(-1, b)) for b in range(1, n_body)))
    return tree_of(rng, kinds, parents)


def branched_tree(rng: np.random.Generator) -> Tree:
    """Return a tree with two branches from body 0 and a second root, of all kinds of joints."""
    return tree_of(rng, BRANCHED_KINDS, BRANCHED_PARENTS)


def universal(rng: np.random.Generator) -> tuple[ChainMotion, ...]:
    """Return two rotations about axes square to each other."""
    a, b, _ = Rotation.random(None, rng).as_matrix()
    return (ChainMotion(True, a, 0), ChainMotion(True, b, 1))


def planar(rng: np.random.Generator) -> tuple[ChainMotion, ...]:
    """Return two translations in a random plane and the rotation about its normal."""
    a, b, normal = Rotation.random(None, rng).as_matrix().T
    return (ChainMotion(False, a, 0), ChainMotion(False, b, 1), ChainMotion(True, normal, 2))


# Curves of every kind, steep enough to matter; knots end within the range of random coordinates.
FUNCTIONS = (
    constant(0.3),
    linear(-0.7, 0.2),
    polynomial((0.1, 0.4, -0.3, 0.2)),
    spline((-1.1, -0.4, 0.3, 1.2), (0.2, -0.3, 0.1, 0.4)),
    spline((-0.5, 0.9), (-0.1, 0.3)),
    sine(0.3, 1.4, 0.5, -0.1),
)


def custom(rng: np.random.Generator, n_dof: int) -> tuple[ChainMotion, ...]:
    """Return three rotations and three translations driven by n_dof coordinates, some by several at once.

    Each coordinate drives one rotation by itself or by a straight line, so that none can lose its grip.
    """
    axes = unit_rows(rng, 6)
    own = [ChainMotion(True, axes[d], d, int(rng.choice((-1, 1)))) for d in range(n_dof)]
    shared = [
        ChainMotion(m < 3, axes[m], int(rng.integers(n_dof)), int(rng.integers(len(FUNCTIONS))))
        for m in range(n_dof, 6)
    ]
    mixed = own + shared
    return tuple(mixed[m] for m in rng.permutation(6))


def chained_tree(rng: np.random.Generator) -> Tree:
    """Return a tree of all kinds of joints with chains as root, in the middle, under a ball and as leaves."""
    kinds = (FREE, CHAIN, CHAIN, HINGE, CHAIN, BALL, CHAIN, WELD, CHAIN, SLIDER)
    parents = (-1, 0, 1, 2, 0, 4, 5, 6, -1, 8)
    motions = {
        1: custom(rng, 2), 2: universal(rng), 4: planar(rng), 6: custom(rng, 1), 8: custom(rng, 3)
    }  # fmt: skip
    return tree_of(rng, kinds, parents, motions, build_functions(FUNCTIONS))


def ellipsoidal_tree(rng: np.random.Generator) -> Tree:
    """Return a tree with ellipsoidal joints as root, in the middle, on each other and as a leaf."""
    kinds = (ELLIPSOIDAL, HINGE, ELLIPSOIDAL, ELLIPSOIDAL, CHAIN, FREE, ELLIPSOIDAL, BALL)
    return tree_of(rng, kinds, (-1, 0, 1, 2, 0, 4, 5, 6), {4: custom(rng, 2)}, build_functions(FUNCTIONS))


def moved_in_ground(tree: Tree, R: Array, x: Array) -> Tree:
    """Return a tree whose roots are carried by a ground that was turned by R (3, 3), then moved by x (3,)."""
    roots = tree.parent < 0
    position, rotation = tree.position_in_parent.copy(), tree.rotation_in_parent.copy()
    position[roots] = position[roots] @ R.T + x
    rotation[roots] = R @ rotation[roots]
    return tree._replace(position_in_parent=position, rotation_in_parent=rotation)


def random_bodies(rng: np.random.Generator, n_body: int) -> Bodies:
    """Return bodies of a few point masses each: 1 to 3 kg within a quarter of a metre."""
    centre, inertia = np.zeros((n_body, 3)), np.zeros((n_body, 3, 3))
    mass = rng.uniform(1.0, 3.0, n_body)
    for b in range(n_body):
        x = rng.uniform(-0.25, 0.25, (6, 3))
        centre[b] = x.mean(axis=0)
        arm = x - centre[b]
        inertia[b] = mass[b] / 6 * (np.sum(arm**2) * np.eye(3) - arm.T @ arm)
    return Bodies(mass, centre, inertia)


def random_system(rng: np.random.Generator, tree: Tree) -> System:
    """Return a tree with masses in a field of gravity of any direction."""
    return System(tree, random_bodies(rng, len(tree.parent)), 9.81 * unit_rows(rng, 1)[0])


def random_coordinates(rng: np.random.Generator, tree: Tree) -> Array:
    """Return random coordinates (n_q,) with unit quaternions."""
    q = rng.uniform(-1.5, 1.5, n_coordinates(tree))
    for b, kind in enumerate(tree.kind):
        if kind in TURNING:
            stop = slices(tree, b)[0].stop
            q[stop - 4 : stop] = matrix_quaternion(Rotation.random(None, rng).as_matrix())
    return q


def moved(rng: np.random.Generator, tree: Tree, q: Array, size: float) -> Array:
    """Return q after a random tangent step with this standard deviation [rad, m]."""
    return integrate(tree, q, rng.normal(0.0, size, len(tree.dof_body)))


def random_markers(rng: np.random.Generator, tree: Tree, n_per_body: int = 4) -> ModelMarkers:
    """Return markers on all bodies but the third, in shuffled order."""
    n_body = len(tree.parent)
    body = rng.permutation(np.repeat([b for b in range(n_body) if b != 2], n_per_body))
    return ModelMarkers(body.astype(np.int64), rng.uniform(-0.3, 0.3, (len(body), 3)))


def elements_between(
    rng: np.random.Generator, tree: Tree, kinds: tuple[int, ...], bodies: tuple[tuple[int, int], ...]
) -> Elements:
    """Return elements of these kinds between these bodies (A, B), with random points, normals, directions."""
    n = len(kinds)
    paths = [path_between(tree, a, b) for a, b in bodies]
    path = np.zeros((n, max(1, *(len(p) for p in paths))), np.int64)
    side = np.zeros(path.shape)
    for e, steps in enumerate(paths):
        for k, (dof, sign) in enumerate(steps):
            path[e, k], side[e, k] = dof, sign
    point_a, point_b, normal = (
        rng.uniform(-0.3, 0.3, (n, 3)),
        rng.uniform(-0.3, 0.3, (n, 3)),
        unit_rows(rng, n),
    )
    for e in np.flatnonzero(np.isin(kinds, (AZIMUTH, ELEVATION))):
        point_b[e] = np.cross(normal[e], point_b[e])
        for x in (point_a[e], point_b[e]):
            x /= np.linalg.norm(x)
    return Elements(
        np.array(kinds, np.int64),
        np.array([a for a, _ in bodies], np.int64),
        np.array([b for _, b in bodies], np.int64),
        point_a,
        point_b,
        normal,
        np.array([len(p) for p in paths], np.int64),
        path,
        side,
    )
