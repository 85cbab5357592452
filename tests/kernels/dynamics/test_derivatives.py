"""Derivatives of inverse dynamics against differences, closed forms and the laws they must obey."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.dynamics.derivatives import DerivativeWork, inverse_dynamics_derivatives, new_derivative_work
from kernels.dynamics.inertia import Bodies
from kernels.dynamics.inverse import inverse_dynamics
from kernels.dynamics.system import DynamicsWork, System, new_dynamics_work
from kernels.joints.kinds import CHAIN, FREE, HINGE, SLIDER, WELD
from rtsim.models.packing.tree import ChainMotion, JointRow, build_functions, build_tree, polynomial
from tests.kernels.dynamics.cases import Case, assert_same, inverse
from tests.kernels.dynamics.derivative_cases import CASES, any_case
from tests.naive import random_models
from tests.naive.differences import first_derivative
from tests.naive.tree import dofs_of

Array = NDArray[np.floating]
every_case = pytest.mark.parametrize(("name", "seed"), CASES)


class Slopes(NamedTuple):
    """dtau/dq and dtau/dv, (n_v, n_v) each: row tau, column q or v."""

    q: Array
    v: Array


def slopes(case: Case) -> Slopes:
    """Return the kernel's answer on new working space."""
    tree = case.system.tree
    return slopes_with(case, new_dynamics_work(tree), new_derivative_work(tree))


def slopes_with(case: Case, work: DynamicsWork, derivative_work: DerivativeWork) -> Slopes:
    """Return the kernel's answer on this working space, made current by inverse dynamics."""
    system, q, v, v_dot, wrench = case
    found = Slopes(*np.full((2, len(v), len(v)), np.nan))
    inverse_dynamics(system, q, v, v_dot, wrench, work, np.zeros(len(v)))
    inverse_dynamics_derivatives(system, q, v, v_dot, work, derivative_work, *found)
    return found


@every_case
def test_slopes_by_q_are_differences(name: str, seed: int) -> None:
    """Protects dtau/dq for every kind of joint under every other, chains driven by functions included."""
    case = any_case(name, seed)
    expected = first_derivative(lambda q: inverse(case._replace(q=q)), case.system.tree, case.q)
    assert_same(slopes(case).q, expected, 3e-9)


@every_case
def test_slopes_by_v_are_differences(name: str, seed: int) -> None:
    """Protects dtau/dv to rounding: tau is quadratic in v, so that a difference of any width is exact."""
    case = any_case(name, seed)
    columns = [
        0.5 * (inverse(case._replace(v=case.v + unit)) - inverse(case._replace(v=case.v - unit)))
        for unit in np.eye(len(case.v))
    ]
    assert_same(slopes(case).v, np.array(columns).T, 1e-13)


@every_case
def test_branches_do_not_feel_each_other(name: str, seed: int) -> None:
    """Protects exact zeros: dofs that are not on one path have no slopes by one another."""
    case = any_case(name, seed)
    tree, found = case.system.tree, slopes(case)
    on_path = np.zeros(found.q.shape, bool)
    for d, b in enumerate(tree.dof_body):
        on_path[d, dofs_of(tree, b)] = True
    apart = ~(on_path | on_path.T)
    assert not found.q[apart].any()
    assert not found.v[apart].any()


