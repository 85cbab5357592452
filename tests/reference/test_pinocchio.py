"""The dynamics against Pinocchio: random trees of up to 40 dofs, every kind of joint that both have."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.joints.kinds import BALL, CHAIN, FREE, HINGE, SLIDER, WELD
from kernels.joints.tree import Tree, new_pose, pose
from tests.kernels.dynamics.cases import Case, assert_same, forward, inverse, mass
from tests.naive import random_models
from tests.naive.tree import dofs_of

pytest.importorskip("pinocchio")

import pinocchio

from rtsim.bench.mechanics.pinocchio_mirror import Mirror, mirror

Array = NDArray[np.floating]

TOLERANCE = 1e-10  # of the largest entry
N_V_MAX = 40
SEEDS = range(25)
PLANAR, UNIVERSAL = 10, 11
KINDS = (WELD, HINGE, HINGE, HINGE, SLIDER, BALL, PLANAR, UNIVERSAL, FREE)
N_V = {WELD: 0, HINGE: 1, SLIDER: 1, BALL: 3, FREE: 6, PLANAR: 3, UNIVERSAL: 2}


def tree_of_kinds(rng: np.random.Generator, kinds: list[int], parents: list[int]) -> Tree:
    """Return a tree with planar and universal joints as chains; every third body sits on plain axes."""
    motions = {b: random_models.planar(rng) for b, kind in enumerate(kinds) if kind == PLANAR}
    motions |= {b: random_models.universal(rng) for b, kind in enumerate(kinds) if kind == UNIVERSAL}
    own = tuple(CHAIN if kind in (PLANAR, UNIVERSAL) else kind for kind in kinds)
    tree = random_models.tree_of(rng, own, tuple(parents), motions)
    tree.parameter[::3] = np.eye(3)[rng.integers(3, size=len(tree.parameter[::3]))]
    return tree


def random_tree(rng: np.random.Generator) -> Tree:
    """Return a tree of 35 to 40 dofs: free, ball or hinge at ground, bodies numbered across its branches."""
    kinds = [int(rng.choice((FREE, BALL, HINGE)))]
    parents = [-1]
    while sum(N_V[kind] for kind in kinds) < N_V_MAX - 5:
        kind = int(rng.choice(KINDS))
        if sum(N_V[k] for k in kinds) + N_V[kind] <= N_V_MAX:
            parents.append(int(rng.integers(max(-1, len(kinds) - 6), len(kinds))))
            kinds.append(kind)
    return tree_of_kinds(rng, kinds, parents)


def case_of(rng: np.random.Generator, tree: Tree) -> tuple[Case, Mirror]:
    """Return a tree with masses in a random state under random wrenches, here and there."""
    system = random_models.random_system(rng, tree)
    v, v_dot = rng.normal(size=(2, len(tree.dof_body)))
    wrench = rng.normal(size=(len(tree.parent), 6))
    return Case(system, random_models.random_coordinates(rng, tree), v, v_dot, wrench), mirror(system)


@pytest.fixture(params=SEEDS)
def both(request: pytest.FixtureRequest) -> tuple[Case, Mirror]:
    """A random case of up to 40 dofs, and its mirror."""
    rng = np.random.default_rng([request.param, 41])
    return case_of(rng, random_tree(rng))


def test_inverse_dynamics(both: tuple[Case, Mirror]) -> None:
    """Protects tau: generalized forces of a motion in a field of gravity under wrenches."""
    case, peer = both
    assert N_V_MAX - 5 <= len(case.v) <= N_V_MAX
    assert_same(inverse(case), peer.inverse_dynamics(*case[1:]), TOLERANCE)


def test_forward_dynamics(both: tuple[Case, Mirror]) -> None:
    """Protects v_dot: accelerations under generalized forces and wrenches."""
    case, peer = both
    tau = 10.0 * case.v_dot
    assert_same(forward(case, tau), peer.forward_dynamics(case.q, case.v, tau, case.wrench), TOLERANCE)


def test_mass_matrix(both: tuple[Case, Mirror]) -> None:
    """Protects M, all its entries."""
    case, peer = both
    assert_same(mass(case), peer.mass_matrix(case.q), TOLERANCE)


def test_jacobians_of_all_bodies(both: tuple[Case, Mirror]) -> None:
    """Protects the twists in ground, and which dofs move which body."""
    case, peer = both
    tree = case.system.tree
    for b in range(len(tree.parent)):
        assert_same(jacobian(tree, case.q, b), jacobian_of(peer, case.q, b), TOLERANCE)


def jacobian_of(peer: Mirror, q: Array, body: int) -> Array:
    """Return the same of Pinocchio, per speed of ours."""
    pinocchio.computeJointJacobians(peer.model, peer.data, peer.coordinates(q))
    J = pinocchio.getJointJacobian(peer.model, peer.data, peer.carrier[body], pinocchio.ReferenceFrame.WORLD)
    return np.vstack([J[3:], J[:3]]) @ peer.speeds(q)


def jacobian(tree: Tree, q: Array, body: int) -> Array:
    """Return angular velocity and velocity of the point at ground's origin, (6, n_v), from the twists."""
    placed = new_pose(len(tree.parent), len(tree.dof_body), len(tree.chains.dof))
    pose(tree, q, placed)
    J = np.zeros((6, len(tree.dof_body)))
    for d in dofs_of(tree, body):
        angular, linear = placed.twist[d, :3], placed.twist[d, 3:]
        J[:3, d], J[3:, d] = angular, linear - np.cross(angular, placed.position[0])
    return J


@pytest.mark.parametrize("kind", [HINGE, SLIDER, BALL, PLANAR, UNIVERSAL, FREE])
def test_joints_of_one_kind_in_a_row(kind: int) -> None:
    """Protects each kind of joint by itself, so that a failure names it."""
    rng = np.random.default_rng([kind, 42])
    case, peer = case_of(rng, tree_of_kinds(rng, [kind] * 3, [-1, 0, 1]))
    assert_same(inverse(case), peer.inverse_dynamics(*case[1:]), 1e-12)
    assert_same(mass(case), peer.mass_matrix(case.q), 1e-12)


def test_functions_have_no_mirror() -> None:
    """Protects against a mirror of something else: what Pinocchio does not have is refused."""
    rng = np.random.default_rng(43)
    system = random_models.random_system(rng, random_models.chained_tree(rng))
    with pytest.raises(ValueError, match="no joint like joint 1"):
        mirror(system)
