"""The joint tree against homogeneous matrices, its tangent steps, and the axes of its dofs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels import tree as kernel
from kernels.tree import BALL, FREE, HINGE, N_Q, SLIDER, Pose, Tree, new_pose
from tests.naive import random_models
from tests.naive import tree as naive

Array = NDArray[np.floating]

SEEDS = range(6)
TREES = {
    "branched": random_models.branched_tree,
    "random": random_models.random_tree,
    "long": lambda rng: random_models.random_tree(rng, 10),
}


def some_tree(name: str, seed: int) -> tuple[np.random.Generator, Tree, Array]:
    """Return a generator, a tree and random coordinates."""
    rng = np.random.default_rng([seed, len(name)])
    tree = TREES[name](rng)
    return rng, tree, random_models.random_coordinates(rng, tree)


def posed(tree: Tree, q: Array) -> Pose:
    """Return the kernel's pose at q."""
    pose = new_pose(len(tree.parent), len(tree.dof_body))
    kernel.pose(tree, q, pose)
    return pose


def stepped(tree: Tree, q: Array, delta: Array, scale: float = 1.0) -> Array:
    """Return the kernel's integrate(q, scale * delta)."""
    q_new = np.zeros(len(q))
    kernel.integrate(tree, q, delta, scale, q_new)
    return q_new


def between(tree: Tree, q_from: Array, q_to: Array) -> Array:
    """Return the kernel's difference(q_from, q_to)."""
    delta = np.zeros(len(tree.dof_body))
    kernel.difference(tree, q_from, q_to, delta)
    return delta