@every_case
def test_speeds_ask_for_twice_their_force(name: str, seed: int) -> None:
    """Protects Euler's law of quadratic forms, without differences: (dtau/dv) v = 2 (tau(v) - tau(0))."""
    case = any_case(name, seed)
    quadratic = inverse(case) - inverse(case._replace(v=0.0 * case.v))
    assert_same(slopes(case).v @ case.v, 2.0 * quadratic, 1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_gravity_at_rest_has_a_hessian(seed: int) -> None:
    """Protects dtau/dq at rest: without balls it is the second derivative of a potential, so symmetric."""
    rng = np.random.default_rng([seed, 31])
    tree = random_models.tree_of(
        rng,
        (HINGE, CHAIN, SLIDER, CHAIN, WELD, HINGE, CHAIN),
        (-1, 0, 1, 2, 3, 1, -1),
        {1: random_models.custom(rng, 2), 3: random_models.universal(rng), 6: random_models.custom(rng, 3)},
        build_functions(random_models.FUNCTIONS),
    )
    rest = np.zeros(len(tree.dof_body))
    system, q = random_models.random_system(rng, tree), random_models.random_coordinates(rng, tree)
    found = slopes(Case(system, q, rest, rest, np.zeros((len(tree.parent), 6))))
    assert_same(found.q, found.q.T, 1e-13)
    assert not found.v.any()


@pytest.mark.parametrize("name", ["branched", "chained"])
def test_a_new_reference_point_changes_nothing(name: str) -> None:
    """Protects the choice of the reference point: ground turned and moved with gravity gives the same."""
    case, rng = any_case(name, 0), np.random.default_rng(5)
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    R *= np.linalg.det(R)
    system = case.system
    elsewhere = system._replace(
        tree=random_models.moved_in_ground(system.tree, R, np.array([3.0, -2.0, 5.0])),
        gravity=R @ system.gravity,
    )
    found, expected = slopes(case._replace(system=elsewhere)), slopes(case)
    assert_same(found.q, expected.q, 1e-12)
    assert_same(found.v, expected.v, 1e-12)


def test_moving_the_whole_changes_nothing() -> None:
    """Protects the columns of the root's translations: nothing depends on where all of it happens."""
    case = any_case("random", 1)
    found = slopes(case)
    assert np.abs(found.q).max() > 1.0
    np.testing.assert_allclose(found.q[:, :3], 0.0, atol=1e-13 * np.abs(found.q).max())


def test_a_free_particle_has_no_slopes() -> None:
    """Protects cancelling: m (v_dot - g) of a point mass is the same everywhere, at any speed and turn."""
    tree = build_tree([JointRow(-1, FREE)])
    bodies = Bodies(np.array([2.0]), np.zeros((1, 3)), np.zeros((1, 3, 3)))
    q = np.array([0.3, -0.2, 0.5, 0.5, 0.5, -0.5, 0.5])
    v, v_dot = np.random.default_rng(0).normal(size=(2, 6))
    case = Case(System(tree, bodies, np.array([0.0, -9.81, 0.0])), q, v, v_dot, np.zeros((1, 6)))
    assert np.abs(inverse(case)[:3]).max() > 1.0
    np.testing.assert_allclose(slopes(case).q, 0.0, atol=1e-14)
    np.testing.assert_allclose(slopes(case).v, 0.0, atol=1e-14)


def test_a_driven_slider_in_closed_form() -> None:
    """Protects the third derivative: tau = m f' (f' v_dot + f'' v^2 - g) of a mass lifted by f(q)."""
    tree = build_tree(
        [JointRow(-1, CHAIN, motions=(ChainMotion(False, np.array([0.0, 1.0, 0.0]), 0, 0),))],
        build_functions([polynomial((0.1, 0.4, -0.3, 0.2, 0.5))]),
    )
    m, g, x, v, v_dot = 2.0, -9.81, 0.7, 1.3, -0.4
    f1 = 0.4 - 0.6 * x + 0.6 * x**2 + 2.0 * x**3
    f2, f3 = -0.6 + 1.2 * x + 6.0 * x**2, 1.2 + 12.0 * x
    bodies = Bodies(np.array([m]), np.array([[0.1, 0.2, 0.3]]), np.eye(3)[np.newaxis])
    system = System(tree, bodies, np.array([0.0, g, 0.0]))
    found = slopes(Case(system, np.array([x]), np.array([v]), np.array([v_dot]), np.zeros((1, 6))))
    by_q = m * f2 * (f1 * v_dot + f2 * v**2 - g) + m * f1 * (f2 * v_dot + f3 * v**2)
    assert found.q[0, 0] == pytest.approx(by_q, rel=1e-13)
    assert found.v[0, 0] == pytest.approx(2.0 * m * f1 * f2 * v, rel=1e-13)


def test_external_wrenches_stay_out() -> None:
    """Protects the promise: loads on the bodies, and what they leave in the working space, change nothing."""
    case = any_case("chained", 1)
    loaded = case._replace(wrench=np.ones_like(case.wrench))
    np.testing.assert_array_equal(slopes(loaded).q, slopes(case).q)
    np.testing.assert_array_equal(slopes(loaded).v, slopes(case).v)


def test_work_carries_nothing_over() -> None:
    """Protects live use: a broken frame is seen, the next is whole, and the bodies keep their inertias."""
    case = any_case("chained", 0)
    tree = case.system.tree
    work, derivative_work = new_dynamics_work(tree), new_derivative_work(tree)
    broken = slopes_with(case._replace(v=np.full(len(case.v), np.nan)), work, derivative_work)
    assert np.isnan(broken.q).any()
    found = slopes_with(case, work, derivative_work)
    np.testing.assert_array_equal(found.q, slopes(case).q)
    np.testing.assert_array_equal(found.v, slopes(case).v)
    again = Slopes(np.zeros_like(found.q), np.zeros_like(found.v))
    inverse_dynamics_derivatives(case.system, case.q, case.v, case.v_dot, work, derivative_work, *again)
    np.testing.assert_array_equal(again.q, found.q)
