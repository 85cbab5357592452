"""Random closed mechanisms: every kind of joint, element and coupler, assembled and with masses.

Two trees of bodies are tied to each other, to themselves and to ground. Targets are chosen so that the
coordinates given with a mechanism satisfy all of its constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.constraints import Constraints, Couplers
from kernels.dynamics.rolling import no_rolls
from kernels.dynamics.system import System
from kernels.joints.kinds import BALL, CHAIN, FREE, HINGE, SLIDER, WELD
from kernels.joints.tree import Pose, Tree, integrate, new_pose, pose
from kernels.solver.constraints import DISTANCE, HARD, OFF, SOFT, SPHERE_ON_PLANE, Elements, Roles
from rtsim.models.packing.joints import neutral_coordinates
from rtsim.models.packing.tree import (
    ChainMotion,
    JointRow,
    build_functions,
    build_tree,
    constant,
    linear,
    polynomial,
    spline,
)
from tests.naive.functions import evaluated
from tests.naive.random_models import elements_between, planar, random_system, tree_of, unit_rows

Array = NDArray[np.floating]

CONSTANT, LINEAR, POLYNOMIAL, SPLINE, IDENTITY = 0, 1, 2, 3, -1
FUNCTIONS = (
    constant(0.4),
    linear(-0.6, 0.2),
    polynomial((0.1, 0.5, -0.3, 0.2)),
    spline((-1.2, -0.4, 0.5, 1.3), (0.3, -0.2, 0.1, 0.5)),
)
# One root on six dofs with two branches and a twig, a second root in a plane.
KINDS = (FREE, HINGE, HINGE, CHAIN, BALL, SLIDER, WELD, CHAIN, HINGE, SLIDER)
PARENTS = (-1, 0, 1, 2, 0, 4, 5, -1, 7, 2)
# One row per coupled coordinate: (body and dof of its joint, body and dof of the driver, function).
COUPLED = (
    ((2, 0), (1, 0), POLYNOMIAL),
    ((5, 0), (8, 0), SPLINE),
    ((9, 0), (3, 0), LINEAR),
    ((7, 2), (8, 0), CONSTANT),
    ((3, 1), (3, 0), IDENTITY),
)
# Along a branch, across branches, across roots, with ground on either side; one soft and one off in between.
ELEMENTS = (
    (DISTANCE, (3, 6), HARD),
    (SPHERE_ON_PLANE, (8, 0), HARD),
    (DISTANCE, (9, 4), SOFT),
    (DISTANCE, (-1, 5), HARD),
    (SPHERE_ON_PLANE, (4, -1), HARD),
    (SPHERE_ON_PLANE, (1, 2), OFF),
    (SPHERE_ON_PLANE, (-1, 3), HARD),
)
NO_ELEMENT = Elements(
    *(np.zeros(0, np.int64) for _ in range(3)),
    *(np.zeros((0, 3)) for _ in range(3)),
    np.zeros(0, np.int64),
    np.zeros((0, 1), np.int64),
    np.zeros((0, 1)),
)
NO_ROLE = Roles(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


class Mechanism(NamedTuple):
    """A system with constraints, at coordinates that satisfy them."""

    system: System
    constraints: Constraints
    q: Array

    @property
    def tree(self) -> Tree:
        return self.system.tree

    @property
    def n_v(self) -> int:
        return len(self.system.tree.dof_body)


def random_motions(rng: np.random.Generator, kind: int, b: int) -> tuple[ChainMotion, ...]:
    """Return a custom joint of two coordinates for body 3, a planar one for body 7, nothing for others."""
    if kind != CHAIN:
        return ()
    if b == 7:
        return planar(rng)
    axes = unit_rows(rng, 4)
    return (
        ChainMotion(True, axes[0], 0),
        ChainMotion(True, axes[1], 1, LINEAR),
        ChainMotion(False, axes[2], 0, POLYNOMIAL),
        ChainMotion(False, axes[3], 1, SPLINE),
    )


def moved(tree: Tree, q: Array, step: Array, scale: float = 1.0) -> Array:
    """Return q after a tangent step (n_v,)."""
    there = q.copy()
    integrate(tree, q, step, scale, there)
    return there


def posed(tree: Tree, q: Array) -> Pose:
    """Return the pose at q."""
    at = new_pose(len(tree.parent), len(tree.dof_body), len(tree.chains.dof))
    pose(tree, q, at)
    return at


def point(at: Pose, body: int, x: Array) -> Array:
    """Return a point (3,) m of a body in ground; body -1 is ground."""
    return x.copy() if body < 0 else at.position[body] + at.rotation[body] @ x


def joints_of(tree: Tree) -> list[JointRow]:
    """Return the joints that build_tree would make this tree of."""
    chains = tree.chains
    motions = [
        ChainMotion(bool(chains.rotates[m]), chains.axis[m], int(chains.dof[m]), int(chains.function[m]))
        for m in range(len(chains.dof))
    ]
    return [
        JointRow(
            int(tree.parent[b]),
            int(tree.kind[b]),
            tree.parameter[b],
            tree.position_in_parent[b],
            tree.rotation_in_parent[b],
            tree.position_in_child[b],
            tree.rotation_in_child[b],
            tuple(motions[chains.start[b] : chains.start[b + 1]]),
        )
        for b in range(len(tree.parent))
    ]


def on_a_ground_body(tree: Tree, R: Array, x: Array) -> Tree:
    """Return the tree with a welded body 0 in place of ground, turned by R (3, 3) and put at x (3,)."""
    ground = JointRow(-1, WELD, position_in_parent=x, rotation_in_parent=R)
    carried = [replace(joint, parent=joint.parent + 1) for joint in joints_of(tree)]
    return build_tree([ground, *carried], tree.functions)


def couplers(tree: Tree, rows: Sequence[Any] = COUPLED) -> Couplers:
    """Return the couplers of rows ((body, dof), (driver body, dof), function)."""
    table = np.array(
        [
            [start[body] + dof for body, dof in (one, other) for start in (tree.q_start, tree.v_start)] + [f]
            for one, other, f in rows
        ],
        np.int64,
    ).reshape(-1, 5)
    return Couplers(*(np.ascontiguousarray(column) for column in table.T))


def with_targets(tree: Tree, elements: Elements, mode: Sequence[int], q: Array) -> Roles:
    """Return roles under which all elements are satisfied at q."""
    at, target = posed(tree, q), np.zeros(len(mode))
    for e in range(len(mode)):
        b = elements.body_b[e]
        gap = point(at, elements.body_a[e], elements.point_a[e]) - point(at, b, elements.point_b[e])
        normal = elements.normal_b[e] if b < 0 else at.rotation[b] @ elements.normal_b[e]
        target[e] = np.linalg.norm(gap) if elements.kind[e] == DISTANCE else gap @ normal
    return Roles(np.array(mode, np.int64), np.ones(len(mode)), target)


def random_mechanism(seed: int) -> Mechanism:
    """Return a mechanism of all kinds of joints, elements and couplers: 19 dofs, 10 hard constraints."""
    rng = np.random.default_rng([seed, 83])
    motions = {b: random_motions(rng, kind, b) for b, kind in enumerate(KINDS)}
    tree = tree_of(rng, KINDS, PARENTS, motions, build_functions(FUNCTIONS))
    q = moved(tree, neutral_coordinates(tree), rng.uniform(-0.8, 0.8, len(tree.dof_body)))
    tied = couplers(tree)
    for k in range(len(tied.dof)):
        q[tied.coordinate[k]] = evaluated(tree.functions, tied.function[k], q[tied.driver[k]])[0]
    kinds, pairs, mode = zip(*ELEMENTS, strict=True)
    elements = elements_between(rng, tree, kinds, pairs)
    constraints = not_rolling(elements, with_targets(tree, elements, mode, q), tied)
    return Mechanism(random_system(rng, tree), constraints, q)


def not_rolling(elements: Elements, roles: Roles, tied: Couplers) -> Constraints:
    """Return constraints without rolls, of the types of those with: kernels are compiled once, as in runs."""
    return Constraints(elements, roles, tied, no_rolls())


def twice(constraints: Constraints) -> Constraints:
    """Return the constraints with every element and every coupler written down two times."""

    def doubled(column: Array | None) -> Array | None:
        return None if column is None else np.concatenate([column, column])

    return not_rolling(*(type(group)(*map(doubled, group)) for group in constraints[:3]))


def without_constraints(tree: Tree) -> Constraints:
    """Return an empty set of constraints."""
    return not_rolling(NO_ELEMENT, NO_ROLE, couplers(tree, ()))


def dirty(work: Any) -> Any:
    """Fill all working space with NaN, so that a result cannot rest on what was there before.

    Poses are left alone: their axes stay zero, as allocated, where functions drive.
    """
    for part in work or ():
        if isinstance(part, np.ndarray):
            if part.dtype == np.float64:
                part.fill(np.nan)
        elif not isinstance(part, Pose):
            dirty(part)
    return work
