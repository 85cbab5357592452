"""Angles of mechanisms and their coupling vectors, and small mechanisms with closed solutions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.constraints import (
    Constraints,
    Couplers,
    constraint_rows,
    factor_rows,
    new_constraint_work,
)
from kernels.dynamics.inertia import Bodies
from kernels.dynamics.system import System
from kernels.joints.kinds import HINGE, SLIDER
from kernels.joints.tree import Tree
from kernels.path.angles import Angles, AngleWork, couplings, new_angle_work, place_angles
from kernels.solver.constraints import DISTANCE, HARD
from rtsim.models.packing.tree import Function, JointRow, build_functions, build_tree
from tests.naive.mechanisms import (
    IDENTITY,
    LINEAR,
    NO_ELEMENT,
    NO_ROLE,
    POLYNOMIAL,
    SPLINE,
    Mechanism,
    couplers,
    dirty,
    not_rolling,
    posed,
    with_targets,
)
from tests.naive.random_models import elements_between

Array = NDArray[np.floating]

X, Z = np.eye(3)[0], np.eye(3)[2]
Term = tuple[int, int, int, float]  # body, dof of its joint, function, weight
# A coordinate, a driven one, a weighted sum of three of which one counts twice, a function of one.
ANGLES: tuple[tuple[Term, ...], ...] = (
    ((1, 0, IDENTITY, 1.0),),
    ((2, 0, IDENTITY, 1.0),),
    ((1, 0, IDENTITY, 0.5), (3, 1, SPLINE, -1.2), (8, 0, LINEAR, 2.0), (1, 0, POLYNOMIAL, 0.4)),
    ((3, 0, POLYNOMIAL, 1.0),),
)


def angles_of(tree: Tree, rows: Sequence[Sequence[Term]]) -> Angles:
    """Return angles, each a sum of terms."""
    terms = [term for row in rows for term in row]
    return Angles(
        np.cumsum([0, *(len(row) for row in rows)]).astype(np.int64),
        np.array([tree.q_start[body] + dof for body, dof, _, _ in terms], np.int64),
        np.array([tree.v_start[body] + dof for body, dof, _, _ in terms], np.int64),
        np.array([function for _, _, function, _ in terms], np.int64),
        np.array([weight for _, _, _, weight in terms], float),
    )


def coupled(
    tree: Tree, constraints: Constraints, angles: Angles, q: Array, compliance: Sequence[float] = ()
) -> AngleWork:
    """Return value, gradient, coupling and status of all angles; compliance : of the first rows."""
    n_v = len(tree.dof_body)
    rows = dirty(new_constraint_work(constraints, n_v))
    work = dirty(new_angle_work(len(angles.start) - 1, n_v, len(rows.value)))
    n = constraint_rows(tree, constraints, posed(tree, q), q, rows)
    rows.compliance[:] = 0.0
    rows.compliance[: len(compliance)] = compliance
    factor_rows(n, rows.row, rows.reach, rows.compliance, rows.kernel)
    place_angles(tree, angles, q, work)
    couplings(n, rows.row, rows.kernel, work)
    return work


def only_couplers(tree: Tree, rows: Sequence[tuple[tuple[int, int], tuple[int, int], int]]) -> Constraints:
    """Return constraints of couplers ((body, dof), (driver body, dof), function) alone."""
    return not_rolling(NO_ELEMENT, NO_ROLE, couplers(tree, rows))


def no_coupler(tree: Tree) -> Couplers:
    return couplers(tree, ())


def hinges(n: int, functions: Sequence[Function] = (), length: float = 0.3) -> Tree:
    """Return a chain of n hinges about z, a link of this length [m] along x between them."""
    joints = [JointRow(b - 1, HINGE, Z, (b > 0) * length * X) for b in range(n)]
    return build_tree(joints, build_functions(functions))


def slider_crank(unit: float = 1.0) -> Mechanism:
    """Return a crank of 0.2 m, and a block on a slide along x that a rod of about 0.5 m ties to it.

    unit : of length per metre
    """
    joints = [JointRow(-1, HINGE, Z), JointRow(-1, SLIDER, X)]
    tree = build_tree(joints)
    q = np.array([0.7, unit * 0.6])
    rod = elements_between(np.random.default_rng(0), tree, (DISTANCE,), ((0, 1),))
    rod = rod._replace(point_a=unit * 0.2 * X[np.newaxis], point_b=unit * 0.1 * Z[np.newaxis])
    bodies = Bodies(np.ones(2), np.zeros((2, 3)), 0.01 * np.array([np.eye(3)] * 2))
    system = System(tree, bodies, np.zeros(3))
    roles = with_targets(tree, rod, (HARD,), q)
    return Mechanism(system, not_rolling(rod, roles, no_coupler(tree)), q)


def slider_speed(q: Array, unit: float = 1.0) -> float:
    """Return dx / d angle of the slider-crank at q."""
    r, x, a = unit * 0.2, q[1], q[0]
    # the rod: (x - r cos a)^2 + r^2 sin^2 a is fixed: (x - r cos a)(x' + r sin a) + r^2 sin a cos a = 0
    return float(-(r**2) * np.sin(a) * np.cos(a) / (x - r * np.cos(a)) - r * np.sin(a))
