"""Elements between two bodies: values, rows and curvature against points' derivatives and differences."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.joints.tree import Tree, new_pose, pose
from kernels.solver.constraints import (
    AZIMUTH,
    DISTANCE,
    ELEVATION,
    SPHERE_ON_PLANE,
    Elements,
    add_curvature,
    element_rows,
    element_values,
    new_element_work,
)
from rtsim.models.packing.elements import path_between
from tests.naive import constraints, differences, random_models
from tests.naive.tree import integrate, state

Array = NDArray[np.floating]

SEEDS = range(4)
ANGLES = ("azimuth", "elevation")
KINDS = {
    "sphere_on_plane": SPHERE_ON_PLANE,
    "distance": DISTANCE,
    "azimuth": AZIMUTH,
    "elevation": ELEVATION,
}
# In the branched tree of random_models: neighbours, along one branch, across two branches, both orders,
# with ground on either side, between two roots, and on a body carried by a weld.
PAIRS = ((1, 0), (0, 1), (4, 1), (1, 4), (4, 6), (6, 4), (6, -1), (-1, 6), (7, 4), (4, 7), (3, 5), (2, 3))


class Case(NamedTuple):
    """A branched tree with one element per pair of bodies."""

    tree: Tree
    elements: Elements
    target: Array
    q: Array


class Terms(NamedTuple):
    """What the kernels say at q, rows and curvature spread over all dofs."""

    value: Array
    rows: Array
    curvature: Array


# Chains that follow functions: along a branch, across branches, against ground, between roots, into a chain.
CHAINED_PAIRS = (
    (1, 0), (2, 0), (0, 3), (3, 7), (7, 3), (6, 4), (4, 6), (9, -1), (-1, 9), (9, 7), (8, 2), (7, 5)
)  # fmt: skip
TREES = {
    "branched": (random_models.branched_tree, PAIRS),
    "chained": (random_models.chained_tree, CHAINED_PAIRS),
}


def some_case(kind: str, seed: int, name: str = "branched") -> Case:
    """Return a random case with targets of 0.3 m."""
    rng = np.random.default_rng([seed, KINDS[kind]])
    make_tree, pairs = TREES[name]
    tree = make_tree(rng)
    elements = random_models.elements_between(rng, tree, (KINDS[kind],) * len(pairs), pairs)
    return Case(tree, elements, np.full(len(pairs), 0.3), random_models.random_coordinates(rng, tree))


def terms(case: Case) -> Terms:
    """Return values, rows (n_element, n_v) and curvature (n_element, n_v, n_v) by the kernels."""
    tree, elements = case.tree, case.elements
    n, n_v = len(elements.kind), len(tree.dof_body)
    placed = new_pose(len(tree.parent), n_v, len(tree.chains.dof))
    work = new_element_work(n, elements.path.shape[1])
    pose(tree, case.q, placed)
    element_values(elements, placed, case.target, work)
    element_rows(elements, placed, work)
    rows, curvature = np.zeros((n, n_v)), np.zeros((n, n_v, n_v))
    for e in range(n):
        path = elements.path[e, : elements.n_path[e]]
        rows[e, path] = work.row[e, : elements.n_path[e]]
        add_curvature(tree, elements, placed, e, 1.0, work, curvature[e])
    lower = np.tril(curvature)
    np.testing.assert_array_equal(lower, curvature)
    return Terms(work.value, rows, lower + np.swapaxes(np.tril(curvature, -1), 1, 2))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TREES)
def test_terms_are_those_of_the_points_derivatives(name: str, kind: str, seed: int) -> None:
    """Protects value, row and curvature, for all places of both bodies in the tree."""
    case = some_case(kind, seed, name)
    found, at = terms(case), state(case.tree, case.q)
    for e in range(len(case.target)):
        gradient, hessian = constraints.derivatives(at, case.elements, e)
        value = constraints.value(at, case.elements, e, 0.3)
        assert found.value[e] == pytest.approx(value, abs=1e-13)
        np.testing.assert_allclose(found.rows[e], gradient, atol=1e-12)
        np.testing.assert_allclose(found.curvature[e], hessian, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS[:2])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TREES)
def test_rows_and_curvature_are_the_differences_of_the_value(name: str, kind: str, seed: int) -> None:
    """Protects the derivatives without any rule of the tree: differences of Phi alone, through integrate."""
    case = some_case(kind, seed, name)
    found = terms(case)

    def values(q: Array) -> Array:
        at = state(case.tree, q)
        return np.array([constraints.value(at, case.elements, e, 0.3) for e in range(len(case.target))])

    # angles bend more where their direction is near the axis
    along = differences.second_along_finer if kind in ANGLES else differences.second_along
    # Phi of the farthest pairs is a few square metres: rounding is 1e-15 / step^2
    np.testing.assert_allclose(found.rows, differences.first_derivative(values, case.tree, case.q), atol=1e-8)
    for u in differences.random_directions(np.random.default_rng(31), case.tree):
        second = along(values, case.tree, case.q, u)
        np.testing.assert_allclose(found.curvature @ u @ u, second, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_dofs_off_the_path_do_not_matter(kind: str) -> None:
    """Protects the paths: a dof that moves neither body, or both, leaves Phi alone."""
    case = some_case(kind, 0)
    rng = np.random.default_rng(20)
    for e in range(len(PAIRS)):
        off = np.ones(len(case.tree.dof_body), bool)
        off[case.elements.path[e, : case.elements.n_path[e]]] = False
        delta = np.where(off, rng.normal(size=len(off)), 0.0)
        there = terms(case._replace(q=integrate(case.tree, case.q, delta)))
        here = terms(case)
        assert there.value[e] == pytest.approx(here.value[e], abs=1e-12)
        np.testing.assert_allclose(there.rows[e], here.rows[e], atol=1e-12)
        np.testing.assert_array_equal(here.rows[e][off], 0.0)
        np.testing.assert_array_equal(here.curvature[e][off], 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_paths_of_the_packed_models_are_those_of_the_twin(kind: str) -> None:
    """Protects rtsim's paths, which the kernels trust: dofs, sides and their order."""
    tree = some_case(kind, 0).tree
    for a, b in PAIRS:
        assert path_between(tree, a, b) == constraints.path_between(tree, a, b)


