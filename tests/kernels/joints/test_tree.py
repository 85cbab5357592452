"""The joint tree against homogeneous matrices, its tangent steps, and the axes of its dofs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import kernels.joints.tree
from kernels.joints.kinds import BALL, CHAIN, HINGE, SLIDER, joint_coordinates
from kernels.joints.motions import DRIVEN
from kernels.joints.tree import Pose, Tree, new_pose
from tests.naive import differences, random_models
from tests.naive.tree import (
    TURNING,
    difference,
    dofs_of,
    integrate,
    joint_motion,
    quaternion_matrix,
    slices,
    state,
)

Array = NDArray[np.floating]

SEEDS = range(6)
TREES = {
    "branched": random_models.branched_tree,
    "random": random_models.random_tree,
    "long": lambda rng: random_models.random_tree(rng, 10),
    "chained": random_models.chained_tree,
    "ellipsoidal": random_models.ellipsoidal_tree,
}


def some_tree(name: str, seed: int) -> tuple[np.random.Generator, Tree, Array]:
    """Return a generator, a tree and random coordinates."""
    rng = np.random.default_rng([seed, len(name)])
    tree = TREES[name](rng)
    return rng, tree, random_models.random_coordinates(rng, tree)


def posed(tree: Tree, q: Array) -> Pose:
    """Return the kernel's pose at q."""
    pose = new_pose(len(tree.parent), len(tree.dof_body), len(tree.chains.dof))
    kernels.joints.tree.pose(tree, q, pose)
    return pose


def stepped(tree: Tree, q: Array, delta: Array, scale: float = 1.0) -> Array:
    """Return the kernel's integrate(q, scale * delta)."""
    q_new = np.zeros(len(q))
    kernels.joints.tree.integrate(tree, q, delta, scale, q_new)
    return q_new


def between(tree: Tree, q_from: Array, q_to: Array) -> Array:
    """Return the kernel's difference(q_from, q_to)."""
    delta = np.zeros(len(tree.dof_body))
    kernels.joints.tree.difference(tree, q_from, q_to, delta)
    return delta