def canonical(tree: Tree, q: Array) -> Array:
    """Return q with the scalar part of every quaternion positive."""
    q = q.copy()
    for b, kind in enumerate(tree.kind):
        stop = tree.q_start[b] + N_Q[kind]
        if kind in (BALL, FREE) and q[stop - 4] < 0.0:
            q[stop - 4 : stop] *= -1.0
    return q


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", TREES)
def test_pose_is_the_product_of_homogeneous_matrices(name: str, seed: int) -> None:
    """Protects positions and rotations of all bodies, for every kind of joint under every other."""
    _, tree, q = some_tree(name, seed)
    pose = posed(tree, q)
    for b, T in enumerate(naive.state(tree, q).body):
        np.testing.assert_allclose(pose.position[b], T[:3, 3], atol=1e-13)
        np.testing.assert_allclose(pose.rotation[b], T[:3, :3], atol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", TREES)
def test_dof_axes_are_those_of_the_twin(name: str, seed: int) -> None:
    """Protects the direction of every dof and the axis points of rotations."""
    _, tree, q = some_tree(name, seed)
    pose = posed(tree, q)
    axis, centre = naive.state(tree, q).axes()
    np.testing.assert_allclose(pose.axis, axis, atol=1e-13)
    np.testing.assert_allclose(pose.centre, centre, atol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", TREES)
def test_axes_and_centres_move_points_as_differences_do(name: str, seed: int) -> None:
    """Protects axes, centres and the tables dof_body, dof_rotates: a dof moves its subtree, nothing else."""
    rng, tree, q = some_tree(name, seed)
    pose, step = posed(tree, q), 1e-6
    points = rng.uniform(-0.3, 0.3, (len(tree.parent), 3))
    places = np.zeros((3, len(points), 3))
    for d in range(len(tree.dof_body)):
        delta = np.eye(len(tree.dof_body))[d]
        for k, scale in enumerate((-step, step, 0.0)):
            moved = posed(tree, stepped(tree, q, delta, scale))
            for b, x in enumerate(points):
                kernel.point_in_ground(moved, b, x, places[k, b])
        for b in range(len(points)):
            expected = np.zeros(3)
            if d in naive.dofs_of(tree, b):
                arm = places[2, b] - pose.centre[d]
                expected = np.cross(pose.axis[d], arm) if tree.dof_rotates[d] else pose.axis[d]
            np.testing.assert_allclose((places[1, b] - places[0, b]) / (2 * step), expected, atol=1e-8)


@pytest.mark.parametrize("name", TREES)
def test_dof_table_leads_to_ground(name: str) -> None:
    """Protects the random trees themselves: dof_parent walks through exactly the dofs that move a body."""
    _, tree, _ = some_tree(name, 0)
    for d, b in enumerate(tree.dof_body):
        chain, k = [], d
        while k >= 0:
            chain.append(k)
            k = int(tree.dof_parent[k])
        assert chain[::-1] == [i for i in naive.dofs_of(tree, int(b)) if i <= d]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", TREES)
def test_integrate_is_the_twin_and_difference_undoes_it(name: str, seed: int) -> None:
    """Protects tangent steps: R exp(delta) for rotations, sums for the rest, and their inverse."""
    rng, tree, q = some_tree(name, seed)
    delta = rng.uniform(-1.5, 1.5, len(tree.dof_body))
    q_new = stepped(tree, q, delta, 0.8)
    np.testing.assert_allclose(canonical(tree, q_new), naive.integrate(tree, q, 0.8 * delta), atol=1e-13)
    np.testing.assert_allclose(between(tree, q, q_new), 0.8 * delta, atol=1e-13)
    other = random_models.random_coordinates(rng, tree)
    np.testing.assert_allclose(between(tree, q, other), naive.difference(tree, q, other), atol=1e-12)
    np.testing.assert_allclose(canonical(tree, stepped(tree, q, between(tree, q, other))), other, atol=1e-13)


def test_integrate_may_write_in_place() -> None:
    """Protects the aliasing that predictions use."""
    rng, tree, q = some_tree("branched", 1)
    delta = rng.normal(size=len(tree.dof_body))
    expected = stepped(tree, q, delta)
    kernel.integrate(tree, q, delta, 1.0, q)
    np.testing.assert_array_equal(q, expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_rigid_move_of_ground_moves_everything_alike(seed: int) -> None:
    """Protects invariance: root frames moved in ground move bodies, axes and centres rigidly."""
    rng, tree, q = some_tree("branched", seed)
    R, x = Rotation.random(None, rng).as_matrix(), rng.normal(size=3)
    roots = tree.parent < 0
    position, rotation = tree.position_in_parent.copy(), tree.rotation_in_parent.copy()
    position[roots] = position[roots] @ R.T + x
    rotation[roots] = R @ rotation[roots]
    there = posed(tree._replace(position_in_parent=position, rotation_in_parent=rotation), q)
    here = posed(tree, q)
    np.testing.assert_allclose(there.position, here.position @ R.T + x, atol=1e-13)
    np.testing.assert_allclose(there.rotation, R @ here.rotation, atol=1e-13)
    np.testing.assert_allclose(there.axis, here.axis @ R.T, atol=1e-13)
    np.testing.assert_allclose(there.centre, here.centre @ R.T + x, atol=1e-13)


def test_both_signs_of_a_quaternion_are_one_pose() -> None:
    """Protects against a turned sign of q, which describes the same orientation."""
    _, tree, q = some_tree("branched", 2)
    other = q.copy()
    for b, kind in enumerate(tree.kind):
        if kind in (BALL, FREE):
            stop = tree.q_start[b] + N_Q[kind]
            other[stop - 4 : stop] *= -1.0
    np.testing.assert_allclose(posed(tree, other).position, posed(tree, q).position, atol=1e-15)
    np.testing.assert_allclose(between(tree, q, other), 0.0, atol=1e-15)


def test_points_of_ground_stay() -> None:
    """Protects body -1: a point of ground is its own place."""
    _, tree, q = some_tree("branched", 3)
    x, place = np.array([0.1, -0.2, 0.3]), np.zeros(3)
    kernel.point_in_ground(posed(tree, q), -1, x, place)
    np.testing.assert_array_equal(place, x)


@pytest.mark.parametrize("seed", SEEDS)
def test_joint_coordinates_undo_the_joint_motion(seed: int) -> None:
    """Protects the reading of coordinates from a joint's relative pose, for every kind."""
    _, tree, q = some_tree("branched", seed)
    q_read = np.full(len(q), np.nan)
    for b, kind in enumerate(tree.kind):
        T = naive.joint_motion(kind, tree.axis[b], q[naive.slices(tree, b)[0]])
        kernel.joint_coordinates(tree, b, T[:3, :3].copy(), T[:3, 3].copy(), q_read)
    np.testing.assert_allclose(q_read, q, atol=1e-13)


@pytest.mark.parametrize("angle", [-3.1, -np.pi / 2, 0.0, 1e-9, 2.0, np.pi])
def test_joint_coordinates_of_a_hinge_all_the_way_round(angle: float) -> None:
    """Protects the hinge angle in all quadrants."""
    rng = np.random.default_rng(4)
    tree = random_models.tree_of(rng, (HINGE,), (-1,))
    q = np.zeros(1)
    R = Rotation.from_rotvec(angle * tree.axis[0]).as_matrix()
    kernel.joint_coordinates(tree, 0, R, np.zeros(3), q)
    assert np.cos(q[0] - angle) == pytest.approx(1.0, abs=1e-15)


def test_joint_coordinates_leave_out_what_a_joint_does_not_allow() -> None:
    """Protects the projection: hinge and slider keep what lies along their axis, a ball drops translation."""
    rng = np.random.default_rng(5)
    tree = random_models.tree_of(rng, (HINGE, SLIDER, BALL), (-1, -1, -1))
    axis = tree.axis[0]
    across = np.cross(axis, random_models.unit_rows(rng, 1)[0])
    # a turn about an axis square to the hinge's leaves its angle alone
    R = Rotation.from_rotvec(0.4 * across / np.linalg.norm(across)).as_matrix()
    q = np.zeros(6)
    x = rng.normal(size=3)
    for b in range(3):
        kernel.joint_coordinates(tree, b, R, x, q)
    assert q[0] == pytest.approx(0.0, abs=1e-15)
    assert q[1] == pytest.approx(x @ tree.axis[1], abs=1e-15)
    np.testing.assert_allclose(naive.quaternion_matrix(q[2:]), R, atol=1e-15)
