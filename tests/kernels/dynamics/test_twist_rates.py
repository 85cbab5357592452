"""How twists and velocities move with the coordinates, and third derivatives, against differences."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.algebra.functions import evaluate
from kernels.dynamics.motion import new_velocities, velocities
from kernels.dynamics.third_derivative import third_derivative
from kernels.dynamics.twist_rates import twist_rates, twist_shift
from kernels.joints.tree import Pose, Tree, new_pose, pose
from tests.kernels.dynamics.cases import Case, assert_same
from tests.kernels.dynamics.derivative_cases import CASES, any_case
from tests.naive.differences import first_derivative
from tests.naive.random_models import FUNCTIONS, build_functions
from tests.naive.tree import dofs_of

Array = NDArray[np.floating]
every_case = pytest.mark.parametrize(("name", "seed"), CASES)


def pose_at(tree: Tree, q: Array) -> Pose:
    """Return the pose of a tree."""
    at = new_pose(len(tree.parent), len(tree.dof_body), len(tree.chains.dof))
    pose(tree, q, at)
    return at


def about_ground(motions: Array, reference: Array) -> Array:
    """Return motions (n, 6) about a reference point (3,) as those about ground's origin."""
    angular, linear = motions[:, :3], motions[:, 3:]
    return np.hstack([angular, linear + np.cross(reference, angular)])


def twists_at(case: Case, q: Array) -> Array:
    """Return all twists (n_v, 6) about ground's origin."""
    at = pose_at(case.system.tree, q)
    return about_ground(at.twist, at.position[0])


def velocities_at(case: Case, q: Array) -> Array:
    """Return the velocities of all bodies (n_body, 6) about ground's origin."""
    tree = case.system.tree
    at, found = pose_at(tree, q), new_velocities(len(tree.parent))
    velocities(tree, at, case.v, found)
    return about_ground(found.body, at.position[0])


def rates(case: Case) -> Array:
    """Return psi_dot (n_v, 6) about ground's origin, on dirty working space."""
    tree = case.system.tree
    at, found = pose_at(tree, case.q), new_velocities(len(tree.parent))
    velocities(tree, at, case.v, found)
    found.carrier[:] = np.nan
    psi_dot = np.full((len(case.v), 6), np.nan)
    twist_rates(tree, at, case.v, found, psi_dot)
    return about_ground(psi_dot, at.position[0])


def cross(a: Array, b: Array) -> Array:
    """Return the spatial cross product of two motions (6,)."""
    return np.hstack([np.cross(a[:3], b[:3]), np.cross(a[:3], b[3:]) + np.cross(a[3:], b[:3])])


@every_case
def test_velocities_move_with_the_coordinates(name: str, seed: int) -> None:
    """Protects psi_dot: of every body and dof, driven ones included, dV_i/dq_e = psi_dot_e + S_e x V_i."""
    case = any_case(name, seed)
    tree, V = case.system.tree, velocities_at(case, case.q)
    S, psi_dot = twists_at(case, case.q), rates(case)
    expected = first_derivative(lambda q: velocities_at(case, q), tree, case.q)
    found = np.zeros_like(expected)
    for b in range(len(tree.parent)):
        for e in dofs_of(tree, b):
            found[b, :, e] = psi_dot[e] + cross(S[e], V[b])
    assert_same(found, expected, 1e-8)


@every_case
def test_twists_move_with_the_coordinates(name: str, seed: int) -> None:
    """Protects dS_d/dq_e for every pair of dofs, within joints and between branches."""
    case = any_case(name, seed)
    tree, at, n_v = case.system.tree, pose_at(case.system.tree, case.q), len(case.v)
    rng = np.random.default_rng(seed)
    w = rng.normal(size=6)  # about ground's origin; the kernel wants it about the reference point
    about_reference = np.hstack([w[:3] - np.cross(at.position[0], w[3:]), w[3:]])
    expected = first_derivative(lambda q: twists_at(case, q) @ w, tree, case.q)
    found = [[twist_shift(tree, at, d, e, about_reference) for e in range(n_v)] for d in range(n_v)]
    assert_same(np.array(found), expected, 1e-8)


@pytest.mark.parametrize("f", [-1, *range(len(FUNCTIONS))])
def test_third_derivative_is_a_difference_of_curvatures(f: int) -> None:
    """Protects f''' of every kind, inside, between and beyond the knots."""
    table, step = build_functions(FUNCTIONS), 1e-5
    for x in np.linspace(-1.93, 1.93, 24):
        low, high = (evaluate(table, f, x + s * step)[2] for s in (-1.0, 1.0))
        assert third_derivative(table, f, x) == pytest.approx((high - low) / (2 * step), abs=1e-9)