def canonical(tree: Tree, q: Array) -> Array:
    """Return q with the scalar part of every quaternion positive."""
    q = q.copy()
    for b, kind in enumerate(tree.kind):
        stop = slices(tree, b)[0].stop
        if kind in TURNING and q[stop - 4] < 0.0:
            q[stop - 4 : stop] *= -1.0
    return q


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", TREES)
def test_pose_is_the_product_of_homogeneous_matrices(name: str, seed: int) -> None:
    """Protects positions and rotations of all bodies, for every kind of joint under every other."""
    _, tree, q = some_tree(name, seed)
    pose = posed(tree, q)
    for b, T in enumerate(state(tree, q).body):
        np.testing.assert_allclose(pose.position[b], T[:3, 3], atol=1e-13)
        np.testing.assert_allclose(pose.rotation[b], T[:3, :3], atol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", TREES)
def test_dof_axes_are_those_of_the_twin(name: str, seed: int) -> None:
    """Protects the direction of every dof and the axis points of rotations."""
    _, tree, q = some_tree(name, seed)
    pose = posed(tree, q)
    axis, centre = state(tree, q).axes()
    np.testing.assert_allclose(pose.axis, axis, atol=1e-13)
    np.testing.assert_allclose(pose.centre, centre, atol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", TREES)
def test_dofs_move_points_as_differences_do(name: str, seed: int) -> None:
    """Protects axes, centres, twists and the dof tables: a dof moves its subtree, nothing else."""
    rng, tree, q = some_tree(name, seed)
    pose, step = posed(tree, q), 1e-6
    points = rng.uniform(-0.3, 0.3, (len(tree.parent), 3))
    places = np.zeros((3, len(points), 3))
    for d in range(len(tree.dof_body)):
        delta = np.eye(len(tree.dof_body))[d]
        for k, scale in enumerate((-step, step, 0.0)):
            moved = posed(tree, stepped(tree, q, delta, scale))
            for b, x in enumerate(points):
                kernels.joints.tree.point_in_ground(moved, b, x, places[k, b])
        for b in range(len(points)):
            by_twist = by_axis = np.zeros(3)
            if d in dofs_of(tree, b):
                by_twist = velocity_at(pose.twist[d], places[2, b] - pose.position[0])
                turned = np.cross(pose.axis[d], places[2, b] - pose.centre[d])
                by_axis = turned if tree.dof_rotates[d] else pose.axis[d]
            by_difference = (places[1, b] - places[0, b]) / (2 * step)
            np.testing.assert_allclose(by_difference, by_twist, atol=1e-8)
            if tree.dof_rotates[d] != DRIVEN:
                np.testing.assert_allclose(by_difference, by_axis, atol=1e-8)


def velocity_at(twist: Array, arm: Array) -> Array:
    """Return the velocity (3,) of the point at arm (3,) from the reference point of a twist (6,)."""
    return twist[3:] + np.cross(twist[:3], arm)


@pytest.mark.parametrize("seed", SEEDS)
def test_screws_and_rates_are_the_steps_of_the_twin(seed: int) -> None:
    """Protects what accelerations of chains are made of: each motion's own twist, slope and curvature."""
    _, tree, q = some_tree("chained", seed)
    pose, at = posed(tree, q), state(tree, q)
    origin = at.body[0][:3, 3]
    for b in np.flatnonzero(tree.kind == CHAIN):
        for m, step in enumerate(at.steps[b], tree.chains.start[b]):
            turning = step.axis if step.rotates else np.zeros(3)
            linear = np.cross(step.axis, origin - step.centre) if step.rotates else step.axis
            np.testing.assert_allclose(pose.screw[m], [*turning, *linear], atol=1e-13)
            np.testing.assert_allclose(pose.rate[m], [step.slope, step.curvature], atol=1e-13)


def test_a_pose_forgets_the_one_before() -> None:
    """Protects buffers that are used again: driven twists are sums, and must start from zero."""
    rng, tree, q = some_tree("chained", 0)
    used = posed(tree, random_models.random_coordinates(rng, tree))
    kernels.joints.tree.pose(tree, q, used)
    for again, fresh in zip(used[:-1], posed(tree, q)[:-1], strict=True):
        np.testing.assert_array_equal(again, fresh)


@pytest.mark.parametrize("seed", SEEDS[:2])
@pytest.mark.parametrize("name", ["chained", "ellipsoidal"])
def test_second_derivatives_of_the_twin_are_differences(name: str, seed: int) -> None:
    """Protects the twin that curvature and accelerations are held against, curves of chains included."""
    rng, tree, q = some_tree(name, seed)
    body, x = 3, rng.uniform(-0.3, 0.3, 3)
    first, second = state(tree, q).point_derivatives(body, x)

    def place(q: Array) -> Array:
        return state(tree, q).point(body, x)

    np.testing.assert_allclose(first, differences.first_derivative(place, tree, q), atol=1e-8)
    for u in differences.random_directions(rng, tree, 10):
        along = differences.second_along(place, tree, q, u)
        np.testing.assert_allclose(second @ u @ u, along, atol=1e-6)


@pytest.mark.parametrize("name", TREES)
def test_dof_table_leads_to_ground(name: str) -> None:
    """Protects the random trees themselves: dof_parent walks through exactly the dofs that move a body."""
    _, tree, _ = some_tree(name, 0)
    for d, b in enumerate(tree.dof_body):
        chain, k = [], d
        while k >= 0:
            chain.append(k)
            k = int(tree.dof_parent[k])
        assert chain[::-1] == [i for i in dofs_of(tree, int(b)) if i <= d]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", TREES)
def test_integrate_is_the_twin_and_difference_undoes_it(name: str, seed: int) -> None:
    """Protects tangent steps: R exp(delta) for rotations, sums for the rest, and their inverse."""
    rng, tree, q = some_tree(name, seed)
    delta = rng.uniform(-1.5, 1.5, len(tree.dof_body))
    q_new = stepped(tree, q, delta, 0.8)
    np.testing.assert_allclose(canonical(tree, q_new), integrate(tree, q, 0.8 * delta), atol=1e-13)
    np.testing.assert_allclose(between(tree, q, q_new), 0.8 * delta, atol=1e-13)
    other = random_models.random_coordinates(rng, tree)
    np.testing.assert_allclose(between(tree, q, other), difference(tree, q, other), atol=1e-12)
    np.testing.assert_allclose(canonical(tree, stepped(tree, q, between(tree, q, other))), other, atol=1e-13)


def test_integrate_may_write_in_place() -> None:
    """Protects the aliasing that predictions use."""
    rng, tree, q = some_tree("branched", 1)
    delta = rng.normal(size=len(tree.dof_body))
    expected = stepped(tree, q, delta)
    kernels.joints.tree.integrate(tree, q, delta, 1.0, q)
    np.testing.assert_array_equal(q, expected)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["branched", "chained", "ellipsoidal"])
def test_rigid_move_of_ground_moves_everything_alike(name: str, seed: int) -> None:
    """Protects invariance: root frames moved in ground move bodies, axes, centres and twists rigidly."""
    rng, tree, q = some_tree(name, seed)
    R, x = Rotation.random(None, rng).as_matrix(), rng.normal(size=3)
    there, here = posed(random_models.moved_in_ground(tree, R, x), q), posed(tree, q)
    np.testing.assert_allclose(there.position, here.position @ R.T + x, atol=1e-13)
    np.testing.assert_allclose(there.rotation, R @ here.rotation, atol=1e-13)
    np.testing.assert_allclose(there.axis, here.axis @ R.T, atol=1e-13)
    driven = tree.dof_rotates == DRIVEN
    np.testing.assert_allclose(there.centre[~driven], here.centre[~driven] @ R.T + x, atol=1e-13)
    # the reference point moves along, so twists only turn
    np.testing.assert_allclose(there.twist[:, :3], here.twist[:, :3] @ R.T, atol=1e-13)
    np.testing.assert_allclose(there.twist[:, 3:], here.twist[:, 3:] @ R.T, atol=1e-13)


def test_both_signs_of_a_quaternion_are_one_pose() -> None:
    """Protects against a turned sign of q, which describes the same orientation."""
    _, tree, q = some_tree("branched", 2)
    other = q.copy()
    for b, kind in enumerate(tree.kind):
        if kind in TURNING:
            stop = slices(tree, b)[0].stop
            other[stop - 4 : stop] *= -1.0
    np.testing.assert_allclose(posed(tree, other).position, posed(tree, q).position, atol=1e-15)
    np.testing.assert_allclose(between(tree, q, other), 0.0, atol=1e-15)


def test_points_of_ground_stay() -> None:
    """Protects body -1: a point of ground is its own place."""
    _, tree, q = some_tree("branched", 3)
    x, place = np.array([0.1, -0.2, 0.3]), np.zeros(3)
    kernels.joints.tree.point_in_ground(posed(tree, q), -1, x, place)
    np.testing.assert_array_equal(place, x)


@pytest.mark.parametrize("seed", SEEDS)
def test_joint_coordinates_undo_the_joint_motion(seed: int) -> None:
    """Protects the reading of coordinates from a joint's relative pose, for every kind."""
    _, tree, q = some_tree("branched", seed)
    q_read = np.full(len(q), np.nan)
    for b in range(len(tree.parent)):
        T = joint_motion(tree, b, q[slices(tree, b)[0]])
        joint_coordinates(tree, b, T[:3, :3].copy(), T[:3, 3].copy(), q_read)
    np.testing.assert_allclose(q_read, q, atol=1e-13)


@pytest.mark.parametrize("angle", [-3.1, -np.pi / 2, 0.0, 1e-9, 2.0, np.pi])
def test_joint_coordinates_of_a_hinge_all_the_way_round(angle: float) -> None:
    """Protects the hinge angle in all quadrants."""
    rng = np.random.default_rng(4)
    tree = random_models.tree_of(rng, (HINGE,), (-1,))
    q = np.zeros(1)
    R = Rotation.from_rotvec(angle * tree.parameter[0]).as_matrix()
    joint_coordinates(tree, 0, R, np.zeros(3), q)
    assert np.cos(q[0] - angle) == pytest.approx(1.0, abs=1e-15)


def test_joint_coordinates_leave_out_what_a_joint_does_not_allow() -> None:
    """Protects the projection: hinge and slider keep what lies along their axis, a ball drops translation."""
    rng = np.random.default_rng(5)
    tree = random_models.tree_of(rng, (HINGE, SLIDER, BALL), (-1, -1, -1))
    axis = tree.parameter[0]
    across = np.cross(axis, random_models.unit_rows(rng, 1)[0])
    # a turn about an axis square to the hinge's leaves its angle alone
    R = Rotation.from_rotvec(0.4 * across / np.linalg.norm(across)).as_matrix()
    q = np.zeros(6)
    x = rng.normal(size=3)
    for b in range(3):
        joint_coordinates(tree, b, R, x, q)
    assert q[0] == pytest.approx(0.0, abs=1e-15)
    assert q[1] == pytest.approx(x @ tree.parameter[1], abs=1e-15)
    np.testing.assert_allclose(quaternion_matrix(q[2:]), R, atol=1e-15)
