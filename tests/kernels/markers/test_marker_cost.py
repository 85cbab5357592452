"""Marker terms from composite moments against explicit Jacobians and central differences."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.joints.kinds import FREE
from kernels.joints.tree import Tree, new_pose, pose
from kernels.markers.marker_cost import (
    ModelMarkers,
    marker_gradient,
    marker_hessian,
    marker_moments,
    new_marker_work,
    weight_of,
)
from tests.naive import differences, random_models
from tests.naive.markers import cost, derivatives, model_markers

Array = NDArray[np.floating]

SEEDS = range(5)
TREES = {
    "branched": random_models.branched_tree,
    "random": random_models.random_tree,
    "chained": random_models.chained_tree,
    "ellipsoidal": random_models.ellipsoidal_tree,
}


class Case(NamedTuple):
    """A random tree with markers well off the measured ones, so that the second-order part is large."""

    tree: Tree
    markers: ModelMarkers
    q: Array
    measured: Array
    weight: Array


class Terms(NamedTuple):
    """What the kernels say at q."""

    cost: float
    model: Array
    gradient: Array
    gauss_newton: Array  # both halves
    hessian: Array  # both halves


def some_case(name: str, seed: int) -> Case:
    """Return a random case with weights from 0.2 to 3."""
    rng = np.random.default_rng([seed, len(name)])
    tree = TREES[name](rng)
    q = random_models.random_coordinates(rng, tree)
    markers = random_models.random_markers(rng, tree)
    measured = model_markers(tree, markers, q) + rng.normal(0.0, 0.2, (len(markers.body), 3))
    return Case(tree, markers, q, measured, rng.uniform(0.2, 3.0, len(markers.body)))


def whole(lower: Array) -> Array:
    """Return the symmetric matrix of a lower triangle."""
    return np.tril(lower) + np.tril(lower, -1).T


def terms(case: Case) -> Terms:
    """Return cost and derivatives by the kernels."""
    tree, n_v = case.tree, len(case.tree.dof_body)
    placed = new_pose(len(tree.parent), n_v, len(tree.chains.dof))
    work = new_marker_work(len(case.markers.body), len(tree.parent))
    gradient, gauss_newton, hessian = np.zeros(n_v), np.full((n_v, n_v), np.nan), np.full((n_v, n_v), np.nan)
    pose(tree, case.q, placed)
    cost = marker_moments(tree, case.markers, placed, case.measured, case.weight, work)
    marker_gradient(tree, placed, work, gradient)
    marker_hessian(tree, placed, work, 0.0, gauss_newton)
    marker_hessian(tree, placed, work, 1.0, hessian)
    return Terms(cost, work.model, gradient, whole(gauss_newton), whole(hessian))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", TREES)
def test_terms_are_those_of_explicit_jacobians(name: str, seed: int) -> None:
    """Protects cost, gradient, Gauss-Newton and second-order part on trees of all joints."""
    case = some_case(name, seed)
    found = terms(case)
    gradient, gauss_newton, rest = derivatives(*case)
    assert found.cost == pytest.approx(cost(*case), rel=1e-13)
    np.testing.assert_allclose(found.model, model_markers(case.tree, case.markers, case.q), atol=1e-13)
    np.testing.assert_allclose(found.gradient, gradient, atol=1e-12)
    np.testing.assert_allclose(found.gauss_newton, gauss_newton, atol=1e-12)
    np.testing.assert_allclose(found.hessian, gauss_newton + rest, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS[:2])
@pytest.mark.parametrize("name", TREES)
def test_gradient_and_hessian_are_the_differences_of_the_cost(name: str, seed: int) -> None:
    """Protects the second-order rules of the tree: differences of the cost alone, through integrate."""
    case = some_case(name, seed)
    found = terms(case)

    def cost_at(q: Array) -> Array:
        return np.array(cost(case.tree, case.markers, q, case.measured, case.weight))

    first = differences.first_derivative(cost_at, case.tree, case.q)
    np.testing.assert_allclose(found.gradient, first, atol=1e-7)
    for u in differences.random_directions(np.random.default_rng(30), case.tree):
        second = differences.second_along_finer(cost_at, case.tree, case.q, u)
        assert u @ found.hessian @ u == pytest.approx(second, abs=1e-6)
    # the part that Gauss-Newton leaves out is no small correction here
    assert np.abs(found.hessian - found.gauss_newton).max() > 0.1


@pytest.mark.parametrize("missing", [np.nan, 1e3])
def test_markers_of_weight_zero_drop_out(missing: float) -> None:
    """Protects occlusion: a weightless marker takes no part, whatever its coordinates (NaN too)."""
    case = some_case("branched", 1)
    out = np.zeros(len(case.weight), bool)
    out[[0, 5, 11]] = True
    measured, weight = case.measured.copy(), case.weight.copy()
    measured[out], weight[out] = missing, 0.0
    kept = ModelMarkers(case.markers.body[~out], case.markers.position[~out])
    found = terms(case._replace(measured=measured, weight=weight))
    without = terms(case._replace(markers=kept, measured=measured[~out], weight=weight[~out]))
    for name in ("cost", "gradient", "gauss_newton", "hessian"):
        np.testing.assert_allclose(getattr(found, name), getattr(without, name), atol=1e-13)
    assert np.isfinite(found.model).all()


def test_no_marker_at_all_gives_zeros() -> None:
    """Protects a frame without any visible marker."""
    case = some_case("branched", 2)
    found = terms(
        case._replace(measured=np.full_like(case.measured, np.nan), weight=np.zeros(len(case.weight)))
    )
    assert found.cost == 0.0
    for part in (found.gradient, found.gauss_newton, found.hessian):
        np.testing.assert_array_equal(part, np.zeros_like(part))


@pytest.mark.parametrize("seed", SEEDS)
def test_gauss_newton_matrix_is_the_mass_matrix_of_point_masses(seed: int) -> None:
    """Protects the composite moments: kinetic energy of the markers as masses, from differences of places."""
    case = some_case("branched", seed)

    def places(q: Array) -> Array:
        return model_markers(case.tree, case.markers, q)

    J = differences.first_derivative(places, case.tree, case.q)
    mass = np.einsum("m,mxi,mxj->ij", case.weight, J, J)
    np.testing.assert_allclose(terms(case).gauss_newton, mass, atol=1e-8)


def test_everything_far_away_changes_nothing() -> None:
    """Protects translation invariance: tree and measured markers moved together keep the derivatives."""
    case = some_case("branched", 3)
    shift = np.array([12.0, -7.0, 30.0])
    position = case.tree.position_in_parent.copy()
    position[case.tree.parent < 0] += shift
    there = terms(
        case._replace(tree=case.tree._replace(position_in_parent=position), measured=case.measured + shift)
    )
    here = terms(case)
    assert there.cost == pytest.approx(here.cost, rel=1e-12)
    np.testing.assert_allclose(there.gradient, here.gradient, atol=1e-12)
    np.testing.assert_allclose(there.hessian, here.hessian, atol=1e-11)


def test_moving_the_measured_markers_pulls_at_free_translations_only_by_their_weight() -> None:
    """Protects the gradient of a free root: it falls by the total weight times the shift, along its axes."""
    case = some_case("branched", 4)
    shift = np.array([0.02, 0.01, -0.03])
    change = terms(case._replace(measured=case.measured + shift)).gradient - terms(case).gradient
    root = case.tree.rotation_in_parent[0]
    carried = case.markers.body != 7  # body 7 is a root of its own
    np.testing.assert_allclose(change[:3], -case.weight[carried].sum() * root.T @ shift, atol=1e-12)


def test_gradient_vanishes_and_hessian_is_gauss_newton_on_exact_markers() -> None:
    """Protects the zero-residual case, where the second-order part must disappear."""
    case = some_case("random", 2)
    exact = terms(case._replace(measured=model_markers(case.tree, case.markers, case.q)))
    assert exact.cost == pytest.approx(0.0, abs=1e-28)
    np.testing.assert_allclose(exact.gradient, 0.0, atol=1e-13)
    np.testing.assert_allclose(exact.hessian, exact.gauss_newton, atol=1e-13)


def test_dofs_without_markers_have_empty_rows() -> None:
    """Protects a segment whose markers are all gone: nothing is known about its own dofs."""
    rng = np.random.default_rng(9)
    tree = random_models.tree_of(rng, (FREE, FREE), (-1, 0))
    markers = ModelMarkers(np.zeros(4, np.int64), rng.uniform(-0.3, 0.3, (4, 3)))
    q = random_models.random_coordinates(rng, tree)
    measured = model_markers(tree, markers, q) + 0.1
    found = terms(Case(tree, markers, q, measured, np.ones(4)))
    np.testing.assert_array_equal(found.gradient[6:], 0.0)
    np.testing.assert_array_equal(found.hessian[6:], 0.0)


def test_a_weight_of_its_own_is_a_factor() -> None:
    """Protects followed markers of a model: their weights count as those of the frame do."""
    assert weight_of(np.array([3.0, 0.5]), 1, 4.0) == 2.0
    assert weight_of(None, 1, 4.0) == 4.0
