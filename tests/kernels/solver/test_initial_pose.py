"""The first pose from the markers of each body on its own."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.joints.kinds import BALL, CHAIN, FREE, HINGE, SLIDER, WELD
from kernels.joints.tree import Tree, new_pose
from kernels.markers.marker_cost import ModelMarkers
from kernels.solver.initial_pose import fit_body, initial_pose, jacobi_eigen, new_fit_work
from rtsim.models.packing.joints import neutral_coordinates
from rtsim.models.packing.tree import ChainMotion, build_functions, linear, polynomial
from tests.kernels import leg
from tests.naive import random_models
from tests.naive.markers import model_markers
from tests.naive.tree import difference, state

Array = NDArray[np.floating]

KINDS = (FREE, BALL, HINGE, WELD, SLIDER, BALL, BALL)
PARENTS = (-1, 0, 1, 2, 3, 0, -1)


def random_case(seed: int, n_per_body: int = 4) -> tuple[Tree, ModelMarkers, Array]:
    """Return a tree without inner free joints, markers on every body, and coordinates."""
    rng = np.random.default_rng([seed, 70])
    tree = random_models.tree_of(rng, KINDS, PARENTS)
    body = rng.permutation(np.repeat(np.arange(len(KINDS)), n_per_body)).astype(np.int64)
    markers = ModelMarkers(body, rng.uniform(-0.2, 0.2, (len(body), 3)))
    return tree, markers, random_models.random_coordinates(rng, tree)


def first_pose(
    tree: Tree, markers: ModelMarkers, measured: Array, weight: Array, q_neutral: Array | None = None
) -> tuple[int, Array]:
    """Return how many bodies the kernel fitted, and the coordinates."""
    neutral = neutral_coordinates(tree) if q_neutral is None else q_neutral
    q = np.full(len(neutral), np.nan)
    placed = new_pose(len(tree.parent), len(tree.dof_body), len(tree.chains.dof))
    return initial_pose(tree, markers, measured, weight, neutral, placed, new_fit_work(), q), q


def fitted_body(local: Array, measured: Array, weight: Array | None = None) -> tuple[bool, Array, Array]:
    """Return whether one body was fitted, its rotation and its origin."""
    fit = new_fit_work()
    seen = np.ones(len(local)) if weight is None else weight
    done = fit_body(ModelMarkers(np.zeros(len(local), np.int64), local), 0, measured, seen, fit)
    return done, fit.matrices[0], fit.vectors[0]


@pytest.mark.parametrize("seed", range(8))
def test_exact_markers_give_the_pose_back(seed: int) -> None:
    """Protects exact recovery of full marker sets, for every joint whose motion markers show."""
    tree, markers, q = random_case(seed)
    n_fitted, found = first_pose(tree, markers, model_markers(tree, markers, q), np.ones(len(markers.body)))
    assert n_fitted == len(KINDS)
    # hinges come back modulo a full turn
    gap = difference(tree, q, found)
    turns = tree.kind[tree.dof_body] == HINGE
    gap[turns] = np.remainder(gap[turns] + np.pi, 2.0 * np.pi) - np.pi
    np.testing.assert_allclose(gap, 0.0, atol=1e-11)


# tilt, list and turn, then the three ways to go: the pelvis of many models
SIX = tuple(ChainMotion(m < 3, np.eye(3)[(2, 0, 1, 0, 1, 2)[m]], m) for m in range(6))


def chained_case(seed: int) -> tuple[Tree, ModelMarkers, Array]:
    """Return chains on a chain that moves in all six ways, carried far from where it is neutral."""
    rng = np.random.default_rng([seed, 72])
    # one coordinate that drives four motions, of which one is a plain turn, as a knee does
    x, y, _ = np.eye(3)
    turn = ChainMotion(True, random_models.unit_rows(rng, 1)[0])
    bends = (turn, ChainMotion(False, x, 0, 0), ChainMotion(False, y, 0, 1), ChainMotion(True, y, 0, 2))
    motions = {0: SIX, 1: random_models.universal(rng), 2: bends, 3: random_models.planar(rng)}
    curves = [polynomial((0.0, 0.02, 0.03)), linear(0.03), polynomial((0.0, 0.1, 0.1))]
    functions = build_functions(curves)
    tree = random_models.tree_of(rng, (CHAIN,) * 4, (-1, 0, 1, 0), motions, functions)
    body = np.repeat(np.arange(4), 4).astype(np.int64)
    q = rng.uniform(-1.0, 1.0, 12)
    q[:3] = rng.uniform(-1.4, 1.4, 3)
    q[seed % 3] += np.pi * (seed % 2)
    q[3:6] *= 5.0
    return tree, ModelMarkers(body, rng.uniform(-0.2, 0.2, (16, 3))), q


@pytest.mark.parametrize("seed", range(8))
def test_chains_are_fitted_to_their_bodies(seed: int) -> None:
    """Protects roots and joints that are chains, functions too: exact markers give every body back."""
    tree, markers, q = chained_case(seed)
    measured = model_markers(tree, markers, q)
    n_fitted, found = first_pose(tree, markers, measured, np.ones(len(markers.body)))
    assert n_fitted == 4
    for expected, body in zip(state(tree, q).body, state(tree, found).body, strict=True):
        np.testing.assert_allclose(body, expected, atol=1e-6)


def test_a_chain_leaves_out_the_motion_that_it_does_not_allow() -> None:
    """Protects the fit of fewer motions than the body shows: the best one, no other coordinate better."""
    tree, markers, q = chained_case(2)
    off = np.random.default_rng(73).normal(0.0, 0.01, (len(markers.body), 3))
    measured = model_markers(tree, markers, q) + off
    _, found = first_pose(tree, markers, measured, np.ones(len(markers.body)))

    def misses(there: Array) -> list[float]:
        return [
            float(np.abs(a - b)[:3].max())
            for a, b in zip(state(tree, there).body, state(tree, q).body, strict=True)
        ]

    assert max(misses(found)) < 0.2  # radians and metres, from markers 1 cm off on levers of 20 cm


@pytest.mark.parametrize("seed", range(4))
def test_three_markers_of_each_body_are_enough(seed: int) -> None:
    """Protects the smallest marker set, and that a fourth, occluded one takes no part."""
    tree, markers, q = random_case(seed)
    measured = model_markers(tree, markers, q)
    weight = np.ones(len(markers.body))
    for b in range(len(KINDS)):
        gone = np.flatnonzero(markers.body == b)[seed]
        measured[gone], weight[gone] = np.nan, 0.0
    n_fitted, found = first_pose(tree, markers, measured, weight)
    assert n_fitted == len(KINDS)
    for expected, body in zip(state(tree, q).body, state(tree, found).body, strict=True):
        np.testing.assert_allclose(body, expected, atol=1e-11)


def test_bodies_with_fewer_than_three_markers_keep_the_neutral_pose() -> None:
    """Protects unseen segments: their joint stays at the coordinates given, the others are fitted."""
    tree, markers, q = random_case(3)
    measured, weight = model_markers(tree, markers, q), np.ones(len(markers.body))
    gone = np.flatnonzero(markers.body == 1)[:2]
    measured[gone], weight[gone] = np.nan, 0.0
    neutral = random_models.random_coordinates(np.random.default_rng(71), tree)
    n_fitted, found = first_pose(tree, markers, measured, weight, neutral)
    assert n_fitted == len(KINDS) - 1
    np.testing.assert_array_equal(found[7:11], neutral[7:11])
    np.testing.assert_allclose(state(tree, found).body[0], state(tree, q).body[0], atol=1e-11)
    np.testing.assert_allclose(state(tree, found).body[6], state(tree, q).body[6], atol=1e-11)


def test_no_marker_keeps_everything_neutral() -> None:
    """Protects the empty frame: nothing is fitted and the neutral coordinates come back."""
    tree, markers, _ = random_case(4)
    neutral = random_models.random_coordinates(np.random.default_rng(72), tree)
    measured = np.full((len(markers.body), 3), np.nan)
    n_fitted, found = first_pose(tree, markers, measured, np.zeros(len(markers.body)), neutral)
    assert n_fitted == 0
    np.testing.assert_array_equal(found, neutral)


@pytest.mark.parametrize("n", [3, 4, 7])
@pytest.mark.parametrize("seed", range(4))
def test_markers_on_a_line_are_refused(n: int, seed: int) -> None:
    """Protects against a made-up rotation: collinear markers leave the turn about their line open."""
    rng = np.random.default_rng([seed, 73])
    direction, origin = rng.normal(size=(2, 3))
    local = origin + np.outer(rng.uniform(-0.2, 0.2, n), direction)
    R = Rotation.random(None, rng).as_matrix()
    assert not fitted_body(local, local @ R.T + 0.5)[0]


def test_coinciding_markers_are_refused() -> None:
    """Protects against markers that are all at one place."""
    assert not fitted_body(np.ones((4, 3)), np.full((4, 3), 2.0))[0]


@pytest.mark.parametrize("n", [3, 4])
def test_markers_in_a_plane_are_accepted(n: int) -> None:
    """Protects three markers, which are always in a plane: no reflection, no refusal."""
    rng = np.random.default_rng(74)
    local = np.column_stack([rng.uniform(-0.2, 0.2, (n, 2)), np.zeros(n)])
    for turn in Rotation.random(20, rng).as_matrix():
        done, R, x = fitted_body(local, local @ turn.T + [1.0, -2.0, 3.0])
        assert done
        np.testing.assert_allclose(R, turn, atol=1e-12)
        np.testing.assert_allclose(x, [1.0, -2.0, 3.0], atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_fit_of_noisy_markers_is_the_least_squares_one(seed: int) -> None:
    """Protects Horn's quaternion against SciPy's singular value solution."""
    rng = np.random.default_rng([seed, 75])
    local = rng.uniform(-0.2, 0.2, (5, 3))
    measured = local @ Rotation.random(None, rng).as_matrix().T + rng.normal(0.0, 0.05, (5, 3))
    done, R, x = fitted_body(local, measured)
    expected, _ = Rotation.align_vectors(measured - measured.mean(axis=0), local - local.mean(axis=0))
    assert done
    np.testing.assert_allclose(R, expected.as_matrix(), atol=1e-10)
    np.testing.assert_allclose(x, measured.mean(axis=0) - R @ local.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("half_turn", [np.diag([1.0, -1.0, -1.0]), np.diag([-1.0, 1.0, -1.0]), np.eye(3)])
def test_fit_of_half_turns_and_of_none(half_turn: Array) -> None:
    """Protects the eigenvectors where the 4 x 4 matrix is already diagonal."""
    local = np.array([[0.1, 0.0, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, 0.3], [-0.1, -0.2, -0.3]])
    done, R, _ = fitted_body(local, local @ half_turn.T)
    assert done
    np.testing.assert_allclose(R, half_turn, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_eigenvectors_are_numpys(seed: int) -> None:
    """Protects the cyclic Jacobi rotations: eigenvalues, and vectors that diagonalise the matrix."""
    A = np.random.default_rng([seed, 76]).normal(size=(4, 4))
    A = A + A.T
    K, V = A.copy(), np.zeros((4, 4))
    jacobi_eigen(K, V)
    np.testing.assert_allclose(np.sort(np.diag(K)), np.linalg.eigvalsh(A), atol=1e-13)
    np.testing.assert_allclose(V.T @ A @ V, np.diag(np.diag(K)), atol=1e-13)


def test_inner_free_joint_takes_its_rotation_only() -> None:
    """Protects the knee's start: soft tissue does not pull the joint apart before it is solved."""
    built, exact = leg.built("free"), leg.exact_trial()
    moved = exact.markers[0].copy()
    moved[built.markers.body >= 2] += [0.0, 0.03, 0.0]  # shank and foot 3 cm off
    _, q = first_pose(built.tree, built.markers, moved, np.ones(len(moved)), built.q_neutral)
    shank = built.tree.q_start[2]
    np.testing.assert_array_equal(q[shank : shank + 3], built.q_neutral[shank : shank + 3])
    turn = difference(built.tree, exact.q[0], q)
    np.testing.assert_allclose(turn[12:15], 0.0, atol=1e-10)
