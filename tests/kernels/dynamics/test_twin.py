"""Inverse dynamics, mass matrix and forward dynamics against sums over bodies, and against each other."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.dynamics.forward import forward_dynamics
from kernels.dynamics.inverse import inverse_dynamics
from kernels.dynamics.mass import mass_matrix
from kernels.dynamics.system import new_dynamics_work
from tests.kernels.dynamics.cases import (
    TREES,
    Case,
    assert_same,
    forward,
    inverse,
    inverse_and_reactions,
    mass,
    some_case,
)
from tests.naive import dynamics

CASES = [(name, seed) for name in TREES for seed in range(3)]
every_case = pytest.mark.parametrize(("name", "seed"), CASES)


@every_case
def test_inverse_dynamics_is_the_sum_over_bodies(name: str, seed: int) -> None:
    """Protects tau and all joint reactions, for every kind of joint under every other, with wrenches."""
    case = some_case(name, seed)
    tau, reactions = inverse_and_reactions(case)
    assert_same(tau, dynamics.inverse_dynamics(*case), 1e-12)
    assert_same(reactions, dynamics.reactions(*case), 1e-12)


@every_case
def test_mass_matrix_is_the_sum_over_bodies(name: str, seed: int) -> None:
    """Protects every entry of M, the zeros between branches included."""
    case = some_case(name, seed)
    assert_same(mass(case), dynamics.mass_matrix(case.system, case.q), 1e-12)


@every_case
def test_forward_dynamics_undoes_inverse_dynamics(name: str, seed: int) -> None:
    """Protects v_dot: the accelerations that asked for tau come back."""
    case = some_case(name, seed)
    assert_same(forward(case, inverse(case)), case.v_dot, 1e-10)


@every_case
def test_forward_dynamics_solves_the_mass_matrix(name: str, seed: int) -> None:
    """Protects M v_dot + h = tau among the three kernels: h is tau at rest of the joints."""
    case = some_case(name, seed)
    tau = np.random.default_rng(seed).normal(size=len(case.v))
    h = inverse(case._replace(v_dot=np.zeros(len(case.v))))
    assert_same(mass(case) @ forward(case, tau), tau - h, 1e-11)


@every_case
def test_columns_of_the_mass_matrix_are_inverse_dynamics(name: str, seed: int) -> None:
    """Protects M's meaning: tau grows by a column of M with each acceleration, whatever else goes on."""
    case = some_case(name, seed)
    tau, columns = inverse(case), []
    for unit in np.eye(len(case.v)):
        columns.append(inverse(case._replace(v_dot=case.v_dot + unit)) - tau)
    assert_same(np.array(columns).T, mass(case), 1e-11)


@every_case
def test_mass_matrix_is_positive_definite(name: str, seed: int) -> None:
    """Protects what solvers rely on, by its eigenvalues."""
    assert np.linalg.eigvalsh(mass(some_case(name, seed))).min() > 0.0


@every_case
def test_kinetic_energy_is_that_of_the_bodies(name: str, seed: int) -> None:
    """Protects M without any Jacobian: 1/2 v' M v against velocities from differences of poses."""
    case = some_case(name, seed)
    energy = dynamics.kinetic_energy(case.system, case.q, case.v)
    assert 0.5 * case.v @ mass(case) @ case.v == pytest.approx(energy, rel=1e-8)


@every_case
def test_inverse_dynamics_moves_the_energy(name: str, seed: int) -> None:
    """Protects h without any Jacobian: tau . v is the rate of kinetic and potential energy.

    The rate is a difference along the motion, speeds growing with v_dot.
    """
    case = some_case(name, seed)
    case = case._replace(wrench=np.zeros_like(case.wrench))
    rate, step = 0.0, 1e-4
    for sign in (1.0, -1.0):
        # to second order: q moves along v + 1/2 step v_dot
        along = case.v + 0.5 * sign * step * case.v_dot
        q = dynamics.integrate(case.system.tree, case.q, sign * step * along)
        v = case.v + sign * step * case.v_dot
        kinetic = 0.5 * v @ mass(case._replace(q=q)) @ v
        rate += sign * (kinetic + dynamics.potential_energy(case.system, q)) / (2.0 * step)
    power = inverse(case) * case.v
    assert power.sum() == pytest.approx(rate, abs=1e-6 * np.abs(power).sum())


@pytest.mark.parametrize("seed", range(2))
def test_accelerations_of_the_twin_are_differences(seed: int) -> None:
    """Protects the twin itself: its angular accelerations are differences of angular velocities."""
    case, step = some_case("chained", seed), 1e-4
    tree = case.system.tree
    later, earlier = (
        dynamics.motion_by_differences(
            case.system, dynamics.integrate(tree, case.q, s * step * case.v), case.v, 1e-4
        )[1]
        for s in (1.0, -1.0)
    )
    at = dynamics.state(tree, case.q)
    for b in range(len(tree.parent)):
        expected = (later[b] - earlier[b]) / (2.0 * step)
        bias = dynamics.turning_bias(at, b, case.v)
        np.testing.assert_allclose(bias, expected, atol=1e-5 * (1.0 + np.abs(expected).max()))


def test_a_body_without_mass_in_the_middle() -> None:
    """Protects links that only carry others, as custom joints of published models are built."""
    case = some_case("chained", 4)
    bodies = case.system.bodies
    empty = np.arange(len(bodies.mass)) == 2
    bodies = bodies._replace(
        mass=np.where(empty, 0.0, bodies.mass), inertia=np.where(empty[:, None, None], 0.0, bodies.inertia)
    )
    case = case._replace(system=case.system._replace(bodies=bodies))
    tau = inverse(case)
    assert_same(tau, dynamics.inverse_dynamics(*case), 1e-12)
    assert_same(forward(case, tau), case.v_dot, 1e-10)


def test_work_carries_nothing_over() -> None:
    """Protects live use: buffers of any earlier frame, even a broken one, leave the next untouched."""
    case = some_case("chained", 0)
    work = new_dynamics_work(case.system.tree)
    n_v = len(case.v)
    broken, M, tau, v_dot = np.full(n_v, np.nan), np.zeros((n_v, n_v)), np.zeros(n_v), np.zeros(n_v)
    for v in (broken, case.v):
        inverse_dynamics(case.system, case.q, v, case.v_dot, case.wrench, work, tau)
        mass_matrix(case.system, case.q, work, M)
        forward_dynamics(case.system, case.q, v, tau, case.wrench, work, v_dot)
    np.testing.assert_array_equal(tau, inverse(case))
    np.testing.assert_array_equal(np.tril(M), np.tril(mass(case)))
    np.testing.assert_array_equal(v_dot, forward(case, tau))


@pytest.mark.parametrize("field", ["q", "v", "v_dot", "wrench"])
def test_a_broken_input_is_seen(field: str) -> None:
    """Protects the guards after the kernels: a NaN that goes in comes out."""
    case = some_case("branched", 0)
    broken = getattr(case, field).copy()
    broken.flat[-1] = np.nan
    assert np.isnan(inverse(Case(**{**case._asdict(), field: broken}))).any()