@pytest.mark.parametrize("kind", KINDS)
def test_rigid_motion_of_everything_changes_nothing(kind: str) -> None:
    """Protects invariance: all roots and the points of ground moved together keep value, row, curvature."""
    case = some_case(kind, 1)
    R, x = Rotation.random(None, np.random.default_rng(21)).as_matrix(), np.array([3.0, -5.0, 2.0])
    tree, elements = case.tree, case.elements
    roots = tree.parent < 0
    position, rotation = tree.position_in_parent.copy(), tree.rotation_in_parent.copy()
    position[roots], rotation[roots] = position[roots] @ R.T + x, R @ rotation[roots]
    point_a, point_b, normal_b = elements.point_a.copy(), elements.point_b.copy(), elements.normal_b.copy()
    on_a, on_b = elements.body_a < 0, elements.body_b < 0
    away = np.zeros(3) if kind in ANGLES else x  # directions are turned alone
    point_a[on_a] = point_a[on_a] @ R.T + away
    point_b[on_b] = point_b[on_b] @ R.T + away
    normal_b[on_b] = normal_b[on_b] @ R.T
    there = terms(
        case._replace(
            tree=tree._replace(position_in_parent=position, rotation_in_parent=rotation),
            elements=elements._replace(point_a=point_a, point_b=point_b, normal_b=normal_b),
        )
    )
    for found, expected in zip(there, terms(case), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_curvature_is_added_with_its_factor() -> None:
    """Protects the accumulation into a Hessian: H += factor * d2Phi."""
    case = some_case("distance", 2)
    tree, n_v = case.tree, len(case.tree.dof_body)
    placed = new_pose(len(tree.parent), n_v, len(tree.chains.dof))
    work = new_element_work(len(PAIRS), case.elements.path.shape[1])
    pose(tree, case.q, placed)
    element_values(case.elements, placed, case.target, work)
    H = np.ones((n_v, n_v))
    add_curvature(tree, case.elements, placed, 4, -2.5, work, H)
    np.testing.assert_allclose(np.tril(H), np.tril(1.0 - 2.5 * terms(case).curvature[4]), atol=1e-12)


def test_value_of_a_sphere_that_touches_its_plane_is_zero() -> None:
    """Protects signs: the centre one radius along the normal from the plane gives 0, farther is positive."""
    rng = np.random.default_rng(22)
    tree = random_models.branched_tree(rng)
    q = random_models.random_coordinates(rng, tree)
    elements = random_models.elements_between(rng, tree, (SPHERE_ON_PLANE,), ((4, -1),))
    a, b, n = constraints.ends(state(tree, q), elements, 0)
    # a plane of ground, a foot's breadth beside the centre and one radius below it
    across = np.cross(n, random_models.unit_rows(rng, 1)[0])
    touching = elements._replace(point_b=(a - 0.03 * n + 0.2 * across)[np.newaxis])
    assert terms(Case(tree, touching, np.array([0.03]), q)).value[0] == pytest.approx(0.0, abs=1e-15)
    assert terms(Case(tree, touching, np.array([0.02]), q)).value[0] == pytest.approx(0.01, abs=1e-15)
    assert np.abs(a - b).max() > 0.0
